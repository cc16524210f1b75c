"""What is said of an answer's state: where it stands and how sure it is, or what is to be checked."""

from dataclasses import replace

import pytest

from crag.core.trace import Trace
from crag.core.types import Answer, Citation, Reported
from crag.messages.answers import standing_text, state_text

CITED = Citation(number=1, strip_id="s", source_id="c", origin="internal", source="a.pdf", quote="q", page=57)
WEB = replace(CITED, origin="external", page=None, url="https://example.org")
SURE = Answer(text="It is so [1].", by="extractive", citations=(CITED,), confidence=0.834)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({}, "Answered: page 57, 83% sure"),
        ({"citations": (replace(CITED, place="slide 3"),)}, "Answered: slide 3, 83% sure"),
        ({"citations": (WEB,)}, "From the web: 83% sure"),
        ({"by": "outline", "confidence": None}, "Overview: page 57"),
        ({"confidence": 0.35, "doubts": ("unsure",)}, "Check this: only 35% sure (page 57)"),
        (
            {"unnamed": ("Oslo", "Bergen"), "doubts": ("unnamed",)},
            "Check this: nothing found names Oslo or Bergen (page 57)",
        ),
        ({"doubts": ("weak",), "by": "outline"}, "Check this: the passages fit only in part (page 57)"),
        ({"abstained": True, "citations": (), "doubts": ("weak",)}, "Not found"),
    ],
)
def test_an_answer_has_one_state_and_what_it_stands_on(changes: dict[str, object], said: str) -> None:
    assert state_text(Trace(answer=replace(SURE, **changes))) == said  # type: ignore[arg-type]


def test_a_row_of_another_year_and_documents_that_differ_are_to_be_checked() -> None:
    cited = replace(CITED, quote="Sales: 2019: $ 5")
    other = Trace(
        question="What were the sales in 2018?", answer=replace(SURE, citations=(cited,), doubts=("no period",))
    )
    assert standing_text(other) == "it is of 2019, and you asked for 2018 (page 57)"
    values = (Reported(value="5", citation=1), Reported(value="6", citation=1))
    assert "documents give different" in standing_text(
        Trace(answer=replace(SURE, differing=values, doubts=("several",)))
    )
