"""The LangGraph of a run: thin nodes around `steps`, edges as a table.

(contextualize →) retrieve, where the question follows on others, or is not read as it was typed
retrieve → answer, where the question is about a whole document
retrieve → evaluate → act ─┬→ rewrite_for_library → retrieve     (corrective loop)
                           ├→ refine_documents ─┬→ answer → verify
                           └→ rewrite_for_web ←─┘
                              rewrite_for_web → search → refine_pages → answer

Where only evidence is wanted, the run ends in place of answer.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from contextvars import copy_context
from functools import cache
from typing import Any, Literal, cast

from langchain_core.runnables.config import var_child_runnable_config
from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.runtime import Runtime

from crag.core import events as ev
from crag.core.policy import loops, refines, searches_web, uses_documents
from crag.core.types import Action, Exchange, Step
from crag.pipeline import steps
from crag.pipeline.context import RunContext, State

Work = Callable[[State, RunContext], State]

NODES: dict[str, tuple[Step, Work]] = {
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


def at_first(state: State, runtime: Runtime[RunContext]) -> Literal["contextualize", "retrieve"]:
    if state["history"] or state["standalone"]:
        return "contextualize"
    asked = state["question"]
    return "contextualize" if runtime.context.read(asked).question != asked else "retrieve"


def after_retrieve(state: State, runtime: Runtime[RunContext]) -> Literal["evaluate", "refine_documents", "answer"]:
    if "whole" in state:
        return "answer"
    return "refine_documents" if runtime.context.settings.evaluator == "none" else "evaluate"


def after_act(
    state: State, runtime: Runtime[RunContext]
) -> Literal["rewrite_for_library", "refine_documents", "rewrite_for_web", "answer", "__end__"]:
    settings, decision = runtime.context.settings, state["decision"]
    assert decision is not None
    settled = decision.instead_of is not None or decision.doubt > 0
    if not settled and loops(decision.action, round=state["round"], settings=settings):
        return "rewrite_for_library"
    return "refine_documents" if uses_documents(decision.action, settings) else _web_or_answer(state, runtime)


def after_library_rewrite(
    state: State, runtime: Runtime[RunContext]
) -> Literal["retrieve", "refine_documents", "rewrite_for_web", "answer", "__end__"]:
    """A query that was asked before would bring the same chunks: the loop ends."""
    *before, query = state["tried"]
    if query not in before:
        return "retrieve"
    return (
        "refine_documents"
        if uses_documents(_action(state), runtime.context.settings)
        else _web_or_answer(state, runtime)
    )


def _web_or_answer(state: State, runtime: Runtime[RunContext]) -> Literal["rewrite_for_web", "answer", "__end__"]:
    parts = runtime.context
    wanted = searches_web(_action(state), parts.settings)
    return "rewrite_for_web" if wanted and parts.web is not None else _answer_or_end(state, runtime)


def _answer_or_end(state: State, runtime: Runtime[RunContext]) -> Literal["answer", "__end__"]:
    return "answer" if runtime.context.wanted == "answer" else "__end__"


def after_answer(state: State, runtime: Runtime[RunContext]) -> Literal["verify", "__end__"]:
    answer = state["answer"]
    checkable = runtime.context.settings.verify and not answer.abstained and answer.by != "outline"
    return "verify" if checkable else "__end__"


def _action(state: State) -> Action | None:
    decision = state.get("decision")
    return decision.action if decision else None


@cache
def _graph() -> CompiledStateGraph[State, RunContext, State, State]:
    graph: StateGraph[State, RunContext, State, State] = StateGraph(State, context_schema=RunContext)
    for name, (step, work) in NODES.items():
        graph.add_node(name, cast(Any, _node(step, work)))
    graph.add_conditional_edges(START, at_first)
    graph.add_edge("contextualize", "retrieve")
    graph.add_conditional_edges("retrieve", after_retrieve)
    graph.add_edge("evaluate", "act")
    graph.add_conditional_edges("act", after_act)
    graph.add_conditional_edges("rewrite_for_library", after_library_rewrite)
    graph.add_conditional_edges("refine_documents", _web_or_answer)
    graph.add_edge("rewrite_for_web", "search")
    graph.add_edge("search", "refine_pages")
    graph.add_conditional_edges("refine_pages", _answer_or_end)
    graph.add_conditional_edges("answer", after_answer)
    graph.add_edge("verify", END)
    return graph.compile()


def _node(step: Step, work: Work) -> Callable[[State, Runtime[RunContext]], State]:
    """A node that says when its step begins and ends, and stops where the person pressed Stop."""

    def node(state: State, runtime: Runtime[RunContext]) -> State:
        parts = runtime.context
        parts.emitter.listener = runtime.stream_writer
        parts.check()
        shown = _shown(step, state, parts)
        started, round, waited = parts.now(), state["round"], parts.meter.waited
        if shown:
            parts.emit(ev.StepStarted(step=step, round=round, at=started))
        parts.meter.step = step
        try:
            changes = work(state, parts)
        finally:
            parts.emitter.emit_pending()
        if shown:
            ended = parts.now()
            calls = _calls(step, changes, parts)
            seconds = ended - started - (parts.meter.waited - waited)
            parts.emit(ev.StepFinished(step=step, round=round, seconds=seconds, calls=calls, at=ended))
        return changes

    return node


def _shown(step: Step, state: State, parts: RunContext) -> bool:
    """Taking chunks or pages as they are is no refinement, and is not shown as one."""
    if step != "refine":
        return True
    if "pages" in state:
        return parts.settings.refine_web and bool(state["pages"])
    return refines(_action(state), parts.settings)


def _calls(step: Step, changes: State, parts: RunContext) -> int:
    """Model calls that the step cost: grades that an evaluator did not have in its cache."""
    if step != "evaluate" or not parts.evaluator.calls_models:
        return 0
    made = [*changes.get("grades", {}).values(), *([changes["joint"]] if changes.get("joint") else [])]
    return sum(1 for grade in made if grade is not None and not grade.cached)


def run_graph(
    question: str, parts: RunContext, history: Sequence[Exchange] = (), standalone: str = ""
) -> Iterator[ev.Event]:
    """Runs one question and yields its events as they happen. Raises what a step raises.

    `history`: the exchanges that it follows on, oldest first; `standalone`: what is to be asked in its place. Within
    another program's graph it is no part of that: its state gets into no checkpoint there, and nothing into its stream.
    """
    start: State = {"question": question, "history": tuple(history), "standalone": standalone, "round": 0}
    start |= {"query": question, "tried": (question,)}
    apart = copy_context()
    apart.run(var_child_runnable_config.set, None)
    stream = iter(_graph().stream(start, context=parts, stream_mode="custom"))
    try:
        while (event := apart.run(next, stream, None)) is not None:
            yield cast(ev.Event, event)
    finally:
        if isinstance(stream, Generator):
            apart.run(stream.close)
