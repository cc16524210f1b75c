"""What a backup and a restore take in time, disk and memory, and what people who ask meanwhile notice of it.

python -m benchmarks.backup [--chunks 100000] [--seconds 40] [--cache FOLDER] [--print]

A data folder with one library of made-up chunks (110 words, 384 numbers each) is made once and kept in --cache (or
$CRAG_BENCH_CACHE, else the system's temporary folder). One process asks it questions over and over, by the shipped
models, each with a stored run; `crag backup` and `crag restore` run beside it as processes of
their own, again and again for at least --seconds. Asked first and last with nothing beside.
"""

from __future__ import annotations

import argparse
import os
import platform
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from crag.core.config import AppConfig
from crag.core.types import Chunk, Document, LineBox, Rect
from crag.engine import Engine

RESULT = Path(__file__).resolve().parent / "results" / "backup.md"
ROOT = Path(__file__).resolve().parent.parent
EACH = 1_000
"""Chunks a document."""


def main() -> None:
    options = arguments()
    load = os.getloadavg()[0]
    data = made(options.cache / f"crag-backup-{options.chunks}", options.chunks)
    scratch = Path(tempfile.mkdtemp(dir=options.cache))
    try:
        rows, work = measured(data, scratch, options.seconds)
    finally:
        shutil.rmtree(scratch)
    page = written(options.chunks, size_of(data / "workspaces"), rows, work, load)
    print(page)
    if not options.print:
        RESULT.write_text(page, encoding="utf-8")


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--chunks", type=int, default=100_000)
    parser.add_argument("--seconds", type=float, default=40.0)
    parser.add_argument("--print", action="store_true", help="only print the page")
    cache = os.environ.get("CRAG_BENCH_CACHE", tempfile.gettempdir())
    parser.add_argument("--cache", type=Path, default=Path(cache))
    return parser.parse_args()


def made(data: Path, chunks: int) -> Path:
    """A data folder with one library; made once."""
    if (data / "whole").exists():
        return data
    shutil.rmtree(data, ignore_errors=True)
    chance = np.random.default_rng(18)
    words = np.array([f"{first}{last}" for first in SYLLABLES for last in SYLLABLES])
    with closing(Engine(AppConfig.of(data=data))) as engine:
        library, model = engine.library(), engine.embedder
        for number in range(0, chunks, EACH):
            rows = chance.standard_normal((min(EACH, chunks - number), model.dimension)).astype(np.float32)
            rows /= np.linalg.norm(rows, axis=1, keepdims=True)
            texts = [" ".join(chance.choice(words, 110)).capitalize() + "." for _ in rows]
            document, parts = document_of(f"document-{number}", texts, model.id)
            library.documents.add(document, "\n".join(texts).encode(), parts, rows)
        assert not library.verify()  # also fills the index, however long that takes
    (data / "whole").touch()
    return data


SYLLABLES = "har le cop wil or gra saf lan mea tur gla an quar fer bea co vio em can tun wal sex ba ri".split()


def document_of(name: str, texts: list[str], model: str) -> tuple[Document, list[Chunk]]:
    rect = Rect(page=1, left=72.0, top=90.0, right=523.0, bottom=101.0)
    parts = [
        Chunk(
            id=f"{name}-{at}",
            document_id=name,
            source=f"{name}.pdf",
            title=name,
            page=at // 3 + 1,
            ordinal=at,
            start=0,
            end=len(text),
            text=text,
            context=name,
            kind="text",
            lines=tuple(LineBox(start=0, end=len(text), rect=rect) for _ in range(8)),
        )
        for at, text in enumerate(texts)
    ]
    document = Document(
        id=name,
        name=f"{name}.pdf",
        title=name,
        size=sum(map(len, texts)),
        pages=len(texts) // 3 + 1,
        chunks=len(texts),
        added_at="2026-01-01T00:00:00+00:00",
        model=model,
        seconds=0.1,
        warnings=(),
    )
    return document, parts


@dataclass
class Asking:
    """Questions asked without a pause, in a thread of this process; by phase, the seconds that each took."""

    engine: Engine
    phase: str = ""
    took: dict[str, list[float]] = field(default_factory=dict)

    @contextmanager
    def asked(self) -> Iterator[None]:
        stop = threading.Event()

        def ask() -> None:
            number = 0
            while not stop.is_set():
                number += 1
                began, phase = time.perf_counter(), self.phase
                self.engine.trace(f"What does document {number} tell of harle, copwil and anquar?")
                if phase == self.phase:
                    self.took.setdefault(phase, []).append(time.perf_counter() - began)

        thread = threading.Thread(target=ask)
        thread.start()
        try:
            yield
        finally:
            stop.set()
            thread.join()

    @contextmanager
    def during(self, phase: str) -> Iterator[None]:
        self.phase = phase
        yield
        self.phase = ""


@dataclass(frozen=True)
class Work:
    """One command, over its rounds: seconds each, seconds of a processor, the most memory in MB, bytes that it made."""

    name: str
    seconds: list[float]
    worked: float
    memory: float
    made: int


def measured(data: Path, scratch: Path, seconds: float) -> tuple[dict[str, list[float]], list[Work]]:
    backup, other = scratch / "backup.zip", scratch / "other"

    def fresh(path: Path) -> None:
        shutil.rmtree(path, ignore_errors=True)
        path.unlink(missing_ok=True) if path.is_file() else None

    work = []
    with closing(Engine(AppConfig.of(data=data))) as engine:
        engine.trace("What is loaded before anything is measured?")
        asking = Asking(engine)
        with asking.asked():
            with asking.during("nothing"):
                time.sleep(seconds)
            for name, path, arguments in (
                ("backup", backup, ["backup", str(backup)]),
                ("restore", other, ["restore", str(backup), "--to", str(other)]),
            ):
                with asking.during(name):
                    work.append(repeated(name, arguments, data, seconds, lambda path=path: fresh(path), path))
            with asking.during("nothing, again"):
                time.sleep(seconds)
    work.append(repeated("backup, nobody asks", ["backup", str(backup)], data, 0, lambda: fresh(backup), backup))
    work.append(
        repeated(
            "restore, nobody asks", ["restore", str(backup), "--to", str(other)], data, 0, lambda: fresh(other), other
        )
    )
    return asking.took, work


def repeated(
    name: str, arguments: list[str], data: Path, seconds: float, before: Callable[[], None], makes: Path
) -> Work:
    """A command, as a process of its own, again and again for so long, but twice at least."""
    took: list[float] = []
    memory = 0.0
    first = resource.getrusage(resource.RUSAGE_CHILDREN)
    while len(took) < 2 or sum(took) < seconds:
        before()
        began = time.perf_counter()
        environment = {**os.environ, "CRAG_DATA": str(data), "PYTHONPATH": str(ROOT)}
        child = subprocess.Popen(
            [sys.executable, "-m", "crag", *arguments],
            env=environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        while child.poll() is None:
            memory = max(memory, held_by(child.pid))
            time.sleep(0.02)
        if child.returncode:
            raise SystemExit(f"{name}: {child.communicate()[1]}")
        took.append(time.perf_counter() - began)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    worked = (after.ru_utime + after.ru_stime - first.ru_utime - first.ru_stime) / len(took)
    return Work(name, took, worked, memory, size_of(makes))


def held_by(process: int) -> float:
    """The most memory that a process has held so far, in MB; 0 where the system does not tell."""
    try:
        said = Path(f"/proc/{process}/status").read_text(encoding="ascii")
    except OSError:
        return 0.0
    return next((int(line.split()[1]) / 1024 for line in said.splitlines() if line.startswith("VmHWM")), 0.0)


def size_of(path: Path) -> int:
    if path.is_file():
        return path.stat().st_size
    return sum(each.stat().st_size for each in path.rglob("*") if each.is_file())


def written(chunks: int, size: int, asked: dict[str, list[float]], work: list[Work], load: float) -> str:
    rows = [
        f"| `{each.name}` | {statistics.median(each.seconds):.1f} s | {min(each.seconds):.1f} s | {each.worked:.1f} s "
        f"| {len(each.seconds)} "
        f"| {each.memory:,.0f} MB | {each.made / 1e6:,.0f} MB |"
        for each in work
    ]
    waits = [
        f"| {phase} | {len(took)} | {statistics.median(took) * 1000:,.0f} ms "
        f"| {float(np.percentile(took, 95)) * 1000:,.0f} ms |"
        for phase, took in asked.items()
        if phase
    ]
    return f"""# What a backup and a restore take, and what is noticed of them

`python -m benchmarks.backup`: {chunks:,} made-up chunks in one library, {size / 1e6:,.0f} MB with its index; \
{os.cpu_count()} cores, Python {platform.python_version()}. Load of the machine when it began {load:.1f}: where \
it is far above 2, others worked there too, and all times are upper bounds.

| command, as a process of its own | median | least | processor time | rounds | most memory | made |
|---|---:|---:|---:|---:|---:|---:|
{chr(10).join(rows)}

A restore compares every file with its hash; an index is made when its library is first asked. Processor time is that
of a round, start included, however busy the machine is.

One process asked meanwhile without a pause, each question a stored run:

| beside | questions | median | p95 |
|---|---:|---:|---:|
{chr(10).join(waits)}
"""


if __name__ == "__main__":
    main()
