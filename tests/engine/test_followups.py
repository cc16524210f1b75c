"""A question within a conversation: what is asked in its place, what is stored, and what stands in for a model."""

import sys
from dataclasses import replace
from typing import Any

import pytest

from crag.analysis.whatif.whatif import redecide
from crag.core.errors import UnreachableError
from crag.core.protocols import RunRequest
from crag.core.settings import Settings
from crag.core.trace import Trace
from crag.core.types import Exchange
from crag.engine import Engine
from crag.generation.conversation.brackets import BracketContextualizer
from crag.generation.conversation.history import leading_to
from crag.generation.conversation.model import LlmContextualizer
from crag.index.embedded import EmbeddedIndex
from crag.pipeline.fallback import FallbackContextualizer
from crag.pipeline.graph import run_graph
from crag.testing.fakes import FakeChat, FixedWeb
from tests.support.paths import GOOD, WEB, Case
from tests.support.small_library import fill

QUESTION = "How long did hiring take in 2019?"
BEFORE = Exchange(question=QUESTION, answer="eighty days", run_id="first")


def asked(engine: Engine, question: str, **given: object) -> Trace:
    if not engine.library().exists:
        fill(engine)
    return Trace.from_events(engine.ask(RunRequest(question, **given)))  # type: ignore[arg-type]


def test_a_follow_up_is_retrieved_for_graded_and_answered_as_it_was_meant(engine: Engine) -> None:
    trace = asked(engine, "And in 2018?", history=[BEFORE])
    meant = "And in 2018? (How long did hiring take?)"
    assert (trace.question, trace.standalone, trace.meant) == ("And in 2018?", meant, meant)
    assert trace.rounds[0].query == meant and trace.steps[0].step == "contextualize"
    assert trace.context is not None and (trace.context.by, trace.context.after) == ("brackets", "first")
    assert trace.context.follows == (QUESTION,)
    stored = engine.library().runs
    assert stored.trace(trace.run_id).context == trace.context
    assert stored.latest(1)[0].question == meant, "out of the conversation, that is what it was"
    assert Trace.from_events(stored.events(trace.run_id)).meant == meant
    assert redecide(trace, Settings.stored(trace.settings).settings).action == trace.action


def test_a_question_that_stands_alone_is_asked_as_it_is_and_the_chain_is_stored(engine: Engine) -> None:
    first = asked(engine, QUESTION)
    assert first.exchange is not None
    question = "How many programs did the inspector general examine?"
    second = Trace.from_events(engine.ask(RunRequest(question, history=[first.exchange])))
    assert (second.meant, second.standalone) == (question, "")
    found = leading_to(second.run_id, engine.library().runs.trace)
    assert [each.run_id for each in found] == [first.run_id, second.run_id]


def test_what_a_person_words_is_asked_in_place_of_the_question(engine: Engine) -> None:
    worded = "How long did hiring take in 2017?"
    trace = asked(engine, "And before?", history=[BEFORE], standalone=worded)
    assert (trace.meant, trace.context and trace.context.by) == (worded, "person")
    as_it_stands = asked(engine, "And in 2018?", history=[BEFORE], standalone="And in 2018?")
    assert (as_it_stands.meant, as_it_stands.standalone) == ("And in 2018?", "")
    empty = asked(engine, "And in 2018?", standalone="   ")
    assert empty.failure is not None and "empty" in empty.failure.cause


def run_with(reply: object) -> Trace:
    case = Case("balanced", [GOOD], web=FixedWeb(texts=WEB))
    brackets, emitter = BracketContextualizer(), case.parts.emitter
    model = LlmContextualizer(FakeChat(reply=lambda messages: reply))  # type: ignore[arg-type, return-value]
    parts = replace(case.parts, contextualizer=FallbackContextualizer(model, brackets, emitter))
    return Trace.from_events([case.events[0], *run_graph("And in 2018?", parts, [BEFORE])])


def test_a_model_words_it_and_where_it_fails_or_is_unfit_the_brackets_do_and_it_is_said() -> None:
    said = run_with("How long did hiring take in 2018?")
    assert said.context is not None and said.context.by == "fake:chat" and not said.failures
    for reply in ("Hiring took 92 days in 2018.", UnreachableError("can't be reached.", who="fake:chat")):
        trace = run_with(reply)
        assert trace.context is not None and trace.context.by == "brackets"
        assert trace.meant == "And in 2018? (How long did hiring take?)"
        [failure] = trace.failures
        assert (failure.step, failure.instead, failure.by, failure.fatal) == (
            "contextualize",
            "brackets",
            "brackets",
            False,
        )


# How many calls of ours lead from a question to the index: readers follow each of them


MOST = 12
FIRST = ("Engine.ask", "RunExecutor.run", "RunExecutor._execute", "run_graph")
"""The calls before a node, which runs in a thread of its own."""


def calls_of_ours() -> list[str]:
    """The functions of `crag` on the stack of the caller, outermost first."""
    found: list[str] = []
    frame = sys._getframe(2)
    while frame is not None:
        if frame.f_globals.get("__name__", "").startswith("crag."):
            found.append(frame.f_code.co_qualname)
        frame = frame.f_back  # type: ignore[assignment]
    return found[::-1]


def test_a_question_reaches_the_index_in_at_most_twelve_calls(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(engine)
    stacks: list[list[str]] = []
    top = EmbeddedIndex.top

    def watched(self: EmbeddedIndex, *given: Any, **named: Any) -> Any:
        stacks.append([*FIRST, *calls_of_ours(), "EmbeddedIndex.top"])
        return top(self, *given, **named)

    monkeypatch.setattr(EmbeddedIndex, "top", watched)
    engine.trace("How long did hiring take in 2019?")
    assert stacks and len(stacks[0]) <= MOST, stacks[0]
