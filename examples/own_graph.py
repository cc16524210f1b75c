"""A LangGraph of one's own from the engine's parts: what no document answers goes to a colleague in place of the web.

python -m examples.own_graph [QUESTION …]
"""

import sys
from typing import Literal, TypedDict

from langgraph.graph import START, StateGraph

from crag import Engine
from crag.core.types import Action, Aggregation, Decision, RetrievedChunk
from crag.evaluation.trigger import decide

engine = Engine()


class State(TypedDict, total=False):
    question: str
    query: str
    found: list[RetrievedChunk]
    decision: Decision
    answer: str


def retrieve(state: State) -> State:
    return {"found": engine.library("examples").search(state.get("query", state["question"]), 5)}


def evaluate(state: State) -> State:
    grades = list(engine.grade(state["question"], [each.chunk.graded_text() for each in state["found"]]))
    return {"decision": decide(grades, upper=0.5, lower=0.2, aggregation=Aggregation.ANY)}


def rewrite(state: State) -> State:
    return {"query": engine.rewriter.rewrite(state["question"], max_keywords=8, tried=[state["question"]])}


def quote(state: State) -> State:
    best = state["found"][int(state["decision"].deciding_id or 0)].chunk
    return {"answer": f"{best.source}, page {best.page}: {' '.join(best.text.split())[:200]} …"}


def route(state: State) -> Literal["quote", "rewrite", "__end__"]:
    if state["decision"].action is Action.CORRECT:
        return "quote"
    return "__end__" if "query" in state else "rewrite"


graph = StateGraph(State).add_sequence([retrieve, evaluate]).add_node(rewrite).add_node(quote)
graph.add_edge(START, "retrieve").add_edge("rewrite", "retrieve").add_conditional_edges("evaluate", route)
agent = graph.compile()

sample = engine.sample()
engine.add(sample.pdf, workspace="examples")
for question in sys.argv[1:] or [each.question for each in sample.questions]:
    ended = agent.invoke({"question": question})
    print(f"{question}\n  {ended['decision'].action}: {ended.get('answer', 'a colleague is asked')}\n")
engine.close()
