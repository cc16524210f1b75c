"""What the engine adds to a run when everything it calls answers at once, beside a bare LangGraph graph.

python -m benchmarks.overhead [--runs 200] [--warm-up 20]

Engine: `Engine.ask`, strategy `balanced`, with a library on disk of twelve chunks as long as real ones, and in place of
every model and service a fake of crag/testing/fakes.py, or one of the same kind below. Bare: a LangGraph graph with the
same nodes and edges, whose nodes return one number and write one word to the same stream. The two take turns within
one process, and so does a third way: the engine's own graph over fakes alone, without any library. Which goes first
changes from turn to turn. Every run asks another question, so that no grade is remembered.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import platform
import statistics
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, TypedDict

import numpy as np
from langgraph.graph import END, START, StateGraph
from langgraph.runtime import Runtime
from numpy.typing import NDArray

from crag.core import events as ev
from crag.core.config import AppConfig
from crag.core.settings import Settings
from crag.core.strategies import strategy
from crag.core.trace import Trace
from crag.core.types import Answer, Chunk, Citation, Document, LineBox, Rect, Strip, WebPage
from crag.engine import Engine
from crag.generation.verification import CitationVerifier
from crag.pipeline.context import EventEmitter, RunContext
from crag.pipeline.fallback import FallbackWeb
from crag.pipeline.graph import run_graph
from crag.runtime.usage import UsageTracker
from crag.testing.fakes import FixedRetriever, FixedWeb, ScriptedEvaluator, chunk_of

RESULT = Path(__file__).resolve().parent / "results" / "overhead.md"
GOAL = 0.020
"""Seconds that a run may take longer than the bare graph, at the median."""
SETTINGS = strategy("balanced").settings
SUBJECTS = "hiring retirement audits surveys training travel leave health records energy fleet security".split()
TEXTS = [
    " ".join(
        f"Part {part} of the chapter on {subject} begins with the year before that. "
        f"It took {40 + place + part} days on average in 2019."
        for part in range(6)
    )
    for place, subject in enumerate(SUBJECTS)
]
LINE = 80
"""Characters of a line; each has its rectangle on the page, as in a real library."""
PAGES = [f"Page {page} was found online in 2019. The second sentence was found online too." for page in range(3)]
BEFORE, AFTER = ("retrieve", "evaluate", "act"), ("answer", "verify")
ONLINE = ("rewrite_for_web", "search", "refine_pages")


@dataclass(frozen=True, slots=True, kw_only=True)
class Course:
    """One way through the graph: the score that every chunk gets, and the nodes that follow from it."""

    score: float
    nodes: tuple[str, ...]

    def of(self, text: str) -> float:
        """A web page is always good."""
        return 0.9 if "online" in text else self.score


PATHS = {
    "CORRECT": Course(score=0.9, nodes=(*BEFORE, "refine_documents", *AFTER)),
    "AMBIGUOUS, web": Course(score=0.3, nodes=(*BEFORE, "refine_documents", *ONLINE, *AFTER)),
    "INCORRECT, loop and web": Course(score=0.05, nodes=(*BEFORE, "rewrite_for_library", *BEFORE, *ONLINE, *AFTER)),
}


# ---- the fakes -----------------------------------------------------------------------------------------------------


class HashEmbedder:
    """A text's vector is drawn from its hash."""

    id, dimension = "hash-1", 48

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        digests = [hashlib.sha384(text.encode()).digest() for text in texts]
        rows = np.array([list(digest) for digest in digests], np.float32).reshape(len(texts), self.dimension) - 127.5
        return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), np.float32)


class AddedWord:
    """Rewrites a question by adding one word to it."""

    by = "fake"

    def rewrite(
        self, question: str, *, max_keywords: int, failed: Sequence[Chunk] = (), tried: Sequence[str] = ()
    ) -> str:
        return f"{question} {'again' if failed else 'online'}"


class FirstStrip:
    """Quotes the first strip, word by word, with its citation."""

    by = "fake"

    def answer(
        self, question: str, knowledge: Sequence[Strip], sources: dict[str, Chunk | WebPage], settings: Settings
    ) -> Iterator[str | Answer]:
        strip = knowledge[0]
        text = f"{strip.text[:-1]} [1]."
        yield from (f"{word} " for word in text.split())
        cited = Citation(
            number=1,
            strip_id=strip.id,
            source_id=strip.source_id,
            origin=strip.origin,
            source="report.pdf",
            quote=strip.text,
        )
        yield Answer(text=text, by=self.by, citations=(cited,))


# ---- the three ways ------------------------------------------------------------------------------------------------


def engine_of(course: Course, data: Path) -> Engine:
    """An engine with fakes for models and services, over a real library of twelve chunks in `data`."""
    engine = Engine(
        AppConfig.of(data=data, all_questions_minute=0),  # a fast machine asks more than 600
        embedder=HashEmbedder(),
        evaluator=ScriptedEvaluator(score=course.of),
        web=FixedWeb(texts=PAGES),
        rewriter=AddedWord(),
        generator=FirstStrip(),
    )
    chunks = _chunks()
    document = Document(
        id="report.pdf",
        name="report.pdf",
        title="Report",
        size=3,
        pages=len(chunks),
        chunks=len(chunks),
        added_at="2026-01-01T00:00:00+00:00",
        model=HashEmbedder.id,
    )
    vectors = engine.embedder.embed([chunk.indexed_text for chunk in chunks])
    engine.library().documents.add(document, b"pdf", chunks, vectors)
    return engine


def parts_of(course: Course) -> RunContext:
    """What the engine's graph works with where there is no library, and nothing remembers grades."""
    evaluator, emitter, meter = ScriptedEvaluator(score=course.of), EventEmitter(), UsageTracker()
    return RunContext(
        settings=SETTINGS,
        retriever=FixedRetriever(chunks=_chunks()),
        evaluator=evaluator,
        rewriter=AddedWord(),
        web=FallbackWeb([FixedWeb(texts=PAGES)], emitter, meter),
        generator=FirstStrip(),
        verifier=CitationVerifier(evaluator),
        meter=meter,
        emitter=emitter,
    )


@cache
def _chunks() -> tuple[Chunk, ...]:
    chunks = (chunk_of(text, name="report.pdf", page=page) for page, text in enumerate(TEXTS, start=1))
    return tuple(replace(chunk, lines=_lines(chunk)) for chunk in chunks)


def _lines(chunk: Chunk) -> tuple[LineBox, ...]:
    starts = range(0, len(chunk.text), LINE)
    return tuple(
        LineBox(
            start=start,
            end=min(start + LINE, len(chunk.text)),
            rect=Rect(page=chunk.page, left=72, top=72 + 14 * line, right=540, bottom=84 + 14 * line),
        )
        for line, start in enumerate(starts)
    )


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


# ---- the measurement -----------------------------------------------------------------------------------------------


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


def measure(course: Course, runs: int, warm_up: int) -> list[Turn]:
    """The counted turns; `warm_up` more go before them."""
    with tempfile.TemporaryDirectory() as folder:
        engine = engine_of(course, Path(folder))
        turns = [turn(number, course, engine) for number in range(-warm_up, runs)]
        engine.close()
    return turns[warm_up:]


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


# ---- the figures ---------------------------------------------------------------------------------------------------

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


def report(measured: Mapping[str, Sequence[Turn]], load: tuple[float, float], warm_up: int) -> str:
    """The page of results. `load`: of the machine, before and after."""
    runs = len(next(iter(measured.values())))
    lines = [
        "# What the engine adds to a run",
        "",
        f"`python -m benchmarks.overhead`: {runs} runs each way and path, in turns and in one process, after {warm_up} "
        f"that are not counted; {os.cpu_count()} cores, Python {platform.python_version()}. Load of the machine when "
        f"it began {load[0]:.1f}, when it ended {load[1]:.1f}.",
        "",
        f"Goal: at the median a run takes at most {GOAL * 1000:.0f} ms longer than the bare graph. *Added* is the "
        "engine's time less the bare graph's, turn by turn. Processor time is that of all threads of the process: what "
        "a run costs, however busy the machine is with other work.",
        "",
        "| path | way | median | p95 | processor time |",
        "|---|---|---:|---:|---:|",
    ]
    for name, turns in measured.items():
        lines += rows(name, turns)
    split = {name: shares(turns) for name, turns in measured.items()}
    lines += ["", "## Where the engine's time goes", "", f"| | {' | '.join(split)} |", f"|---|{'---:|' * len(split)}"]
    for part in next(iter(split.values())):
        lines.append(f"| {part} | {' | '.join(ms(found[part]) for found in split.values())} |")
    return "\n".join([*lines, "", NOTES])


def rows(name: str, turns: Sequence[Turn]) -> list[str]:
    """A path's part of the table: each way, then what the engine adds."""
    differences = [each.ways["engine"] - each.ways["bare"] for each in turns]
    lines = []
    for way, shown in WAYS.items():
        times = [each.ways[way] for each in turns]
        worked = statistics.median(each.worked[way] for each in turns)
        lines.append(f"| {name} | {shown} | {ms(statistics.median(times))} | {ms(p95(times))} | {ms(worked)} |")
    worked = statistics.median(each.worked["engine"] - each.worked["bare"] for each in turns)
    added = statistics.median(differences)
    verdict = f"{ms(added)}: {'met' if added <= GOAL else 'missed'}"
    return [*lines, f"| {name} | *added* | **{verdict}** | {ms(p95(differences))} | {ms(worked)} |"]


NOTES = """\
Both graphs are LangGraph's, with the same nodes, the same conditional edges and the same kind of stream, read to its
end. The bare one's state holds the question and a number, and each of its nodes writes one word; the engine's holds
chunks, grades and strips, and every grade and every word of the answer is an event. Its graph alone works over
fakes, and without a library: nothing is searched, remembered or stored.

The engine's time includes the search of the library (SQLite full text and FAISS, twelve chunks), ten chunks of about
600 characters cut into strips, every grade looked up and kept, the check of citations, and the whole run written to the
library; every write is synced to disk. On neither side: loading modules and models, opening the library, networks.
"""


def ms(seconds: float) -> str:
    return f"{seconds * 1000:.1f} ms"


def p95(values: Sequence[float]) -> float:
    return statistics.quantiles(values, n=20)[-1]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--warm-up", type=int, default=20)
    options = parser.parse_args()
    if options.runs < 30:
        raise SystemExit(f"only {options.runs} runs: a median wants at least 30")
    before = os.getloadavg()[0]
    measured = {name: measure(course, options.runs, options.warm_up) for name, course in PATHS.items()}
    text = report(measured, (before, os.getloadavg()[0]), options.warm_up)
    RESULT.parent.mkdir(exist_ok=True)
    RESULT.write_text(text, encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
