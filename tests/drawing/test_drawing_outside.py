"""What is drawn where outside services take part: every stand-in, failure, query and doubt is said, once."""

import json

import pytest

from crag.core import events as ev
from crag.core.trace import Trace
from crag.core.types import SentenceCheck
from crag.export.html import answer, pages
from crag.messages.wording import outcome_sentence
from tests.support.whole_run import approved, asked_outside


def of(events) -> Trace:
    return Trace.from_events(events)


def test_why_the_web_was_not_searched_is_said_as_it_was():
    asked = asked_outside()[:-1]
    failed = ev.Failed(step="search", cause="Tavily failed.", remedy="Wait.", at=5.0)
    before = [event for event in asked if not (event.kind == "step_started" and event.step == "search")]
    end = ev.RunFinished(at=6.0)
    assert "The web search failed." in outcome_sentence(of([*asked, failed, end]))
    assert "The web could not be searched." in outcome_sentence(of([*before, failed, end])), "it was never tried"
    assert "web search is off" in outcome_sentence(of([*before, end]))
    assert "web" not in outcome_sentence(of([*asked, ev.Cancelled(at=5.0), end])), "who stops a run knows why"


@pytest.mark.parametrize(
    ("text", "sentences", "expected"),
    [
        ("Yes [1]. It is.", ["Yes.", "It is."], ["Yes [1].", "It is."]),
        ("Yes. [1][2] It is [1, 3].", ["Yes.", "It is."], ["Yes. [1][2]", "It is [1, 3]."]),
        ("So. So.", ["So.", "So."], ["So.", "So."]),
        ("One\n\ntwo.", ["One two.", "Three."], ["One\n\ntwo."]),
        ("", ["", "Gone."], []),
    ],
)
def test_checked_sentences_are_found_in_the_answer(text, sentences, expected):
    checks = [SentenceCheck(sentence=each, citations=(), supported=None) for each in sentences]
    assert [text[start:end] for start, end, _ in answer.locate_checks(text, checks)] == expected


def test_an_export_replays_the_question_without_its_buttons():
    run = approved()
    made = json.loads(pages.states(of(run), run))
    frames = ["".join(made["pieces"][id] for part in frame["parts"] for id in part) for frame in made["frames"]]
    asking = [frame for frame in frames if "May this query leave this machine?" in frame]
    assert len(asking) == 1 and "<button" not in asking[0].split("May this query")[1].split("</div></div>")[0]
    assert {"Asks whether the query may leave.", "The query was approved."} <= {
        frame["said"] for frame in made["frames"]
    }
    whole = pages.page(of(run), run)
    assert "You approved this query." in whole.split('<script type="application/json" class="states"')[0]
