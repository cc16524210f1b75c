"""What an agent's callbacks hear of a retrieval, and what becomes of one whose agent is stopped."""

import asyncio
import threading
from collections.abc import Sequence
from typing import Any
from uuid import UUID

import pytest
from langchain.agents import create_agent
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.documents import Document
from langchain_core.messages import HumanMessage

from crag.core.errors import EmptyLibraryError
from crag.core.types import RetrievedChunk
from crag.engine import Engine
from crag.integrations.langchain import CragMiddleware, crag_tool
from tests.support.told_model import calling, told_model

QUESTION = "How long did hiring take in 2019?"
GIVEN: Any = {"messages": [HumanMessage(QUESTION)]}


class Heard(BaseCallbackHandler):
    """What is told of chains and retrievers."""

    def __init__(self) -> None:
        self.names: dict[UUID, str] = {}
        self.asked: list[tuple[str, str, UUID | None]] = []
        self.found: list[Sequence[Document]] = []
        self.errors: list[BaseException] = []

    def on_chain_start(self, serialized: Any, inputs: Any, *, run_id: UUID, **more: Any) -> None:
        self.names[run_id] = str(more.get("name"))

    def on_tool_start(self, serialized: Any, input_str: str, *, run_id: UUID, **more: Any) -> None:
        self.names[run_id] = str(serialized["name"])

    def on_retriever_start(
        self, serialized: Any, query: str, *, run_id: UUID, parent_run_id: UUID | None = None, **more: Any
    ) -> None:
        self.asked.append((str(more.get("name")), query, parent_run_id))

    def on_retriever_end(self, documents: Sequence[Document], **more: Any) -> None:
        self.found.append(documents)

    def on_retriever_error(self, error: BaseException, **more: Any) -> None:
        self.errors.append(error)

    @property
    def parents(self) -> list[str]:
        return [self.names[parent] for _, _, parent in self.asked if parent]


@pytest.mark.parametrize("asynchronous", [False, True])
def test_a_retrieval_is_a_retriever_s_run_in_the_agent_s_trace(engine: Engine, asynchronous: bool) -> None:
    def state_of(agent: Any) -> tuple[Any, Heard]:
        heard = Heard()
        how: Any = {"callbacks": [heard]}
        return asyncio.run(agent.ainvoke(GIVEN, how)) if asynchronous else agent.invoke(GIVEN, how), heard

    state, heard = state_of(create_agent(told_model(), middleware=[CragMiddleware(engine, workspace="acme")]))
    assert [(name, query) for name, query, _ in heard.asked] == [("crag", QUESTION)]
    assert heard.parents == ["CragMiddleware.before_model"]
    (documents,) = heard.found
    assert {each.metadata["chunk_id"] for each in documents} == {each["source_id"] for each in state["crag"]["sources"]}
    assert {each.metadata["action"] for each in documents} == {"CORRECT"}
    assert any("eighty" in each.page_content for each in documents) and not heard.errors
    assert not {"retrieve", "evaluate"} & set(heard.names.values()), "a run's own steps are in the agent's trace"

    _, heard = state_of(create_agent(told_model(), middleware=[CragMiddleware(engine)]))
    assert [type(each) for each in heard.errors] == [EmptyLibraryError] and not heard.found

    model = told_model([calling("ask_documents", question=QUESTION)])
    _, heard = state_of(create_agent(model, tools=[crag_tool(engine, workspace="acme")]))
    assert heard.parents == ["ask_documents"] and len(heard.found) == 1


class Waiting:
    """A retriever that waits until it may go on."""

    def __init__(self) -> None:
        self.entered, self.go = threading.Event(), threading.Event()

    def search(self, query: str, k: int) -> list[RetrievedChunk]:
        self.entered.set()
        assert self.go.wait(30)
        return []


@pytest.mark.parametrize("way", ["middleware", "tool"])
def test_who_stops_an_agent_stops_its_run_which_is_stored(engine: Engine, way: str) -> None:
    waiting = Waiting()
    if way == "middleware":
        agent: Any = create_agent(
            told_model(), middleware=[CragMiddleware(engine, workspace="acme", retriever=waiting)]
        )
    else:
        model = told_model([calling("ask_documents", question=QUESTION)])
        agent = create_agent(model, tools=[crag_tool(engine, workspace="acme", retriever=waiting)])

    async def stopped() -> None:
        task = asyncio.create_task(agent.ainvoke(GIVEN))
        assert await asyncio.to_thread(waiting.entered.wait, 30)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(stopped())
    working = [thread for thread in threading.enumerate() if thread.name == "run-job"]
    waiting.go.set()
    for thread in working:
        thread.join(30)
    (run,) = engine.library("acme").runs.latest()
    assert engine.library("acme").runs.trace(run.run_id).cancelled
