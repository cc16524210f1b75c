"""What is said first of an answer: where it is quoted from, how likely it is right, or that there is none."""

from dataclasses import replace

import pytest

from crag.core.types import Answer, Citation
from crag.messages.answers import LOW_CONFIDENCE, NOT_FOUND, confidence_text

CITED = Citation(number=1, strip_id="s", source_id="c", origin="internal", source="a.pdf", quote="q", page=57)
WEB = replace(CITED, origin="external", page=None, url="https://example.org")
SURE = Answer(text="It is so [1].", by="extractive", citations=(CITED,), confidence=0.834)


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (SURE, "Quoted from p. 57 · confidence 0.83"),
        (replace(SURE, confidence=None), "Quoted from p. 57"),
        (replace(SURE, citations=(replace(CITED, place="slide 3"),)), "Quoted from slide 3 · confidence 0.83"),
        (replace(SURE, citations=(WEB,)), "Quoted from the web · confidence 0.83"),
        (replace(SURE, confidence=0.35, low_confidence=True), f"{LOW_CONFIDENCE} 0.35 · quoted from p. 57"),
        (replace(SURE, confidence=None, low_confidence=True), f"{LOW_CONFIDENCE} · quoted from p. 57"),
        (replace(SURE, abstained=True, citations=(), low_confidence=True), NOT_FOUND),
        (replace(SURE, by="a model", confidence=None), ""),
        (replace(SURE, by="a model", confidence=None, low_confidence=True), LOW_CONFIDENCE),
    ],
)
def test_an_answer_has_its_source_and_its_confidence(answer: Answer, said: str) -> None:
    assert confidence_text(answer) == said
