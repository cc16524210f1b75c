"""Coverage gaps: which questions are one, which are none, what could be kept for them, and when they are closed."""

from datetime import UTC, datetime

import numpy as np
import pytest

from crag.analysis.gaps import Gap, alike, cited_pages, found_pages, gaps, groups, keep
from crag.analysis.monitoring import figures
from crag.analysis.monitoring.figures import Choice, behind, choose_runs
from crag.core.protocols import RunRequest
from crag.core.strategies import strategy
from crag.core.trace import Trace
from crag.core.types import Action
from crag.engine import Engine
from crag.messages.answers import guidance_heads
from tests.support.local_models import parts
from tests.support.small_library import WordEmbedder

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


def test_a_table_row_that_is_quoted_under_incorrect_is_an_answer_and_closes_a_gap(engine: Engine) -> None:
    question = "What is the amount for earthwork?"
    before = ask(engine, question, web_on=())
    assert [gap.closed_by for gap in found(engine)] == [""]
    prices = b'Description,Amount\nEarthwork,"$3,169,463"\nPaving,"$2,334,594"\n'
    list(engine.add("prices.csv", prices))
    after = ask(engine, question, web_on=())
    assert after.action == Action.INCORRECT and after.answer is not None and "$3,169,463" in after.answer.text
    (gap,) = found(engine)
    assert (gap.runs, gap.closed_by) == ((before.run_id,), after.run_id)
    assert figures.gaps([each for _, each in engine.library().facts.since()]) == 1
    heads = guidance_heads(after)
    assert after.guidance is not None and after.guidance.near and not heads["near"]
    assert guidance_heads(before)["near"] == "Nearest passages"


def test_what_a_program_asked_in_vain_is_a_gap_that_says_so(engine: Engine) -> None:
    engine.trace(RunRequest(MOON, wanted="evidence", via="agent"))
    engine.trace(RunRequest(MOON, via="mcp"))
    assert [(gap.asked, gap.vias) for gap in found(engine)] == [(2, ("mcp", "agent"))]


# Which questions are alike, and how they fall into groups


SAME = "How long does the moon take to circle the earth?"


@pytest.mark.parametrize(
    ("other", "like"),
    [
        ("How long does the moon need to circle the earth?", True),
        ("how long does the moon take to circle the Earth", True),
        ("How long does the moon take to circle the earth 2 times?", False),
    ],
)
def test_the_same_in_other_words_is_alike(other: str, like: bool) -> None:
    near = alike([SAME, other], WordEmbedder())
    assert near.tolist() == [[True, like], [like, True]]


def test_other_names_and_numbers_are_other_questions() -> None:
    questions = [
        "Why did the airplane skid off the runway at Wausau?",
        "Why did the airplane skid off the runway at Denver?",
        "Why did the airplane skid off the runway?",
        "In FY 2017, how many claims were handled?",
        "In FY 2019, how many claims were handled?",
    ]
    assert alike(questions, WordEmbedder())[:3, :3].tolist() == [
        [True, False, True],
        [False, True, True],
        [True, True, True],
    ]
    assert not alike(questions, WordEmbedder())[3, 4]


def test_by_the_model_that_ships_other_words_are_alike_and_other_things_are_not() -> None:
    embedder = parts()["embedder"]
    for first, second, like in (
        (
            "Why did the airplane skid off the runway at Wausau?",
            "What made the plane slide off the runway in Wausau?",
            1,
        ),
        ("How many remote workers does the agency have?", "How many employees of the agency work remotely?", 1),
        ("Who is the chief executive?", "What is the refund policy?", 0),
        ("What is the warranty period?", "What is the notice period?", 0),
    ):
        assert alike([first, second], embedder)[0, 1] == bool(like), (first, second)


def test_groups_begin_with_their_most_central_question() -> None:
    near = np.eye(5, dtype=bool)
    for a, b in ((0, 1), (1, 2), (3, 1)):
        near[a, b] = near[b, a] = True
    assert groups(near) == [[1, 0, 2, 3], [4]]
    assert groups(np.eye(2, dtype=bool)) == [[0], [1]]
    assert groups(np.zeros((0, 0), bool)) == []
