"""Part `server` of benchmarks.overhead: what it adds to the evaluator, keeps in memory, and does with a crowd.

`crag serve` in a process of its own, on loopback, over an empty data folder and the models that ship. Rerank: ten
texts of about 600 characters, another question each time, in turns with the same evaluator called in this process;
which goes first changes from turn to turn. Processor time is that of both processes: what a request costs, however
busy the machine is with other work. Memory: the server's own, by the number of requests (rerank
and search in turns, four clients). Crowd: requests that all begin together.
"""

from __future__ import annotations

import asyncio
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx

from benchmarks.fakes import SUBJECTS
from benchmarks.pages import load, made_by, table
from crag.core.types import Passage
from crag.evaluation.local import LocalEvaluator

GOAL = 1.15
"""How many times as long as the evaluator alone a request may take, at the median."""
WARM_UP = 10
TEXTS = [
    " ".join(
        f"Part {part} of the chapter on {subject} tells what was done in the year before, and by whom. "
        f"It took {40 + place + part} days on average in 2019."
        for part in range(4)
    )
    for place, subject in enumerate(SUBJECTS[:10])
]


@contextmanager
def served(data: Path) -> Iterator[tuple[str, int]]:
    """The address and the process id of a server that is ready."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("CRAG_")}
    command = [sys.executable, "-m", "crag", "serve", "--port", "0", "--rate", "0", "--json", "--quiet"]
    with subprocess.Popen(
        command, env={**environment, "CRAG_DATA": str(data)}, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout is not None
            url = json.loads(process.stdout.readline())["url"]
            while httpx.get(f"{url}/readyz").status_code != 200:
                time.sleep(0.2)
            yield url, process.pid
        finally:
            process.terminate()


def body(number: int, texts: Sequence[str] = TEXTS) -> dict[str, Any]:
    """A request to rerank that no other is like."""
    return {"query": f"How many days did {SUBJECTS[number % 10]} take in case {number}?", "documents": list(texts)}


def pairs(url: str, pid: int, count: int) -> dict[str, float]:
    """Milliseconds at the median of `count` requests and of as many calls of the evaluator, in turns.

    Of processor time, the mean.
    """
    evaluator, passages = LocalEvaluator(), [Passage(id=str(at), text=text) for at, text in enumerate(TEXTS)]
    alone: list[float] = []
    asked: list[float] = []
    worked: list[tuple[float, float]] = []
    with httpx.Client(timeout=60) as client:

        def by_evaluator(number: int) -> None:
            alone.append(timed(lambda: list(evaluator.grade(body(number)["query"], passages))))

        def by_server(number: int) -> None:
            asked.append(timed(lambda: client.post(f"{url}/v1/rerank", json=body(number)).raise_for_status()))

        for number in range(count + WARM_UP):
            ways = [by_evaluator, by_server]
            spent = {}
            for way in ways if number % 2 else reversed(ways):
                before = time.process_time() + processor(pid)
                way(number)
                spent[way] = time.process_time() + processor(pid) - before
            worked.append((spent[by_evaluator] * 1000, spent[by_server] * 1000))
    alone, asked = alone[WARM_UP:], asked[WARM_UP:]
    return {
        "evaluator_ms": statistics.median(alone),
        "request_ms": statistics.median(asked),
        "added_ms": statistics.median(b - a for a, b in zip(alone, asked, strict=True)),
        "ratio": statistics.median(asked) / statistics.median(alone),
        "evaluator_worked_ms": statistics.fmean(each for each, _ in worked[WARM_UP:]),
        "request_worked_ms": statistics.fmean(each for _, each in worked[WARM_UP:]),
    }


def memory(url: str, pid: int, requests: int) -> dict[str, float]:
    """The server's memory in MB by the number of requests that it had."""
    with httpx.Client(timeout=60) as client:
        text = " ".join(TEXTS)
        client.post(f"{url}/v1/documents", files={"file": ("report.txt", text)}).raise_for_status()

        def ask(number: int) -> None:
            path, sent = [
                ("rerank", body(number, TEXTS[:2])),
                ("search", {"query": body(number)["query"]}),
            ][number % 2]
            client.post(f"{url}/v1/{path}", json=sent).raise_for_status()

        found: dict[str, float] = {"0": resident(pid)}
        done = 0
        with ThreadPoolExecutor(4) as pool:
            for until in sorted({min(each, requests) for each in (200, 500, 1_000, 1_500, 2_000, requests)}):
                list(pool.map(ask, range(done, until)))
                found[str(until)] = resident(pid)
                done = until
    return found


def crowd(url: str, pid: int, size: int) -> dict[str, Any]:
    """What came of requests that begin together: how many of each status, and the server's memory then."""

    async def all_of_them() -> Counter[str]:
        limits = httpx.Limits(max_connections=size)
        async with httpx.AsyncClient(timeout=120, limits=limits) as client:
            made = [client.post(f"{url}/v1/rerank", json=body(at, TEXTS[:2])) for at in range(size)]
            replies = await asyncio.gather(*made, return_exceptions=True)
        return Counter(str(each.status_code) if isinstance(each, httpx.Response) else repr(each) for each in replies)

    began = time.perf_counter()
    found = asyncio.run(all_of_them())
    seconds = time.perf_counter() - began
    alive = timed(lambda: httpx.get(f"{url}/healthz").raise_for_status())
    return {"size": size, "replies": dict(found), "seconds": seconds, "mb": resident(pid), "alive_ms": alive}


def resident(pid: int) -> float:
    """What a process has in memory, in MB."""
    status = Path(f"/proc/{pid}/status").read_text()
    return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmRSS")) / 1000


def processor(pid: int) -> float:
    """Seconds of processor time that a process has had, to the hundredth."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def timed(job: Callable[[], object]) -> float:
    """Milliseconds that it takes."""
    began = time.perf_counter()
    job()
    return (time.perf_counter() - began) * 1000


def measured(count: int, requests: int, size: int) -> str:
    """The page."""
    before = load()
    with tempfile.TemporaryDirectory() as data, served(Path(data)) as (url, pid):
        one, kept, crowded = pairs(url, pid, count), memory(url, pid, requests), crowd(url, pid, size)
    met = "met" if one["ratio"] <= GOAL else "not met"
    replies = ", ".join(f"{count:,} × {status}" for status, count in sorted(crowded["replies"].items()))
    return "\n".join(
        [
            "# What the HTTP server costs",
            "",
            f"{made_by('overhead --part server', before)}: a process of its own, real clients on loopback.",
            "",
            "## `/v1/rerank` on ten texts, beside the evaluator alone",
            "",
            f"{count} requests and as many calls of the evaluator, in turns. Goal: at most {GOAL:.2f} times as long.",
            "",
            table(
                ["", "median", "processor time"],
                [
                    ["evaluator alone", f"{one['evaluator_ms']:.1f} ms", f"{one['evaluator_worked_ms']:.0f} ms"],
                    ["request", f"{one['request_ms']:.1f} ms", f"{one['request_worked_ms']:.0f} ms"],
                    [
                        "ratio",
                        f"**{one['ratio']:.2f}: {met}**",
                        f"{one['request_worked_ms'] / one['evaluator_worked_ms']:.2f}",
                    ],
                ],
            ),
            "",
            f"Added at the median, turn by turn: {one['added_ms']:.1f} ms.",
            "",
            "## Memory",
            "",
            table(["after requests", "server"], [[f"{int(at):,}", f"{mb:.0f} MB"] for at, mb in kept.items()]),
            "",
            f"## {size:,} requests at once",
            "",
            f"{replies}, within {crowded['seconds']:.1f} s. The server had {crowded['mb']:.0f} MB then, and `/healthz` "
            f"answered in {crowded['alive_ms']:.0f} ms.",
        ]
    )
