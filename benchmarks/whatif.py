"""How long it takes to re-decide a workspace's stored runs when a slider moves, all at once and one by one.

python -m benchmarks.whatif [--runs 1000] [--moves 200]

The runs are made by the product's graph over fakes: ten chunks and five web pages as long as real ones, cut into strips
by the product, with drawn scores in place of a model. A move is what a slider does on Tune: one of upper, lower,
aggregation, k and strip filter takes another value. Each move is timed on the ledger; every tenth also on
`whatif.redecide` in a loop, the two in turns within one process, and must come out the same run by run.
"""

from __future__ import annotations

import argparse
import os
import platform
import random
import statistics
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TypeVar

from benchmarks.overhead import PATHS as COURSES
from benchmarks.overhead import SETTINGS, TEXTS, ms, p95, parts_of
from crag.analysis.whatif.entries import Entry, Outcome
from crag.analysis.whatif.replay_plan import StoredDecisions
from crag.analysis.whatif.whatif import WhatIf, redecide
from crag.core import events as ev
from crag.core.settings import Settings
from crag.core.trace import Trace
from crag.core.types import Aggregation
from crag.generation.extractive import ExtractiveGenerator
from crag.generation.verification import CitationVerifier
from crag.pipeline.fallback import FallbackWeb
from crag.pipeline.graph import run_graph
from crag.testing.fakes import FixedWeb, ScriptedEvaluator

RESULT = Path(__file__).resolve().parent / "results" / "whatif.md"
GOAL = 0.050
"""Seconds of one move at the median, of the 0.150 that Tune has for it."""
EACH = 10
"""Every so many moves are also made one by one."""
PAGES = [f"{text} It was found online." * 3 for text in TEXTS[:5]]
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Took:
    """Seconds by the clock and of the processor."""

    clock: float
    processor: float


def timed(work: Callable[[], T]) -> tuple[T, Took]:
    clock, processor = time.perf_counter(), time.process_time()
    made = work()
    return made, Took(time.perf_counter() - clock, time.process_time() - processor)


def stored_run(number: int) -> Trace:
    """A run of the strategy `balanced`. Its scores are drawn around how well its question is answered."""
    draw = random.Random(number)
    level = draw.random()

    def score(text: str) -> float | None:
        return None if draw.random() < 0.005 else round(draw.betavariate(0.1 + level**3, 5), 4)

    evaluator = ScriptedEvaluator(score=score)
    made = parts_of(next(iter(COURSES.values())))
    parts = replace(
        made,
        evaluator=evaluator,
        web=FallbackWeb([FixedWeb(texts=PAGES)], made.emitter, made.meter),
        generator=ExtractiveGenerator(evaluator),
        verifier=CitationVerifier(evaluator),
    )
    question = f"How long did hiring take on average in {number}?"
    start = ev.RunStarted(
        run_id=f"run-{number}",
        question=question,
        strategy="balanced",
        settings=SETTINGS.model_dump(mode="json"),
        workspace="benchmark",
        started_at="2026-01-01T00:00:00+00:00",
    )
    return Trace.from_events([start, *run_graph(question, parts)])


def moves(count: int) -> Iterator[tuple[str, Settings]]:
    """Which slider moves, and all settings after it; they stay moved."""
    draw, now = random.Random(1), SETTINGS
    sliders = ["upper", "lower", "aggregation", "k", "strip_filter"]
    for place in range(count):
        slider = sliders[place % len(sliders)] if place < len(sliders) else draw.choice(sliders)
        value = {
            "upper": round(draw.uniform(now.lower, 1), 2),
            "lower": round(draw.uniform(0, now.upper), 2),
            "aggregation": draw.choice([Aggregation.ANY, Aggregation.WORST, Aggregation.MEAN]),
            "k": draw.randint(1, 10),
            "strip_filter": round(draw.uniform(0, 0.6), 2),
        }[slider]
        now = now.changed(**{slider: value})
        yield slider, now


def shown(ledger: StoredDecisions, settings: Settings) -> Outcome:
    """A move with all that a page draws of it."""
    found = ledger.redecide(settings)
    for name in ("matrix", "reasons", "open", "saved", "kept", "searches_added", "refinements_added"):
        getattr(found, name)
    return found


def one_by_one(traces: Sequence[Trace], settings: Settings) -> list[WhatIf]:
    return [redecide(trace, settings) for trace in traces]


def check(outcome: Outcome, alone: Sequence[WhatIf]) -> None:
    """Ends the program where the two differ."""
    for row, each in zip(outcome.rows, alone, strict=True):
        kept = sum(strip.kept for group in each.strips.values() for strip in group)
        mine = row.after, row.documents, row.web, (row.documents_kept or 0) + (row.pages_kept or 0)
        if mine != (each.action, each.documents, each.web, kept):
            raise SystemExit(f"{row.run_id} came out as {mine} and one by one as {each}")


@dataclass(frozen=True, slots=True)
class Measured:
    """What was timed: each move by slider, on the ledger and one by one; and the ledger's making."""

    together: list[tuple[str, Took]]
    alone: list[Took]
    making: dict[str, Took]
    megabytes: float
    actions: dict[str, int]
    strips: int


def measure(runs: int, count: int) -> Measured:
    stored = [stored_run(number).to_json() for number in range(runs)]
    traces, decoding = timed(lambda: [Trace.from_json(text) for text in stored])
    entries, reducing = timed(lambda: [Entry.of(trace) for trace in traces])
    ledger, laying = timed(lambda: StoredDecisions(entries))
    together: list[tuple[str, Took]] = []
    alone: list[Took] = []
    shown(ledger, SETTINGS)
    for place, (slider, settings) in enumerate(moves(count)):
        outcome, took = timed(partial(shown, ledger, settings))
        together.append((slider, took))
        if place % EACH == 0:
            found, took = timed(partial(one_by_one, traces, settings))
            alone.append(took)
            check(outcome, found)
    return Measured(
        together=together,
        alone=alone,
        making={"JSON to traces": decoding, "traces to entries": reducing, "entries to a ledger": laying},
        megabytes=sum(map(len, stored)) / 1e6,
        actions=dict(Counter(str(entry.before) for entry in entries)),
        strips=sum(len(source.scores) for entry in entries for source in entry.sources),
    )


def report(found: Measured, load: tuple[float, float]) -> str:
    """The page of results. `load`: of the machine, before and after."""
    runs, count = sum(found.actions.values()), len(found.together)
    whole = [took for _, took in found.together]
    median = statistics.median(took.clock for took in whole)
    mix = ", ".join(f"{number} {name}" for name, number in sorted(found.actions.items()))
    lines = [
        "# Re-deciding every stored run when a slider moves",
        "",
        f"`python -m benchmarks.whatif`: {runs:,} runs of ten chunks ({mix}; {found.strips:,} strips), {count} moves "
        f"of one slider each, {len(found.alone)} of them also one by one; {os.cpu_count()} cores, Python "
        f"{platform.python_version()}. Load of the machine when it began {load[0]:.1f}, when it ended {load[1]:.1f}.",
        "",
        f"Goal: {ms(GOAL)} at the median for all runs together, of the 150 ms that Tune has for a move: "
        f"**{ms(median)}: {'met' if median <= GOAL else 'missed'}**.",
        "",
        "| | moves | median | p95 | processor time |",
        "|---|---:|---:|---:|---:|",
        row("all together", whole),
        row("one by one, `whatif.redecide` in a loop", found.alone),
    ]
    for slider in dict.fromkeys(name for name, _ in found.together):
        lines.append(row(f"together, {slider}", [took for name, took in found.together if name == slider]))
    lines += ["", f"## Making the ledger, once, from {found.megabytes:.0f} MB of stored JSON", ""]
    lines += ["| | clock | processor time |", "|---|---:|---:|"]
    lines += [f"| {name} | {ms(took.clock)} | {ms(took.processor)} |" for name, took in found.making.items()]
    return "\n".join([*lines, "", NOTES])


def row(name: str, tooks: Sequence[Took]) -> str:
    clocks = [took.clock for took in tooks]
    high = ms(p95(clocks)) if len(clocks) >= 20 else "–"
    worked = ms(statistics.median(took.processor for took in tooks))
    return f"| {name} | {len(clocks)} | {ms(statistics.median(clocks))} | {high} | {worked} |"


NOTES = """\
A move on the ledger includes all that a page draws of it: the matrix with its run ids, flips, reasons for what is
unknown, steps saved, strips kept. Processor time is the median of the process's own: what a move costs, however busy
the machine is with other work. p95 is given from 20 moves on. Every move that was also made one by one came out the
same, run by run: action, what is known of documents and web, number of strips kept. Reading the JSON from disk is not
included. Scores are drawn, and the texts are made up; their lengths are those of real chunks.
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--moves", type=int, default=200)
    options = parser.parse_args()
    if options.runs < 1 or options.moves < 30:
        raise SystemExit("at least one run and 30 moves")
    before = os.getloadavg()[0]
    text = report(measure(options.runs, options.moves), (before, os.getloadavg()[0]))
    print(text)
    if (options.runs, options.moves) == (1000, 200):
        RESULT.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
