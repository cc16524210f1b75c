"""What becomes of a run whose agent is stopped."""

import asyncio
import threading
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import HumanMessage

from crag.core.types import RetrievedChunk
from crag.engine import Engine
from crag.integrations.langchain import CragMiddleware, crag_tool
from tests.support.told_model import calling, told_model

QUESTION = "How long did hiring take in 2019?"
GIVEN: Any = {"messages": [HumanMessage(QUESTION)]}


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
