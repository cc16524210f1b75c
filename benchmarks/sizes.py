"""What the app keeps in memory, part by part: alone, for a session, for an open library, for ten thousand chunks.

python -m benchmarks.sizes [--sessions 50] [--libraries 15] [--dry]

The real app with its models, as processes of its own, asked over its WebSocket. Memory is what the processes hold
themselves, and once what they have mapped of files, as the largest of them does. Every part begins with a fresh start;
what others do on the machine makes it slower, not larger.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import platform
import re
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.soak_client import Tab
from benchmarks.soak_served import ROOT, Supervised
from benchmarks.soak_world import family
from crag.core.config import AppConfig
from crag.core.protocols import RunRequest
from crag.engine import Engine
from crag.models.runtime import E5
from crag.storage.private import name_of
from crag.testing.fakes import ScriptedEvaluator
from tests.support.library_makers import make_document

RESULT = Path(__file__).resolve().parent / "results" / "sizes.md"
CHUNKS = 10_000
_LINE = re.compile(r"^(Rss|Anonymous|Pss_Anon):\s+(\d+) kB", re.MULTILINE)
QUESTION = "What is told of the harbour?"


class _Vectors:
    """Vectors of the real model's form, drawn: memory asks for no better ones."""

    def __init__(self, id: str, dimension: int) -> None:
        self.id, self.dimension = id, dimension
        self._random = np.random.default_rng(1)

    def embed(self, texts: Any) -> NDArray[np.float32]:
        drawn = self._random.standard_normal((len(texts), self.dimension)).astype(np.float32)
        return np.asarray(drawn / np.linalg.norm(drawn, axis=1, keepdims=True), np.float32)


@dataclass(frozen=True, slots=True)
class Stored:
    """A library: the address that opens it with its one run."""

    key: str
    run: str

    @property
    def address(self) -> str:
        return f"w={self.key}&run={self.run}"


def plant(data: Path, sizes: list[int]) -> list[Stored]:
    """A library of so many chunks each, with a run."""
    config = AppConfig.of(data=data, workspaces="private", libraries=0, all_mb=0)
    real = E5(threads=config.models.threads)
    vectors = _Vectors(real.id, real.dimension)
    engine = Engine(config, embedder=vectors, evaluator=ScriptedEvaluator(score=lambda text: 0.5))
    found = []
    for number, size in enumerate(sizes):
        key = engine.private_libraries.issue()
        library = engine.library(name_of(key))
        for start in range(0, size, 100):
            texts = [
                f"Part {start + at} of report {number} tells of the harbour, its {at} quays, the pilots who lead ships "
                "there, and what the ledger of the port says of dues, of goods and of the years between the wars. " * 3
                for at in range(min(100, size - start))
            ]
            document, content, chunks = make_document(f"report {number} {start}", texts=texts, model=vectors.id)
            library.documents.add(document, content, chunks, vectors.embed([chunk.indexed_text for chunk in chunks]))
        found.append(Stored(key, engine.trace(RunRequest(QUESTION, workspace=name_of(key), via="app")).run_id))
    engine.close()
    return found


def memory(pid: int) -> float:
    """Megabytes of a process and all that it started."""
    own = mapped = 0
    for each in family(pid):
        try:
            told = Path(f"/proc/{each}/smaps_rollup").read_text(encoding="utf-8")
        except OSError:
            continue
        kilobytes = {name: int(size) for name, size in _LINE.findall(told)}
        own += kilobytes["Pss_Anon"]
        mapped = max(mapped, kilobytes["Rss"] - kilobytes["Anonymous"])
    return (own + mapped) / 1000


class Started:
    """The app, its models loaded."""

    def __init__(self, folder: Path, **chosen: str) -> None:
        self._app = Supervised(folder, script=ROOT / "app.py", CRAG_WORKSPACES="private", **chosen)
        self.tabs: list[Tab] = []

    async def __aenter__(self) -> Started:
        await asyncio.to_thread(self._app.__enter__)
        self.before = memory(self._app.pid)
        async with Tab(self._app.url) as tab:
            until = time.monotonic() + 300
            while (await tab.get("/readyz")).status_code != 200:
                if time.monotonic() > until:
                    raise RuntimeError(f"the app was not ready:\n{self._app.said()[-2000:]}")
                await asyncio.sleep(0.2)
        return self

    async def __aexit__(self, *_: object) -> None:
        for tab in self.tabs:
            await tab.close()
        self._app.kill()

    @property
    def megabytes(self) -> float:
        return memory(self._app.pid)

    async def open(self, query: str = "", question: str = "") -> None:
        """One browser more, which stays open."""
        tab = Tab(self._app.url)
        self.tabs.append(tab)
        await tab.open("", query)
        if question:
            await tab.ask(question)
        if tab.exceptions:
            raise RuntimeError(tab.exceptions[0])


async def measure(folder: Path, sessions: int, libraries: int) -> dict[str, float]:
    """Megabytes, by row of the page."""
    data = folder / "data"
    large, *small = await asyncio.to_thread(plant, data, [CHUNKS, *[100] * (libraries + 1)])
    found: dict[str, float] = {}
    async with Started(folder) as app:
        found["start"], found["ready"] = app.before, app.megabytes
        await app.open()
        before = app.megabytes
        for _ in range(sessions):
            await app.open()
        found["empty session"] = (app.megabytes - before) / sessions
    async with Started(folder) as app:
        await app.open(small[0].address, QUESTION)
        before = found["asked"] = app.megabytes
        for _ in range(sessions):
            await app.open(small[0].address)
        found["session"] = (app.megabytes - before) / sessions
    async with Started(folder) as app:
        await app.open(small[0].address, QUESTION)
        before = app.megabytes
        for each in small[1:]:
            await app.open(each.address, QUESTION)
        found["library"] = (app.megabytes - before) / libraries
    async with Started(folder) as app:
        await app.open(small[0].address, QUESTION)
        before = app.megabytes
        await app.open(large.address, QUESTION)
        found["chunks"] = app.megabytes - before
    return found


def told(found: dict[str, float], sessions: int, libraries: int) -> str:
    """The page."""
    rows = {
        "the app started, nobody came yet": found["start"],
        "its models loaded (`/readyz` says ready)": found["ready"],
        "and a first question answered": found["asked"],
        f"each session more with nothing in its library (of {sessions})": found["empty session"],
        f"each session more with an answered run open, all of one library (of {sessions})": found["session"],
        f"each session more with a library of its own of 100 chunks, which it asks (of {libraries})": found["library"],
        f"a session more with a library of its own of {CHUNKS:,} chunks, which it asks": found["chunks"],
    }
    lines = [
        "# How much memory the app takes",
        "",
        f"`python -m benchmarks.sizes`: {os.cpu_count()} cores, Python {platform.python_version()}, load of the "
        f"machine at the end {os.getloadavg()[0]:.1f}. A fresh start for each part; "
        "below 0, the process gave back more meanwhile than was taken.",
        "",
        "| what | MB |",
        "|---|---:|",
        *(f"| {what} | {size:,.1f} |" for what, size in rows.items()),
        "",
    ]
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--sessions", type=int, default=50)
    parser.add_argument("--libraries", type=int, default=15, help="one less than stay open at most")
    parser.add_argument("--dry", action="store_true", help="only print")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="crag-sizes-") as folder:
        found = asyncio.run(measure(Path(folder), chosen.sessions, chosen.libraries))
    page = told(found, chosen.sessions, chosen.libraries)
    print(page)
    if not chosen.dry:
        RESULT.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
