"""Adding many small files, and asking a long report while its vectors are still being made.

    python -m benchmarks.notes [--notes N]

200 notes in Markdown, two chunks each, go through an engine: once with vectors that were made before, which leaves
reading and storing, and once with the default model. Then a report of 160 pages is added, and a question is asked as
soon as it is stored. The middle of three rounds, each in a library of its own.
"""

from __future__ import annotations

import io
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

import numpy as np
import pypdfium2
from numpy.typing import NDArray

from benchmarks.pages import load, made_by, parse, publish, table
from corpora.places import is_missing, parser_of
from crag.core.config import AppConfig
from crag.core.ingesting import DocumentAdded
from crag.core.protocols import Embedder, RunRequest
from crag.engine import Engine
from crag.models.runtime import E5

REPORT, PAGES = "BOEING_2022_10K.pdf", 160
QUESTION = "How many people did Boeing employ at the end of 2022?"
ROUNDS = 3
WORDS = [word for word in (Path(__file__).parents[1] / "docs" / "tour.md").read_text("utf-8").split() if word.isalpha()]


def notes(number: int) -> list[tuple[str, bytes]]:
    """Notes that are all different, each of two headings with a paragraph."""
    made = []
    for at in range(number):
        parts = [" ".join(WORDS[(at * 7 + part * 311 + place) % len(WORDS)] for place in range(40)) for part in (0, 1)]
        made.append(
            (f"note-{at:04}.md", f"# Note {at}\n\n## First\n\n{parts[0]}.\n\n## Second\n\n{parts[1]}.\n".encode())
        )
    return made


class Stored:
    """Vectors that were made before: nothing is computed."""

    id, dimension = "stored", 384

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return np.tile(np.eye(1, self.dimension, dtype=np.float32), (len(texts), 1))

    def embed_question(self, text: str) -> NDArray[np.float32]:
        return self.embed([text])[0]


def files_a_second(number: int, embedder: Embedder) -> float:
    """Of notes that are added behind a first one, which loads the model and starts what reads. Raises ValueError."""
    with TemporaryDirectory() as folder, Engine(AppConfig.of(data=Path(folder)), embedder=embedder) as engine:
        first, *rest = notes(number + 1)
        list(engine.add_files([first]))
        began = time.perf_counter()
        events = list(engine.add_files(rest))
        seconds = time.perf_counter() - began
    if (chunks := sum(event.document.chunks for event in events if isinstance(event, DocumentAdded))) != 2 * number:
        raise ValueError(f"{chunks} chunks of {number} notes")
    return number / seconds


def report_of(file: Path, pages: int) -> bytes:
    """The first pages of a long annual report."""
    part, buffer = pypdfium2.PdfDocument.new(), io.BytesIO()
    part.import_pages(pypdfium2.PdfDocument(file), list(range(pages)))
    part.save(buffer)
    return buffer.getvalue()


def first_answer(data: bytes) -> tuple[float, float]:
    """Seconds until a report is stored, and until a question that is asked then is answered. Raises ValueError."""
    with TemporaryDirectory() as folder, Engine(AppConfig.of(data=Path(folder))) as engine:
        list(engine.add_files(notes(1)))
        engine.trace(RunRequest(QUESTION))  # an engine that runs has its models
        stored, stop = threading.Event(), threading.Event()

        def work() -> None:
            for event in engine.add_files([(REPORT, data)], cancel=stop):
                if isinstance(event, DocumentAdded):
                    stored.set()

        adding, began = threading.Thread(target=work), time.perf_counter()
        adding.start()
        stored.wait()
        at = time.perf_counter() - began
        trace = engine.trace(RunRequest(QUESTION))
        answered = time.perf_counter() - began
        stop.set()
        adding.join()
    if not any(found.chunk.source == REPORT for found in trace.rounds[-1].chunks):
        raise ValueError("the report was not found")
    return at, answered


def main() -> int:
    parser = parser_of(__doc__)
    parser.add_argument("--notes", type=int, default=200, help="how many")
    options, before = parse(parser), load()
    if is_missing(options.data, "financebench/pdfs"):
        return 2
    data = report_of(options.data / "financebench" / "pdfs" / REPORT, PAGES)
    made: dict[str, Callable[[], float]] = {
        "files a second, vectors stored before": lambda: files_a_second(options.notes, Stored()),
        "files a second, end to end": lambda: files_a_second(options.notes, E5()),
    }
    rows = [(name, f"{median(measure() for _ in range(ROUNDS)):.1f}") for name, measure in made.items()]
    stored, answered = map(median, zip(*(first_answer(data) for _ in range(ROUNDS)), strict=True))
    rows += [("seconds until the report is stored", f"{stored:.1f}")]
    rows += [("seconds until its first question is answered", f"{answered:.1f}")]
    page = f"# Notes, and the first question of a report\n\n{made_by('notes', before)}. {options.notes} notes of two "
    page += f"chunks; a report of {PAGES} pages. The middle of {ROUNDS} rounds.\n\n{table(('measure', 'figure'), rows)}"
    publish("notes", page, folder=options.folder)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
