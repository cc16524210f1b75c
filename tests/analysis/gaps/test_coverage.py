"""Coverage gaps: which questions are one, which are none, and when they are closed."""

from datetime import UTC, datetime

from crag.analysis.gaps import Gap, gaps
from crag.analysis.kept_pages import keep, used_pages
from crag.analysis.monitoring.figures import Choice, choose_runs
from crag.core.protocols import RunRequest
from crag.core.strategies import strategy
from crag.core.trace import Trace
from crag.core.types import Action
from crag.engine import Engine
from crag.messages.answers import nearest_sentence

MOON = "How long does the moon take to circle the earth?"
WORDED = "how long does the Moon take to circle the earth"
OTHER = "Which river is the longest of all?"


def ask(engine: Engine, question: str, name: str = "balanced", run_id: str | None = None, **changes: object) -> Trace:
    settings = strategy(name).settings.changed(**changes)
    return Trace.from_events(engine.ask(RunRequest(question, name, settings=settings, run_id=run_id)))


def found(engine: Engine) -> list[Gap]:
    return gaps(engine.library())


def test_questions_of_the_same_words_are_one_gap_with_their_runs(engine: Engine) -> None:
    runs = [ask(engine, question).run_id for question in (MOON, WORDED, OTHER, MOON, f"{MOON[:-1]} in 2019?")]
    first, *others = found(engine)
    assert (first.question, first.asked) == (MOON, 3)
    assert first.runs == (runs[3], runs[1], runs[0])
    assert first.last == engine.library().runs.trace(runs[3]).started_at
    assert [(gap.runs, gap.asked) for gap in others] == [((runs[4],), 1), ((runs[2],), 1)]


def test_a_gap_is_closed_when_the_question_is_answered_from_the_documents(engine: Engine) -> None:
    trace = ask(engine, MOON)
    ask(engine, OTHER)
    page = next(page for page in used_pages(trace) if "moon" in page.text)
    keep(page, MOON, engine.library(), engine)
    assert {gap.question for gap in found(engine)} == {MOON, OTHER}, "what is kept answers nothing yet"
    again = ask(engine, WORDED)
    assert [gap.question for gap in found(engine)] == [OTHER]
    engine.library().documents.delete(again.documents[0])
    ask(engine, MOON)
    assert [(gap.question, gap.asked) for gap in found(engine)] == [(MOON, 2), (OTHER, 1)]


def test_a_question_without_an_answer_is_a_gap_whatever_the_action_here_and_on_monitor(engine: Engine) -> None:
    asked = ask(engine, MOON, lower=0.01, web_on=())
    assert asked.action == Action.AMBIGUOUS and asked.answer is not None and asked.answer.abstained
    (gap,) = found(engine)
    assert gap.runs == (asked.run_id,)
    found_on_monitor = choose_runs([each for _, each in engine.library().facts.since()], Choice(), datetime.now(UTC))
    assert [run.run_id for run in found_on_monitor.span.behind("gaps")] == [asked.run_id]
    ask(engine, OTHER, lower=0.01, web_on=(), where={"pages": {">": 1}})
    assert len(found(engine)) == 1


def test_a_table_row_that_is_quoted_under_incorrect_is_an_answer_and_closes_a_gap(engine: Engine) -> None:
    question = "What is the amount for earthwork?"
    before = ask(engine, question, web_on=())
    assert [gap.runs for gap in found(engine)] == [(before.run_id,)]
    prices = b'Description,Amount\nEarthwork,"$3,169,463"\nPaving,"$2,334,594"\n'
    list(engine.add("prices.csv", prices))
    after = ask(engine, question, web_on=())
    assert after.action == Action.INCORRECT and after.answer is not None and "$3,169,463" in after.answer.text
    assert found(engine) == []
    assert [each.gap for _, each in engine.library().facts.since()] == [True, False]
    assert after.guidance is not None and after.guidance.near and not nearest_sentence(after)
    assert nearest_sentence(before).startswith("The closest is in ")


def test_what_a_program_asked_in_vain_is_a_gap_that_says_so(engine: Engine) -> None:
    engine.trace(RunRequest(MOON, wanted="evidence", via="agent"))
    engine.trace(RunRequest(MOON, via="mcp"))
    assert [(gap.asked, gap.vias) for gap in found(engine)] == [(2, ("mcp", "agent"))]
