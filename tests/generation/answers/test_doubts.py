"""What is to be checked of an answer after its run, and what a refusal says where nobody could judge."""

from dataclasses import replace
from typing import Any

import pytest

from crag.core.settings import Settings
from crag.core.trace import Trace
from crag.core.types import Action, Answer, Citation, Doubt, Grade, Reported, Strip
from crag.generation.citations import abstention
from crag.generation.ground import finish
from tests.support.made import decided

CITED = Citation(number=1, strip_id="s", source_id="c", origin="internal", source="a.pdf", quote="q", page=1)
STRIP = Strip(id="s", source_id="c", origin="internal", start=0, end=1, text="q", score=0.3, kept=True)
QUOTE = Answer(text="It is so [1].", by="extractive", citations=(CITED,), doubts=("weak",), confidence=0.5)


SCORED = {"score": 0.3, "upper": 0.6, "lower": 0.2}


@pytest.mark.parametrize(
    ("changes", "action", "limit", "doubts"),
    [
        ({}, Action.CORRECT, 0.6, ("unsure",)),
        ({}, Action.AMBIGUOUS, 0.4, ()),
        ({"confidence": None}, Action.CORRECT, 0.6, ()),
        ({"confidence": None}, Action.AMBIGUOUS, 0.6, ("weak",)),
        ({}, Action.INCORRECT, 0.4, ("not relevant",)),
        ({"unnamed": ("Oslo",), "lookup": "no period"}, Action.CORRECT, 0.4, ("unnamed", "no period")),
        ({"by": "m", "lookup": "several"}, Action.CORRECT, 0.4, ()),
        (
            {"by": "m", "lookup": "several", "differing": (Reported(value="5", citation=1),)},
            Action.CORRECT,
            0.4,
            ("several",),
        ),
        ({"by": "m", "contradicts": Reported(value="5", citation=1)}, Action.CORRECT, 0.4, ("contradicts",)),
        ({"instead_of": "m", "remarks": ("no answer",)}, Action.CORRECT, 0.4, ("no answer",)),
    ],
)
def test_what_is_to_be_checked(
    changes: dict[str, Any], action: Action, limit: float, doubts: tuple[Doubt, ...]
) -> None:
    made = finish(replace(QUOTE, **changes), decided(action, **SCORED), [STRIP], Settings(confident_answer=limit))
    assert made.doubts == doubts and made.state == ("check" if doubts else "answered")
    assert Trace.from_json(Trace(answer=made).to_json()).answer == made


def test_a_record_of_an_earlier_build_has_its_state_too() -> None:
    stored = Trace(answer=QUOTE).to_json().replace('"doubts":["weak"]', '"low_confidence":true')
    assert '"doubts"' not in stored and Trace.from_json(stored).outcome == "check"


@pytest.mark.parametrize(
    ("grades", "said"),
    [
        ([Grade(passage_id="a", score=0.01)], "No passage of your documents says it."),
        (
            [Grade(passage_id="a", score=None, error="busy"), Grade(passage_id="b", score=0.1)],
            "1 of 2 passages could not",
        ),
        ([Grade(passage_id="a", score=0.01, english=False)], "may stand in your documents all the same"),
    ],
)
def test_a_refusal_says_where_nobody_could_judge(grades: list[Grade], said: str) -> None:
    made = finish(abstention({}, "extractive"), None, [], Settings(), grades)
    assert made.state == "not found" and said in made.text
    named = finish(abstention({}, "extractive", unnamed=("Oslo",)), None, [], Settings(), grades)
    assert named.text == "Nothing found names Oslo."
