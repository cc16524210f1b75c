"""What Monitor costs: storing a run with its figures, and the page's own work over ten thousand runs.

python -m benchmarks.monitor [--runs N] [--out FOLDER]

A library of N made runs in a scratch folder. Saving: each run with and without its figures, in turns. Reading: all
figures for the first time, again with nothing new, again with one new run. The page: everything it draws worked out for
each span after a change of filter, which a rerun without one takes from memory. Old runs: their figures made from their
records. Medians; the machine and its load are on the page. Writes results/monitor.md for 10,000, or where --out says.
"""

from __future__ import annotations

import argparse
import os
import platform
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from sqlalchemy import insert

from crag.analysis.monitoring.figures import Choice
from crag.analysis.monitoring.reading import RunFactsCache
from crag.core.runfacts import RunFacts
from crag.core.strategies import STRATEGIES
from crag.core.trace import Round, StepRecord, Trace
from crag.core.types import Grade, RetrievedChunk
from crag.evaluation.trigger import decide
from crag.models.runtime import E5
from crag.providers.prices import PRICES
from crag.storage import runs as stored_runs
from crag.storage.library import Library
from crag.storage.tables import runs
from crag.testing.fakes import chunk_of
from ui.monitor import stored, tables

RESULTS = Path(__file__).resolve().parent / "results"
RUNS = 10_000
TAKEN = 60
"""Runs stored with and without figures."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("--runs", type=int, default=RUNS)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    load = os.getloadavg()[0]
    random, now = np.random.default_rng(18), datetime.now(UTC)
    with tempfile.TemporaryDirectory() as folder, Library(Path(folder), E5()) as library:
        fill(library, options.runs - 2 * TAKEN, now, random)
        with_them, without = saved(library, options.runs, now, random)
        read = partial(RunFactsCache().read, library.facts, PRICES)
        rows = [
            ("storing a run", median(with_them)),
            ("storing a run without its figures", median(without)),
            ("reading all figures for the first time", timed(read)),
            ("reading them again, nothing new", median(timed(read) for _ in range(9))),
        ]
        fresh = []
        for number in range(9):
            library.runs.save(made(options.runs + 2 * TAKEN + number, now, random), [])
            fresh.append(timed(read))
        rows.append(("reading them again, one run new", median(fresh)))
        for span in ("day", "week", "month", "all"):
            draw = partial(figures, read().runs, Choice(span=span), now)  # type: ignore[arg-type]
            rows.append((f"all that the page draws of the span {span}", median(timed(draw) for _ in range(3))))
    page = "\n".join(
        [
            "# What Monitor costs",
            "",
            f"Made by `python -m benchmarks.monitor`: {options.runs:,} made runs of eleven graded chunks; "
            f"{platform.machine()}, {os.cpu_count()} cores, load {load:.1f} when it began. Milliseconds, medians.",
            "",
            "| what | ms |",
            "|---|---:|",
            *(f"| {what} | {1000 * seconds:.1f} |" for what, seconds in rows),
            "",
        ]
    )
    print(page)
    out = options.out or (RESULTS if options.runs >= RUNS else None)
    if out is not None:
        (out / "monitor.md").write_text(page, encoding="utf-8")
    return 0


def fill(library: Library, count: int, now: datetime, random: np.random.Generator) -> None:
    """Store `count` runs with their figures, 500 in one transaction."""
    for start in range(0, count, 500):
        traces = [made(number, now, random) for number in range(start, min(count, start + 500))]
        rows = [
            {
                "id": trace.run_id,
                "question": trace.question,
                "strategy": trace.strategy,
                "action": trace.action.value if trace.action else "",
                "started_at": trace.started_at,
                "seconds": trace.seconds,
                "trace": trace.to_json(),
                "events": "",
            }
            for trace in traces
        ]
        with library._database.write() as connection:
            numbers = connection.scalars(insert(runs).returning(runs.c.number, sort_by_parameter_order=True), rows)
            for number, trace in zip(numbers.all(), traces, strict=True):
                stored_runs.note_facts(connection, number, trace)


def figures(runs: Sequence[RunFacts], choice: Choice, now: datetime) -> None:
    """Work out the figures of the page's tables, which are those of its charts too."""
    for kind, groups in stored._board.__wrapped__(runs, (), choice, (), now).found.groups.items():
        tables.of_groups(groups.values(), kind, "", str)


def timed(work: Callable[[], Any]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def saved(library: Library, first: int, now: datetime, random: np.random.Generator) -> tuple[list[float], list[float]]:
    """Seconds of each saving, with figures and without, in turns."""
    whole, bare = [], []
    note: Callable[..., None] = stored_runs.note_facts
    for number in range(TAKEN):
        for at, found in ((0, whole), (1, bare)):
            run = made(first + 2 * number + at, now, random)
            stored_runs.note_facts = note if at == 0 else lambda *_: None
            found.append(timed(lambda: library.runs.save(run, [])))  # noqa: B023
    stored_runs.note_facts = note
    return whole, bare


def made(number: int, now: datetime, random: np.random.Generator) -> Trace:
    """A run of the last sixty days with eleven graded chunks, under one of two strategies."""
    strategy = "paper" if number % 4 == 0 else "balanced"
    settings = STRATEGIES[strategy].settings
    grades = {
        each.chunk.id: Grade(passage_id=each.chunk.id, score=float(random.beta(2, 3)), evaluator="local-1", error=None)
        for each in _CHUNKS
    }
    decision = decide(
        list(grades.values()), upper=settings.upper, lower=settings.lower, aggregation=settings.aggregation
    )
    steps = [
        StepRecord(step=step, round=0, started=0.0, seconds=float(random.gamma(2, 0.05)))
        for step in ("retrieve", "evaluate", "act", "refine", "answer", "verify")
    ]
    at = now - timedelta(days=60 * float(random.random()))
    trace = Trace(run_id=f"{number:032x}", question="What?", strategy=strategy, workspace="default", finished=True)
    return replace(
        trace,
        settings=settings.model_dump(mode="json"),
        started_at=at.isoformat(timespec="milliseconds"),
        steps=tuple(steps),
        rounds=(Round(query="What?", chunks=_CHUNKS, grades=grades, decision=decision),),
        seconds=float(random.gamma(2, 0.2)),
        faithfulness=1.0,
    )


_CHUNKS = tuple(
    RetrievedChunk(chunk=chunk_of(f"Text {rank}. " * 60, name="report.pdf", page=rank), rank=rank, similarity=1 / rank)
    for rank in range(1, 12)
)


if __name__ == "__main__":
    sys.exit(main())
