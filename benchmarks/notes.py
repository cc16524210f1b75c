"""Adding many small files, and asking a long report while its vectors are still being made.

    python -m benchmarks.notes [--before FOLDER] [--notes N]

200 notes in Markdown, two chunks each, go through the product's own path, crag.pipeline.indexing: once with vectors
that were made before, which leaves reading and storing, and once with the default model. Then a report of 160 pages is
added to an engine that runs, and a question is asked as soon as it is stored. Each side runs in a process of its own.
Seconds of the processor are those of the process and all its children. `--before`: a checkout of an earlier version,
which is measured in turn with this one, three times each; the middle figure counts.
Writes results/notes.json and results/notes.md.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import platform
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

HERE = Path(__file__).resolve().parent
DATA = Path(os.environ.get("CRAG_SHARED", HERE.parent.parent / "shared")) / "data" / "financebench" / "pdfs"
REPORT, PAGES = "BOEING_2022_10K.pdf", 160
QUESTION = "How many people did Boeing employ at the end of 2022?"
ROUNDS = 3
WORDS = [word for word in (HERE.parent / "docs" / "tour.md").read_text(encoding="utf-8").split() if word.isalpha()]


def notes(number: int) -> list[tuple[str, bytes]]:
    """Notes that are all different, each of two headings with a paragraph."""
    made = []
    for at in range(number):
        parts = [" ".join(WORDS[(at * 7 + part * 311 + place) % len(WORDS)] for place in range(40)) for part in (0, 1)]
        text = f"# Note {at}\n\n## First\n\n{parts[0]}.\n\n## Second\n\n{parts[1]}.\n"
        made.append((f"note-{at:04}.md", text.encode()))
    return made


class Stored:
    """Vectors that were made before: nothing is computed."""

    id, dimension = "stored", 384

    def embed(self, texts: list[str]) -> Any:
        return np.tile(np.eye(1, self.dimension, dtype=np.float32), (len(texts), 1))

    def embed_question(self, text: str) -> Any:
        return self.embed([text])[0]


def add(number: int, embedder: Any) -> dict[str, float]:
    """Files a second, and what each takes of the processor."""
    from crag.core.config import AppConfig
    from crag.core.ingesting import DocumentAdded, DocumentFailed
    from crag.pipeline.indexing import Indexer
    from crag.runtime.fair_queue import FairQueue
    from crag.storage.library import Library

    def index(files: list[tuple[str, bytes]]) -> None:
        indexer = Indexer(
            library=library,
            embedder=embedder,
            config=AppConfig(),
            readers=FairQueue(2),
            cancel=threading.Event(),
        )
        chunks = 0
        for event in indexer.index((name, lambda data=data: data) for name, data in files):  # type: ignore[misc]
            if isinstance(event, DocumentFailed):
                raise SystemExit(event.message)
            chunks += event.document.chunks if isinstance(event, DocumentAdded) else 0
        if chunks != 2 * len(files):
            raise SystemExit(f"{chunks} chunks of {len(files)} notes")

    with tempfile.TemporaryDirectory() as folder, Library(Path(folder), embedder) as library:
        first, *rest = notes(number + 1)
        index([first])  # loads the model, and starts what is started with the first file
        began, before = time.perf_counter(), _processor()
        index(rest)
        seconds = time.perf_counter() - began
        processor = _processor() - before
    return {"files_per_second": number / seconds, "seconds": seconds, "processor_each": processor / number}


def _processor() -> float:
    """Seconds of this process and of all below it, also those that are not over yet."""
    tick = os.sysconf("SC_CLK_TCK")

    def of(pid: int) -> float:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        below: list[str] = []
        for path in Path(f"/proc/{pid}/task").glob("*/children"):
            with suppress(FileNotFoundError):  # the thread has ended since
                below += path.read_text().split()
        return sum(map(int, fields[11:15])) / tick + sum(map(of, map(int, below)))

    return of(os.getpid())


def stored_before(number: int) -> dict[str, float]:
    return add(number, Stored())


def end_to_end(number: int) -> dict[str, float]:
    from crag.models.runtime import E5

    return add(number, E5())


def report_of(pages: int) -> bytes:
    """The first pages of a long annual report."""
    import pypdfium2

    if not (DATA / REPORT).is_file():
        raise SystemExit("financebench is not there: set CRAG_SHARED to the folder that holds data/.")
    part, whole = pypdfium2.PdfDocument.new(), pypdfium2.PdfDocument(DATA / REPORT)
    part.import_pages(whole, list(range(pages)))
    buffer = io.BytesIO()
    part.save(buffer)
    return buffer.getvalue()


def first_answer(number: int) -> dict[str, float]:
    """Seconds until a long report is stored, and until a question that is asked then is answered."""
    from crag.core.config import AppConfig
    from crag.core.ingesting import DocumentAdded
    from crag.core.protocols import RunRequest
    from crag.engine import Engine

    data = report_of(PAGES)
    with tempfile.TemporaryDirectory() as folder:
        engine = Engine(AppConfig.of(data=Path(folder)))
        for _ in engine.add("note.md", notes(1)[0][1]):
            pass
        engine.trace(RunRequest(QUESTION))  # An engine that runs has its models
        stored, stop = threading.Event(), threading.Event()

        def work() -> None:
            for event in engine.add_files([(REPORT, data)], cancel=stop):
                if isinstance(event, DocumentAdded):
                    stored.set()

        adding = threading.Thread(target=work)
        began, before = time.perf_counter(), _processor()
        adding.start()
        stored.wait()
        at, read = time.perf_counter() - began, _processor() - before
        trace = engine.trace(RunRequest(QUESTION))
        answered = time.perf_counter() - began
        if not any(found.chunk.source == REPORT for found in trace.chunks.values()):
            raise SystemExit("the report was not found")
        stop.set()
        adding.join()
        engine.close()
    return {"stored": at, "processor": read, "answered": answered}


SIDES = {"stored_before": stored_before, "end_to_end": end_to_end, "first_answer": first_answer}


def run(side: str, number: int, tree: Path) -> dict[str, float]:
    """One side in its own process, with the code of a checkout."""
    environment = {**os.environ, "PYTHONPATH": str(tree)}
    command = [sys.executable, str(HERE / "notes.py"), "--side", side, "--notes", str(number)]
    done = subprocess.run(command, env=environment, cwd=tree, check=True, stdout=subprocess.PIPE)
    found: dict[str, float] = json.loads(done.stdout)
    return found


def measured(number: int, trees: dict[str, Path]) -> dict[str, dict[str, dict[str, float]]]:
    """Of each version and side the middle of some rounds, the versions in turn."""
    found: dict[str, dict[str, list[dict[str, float]]]] = {name: {side: [] for side in SIDES} for name in trees}
    for _ in range(ROUNDS):
        for side in SIDES:
            for name, tree in trees.items():
                found[name][side].append(run(side, number, tree))
                print(name, side, found[name][side][-1], file=sys.stderr)
    return {
        name: {
            side: {each: median(one[each] for one in rounds) for each in rounds[0]} for side, rounds in sides.items()
        }
        for name, sides in found.items()
    }


def page(report: dict[str, Any]) -> str:
    """The figures as Markdown."""
    rows = [
        ("files a second, vectors stored before", "stored_before", "files_per_second", "{:.1f}"),
        ("seconds of the processor a file, vectors stored before", "stored_before", "processor_each", "{:.3f}"),
        ("files a second, end to end", "end_to_end", "files_per_second", "{:.1f}"),
        ("seconds of the processor a file, end to end", "end_to_end", "processor_each", "{:.3f}"),
        ("seconds until the report is stored", "first_answer", "stored", "{:.1f}"),
        ("seconds of the processor until then", "first_answer", "processor", "{:.1f}"),
        ("seconds until the first question is answered", "first_answer", "answered", "{:.1f}"),
    ]
    results = report["results"]
    lines = [
        "# Notes, and the first question of a report",
        "",
        f"`python -m benchmarks.notes` on {report['date']}, {report['machine']}. {report['notes']} notes of two",
        f"chunks; then a report of {PAGES} pages, dropped into an engine that runs. The middle of {ROUNDS} rounds, the",
        "versions in turn. The processor's seconds are those of all processes.",
        "",
        f"| measure | {' | '.join(results)} |",
        f"|---|{'---:|' * len(results)}",
    ]
    for title, side, value, form in rows:
        lines.append(f"| {title} | {' | '.join(form.format(sides[side][value]) for sides in results.values())} |")
    return "\n".join([*lines, ""])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--before", type=Path, help="a checkout of an earlier version")
    parser.add_argument("--notes", type=int, default=200, help="how many")
    parser.add_argument("--side", choices=sorted(SIDES), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.side:
        print(json.dumps(SIDES[options.side](options.notes)))
        return
    load = os.getloadavg()[0]
    trees = {**({"before": options.before.resolve()} if options.before else {}), "now": HERE.parent}
    report = {
        "date": datetime.now(UTC).date().isoformat(),
        "machine": f"{platform.machine()}, {os.cpu_count()} cores, load {load:.1f} before the run",
        "notes": options.notes,
        "results": measured(options.notes, trees),
    }
    if options.notes != parser.get_default("notes"):
        return print(page(report))
    (HERE / "results" / "notes.json").write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    (HERE / "results" / "notes.md").write_text(page(report), encoding="utf-8")


if __name__ == "__main__":
    main()
