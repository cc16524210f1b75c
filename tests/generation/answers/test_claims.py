"""Which sentences need a source: those that claim something, and any that may."""

from __future__ import annotations

import pytest

from crag.generation.verification import claims


@pytest.mark.parametrize(
    "sentence",
    [
        "Hello!",
        "I hope this helps.",
        "Here is what the sources say:",
        "## Summary",
        "Is that enough?",
        "The sources do not say when it was opened.",
        "There is no information about the engineer.",
        "I could not find that in the documents.",
        "Unfortunately, the documents do not explicitly state this.",
    ],
)
def test_what_claims_nothing(sentence: str) -> None:
    assert not claims(sentence)


@pytest.mark.parametrize(
    "sentence",
    [
        "Paris",
        "Yes.",
        "Hello, the bridge was opened in 1890.",
        "The company did not report a loss.",
        "There is no evidence that it was paid, but the director resigned.",
        "The sources do not say when, but it was opened in 1890.",
        "The report does not mention a loss; profits rose by 5 %.",
        "Revenue rose by 5 % in 2019, for these reasons:",
        "Documents state that nobody paid.",
    ],
)
def test_what_needs_a_source(sentence: str) -> None:
    assert claims(sentence)
