"""Libraries of any size for benchmarks.explorer, and what a miss explained and the map take in them.

A library is the sample report again and again, each copy with a name and last words of its own, and its chunks' real
vectors moved at random (seeded): words are as frequent as in real text, and only the report and questions are embedded.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from benchmarks.overhead import ms
from crag.analysis.atlas import projection
from crag.analysis.stages.miss import Wanted, explain_miss
from crag.core.config import AppConfig, Keys
from crag.core.errors import IndexUnavailableError
from crag.core.protocols import RunRequest, SearchQuery
from crag.core.trace import Trace
from crag.engine import Engine
from crag.storage.library import Library
from ui.documents import map_figure

MISSES = 10
"""Pages that are looked for in each of three runs."""
_MOVED = 0.6
"""Length of the step that a copy's vector takes from its chunk's own."""
Times = list[tuple[float, float]]
"""Seconds of the processor and of the clock, of each turn."""


def measure(size: int, cache: Path) -> Iterator[tuple[str, str, str]]:
    """Rows of the page for a library of this many chunks. It stays in the folder `cache`, and is used again."""
    engine = Engine(AppConfig.of(data=cache / f"library-{size}", libraries=0, all_mb=0), Keys())
    library = engine.library("default")
    try:
        fill(engine, library, size)
        wait_for_index(library)
        traces = [engine.trace(RunRequest(each.question)) for each in engine.sample().questions]
        goal = "300 ms" if size <= 10_000 else "800 ms"
        yield f"a miss explained, {size:,} chunks", both(explained(library, traces)), goal
        say(f"{size:,} chunks: the map")
        found = projection.project(library)
        made = both([taken(lambda: projection.project(library)) for _ in range(3)])
        yield f"the map made, {size:,} chunks", made, "10 s" if size <= 100_000 else "–"
        drawn = both([taken(lambda: draw(library, found)) for _ in range(5)])
        yield f"the map drawn, on the server, {size:,} chunks", drawn, "2 s" if size <= 100_000 else "–"
    finally:
        engine.close()


def fill(engine: Engine, library: Library, size: int) -> None:
    """Add the sample report, and copies of it until there are this many chunks; nothing where there are."""
    sample = engine.sample()
    if not library.documents.count():
        for _ in engine.add_files([(sample.pdf.name, sample.pdf.read_bytes)]):
            pass
    document = library.documents.all()[0]
    chunks = [replace(each, lines=(), tables=()) for each in library.documents.chunks(document.id, lines=False)]
    vectors = library.points.vectors(library.points.numbers()[: len(chunks)])
    for copy in range(library.documents.count(), -(-size // len(chunks))):
        some = chunks[: size - copy * len(chunks)]
        id, name, dice = f"{copy:064x}", f"{copy:04} {document.name}", np.random.default_rng([37, copy])
        changed = [
            replace(each, id=f"{copy}-{each.id}", document_id=id, source=name, text=f"{each.text} Copy {copy}.")
            for each in some
        ]
        moved = vectors[: len(some)] + dice.normal(0, _MOVED / vectors.shape[1] ** 0.5, (len(some), vectors.shape[1]))
        unit = (moved / np.linalg.norm(moved, axis=1, keepdims=True)).astype(np.float32)
        library.documents.add(replace(document, id=id, name=name, chunks=len(some)), name.encode(), changed, unit)
        if copy % 250 == 0:
            say(f"{size:,} chunks: {copy * len(chunks):,} are there")


def wait_for_index(library: Library) -> None:
    """Until its chunks can be searched: the index of a large library is made beside the questions."""
    while True:
        try:
            library.find(SearchQuery("What does this library hold?", 1))
            return
        except IndexUnavailableError as error:
            say(str(error))
            time.sleep(10)


def draw(library: Library, found: projection.Projection) -> None:
    """What the app does on the server with a projection, up to the figure that is sent."""
    chunks = map_figure.read_chunks(library, found)
    map_figure.draw(chunks, map_figure.Groups(of=chunks.topics), [], "light").to_json()


def explained(library: Library, traces: Sequence[Trace]) -> Times:
    """A page of another document each time, and once a sentence, for each run; the first of all is not counted."""
    names = sorted(library.documents.names().values())
    spread = names[:: max(1, len(names) // MISSES)][:MISSES]
    wanted = [Wanted(document=name, page=3 + 5 * place) for place, name in enumerate(spread)]
    text = " ".join(library.documents.chunks(library.documents.all()[-1].id, page=9, lines=False)[0].text.split()[:25])
    asked = [(trace, each) for trace in traces for each in (*wanted, Wanted(text=text))]
    explain_miss(library, *asked[0])
    return [taken(lambda trace=trace, each=each: explain_miss(library, trace, each)) for trace, each in asked]  # type: ignore[misc]


def taken(work: Callable[[], object]) -> tuple[float, float]:
    began, clock = time.process_time(), time.perf_counter()
    work()
    return time.process_time() - began, time.perf_counter() - clock


def both(times: Times) -> str:
    """Median and most of the processor's seconds; by the clock the median."""
    processor = [each for each, _ in times]
    clock = f"{ms(statistics.median(each for _, each in times))} by the clock"
    return f"{ms(statistics.median(processor))} median, {ms(max(processor))} at most, {clock}"


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
