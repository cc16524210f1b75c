"""Part `middleware` of benchmarks.overhead: what it adds to a call of the engine, and leaves in an agent's history.

Engine: `Engine.trace` that wants evidence, over the library and the fakes of `benchmarks.fakes`. Agent: LangChain's
`create_agent` with the middleware, invoked with the same question; its model answers at once. Bare agent: the same one
without the middleware. All in turns within one process, and which goes first changes from turn to turn. Every run asks
another question, so that no grade is remembered.
"""

from __future__ import annotations

import asyncio
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from operator import itemgetter
from pathlib import Path
from typing import Any

from langchain.agents import create_agent
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.checkpoint.memory import InMemorySaver

from benchmarks.fakes import PATHS, Course, engine_of
from benchmarks.pages import load, made_by, ms, p95, table
from crag.core.protocols import RunRequest
from crag.engine import Engine
from crag.integrations.langchain import CragMiddleware

GOAL = 0.010
"""Seconds that an agent's call with the middleware may take longer than the engine, at the median."""
TURNS = 20
WARM_UP = 20
WAYS = {
    "engine": "the engine alone",
    "agent": "agent with the middleware",
    "async": "the same, awaited",
    "bare": "agent without it",
}


@dataclass(frozen=True, slots=True)
class Turn:
    """Seconds of one call each way; `worked`: processor time of all threads."""

    seconds: dict[str, float]
    worked: dict[str, float]


def model() -> GenericFakeChatModel:
    """Answers at once, always alike."""

    def replies() -> Iterator[AIMessage]:
        while True:
            yield AIMessage("So it was.")

    return GenericFakeChatModel(messages=replies())


def measure(course: Course, runs: int) -> list[Turn]:
    """The counted turns."""
    with tempfile.TemporaryDirectory() as folder, asyncio.Runner() as runner:
        engine = engine_of(course, Path(folder))
        agent = create_agent(model(), middleware=[CragMiddleware(engine)])
        bare = create_agent(model())
        turns = [turn(number, engine, agent, bare, runner) for number in range(-WARM_UP, runs)]
        engine.close()
    return turns[WARM_UP:]


def turn(number: int, engine: Engine, agent: Any, bare: Any, runner: asyncio.Runner) -> Turn:
    """One call each way, beginning with another each time. Ends the program where a run failed."""

    def asked(way: str) -> dict[str, Any]:
        return {"messages": [HumanMessage(f"How many days did number {number} take {way} in 2019?")]}

    ways: list[tuple[str, Callable[[], Any]]] = [
        ("engine", lambda: engine.trace(RunRequest(asked("alone")["messages"][0].text, wanted="evidence"))),
        ("agent", lambda: agent.invoke(asked("within"))),
        ("async", lambda: runner.run(agent.ainvoke(asked("awaited")))),
        ("bare", lambda: bare.invoke(asked("bare"))),
    ]
    shift = number % len(ways)
    seconds, worked = dict[str, float](), dict[str, float]()
    for way, call in ways[shift:] + ways[:shift]:
        began, used = time.perf_counter(), time.process_time()
        found = call()
        seconds[way], worked[way] = time.perf_counter() - began, time.process_time() - used
        if way in ("agent", "async") and (found["crag"]["problem"] or not found["crag"]["sources"]):
            raise SystemExit(f"a run failed: {found['crag']}")
    return Turn(seconds, worked)


def history(course: Course, turns: int = TURNS) -> dict[str, int | bool]:
    """An agent's thread of so many turns, beside that of an agent without the middleware.

    `equal`: each turn began with the messages that the one before had left, and added its own two alone; at the end
    both threads say the same. `held`: checkpoints in which a text of the library or the web stands.
    """
    thread: Any = {"configurable": {"thread_id": "1"}}
    with tempfile.TemporaryDirectory() as folder:
        engine = engine_of(course, Path(folder))
        saver = InMemorySaver()
        agent: Any = create_agent(model(), middleware=[CragMiddleware(engine)], checkpointer=saver)
        bare: Any = create_agent(model(), checkpointer=InMemorySaver())
        equal, before = True, list[Any]()
        for number in range(turns):
            question = {"messages": [HumanMessage(f"How many days did number {number} take in 2019?")]}
            after = agent.invoke(question, thread)["messages"]
            said = [(each.type, each.content) for each in bare.invoke(question, thread)["messages"]]
            equal &= after[: len(before)] == before and len(after) == len(before) + 2
            equal &= [(each.type, each.content) for each in after] == said
            before = after
        stored = list(saver.list(thread))
        held = sum(1 for each in stored if "took" in str(each) or "online" in str(each))
        runs = len(engine.library().runs.latest())
        engine.close()
    return {"turns": turns, "equal": equal, "runs": runs, "checkpoints": len(stored), "held": held}


def measured(runs: int) -> str:
    """The page."""
    before = load()
    turns = {name: measure(course, runs) for name, course in PATHS.items()}
    kept = history(PATHS["CORRECT"])
    equal = "equal but for the agent's own messages" if kept["equal"] else "NOT equal"
    return "\n".join(
        [
            "# What the middleware adds to a call of the engine",
            "",
            f"{made_by('overhead --part middleware', before)}: {runs} calls each way and path, in turns and in one "
            f"process, after {WARM_UP} that are not counted.",
            "",
            f"Goal: at the median a call of the agent takes at most {GOAL * 1000:.0f} ms longer than `Engine.trace` of "
            "such a question. *Added* is the agent's time less the engine's, turn by turn: LangChain's agent and the "
            "call of its model are in it. *The middleware alone* is what remains of that less the bare agent's time. "
            "Processor time is that of all threads: what a call costs, however busy the machine is with other work.",
            "",
            table(
                ["path", "way", "median", "p95", "processor time"],
                [row for name, each in turns.items() for row in rows(name, each)],
            ),
            "",
            "## The history",
            "",
            table(
                [
                    f"history before and after {kept['turns']} agent turns",
                    "runs stored",
                    "checkpoints",
                    "of them with text of a source",
                ],
                [
                    [
                        f"{equal}, the same as without the middleware",
                        *(kept[each] for each in ("runs", "checkpoints", "held")),
                    ]
                ],
            ),
        ]
    )


def rows(name: str, turns: Sequence[Turn]) -> list[list[str]]:
    """A path's part of the table: each way, then what is added."""

    def row(shown: str, of: Callable[[dict[str, float]], float], goal: bool = False) -> list[str]:
        times, worked = [of(each.seconds) for each in turns], [of(each.worked) for each in turns]
        said = verdict if goal else ms
        return [name, shown, said(statistics.median(times)), ms(p95(times)), said(statistics.median(worked))]

    return [
        *(row(shown, itemgetter(way)) for way, shown in WAYS.items()),
        row("*added*", lambda each: each["agent"] - each["engine"], goal=True),
        row("*added, awaited*", lambda each: each["async"] - each["engine"], goal=True),
        row("*the middleware alone*", lambda each: each["agent"] - each["engine"] - each["bare"]),
    ]


def verdict(seconds: float) -> str:
    return f"**{ms(seconds)}: {'met' if seconds <= GOAL else 'missed'}**"
