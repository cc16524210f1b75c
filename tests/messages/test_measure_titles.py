"""Titles of measures, how two results differ in one sentence, and what an evaluation ran with."""

from dataclasses import replace

import pytest

from crag.analysis.evaluate import Parts
from crag.analysis.metrics.results import MEASURES, Difference
from crag.core.settings import Settings, StoredSettings
from crag.messages.evaluations import NOTES, TITLES, difference_sentence, parts_sentence
from tests.support.made import evaluated

FOUND = Difference(
    measure="answer_f1",
    names=("paper", "balanced"),
    pairs=80,
    first=0.4,
    second=0.45,
    value=0.05,
    low=0.04,
    high=0.06,
    includes_zero=False,
    rough=False,
)


def test_every_measure_has_a_title_of_its_own() -> None:
    assert set(TITLES) == set(MEASURES) and len(set(TITLES.values())) == len(TITLES)
    assert set(NOTES) <= set(TITLES) and all(note.endswith(".") for note in NOTES.values())


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        (
            {},
            "Answer F1: 0.05 higher with balanced than with paper over 80 questions; the 95% interval of the "
            "difference, 0.04 to 0.06, does not include zero.",
        ),
        (
            {"value": -0.05, "low": -0.1, "high": 0.01, "includes_zero": True},
            "Answer F1: 0.05 lower with balanced than with paper over 80 questions; the 95% interval of the "
            "difference, -0.1 to 0.01, includes zero, so it may be chance.",
        ),
        (
            {"value": 0.0, "low": 0.0, "high": 0.0, "includes_zero": True},
            "Answer F1: as high with balanced as with paper over 80 questions; the 95% interval of the difference, "
            "0 to 0, includes zero, so it may be chance.",
        ),
        (
            {"pairs": 1, "low": None, "high": None, "includes_zero": None},
            "Answer F1: only one question has this measure in both results, so there is no interval.",
        ),
        (
            {"pairs": 0, "value": None, "low": None, "high": None, "includes_zero": None},
            "Answer F1: unknown, because no question has this measure in both results.",
        ),
    ],
)
def test_a_difference_is_said_with_its_interval(changes: dict[str, object], sentence: str) -> None:
    assert difference_sentence(replace(FOUND, **changes)) == sentence


@pytest.mark.parametrize(
    ("parts", "sentence"),
    [
        (
            Parts(
                documents=1200,
                embedder="words",
                grader="llm:openai-compatible:m@127.0.0.1:9:4",
                writer="openai-compatible:m@127.0.0.1:9",
                webs=("tavily", "folder pages"),
            ),
            "1,200 documents, retrieved with words. Graded by m at 127.0.0.1:9; written by m at 127.0.0.1:9; "
            "web: tavily, then folder pages.",
        ),
        (
            Parts(documents=1, embedder="words", grader="", writer="extractive", webs=None),
            "1 document, retrieved with words. Not graded; answers quoted; web: not searched.",
        ),
        (None, ""),
    ],
)
def test_an_evaluation_s_parts_are_named(parts: Parts | None, sentence: str) -> None:
    made = evaluated(parts=parts)
    assert parts_sentence(made) == sentence
    unread = replace(made, stored=StoredSettings(Settings(), unknown=("gone",)))
    assert "gone" in parts_sentence(unread)
