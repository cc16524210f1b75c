"""Coverage gaps: which questions are one, which are none, what could be kept for them, and when they are closed."""

from __future__ import annotations

from datetime import UTC, datetime

from crag.analysis.gaps import Gap, cited_pages, found_pages, gaps, keep
from crag.analysis.monitoring import figures
from crag.analysis.monitoring.choice import Choice, behind, choose_runs
from crag.core.request import RunRequest
from crag.core.strategies import strategy
from crag.core.trace import Trace
from crag.core.types import Action
from crag.engine import Engine
from crag.testing.fakes import FixedRetriever, chunk_of

MOON = "How long does the moon take to circle the earth?"
WORDED = "How long does the moon need to circle the earth?"
OTHER = "Which river is the longest of all?"


def ask(engine: Engine, question: str, name: str = "balanced", run_id: str | None = None, **changes: object) -> Trace:
    settings = strategy(name).settings.changed(**changes)
    return Trace.from_events(engine.ask(RunRequest(question, name, settings=settings, run_id=run_id)))


def found(engine: Engine) -> list[Gap]:
    return gaps(engine.library(), engine.embedder)


def test_questions_asked_in_vain_are_grouped_with_the_pages_that_helped(engine: Engine) -> None:
    runs = [ask(engine, question).run_id for question in (MOON, WORDED, OTHER, MOON)]
    first, second = found(engine)
    assert (first.question, first.others, first.asked) == (MOON, (WORDED,), 3)
    assert first.runs == (runs[3], runs[1], runs[0]) and not first.closed_by
    assert first.last == engine.library().runs.trace(runs[3]).started_at
    assert (second.question, second.asked) == (OTHER, 1)
    (page,) = found_pages(engine.library(), first)
    assert page.page.title == "The moon: an orbit | Sky" and page.run == runs[3]
    assert found_pages(engine.library(), second) == []


def test_a_gap_is_closed_when_a_like_question_is_answered_from_the_documents(engine: Engine) -> None:
    trace = ask(engine, MOON)
    ask(engine, OTHER)
    (page,) = cited_pages(trace)
    kept = keep(page, MOON, engine.library(), engine)
    (listed,) = found_pages(engine.library(), next(gap for gap in found(engine) if gap.question == MOON))
    assert listed.document == kept.document
    again = ask(engine, WORDED)
    open_one, closed = found(engine)
    assert (open_one.question, open_one.closed_by) == (OTHER, "")
    assert (closed.question, closed.closed_by) == (MOON, again.run_id)
    engine.library().documents.delete(again.documents[0])
    ask(engine, MOON)
    assert [gap.closed_by for gap in found(engine)] == ["", ""]


def test_what_says_nothing_of_the_whole_library_is_no_gap(engine: Engine) -> None:
    ask(engine, MOON, forced="INCORRECT")
    ask(engine, MOON, where="pages > 1")
    ask(engine, MOON, "plain-rag")
    ask(engine, MOON, run_id="0123456789abcdef-0-0")
    elsewhere = FixedRetriever(chunks=[chunk_of("Nothing of the kind.", name="of another store")])
    assert engine.trace(RunRequest(MOON, retriever=elsewhere)).action == Action.INCORRECT
    assert found(engine) == []
    ask(engine, MOON)
    ask(engine, MOON, forced="CORRECT")
    assert [gap.closed_by for gap in found(engine)] == [""]


def test_a_question_without_an_answer_is_a_gap_whatever_the_action_here_and_on_monitor(engine: Engine) -> None:
    asked = ask(engine, MOON, lower=0.01, web_on=())
    assert asked.action == Action.AMBIGUOUS and asked.answer is not None and asked.answer.abstained
    (gap,) = found(engine)
    assert (gap.runs, gap.closed_by) == ((asked.run_id,), "")
    runs = [each for _, each in engine.library().facts.since()]
    assert figures.gaps(runs) == 1
    now = datetime.now(UTC)
    assert [run.run_id for run in behind("gaps|", choose_runs(runs, Choice(), now))] == [asked.run_id]
    ask(engine, OTHER, lower=0.01, web_on=(), where="pages > 1")
    assert len(found(engine)) == 1


def test_what_a_program_asked_in_vain_is_a_gap_that_says_so(engine: Engine) -> None:
    engine.trace(RunRequest(MOON, wanted="evidence", via="agent"))
    engine.trace(RunRequest(MOON, via="mcp"))
    assert [(gap.asked, gap.vias) for gap in found(engine)] == [(2, ("mcp", "agent"))]
