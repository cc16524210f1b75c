"""What the soak drives: the real app as its own process over a library with many runs, and a page of one slider."""

from __future__ import annotations

import asyncio
import os
import statistics
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.soak_client import Lost, Missing, Tab
from benchmarks.stored_runs import store_runs
from crag.core.config import AppConfig
from crag.engine import Engine
from tests.support.app_server import Served, serving

RUNS = 150
"""So many stored runs lie in the library beside those that were asked."""
_BARE = "import streamlit as st\nst.write(st.slider('Thresholds', 0.0, 1.0, (0.2, 0.4), step=0.01))\n"


def prepare(data: Path, runs: int = RUNS) -> list[str]:
    """A library of the sample, its three questions asked, and stored runs that a question set labels; the asked ids."""
    engine = Engine(AppConfig.of(data=data))
    sample = engine.sample()
    for _ in engine.add_files([(sample.pdf.name, sample.pdf.read_bytes)]):
        pass
    store_runs(engine.library(), runs)
    asked = [
        event.run_id
        for question in sample.questions
        for event in engine.ask(question.question)
        if event.kind == "run_started"
    ]
    engine.close()
    return asked


@contextmanager
def bare(folder: Path) -> Iterator[Served]:
    """A page of one slider, served by the same Streamlit: what any page costs."""
    folder.mkdir(exist_ok=True)
    script = folder / "bare.py"
    script.write_text(_BARE, encoding="utf-8")
    with serving(folder, script) as app:
        yield app


def family(pid: int) -> list[int]:
    """A process and all that it started, and they."""
    found, waiting = [], [pid]
    while waiting:
        pid = waiting.pop()
        found.append(pid)
        try:
            for task in Path(f"/proc/{pid}/task").iterdir():
                waiting += map(int, (task / "children").read_text(encoding="utf-8").split())
        except OSError:
            continue
    return found


def processor(pid: int) -> float:
    """Seconds of the processor that a process and its children have had."""
    ticks = 0
    for each in family(pid):
        try:
            fields = Path(f"/proc/{each}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
        except OSError:
            continue
        ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


def memory(pid: int) -> int:
    """Bytes that a process and its children hold for themselves and share: what is counted once where it is shared."""
    total = 0
    for each in family(pid):
        try:
            lines = Path(f"/proc/{each}/smaps_rollup").read_text(encoding="utf-8").splitlines()
        except OSError:
            continue
        total += sum(int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:"))
    return total


Act = Callable[[Tab, int], Awaitable[Any]]
"""What one tab does once; told the how-manieth time it is."""


@dataclass(slots=True)
class Beats:
    """What came of many tabs that each acted every so many seconds."""

    seconds: list[float] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    @property
    def median(self) -> float:
        return statistics.median(self.seconds) if self.seconds else float("inf")

    @property
    def p95(self) -> float:
        return sorted(self.seconds)[int(len(self.seconds) * 0.95)] if self.seconds else float("inf")


async def opened(url: str, count: int, page: str = "", query: str = "", at_once: int = 5) -> list[Tab]:
    """So many tabs on that page, each a browser of its own."""
    turns = asyncio.Semaphore(at_once)

    async def one() -> Tab:
        async with turns:
            tab = Tab(url)
            await tab.open(page, query)
            return tab

    return list(await asyncio.gather(*(one() for _ in range(count))))


async def beat(tabs: Sequence[Tab], act: Act, every: float, seconds: float) -> Beats:
    """Each tab acts every so many seconds, begun one after the other; who is not answered in time acts right after."""
    found, began = Beats(), time.monotonic()

    async def one(tab: Tab, offset: float) -> None:
        due, number = began + offset, 0
        while due < began + seconds:
            await asyncio.sleep(max(0.0, due - time.monotonic()))
            number += 1
            asked = time.perf_counter()
            try:
                done = await act(tab, number)
            except (Lost, Missing) as error:
                found.problems.append(str(error))
                return
            found.seconds.append(time.perf_counter() - asked)
            found.problems += [*done.exceptions, *done.errors]
            due = max(due + every, time.monotonic())

    await asyncio.gather(*(one(tab, every * place / len(tabs)) for place, tab in enumerate(tabs)))
    return found


async def closed(tabs: Sequence[Tab]) -> None:
    await asyncio.gather(*(tab.close() for tab in tabs), return_exceptions=True)
