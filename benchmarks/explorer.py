"""What the explorer costs: grades and misses explained, maps made and drawn, a folder compared.

python -m benchmarks.explorer [--vectors N] [--files N] [--sizes N …] [--cache FOLDER] [--out FOLDER]

Grades are those of three questions of the sample, each explained once with an empty cache and once again. The map is
that of the sample and of made-up vectors in groups (seeded). The folder has small text files. Libraries
of --sizes chunks (explorer_library.py) stay in --cache: one of 1,000,000 takes 4 GB and several minutes. Times are of
the processor, as other work on the machine changes the clock's. Prints a page; writes results/explorer.md unless sizes
were given.
"""

from __future__ import annotations

import argparse
import os
import platform
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import numpy as np

from benchmarks.explorer_library import measure
from benchmarks.overhead import ms
from crag.analysis.atlas import layout
from crag.analysis.atlas.projection import project
from crag.analysis.causes import explain_grade
from crag.core.config import AppConfig, Keys
from crag.core.protocols import RunRequest
from crag.core.trace import Trace
from crag.engine import Engine

RESULT = Path(__file__).resolve().parent / "results" / "explorer.md"
VECTORS, FILES, WIDE, GROUPS = 20_000, 5_000, 384, 60
SIZES = (10_000, 100_000, 1_000_000)
Result = TypeVar("Result")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--vectors", type=int, default=VECTORS)
    parser.add_argument("--files", type=int, default=FILES)
    parser.add_argument("--sizes", nargs="*", type=int, default=list(SIZES), help="chunks of the libraries")
    cache = Path(tempfile.gettempdir()) / "crag-explorer-cache"
    parser.add_argument("--cache", type=Path, default=cache, help="where the libraries stay")
    parser.add_argument("--out", type=Path, help="where to write explorer.md")
    given = parser.parse_args()
    rows: list[tuple[str, str, str]] = []
    with tempfile.TemporaryDirectory() as place:
        engine = Engine(AppConfig.of(data=Path(place)), Keys())
        sample = engine.sample()
        for _ in engine.add_files([(sample.pdf.name, sample.pdf.read_bytes)]):
            pass
        library = engine.library("default")
        first, again = [], []
        for each in sample.questions[:3]:
            trace = Trace.from_events(engine.ask(RunRequest(each.question)))
            for chunk in trace.rounds[0].chunks:
                for times in (first, again):
                    times.append(taken(lambda c=chunk, t=trace: explain_grade(engine, library, t, c.chunk.id))[1])  # type: ignore[misc]
        for name, times in (("first time", first), ("again", again)):
            rows.append((f"a grade explained, {name}, {len(times)} chunks", both(times), "400 ms"))
        rows.append(("the sample's map made, 400 chunks", ms(taken(lambda: project(library))[1]), "–"))
        folder = Path(place) / "folder"
        folder.mkdir()
        for number in range(given.files):
            (folder / f"{number}.txt").write_text(f"This is the text of note {number}.", encoding="utf-8")
        rows.append(
            (
                f"a folder of {given.files:,} new files compared",
                ms(taken(lambda: engine.compare_folder(folder))[1]),
                "–",
            )
        )
        engine.close()
    vectors = made_up(given.vectors)
    seconds = taken(lambda: layout.fit(vectors).place(vectors))[1]
    rows.append((f"{given.vectors:,} made-up vectors laid out", ms(seconds), "4 s"))
    for size in given.sizes:
        rows += measure(size, given.cache)
    said = page(rows)
    print(said)
    sized = (given.vectors, given.files, tuple(given.sizes)) != (VECTORS, FILES, SIZES)
    if out := given.out or (None if sized else RESULT.parent):
        (out / RESULT.name).write_text(said, encoding="utf-8")
    return 0


def taken(work: Callable[[], Result]) -> tuple[Result, float]:
    """What the work returns, and the seconds of the processor that it took."""
    began = time.process_time()
    found = work()
    return found, time.process_time() - began


def both(times: list[float]) -> str:
    return f"{ms(statistics.median(times))} median, {ms(max(times))} at most"


def made_up(count: int) -> np.ndarray[tuple[int, int], np.dtype[np.float32]]:
    """Unit vectors in groups, always the same ones."""
    dice = np.random.default_rng(37)
    centres = dice.normal(size=(GROUPS, WIDE))
    found = centres[dice.integers(GROUPS, size=count)] + 0.6 * dice.normal(size=(count, WIDE))
    return (found / np.linalg.norm(found, axis=1, keepdims=True)).astype(np.float32)


def page(rows: list[tuple[str, str, str]]) -> str:
    lines = [f"| {what} | {time} | {goal} |" for what, time, goal in rows]
    head = f"By `python -m benchmarks.explorer`, {platform.machine()}, {os.cpu_count()} cores. Times of the processor."
    return "\n".join(["# What the explorer costs", "", head, "", "| | time | goal |", "|---|---:|---:|", *lines, ""])


if __name__ == "__main__":
    sys.exit(main())
