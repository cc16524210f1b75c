"""A run within another program's graph: nothing of it in that program's checkpoints or streams."""

from __future__ import annotations

from typing import Any

from langgraph.checkpoint.memory import MemorySaver
from langgraph.graph import END, START, MessagesState, StateGraph

from crag.engine import Engine
from tests.support.small_library import fill


def test_a_run_is_no_part_of_the_graph_that_asks(engine: Engine) -> None:
    fill(engine)

    def asks(state: MessagesState) -> dict[str, Any]:
        twice = [engine.answer("How long did hiring take in 2019?") for _ in range(2)]
        return {"messages": [("ai", answer.text) for answer in twice]}

    builder = StateGraph(MessagesState)
    builder.add_node("asks", asks)
    builder.add_edge(START, "asks")
    builder.add_edge("asks", END)
    saver = MemorySaver()
    graph = builder.compile(checkpointer=saver)
    config: Any = {"configurable": {"thread_id": "1"}}
    asked: Any = {"messages": [("user", "hi")]}
    modes: Any = ["values", "custom", "messages"]
    streamed: list[Any] = list(graph.stream(asked, config, stream_mode=modes, subgraphs=True))
    assert {namespace for namespace, _, _ in streamed} == {()}
    assert {mode for _, mode, _ in streamed} <= {"values", "messages"}
    assert {saved.config["configurable"]["checkpoint_ns"] for saved in saver.list(None)} == {""}
    assert len(graph.get_state(config).values["messages"]) == 3
