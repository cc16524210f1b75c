"""The graph of a run: thin nodes around `steps`, edges as functions of what is known. It may end with the evidence.

(contextualize →) retrieve, where the question follows on others, or is not read as it was typed
retrieve → answer, where the question is about a whole document
retrieve → evaluate → act ─┬→ rewrite_for_library → retrieve     (corrective loop)
                           ├→ refine_documents ─┬→ answer → verify
                           └→ rewrite_for_web ←─┘
                              rewrite_for_web → search → refine_pages → answer
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import copy_context
from queue import SimpleQueue
from threading import Event
from typing import Literal

from crag.core import events as ev
from crag.core.policy import loops, refines, searches_web, uses_documents
from crag.core.types import Exchange, Standalone, Step
from crag.pipeline import steps
from crag.pipeline.context import RunContext, State

Node = Literal[
    "contextualize",
    "retrieve",
    "evaluate",
    "act",
    "rewrite_for_library",
    "refine_documents",
    "rewrite_for_web",
    "search",
    "refine_pages",
    "answer",
    "verify",
    "end",
]
Work = Callable[[State, RunContext], State]

NODES: dict[Node, tuple[Step, Work]] = {
    "contextualize": ("contextualize", steps.contextualize),
    "retrieve": ("retrieve", steps.retrieve),
    "evaluate": ("evaluate", steps.evaluate),
    "act": ("act", steps.act),
    "rewrite_for_library": ("rewrite", steps.rewrite_for_library),
    "refine_documents": ("refine", steps.refine_documents),
    "rewrite_for_web": ("rewrite", steps.rewrite_for_web),
    "search": ("search", steps.search),
    "refine_pages": ("refine", steps.refine_pages),
    "answer": ("answer", steps.answer),
    "verify": ("verify", steps.verify),
}
"""Each node with the step it shows as on screen."""


def at_first(state: State) -> Node:
    follows = state["history"] or state["standalone"]
    return "contextualize" if follows or state["read"].question != state["question"] else "retrieve"


def after_retrieve(state: State, parts: RunContext) -> Node:
    if "whole" in state:
        return "answer"
    return "refine_documents" if parts.settings.evaluator == "none" else "evaluate"


def after_act(state: State, parts: RunContext) -> Node:
    settings, decision = parts.settings, state["decision"]
    assert decision is not None
    settled = decision.instead_of is not None or decision.doubt > 0
    if not settled and loops(decision.action, round=state["round"], settings=settings):
        return "rewrite_for_library"
    return "refine_documents" if uses_documents(decision.action, settings) else _web_or_answer(state, parts)


def after_library_rewrite(state: State, parts: RunContext) -> Node:
    """A query that was asked before would bring the same chunks: the loop ends."""
    *before, query = state["tried"]
    if query not in before:
        return "retrieve"
    uses = uses_documents(steps.action_of(state), parts.settings)
    return "refine_documents" if uses else _web_or_answer(state, parts)


def _web_or_answer(state: State, parts: RunContext) -> Node:
    wanted = searches_web(steps.action_of(state), parts.settings)
    return "rewrite_for_web" if wanted and parts.web is not None else _answer_or_end(state, parts)


def _answer_or_end(state: State, parts: RunContext) -> Node:
    return "answer" if parts.wanted == "answer" else "end"


def after_answer(state: State, parts: RunContext) -> Node:
    answer = state["answer"]
    return "verify" if parts.settings.verify and not answer.abstained and answer.by != "outline" else "end"


FOLLOWING: dict[Node, Node | Callable[[State, RunContext], Node]] = {
    "contextualize": "retrieve",
    "retrieve": after_retrieve,
    "evaluate": "act",
    "act": after_act,
    "rewrite_for_library": after_library_rewrite,
    "refine_documents": _web_or_answer,
    "rewrite_for_web": "search",
    "search": "refine_pages",
    "refine_pages": _answer_or_end,
    "answer": after_answer,
    "verify": "end",
}
"""Each node with the one that comes after it."""


def _run_nodes(state: State, parts: RunContext) -> None:
    """One node after another to the end, each with the state that those before it left.

    What was graded until the end, or until a stop, is stored.
    """
    worded = state["standalone"]
    state["read"] = Standalone(question=worded) if worded else parts.read(state["question"])
    node = at_first(state)
    try:
        while node != "end":
            step, work = NODES[node]
            changes: State = {}
            with _during(step, state, changes, parts):
                changes.update(work(state, parts))
            state.update(changes)
            following = FOLLOWING[node]
            node = following(state, parts) if callable(following) else following
    finally:
        parts.store_grades()


@contextmanager
def _during(step: Step, state: State, changes: State, parts: RunContext) -> Iterator[None]:
    """Say when a step begins and ends; one that does not begin where the person pressed Stop."""
    parts.check()
    shown = _shown(step, state, parts)
    started, round, waited = parts.now(), state["round"], parts.meter.waited
    if shown:
        parts.emit(ev.StepStarted(step=step, round=round))
    parts.meter.step = step
    try:
        yield
    finally:
        parts.emitter.emit_pending()
    if shown:
        seconds = parts.now() - started - (parts.meter.waited - waited)
        calls = _calls(step, changes, parts)
        parts.emit(ev.StepFinished(step=step, round=round, seconds=seconds, calls=calls))


def _shown(step: Step, state: State, parts: RunContext) -> bool:
    """Taking chunks or pages as they are is no refinement, and is not shown as one."""
    if step != "refine":
        return True
    if "pages" in state:
        return parts.settings.refine_web and bool(state["pages"])
    return refines(steps.action_of(state), parts.settings)


def _calls(step: Step, changes: State, parts: RunContext) -> int:
    """Model calls that the step cost: grades that an evaluator did not have in its cache."""
    if step != "evaluate" or not parts.evaluator.calls_models:
        return 0
    made = [*changes.get("grades", {}).values(), *([changes["joint"]] if changes.get("joint") else [])]
    return sum(1 for grade in made if grade is not None and not grade.cached)


class _Left(BaseException):
    """Nobody follows the run any more. No step takes it for a failure of a part."""


def run_graph(
    question: str, parts: RunContext, history: Sequence[Exchange] = (), standalone: str = ""
) -> Iterator[ev.Event]:
    """Runs one question and yields its events as they happen, from a thread. Raises what a step raises.

    `history`: the exchanges that it follows on, oldest first; `standalone`: what is to be asked in its place. Who stops
    following ends the run at its next event, and waits for that.
    """
    happened: SimpleQueue[ev.Event | None] = SimpleQueue()
    left = Event()

    def tell(event: ev.Event) -> None:
        if left.is_set():
            raise _Left
        happened.put(event)

    parts.emitter.listener = tell
    state: State = {"question": question, "history": tuple(history), "standalone": standalone, "round": 0}
    state |= {"query": question, "tried": (question,)}
    with ThreadPoolExecutor(1, "crag-run") as thread:
        running = thread.submit(copy_context().run, _run_nodes, state, parts)
        running.add_done_callback(lambda _: happened.put(None))
        try:
            while (event := happened.get()) is not None:
                yield event
        finally:
            left.set()
        running.result()
