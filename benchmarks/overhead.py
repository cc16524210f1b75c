"""What the engine, the middleware and the HTTP server add to a run when everything they call answers at once.

python -m benchmarks.overhead [--part engine middleware server start] [--runs 200] [--pairs 100] [--requests 2000]

Part engine. `Engine.ask`, strategy `balanced`, with a library on disk of twelve chunks as long as real ones, and in
place of every model and service a fake of crag/testing/fakes.py, or one of benchmarks/fakes.py. Bare: a LangGraph graph
with the same nodes and edges, whose nodes return one number and write one word to the same stream. The two take turns
within one process, and so does a third way: the engine's own graph over fakes alone, without any library. Which goes
first changes from turn to turn. Every run asks another question, so that no grade is remembered. The other parts are
described in overhead_middleware.py, overhead_server.py and overhead_start.py; each part has a page.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, TypedDict

from langgraph.graph import END, START, StateGraph
from langgraph.runtime import Runtime

from benchmarks import overhead_middleware, overhead_server, overhead_start
from benchmarks.fakes import PATHS, Course, engine_of, parts_of
from benchmarks.pages import load, made_by, ms, p95, parse, publish, table
from crag.core import events as ev
from crag.core.trace import Trace
from crag.engine import Engine
from crag.pipeline.graph import run_graph

GOAL = 0.015
"""Seconds that a run may take longer than the bare graph, at the median."""
WARM_UP = 20
"""Turns that go before those that count."""
PARTS = ("engine", "middleware", "server", "start")


class BareState(TypedDict):
    """The question, and how many nodes have run."""

    question: str
    place: int


FIXED = {
    START: "retrieve",
    "evaluate": "act",
    "rewrite_for_web": "search",
    "search": "refine_pages",
    "refine_pages": "answer",
    "verify": END,
}
CHOSEN = {
    "retrieve": ["evaluate"],
    "act": ["rewrite_for_library", "refine_documents", "rewrite_for_web"],
    "rewrite_for_library": ["retrieve"],
    "refine_documents": ["rewrite_for_web", "answer"],
    "answer": ["verify"],
}
"""Where the engine's graph has conditional edges, so has the bare one."""


def bare_run(question: str, course: Course) -> Iterator[str]:
    """One run of the bare graph; the names of its nodes as they come."""
    yield from _bare().stream({"question": question, "place": 0}, context=course, stream_mode="custom")


@cache
def _bare() -> Any:
    graph: StateGraph[Any, Any, Any, Any] = StateGraph(BareState, context_schema=Course)
    for name in dict.fromkeys(name for course in PATHS.values() for name in course.nodes):
        graph.add_node(name, _bare_node(name))
    for name, following in FIXED.items():
        graph.add_edge(name, following)
    for name, choices in CHOSEN.items():
        graph.add_conditional_edges(name, _next, choices)
    return graph.compile()


def _bare_node(name: str) -> Any:
    def node(state: BareState, runtime: Runtime[Course]) -> dict[str, int]:
        runtime.stream_writer(name)
        return {"place": state["place"] + 1}

    return node


def _next(state: BareState, runtime: Runtime[Course]) -> str:
    return runtime.context.nodes[state["place"]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """Seconds of one run each way, of the steps of two of them, and of storing the engine's run once more.

    `worked`: processor time of all threads.
    """

    ways: dict[str, float]
    worked: dict[str, float]
    steps: dict[str, dict[str, float]]
    fold: float
    save: float
    events: int


def measure(course: Course, runs: int) -> list[Turn]:
    """The counted turns."""
    with tempfile.TemporaryDirectory() as folder:
        engine = engine_of(course, Path(folder))
        turns = [turn(number, course, engine) for number in range(-WARM_UP, runs)]
        engine.close()
    return turns[WARM_UP:]


def turn(number: int, course: Course, engine: Engine) -> Turn:
    """One run each way, beginning with another each time."""
    question = f"How many days did number {number} take in 2019?"
    runs: list[tuple[str, Callable[[], Iterable[Any]]]] = [
        ("engine", lambda: engine.ask(question)),
        ("bare", lambda: bare_run(question, course)),
        ("graph", lambda: run_graph(question, parts_of(course))),
    ]
    shift = number % len(runs)
    seconds, worked, found = {}, {}, {}
    for way, run in runs[shift:] + runs[:shift]:
        began, used = time.perf_counter(), time.process_time()
        found[way] = list(run())
        seconds[way], worked[way] = time.perf_counter() - began, time.process_time() - used
    events = found["engine"]
    check(events)
    fold, save = stored_again(engine, events)
    steps = {way: step_seconds(found[way]) for way in ("engine", "graph")}
    return Turn(ways=seconds, worked=worked, steps=steps, fold=fold, save=save, events=len(events))


def check(events: Iterable[ev.Event]) -> None:
    """Ends the program where a run failed, or did not grade. A second search may rightly remember a grade."""
    for event in events:
        if isinstance(event, ev.Failed):
            raise SystemExit(f"a run failed: {event.cause}")
        if isinstance(event, ev.Graded) and event.grade.cached and not event.round:
            raise SystemExit("a run found a remembered grade")


def stored_again(engine: Engine, events: Sequence[ev.Event]) -> tuple[float, float]:
    """What the engine does when a run has ended, under another name: seconds of the fold and of the write."""
    began = time.perf_counter()
    trace = Trace.from_events(events)
    folded = time.perf_counter()
    engine.library().runs.save(replace(trace, run_id=f"{trace.run_id}-again"), events)
    return folded - began, time.perf_counter() - folded


def step_seconds(events: Iterable[ev.Event]) -> dict[str, float]:
    found: defaultdict[str, float] = defaultdict(float)
    for event in events:
        if isinstance(event, ev.StepFinished):
            found[event.step] += event.seconds
    return found


WAYS = {"engine": "engine", "graph": "its graph alone, over fakes", "bare": "bare graph"}


def shares(turns: Sequence[Turn]) -> dict[str, float]:
    """Where the engine's time goes: medians over the turns, which add up to the engine's own median."""

    def over(*steps: str) -> float:
        return statistics.median(
            sum(each.steps["engine"][step] - each.steps["graph"][step] for step in steps) for each in turns
        )

    whole = statistics.median(each.ways["engine"] for each in turns)
    found = {
        "the bare graph": statistics.median(each.ways["bare"] for each in turns),
        "the engine's nodes and events, over fakes": statistics.median(
            each.ways["graph"] - each.ways["bare"] for each in turns
        ),
        "the library searched": over("retrieve"),
        "grades looked up and kept": over("evaluate", "refine", "verify"),
        "the events folded into a trace": statistics.median(each.fold for each in turns),
        "the run written to the library": statistics.median(each.save for each in turns),
    }
    return {**found, "the rest: parts chosen, events handed on": whole - sum(found.values())}


def report(measured: Mapping[str, Sequence[Turn]], before: float) -> str:
    """The page of part engine."""
    runs = len(next(iter(measured.values())))
    split = {name: shares(turns) for name, turns in measured.items()}
    parts = [[part, *(ms(found[part]) for found in split.values())] for part in next(iter(split.values()))]
    lines = [
        "# What the engine adds to a run",
        "",
        f"{made_by('overhead', before)}: {runs} runs each way and path, in turns and in one process, after {WARM_UP} "
        "that are not counted.",
        "",
        f"Goal: at the median a run takes at most {GOAL * 1000:.0f} ms longer than the bare graph. *Added* is the "
        "engine's time less the bare graph's, turn by turn. Processor time is that of all threads of the process: what "
        "a run costs, however busy the machine is with other work.",
        "",
        table(
            ["path", "way", "median", "p95", "processor time"],
            [row for name, turns in measured.items() for row in rows(name, turns)],
        ),
        "",
        "## Where the engine's time goes",
        "",
        table(["", *split], parts),
    ]
    return "\n".join([*lines, "", NOTES])


def rows(name: str, turns: Sequence[Turn]) -> Iterator[list[str]]:
    """A path's part of the table: each way, then what the engine adds."""
    for way, shown in WAYS.items():
        times = [each.ways[way] for each in turns]
        worked = statistics.median(each.worked[way] for each in turns)
        yield [name, shown, ms(statistics.median(times)), ms(p95(times)), ms(worked)]
    differences = [each.ways["engine"] - each.ways["bare"] for each in turns]
    worked = statistics.median(each.worked["engine"] - each.worked["bare"] for each in turns)
    added = statistics.median(differences)
    verdict = f"**{ms(added)}: {'met' if added <= GOAL else 'missed'}**"
    yield [name, "*added*", verdict, ms(p95(differences)), ms(worked)]


NOTES = """\
The bare graph is LangGraph's, with the engine's nodes, conditional edges and kind of stream, read to its end; the
engine's own is a loop over them. The bare one's state holds the question and a number, and each of its nodes writes one
word; the engine's holds chunks, grades and strips, and every grade and every word of the answer is an event. Its graph
alone works over fakes, and without a library: nothing is searched, remembered or stored.

The engine's time includes the search of the library (SQLite full text and FAISS, twelve chunks), ten chunks of about
600 characters cut into strips, every grade looked up and kept, the check of citations, and the whole run written to the
library; every write is synced to disk. On neither side: loading modules and models, opening the library, networks.
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--part", nargs="+", choices=PARTS, default=list(PARTS))
    parser.add_argument("--runs", type=int, default=200, help="of engine and middleware; at least 30")
    parser.add_argument("--pairs", type=int, default=100, help="requests to the server beside the evaluator alone")
    parser.add_argument("--requests", type=int, default=2_000, help="to the server, after which its memory is read")
    parser.add_argument("--crowd", type=int, default=1_000, help="requests to the server that begin together")
    parser.add_argument("--starts", type=int, default=20, help="of each program in a fresh process; at least 2")
    options = parse(parser, "part")
    if "engine" in options.part:
        before = load()
        measured = {name: measure(course, options.runs) for name, course in PATHS.items()}
        publish("overhead", report(measured, before), folder=options.folder)
    if "middleware" in options.part:
        publish("middleware", overhead_middleware.measured(options.runs), folder=options.folder)
    if "server" in options.part:
        page = overhead_server.measured(options.pairs, options.requests, options.crowd)
        publish("server", page, folder=options.folder)
    if "start" in options.part:
        publish("start", overhead_start.measured(options.starts), folder=options.folder)


if __name__ == "__main__":
    main()
