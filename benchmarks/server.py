"""What the HTTP server adds to the evaluator, how it answers many at once, and what it keeps in memory.

python -m benchmarks.server [--pairs 100] [--rounds 15] [--requests 2000] [--crowd 1000] [--drips 40]

`crag serve` in a process of its own, on loopback, over an empty data folder and the models that ship. Rerank: ten
texts of about 600 characters, another question each time, in turns with the same evaluator called in this process;
which goes first changes from turn to turn. Processor time is that of both processes: what a request costs, however
busy the machine is with other work. At once: rounds of twenty requests that begin together. Memory: the server's own,
after so many requests (rerank and search in turns, four clients). Crowd: requests that all begin together.
Drips: a server with two tokens; the requests of one, one after another, while the other holds bodies open that bring a
byte a second.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import platform
import select
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import httpx

from crag.core.types import Passage
from crag.evaluation.local import LocalEvaluator

PAGE = Path(__file__).resolve().parent / "results" / "server.md"
GOAL = 1.15
"""How many times as long as the evaluator alone a request may take, at the median."""
AT_ONCE = 20
WARM_UP = 10
SUBJECTS = "hiring retirement audits surveys training travel leave health records energy".split()
TEXTS = [
    " ".join(
        f"Part {part} of the chapter on {subject} tells what was done in the year before, and by whom. "
        f"It took {40 + place + part} days on average in 2019."
        for part in range(4)
    )
    for place, subject in enumerate(SUBJECTS)
]


@contextmanager
def served(data: Path, **given: str) -> Iterator[tuple[str, int]]:
    """The address and the process id of a server that is ready, started with these variables."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("CRAG_")} | given
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


def at_once(url: str, rounds: int) -> dict[str, float]:
    """Milliseconds of requests that begin together, and how many failed."""
    together, failed = threading.Barrier(AT_ONCE), Counter[int]()

    def client(place: int) -> list[float]:
        seen = []
        with httpx.Client(timeout=120) as own:
            for number in range(rounds):
                together.wait()
                began = time.perf_counter()
                reply = own.post(f"{url}/v1/rerank", json=body(1_000 + number * AT_ONCE + place))
                seen.append((time.perf_counter() - began) * 1000)
                failed[reply.status_code] += reply.status_code != 200
        return seen

    with ThreadPoolExecutor(AT_ONCE) as pool:
        times = sorted(each for seen in pool.map(client, range(AT_ONCE)) for each in seen)
    return {
        "requests": len(times),
        "failed": failed.total(),
        "median_ms": statistics.median(times),
        "p95_ms": times[int(len(times) * 0.95)],
        "longest_ms": times[-1],
    }


def memory(url: str, pid: int, requests: int) -> dict[str, float]:
    """The server's memory in MB after so many requests, by their number."""
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
    """What came of so many requests that begin together: how many of each status, and the server's memory then."""

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


def drips(data: Path, count: int) -> dict[str, Any]:
    """Milliseconds of twenty requests of one token, before and while another holds so many bodies open."""
    slow, other = "slow-token-0123456789", "other-token-0123456789"
    began, stop = os.getloadavg()[0], threading.Event()
    with ExitStack() as opened:
        url, _ = opened.enter_context(served(data, CRAG_TOKENS=f"{slow}=slow,{other}=other"))
        client = opened.enter_context(httpx.Client(timeout=60, headers={"Authorization": f"Bearer {other}"}))

        def asked() -> list[float]:
            sent = body(0, TEXTS[:1])
            return [timed(lambda: client.post(f"{url}/v1/rerank", json=sent).raise_for_status()) for _ in range(20)]

        asked()
        without, place = asked(), httpx.URL(url)
        held = [opened.enter_context(socket.create_connection((place.host, place.port))) for _ in range(count)]
        for each in held:
            each.sendall(
                f"POST /v1/rerank HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {slow}\r\n"
                "Content-Type: application/json\r\nContent-Length: 1000\r\n\r\n{".encode()
            )

        def drip() -> None:
            while not stop.wait(1):
                for each in held:
                    each.sendall(b" ")

        dripping = threading.Thread(target=drip)
        dripping.start()
        try:
            during = asked()
        finally:
            stop.set()
            dripping.join()
        if select.select(held, [], [], 0)[0]:
            raise RuntimeError("the server gave up bodies before the requests had ended")
    medians = {"without_ms": statistics.median(without), "during_ms": statistics.median(during)}
    return {"count": count, **medians, "longest_ms": max(during), "load": began}


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


def page(found: dict[str, Any]) -> str:
    """The figures as a page."""
    one, many, crowded, kept = found["rerank"], found["at_once"], found["crowd"], found["memory_mb"]
    slow = found["drips"]
    met = "met" if one["ratio"] <= GOAL else "not met"
    rows = "\n".join(f"| {int(number):,} | {mb:.0f} MB |" for number, mb in kept.items())
    replies = ", ".join(f"{count:,} × {status}" for status, count in sorted(crowded["replies"].items()))
    return f"""# What the HTTP server costs

`python -m benchmarks.server`: `crag serve` in a process of its own, real clients on loopback; {found["machine"]}. \
Load of the machine when it began {found["load"][0]:.1f}, when it ended {found["load"][1]:.1f}.

## `/v1/rerank` on ten texts, beside the evaluator alone

{found["pairs"]} requests and as many calls of the evaluator, in turns. Goal: at most {GOAL:.2f} times as long.

| | median | processor time |
|---|---:|---:|
| evaluator alone | {one["evaluator_ms"]:.1f} ms | {one["evaluator_worked_ms"]:.0f} ms |
| request | {one["request_ms"]:.1f} ms | {one["request_worked_ms"]:.0f} ms |
| ratio | **{one["ratio"]:.2f}: {met}** | {one["request_worked_ms"] / one["evaluator_worked_ms"]:.2f} |

Added at the median, turn by turn: {one["added_ms"]:.1f} ms.

## {AT_ONCE} requests at once

{many["requests"]:,} requests on ten texts each, in rounds of {AT_ONCE} that begin together: {many["failed"]} failed; \
median {many["median_ms"]:,.0f} ms, p95 {many["p95_ms"]:,.0f} ms, longest {many["longest_ms"]:,.0f} ms.

## Memory

| after requests | server |
|---:|---:|
{rows}

## {crowded["size"]:,} requests at once

{replies}, within {crowded["seconds"]:.1f} s. The server had {crowded["mb"]:.0f} MB then, and `/healthz` answered in \
{crowded["alive_ms"]:.0f} ms.

## While another token sends slowly

One token holds {slow["count"]} bodies open that bring a byte a second. A request of another token to grade one text: \
median {slow["during_ms"]:.1f} ms, longest {slow["longest_ms"]:.1f} ms; median {slow["without_ms"]:.1f} ms before. \
Load of the machine {slow["load"]:.1f}.
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, usual in (("pairs", 100), ("rounds", 15), ("requests", 2_000), ("crowd", 1_000), ("drips", 40)):
        parser.add_argument(f"--{name}", type=int, default=usual)
    options = parser.parse_args()
    usual = all(getattr(options, name) == parser.get_default(name) for name in vars(options))
    began = os.getloadavg()[0]
    with tempfile.TemporaryDirectory() as data, served(Path(data)) as (url, pid):
        found = {
            "machine": f"{os.cpu_count()} cores, Python {platform.python_version()}",
            "pairs": options.pairs,
            "rerank": pairs(url, pid, options.pairs),
            "at_once": at_once(url, options.rounds),
            "memory_mb": memory(url, pid, options.requests),
            "crowd": crowd(url, pid, options.crowd),
        }
    with tempfile.TemporaryDirectory() as data:
        found["drips"] = drips(Path(data), options.drips)
    found["load"] = [began, os.getloadavg()[0]]
    print(page(found))
    if usual:
        PAGE.write_text(page(found), encoding="utf-8")
        PAGE.with_suffix(".json").write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
