"""The trace is a fold: same events, same trace; and it survives JSON unchanged."""

from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from crag.core import events as ev
from crag.core.events import Guidance, Near, event_from_json, event_to_json
from crag.core.trace import Trace
from crag.core.types import (
    Action,
    Answer,
    Call,
    Citation,
    Grade,
    Rect,
    Reported,
    RetrievedChunk,
    SentenceCheck,
    Unread,
    WebPage,
)
from crag.testing.contracts import strip_of
from crag.testing.fakes import chunk_of
from tests.support.made import decided

CHUNK = chunk_of("Paris is the capital of France. It lies on the Seine.")
STRIP = strip_of(CHUNK, CHUNK.text[:31], 0.9)
DECISION = decided(deciding_id=CHUNK.id)
PAGE = WebPage(id="w", url="https://example.org", title="T", text="Paris.", provider="p", query="q", rank=1)
CITATION = Citation(
    number=1,
    strip_id="s",
    source_id=CHUNK.id,
    origin="internal",
    source="paper.pdf",
    quote="Paris",
    page=1,
    rects=(Rect(page=1, left=1, top=2, right=3, bottom=4),),
)
GUIDANCE = Guidance(
    near=(Near(chunk_id="a", source="a.pdf", where="page 1", score=None, quote="Paris"),),
    query="paris",
    web=True,
)
RUN: list[ev.Event] = [
    ev.RunStarted(run_id="r", question="q?", strategy="balanced", settings={"k": 3}, workspace="w", started_at="now"),
    ev.Queued(before=2, waited=0.0),
    ev.Queued(before=0, waited=1.5),
    ev.QuestionRewritten(
        question="And in 2018?",
        standalone="What was it in 2018?",
        by="brackets",
        follows=("What was it?",),
        after="r0",
        at=0.05,
    ),
    ev.ScopeResolved(documents=("paper.pdf",), tags=("finance",), gone=1, at=0.1),
    ev.StepStarted(step="retrieve", at=0.1),
    ev.HalfEmbedded(share=0.5, at=0.15),
    ev.Retrieved(query="q?", chunks=(RetrievedChunk(chunk=CHUNK, rank=1, similarity=0.4, dense=0.4),), at=0.2),
    ev.StepFinished(step="retrieve", seconds=0.1, at=0.2),
    ev.Graded(grade=Grade(passage_id=CHUNK.id, score=0.5, reason="some"), at=0.3),
    ev.Graded(grade=Grade(passage_id="joint", score=None, error="down"), joint=True, at=0.3),
    ev.ActionTaken(decision=DECISION, at=0.4),
    ev.Refined(source_id=CHUNK.id, origin="internal", strips=(STRIP,), at=0.5),
    ev.Rewritten(question="q?", query="capital France", purpose="web", by="keywords", at=0.6),
    ev.ApprovalAsked(query="capital France", provider="p", at=0.65),
    ev.ApprovalGiven(approved=True, at=0.68),
    ev.Searched(
        query="capital France", provider="p", pages=(PAGE,), found_at="then", problems=(Unread(why="one"),), at=0.7
    ),
    ev.Called(call=Call(step="search", provider="p", model="", seconds=0.1, input_tokens=3, error="once"), at=0.7),
    ev.Graded(grade=Grade(passage_id="w", score=0.8), origin="external", at=0.8),
    ev.PortionRead(done=1, portions=2, calls=3, tokens=900, share=0.5, at=0.85),
    ev.Token(text="Paris ", at=0.9),
    ev.Token(text="[1].", at=0.9),
    ev.Answered(
        answer=Answer(
            text="Paris [1].", by="m", citations=(CITATION,), contradicts=Reported(value="5 million", citation=1)
        ),
        at=1.0,
    ),
    ev.GuidanceOffered(guidance=GUIDANCE, at=1.05),
    ev.Verified(
        checks=(SentenceCheck(sentence="Paris", citations=(1,), supported=True, score=1.0),), faithfulness=1.0, at=1.1
    ),
    ev.Failed(step="verify", cause="m", remedy="r", at=1.1),
    ev.UnknownEvent(name="of_tomorrow", at=1.15),
    ev.Cancelled(at=1.2),
    ev.RunFinished(at=1.3),
]


def test_every_event_class_is_in_the_sample_run() -> None:
    assert {type(event).__name__ for event in RUN} == {kind.__name__ for kind in get_args(ev.Event)}


@given(st.text())
def test_any_text_in_an_event_survives_a_round_trip_as_one_line(text: str) -> None:
    event = ev.Token(text=text, at=0.0)
    line = event_to_json(event)
    assert "\n" not in line
    assert event_from_json(line) == event


def test_what_a_reader_of_the_trace_sees() -> None:
    trace = Trace.from_events(RUN)
    assert trace.action is Action.AMBIGUOUS
    assert trace.text == "Paris [1]."
    assert trace.kept("internal") == (STRIP,)
    assert trace.kept("external") == ()
    assert set(trace.sources) == {CHUNK.id, "w"}
    assert trace.web_grades["w"].score == 0.8
    assert trace.rounds[0].joint is not None and trace.rounds[0].joint.failed
    assert [(record.step, record.seconds) for record in trace.steps] == [("retrieve", 0.1)]
    assert (trace.seconds, trace.finished, trace.cancelled, trace.failure) == (1.3, True, True, None)


def test_a_run_waits_for_its_person_from_the_question_to_the_word() -> None:
    asked = next(number for number, event in enumerate(RUN) if isinstance(event, ev.ApprovalAsked))
    waits = [Trace.from_events(RUN[:count]).awaiting is not None for count in (asked, asked + 1, asked + 2)]
    assert waits == [False, True, False]
    assert Trace.from_events([*RUN[: asked + 1], ev.RunFinished(at=1)]).awaiting is None
    trace = Trace.from_events(RUN)
    assert [(each.query, each.provider, each.approved) for each in trace.approvals] == [("capital France", "p", True)]
    assert trace.searches[0].found_at == "then" and trace.searches[0].problems == (Unread(why="one"),)
    assert [(call.step, call.error) for call in trace.calls] == [("search", "once")]


@pytest.mark.parametrize(
    "line", ["", "[]", '{"kind":"token"}', '{"kind":"nothing"}', '{"kind":"token","text":1,"at":"x"}']
)
def test_what_is_no_event_is_refused(line: str) -> None:
    with pytest.raises(ValidationError):
        event_from_json(line)
