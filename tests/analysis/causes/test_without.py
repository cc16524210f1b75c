"""A run without some of its texts ends as a run that never found them does; and the moves that bring them in."""

from collections.abc import Sequence
from itertools import combinations

import pytest

from crag.analysis.causes import AnswerWithout, answer_without
from crag.analysis.whatif.whatif import Without, leave_out, redecide, relaxing_moves
from crag.core.errors import NotFoundError
from crag.core.policy import uses_documents
from crag.core.protocols import RunRequest
from crag.core.strategies import STRATEGIES, strategy
from crag.core.trace import Trace
from crag.core.types import Action
from crag.engine import Engine
from crag.messages.explanations import without_sentences
from crag.testing.fakes import FixedRetriever, chunk_of
from tests.support.paths import BAD, GOOD, SOSO, Case
from tests.support.small_library import TEXTS

ASKED = "Which hiring days were handled on average in 2019?"
CHUNKS = [chunk_of(text, page=page) for page, text in enumerate(TEXTS, 1)]


def run(engine: Engine, name: str, gone: Sequence[int] = (), **changes: object) -> Trace:
    """A run over the pages but for some."""
    kept = [chunk for place, chunk in enumerate(CHUNKS) if place not in gone]
    settings = strategy(name).settings.changed(**{"max_rewrites": 0, **changes})
    return engine.trace(RunRequest(ASKED, name, settings=settings, retriever=FixedRetriever(chunks=kept)))


def without(engine: Engine, trace: Trace, gone: Sequence[int]) -> tuple[Without, AnswerWithout]:
    left = leave_out(trace, [CHUNKS[place].id for place in gone], engine.evaluator)
    return left, answer_without(engine, left, web_on=False)


@pytest.mark.parametrize("name", [name for name, each in STRATEGIES.items() if each.settings.evaluator != "joint"])
def test_what_is_predicted_is_what_a_run_without_these_chunks_does(engine: Engine, name: str) -> None:
    trace = run(engine, name)
    for gone in [each for size in (1, 2, 4) for each in combinations(range(len(CHUNKS)), size)]:
        left, answer = without(engine, trace, gone)
        real = run(engine, name, gone)
        assert left.what.decision == real.decision
        if answer.reason == "evidence":  # a strategy that refines on one action alone scored no strips for another
            assert name.startswith("three-way") and real.action is Action.AMBIGUOUS is not trace.action
            continue
        assert real.answer is not None and answer.answer is not None
        assert answer.answer.text == real.answer.text and answer.answer.low_confidence == real.answer.low_confidence
        kept = [strip.id for strips in left.what.strips.values() for strip in strips if strip.kept]
        assert kept == [strip.id for strip in real.kept()]


def test_the_set_that_is_left_is_graded_again_and_unknown_without_its_grader(engine: Engine) -> None:
    trace = run(engine, "balanced")
    assert trace.decision is not None and trace.decision.deciding_id is None
    first = leave_out(trace, [CHUNKS[0].id])
    assert first.what.decision is None and "unknown" in without_sentences(first, AnswerWithout(answer=None))[0]
    assert answer_without(engine, first, web_on=False).reason == "decision"
    assert "as a set" in " ".join(without_sentences(first, answer_without(engine, first, web_on=False)))


def test_another_search_of_the_library_is_said_and_not_guessed(engine: Engine) -> None:
    trace = run(engine, "paper", max_rewrites=1, loop_on=(Action.AMBIGUOUS, Action.INCORRECT), upper=0.5, lower=0.4)
    assert trace.action is Action.CORRECT
    left, answer = without(engine, trace, [0, 1])
    assert left.searches_again and left.what.action is Action.INCORRECT
    assert "searched again" in without_sentences(left, answer)[-1]


def test_what_only_a_run_can_tell_is_said(engine: Engine) -> None:
    trace = run(engine, "paper", upper=0.5, lower=0.4)
    left, _ = without(engine, trace, [0, 1])
    assert answer_without(engine, left, web_on=True).reason == "web"
    joint = run(engine, "joint", k=4)
    left, answer = without(engine, joint, [0])
    assert left.what.decision is None and answer.reason == "decision"
    assert "together is unknown" in " ".join(without_sentences(left, answer))
    with pytest.raises(NotFoundError, match="no such text"):
        leave_out(trace, ["nothing"])


@pytest.mark.parametrize("name", [name for name, each in STRATEGIES.items() if each.settings.evaluator == "chunk"])
@pytest.mark.parametrize("texts", [[GOOD, SOSO, BAD], [BAD], ["It is broken.", SOSO], []])
def test_a_relaxing_move_brings_the_documents_in_and_one_hundredth_less_does_not(name: str, texts: list[str]) -> None:
    trace = Case(name, texts, changes={"max_rewrites": 0}).trace
    moves = relaxing_moves(trace)
    for move in moves:
        assert move.after < move.before and move.decision.action is not trace.action
        assert redecide(trace, trace.run_settings.changed(**move.settings)).action is move.decision.action
        less = dict.fromkeys(move.settings, round(move.after + 0.01, 2))
        assert redecide(trace, trace.run_settings.changed(**less)).action is trace.action
    if uses_documents(trace.action, trace.run_settings):
        assert moves == ()
    assert relaxing_moves(Case(name, texts, changes={"forced": "INCORRECT"}).trace) == ()
