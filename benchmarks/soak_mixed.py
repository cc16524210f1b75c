"""Part `mixed`: asking, sliding and paging by some sessions for an hour, with memory looked at all along.

Each session is a person: asks one of the sample's questions, moves thresholds on Ask and on Tune, opens Documents,
Compare, Evaluate and Settings, leaves now and then and comes back in a new tab. After the first part of the time, in
which everything is loaded and every cache has filled, memory should stay where it is.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.soak_client import Lost, Missing, Rerun, Tab
from benchmarks.soak_world import memory, prepare, processor
from tests.support.app_server import serving

GOAL = "no error in an hour, and memory after the first ten minutes flat within 5 %"
QUESTIONS = (
    "What was the operating income in 2019?",
    "Who leads the office?",
    "How many complaints were received?",
    "Which laws does it rest on?",
    "What is the capital of Peru?",
)
PAGES = ("", "tune", "documents", "compare", "evaluate", "settings")


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--people", type=int, default=10, help="sessions of the part mixed")


async def step(tab: Tab, draw: random.Random) -> tuple[str, Rerun]:
    """One thing that a person does on the page that is open."""
    kinds = ["page", "page", "rerun"]
    if tab.has("bidi_component", "crag_rail"):
        kinds += ["slide"] * 4
    if tab.page == "" and tab.has("chat_input"):
        kinds += ["ask"]
    kind = draw.choice(kinds)
    if kind == "page":
        return kind, await tab.go(draw.choice(PAGES))
    if kind == "slide":
        return kind, await tab.drag(draw.randrange(5, 40) / 100, draw.randrange(45, 90) / 100)
    if kind == "ask":
        return kind, await tab.ask(draw.choice(QUESTIONS))
    return kind, await tab.rerun()


async def person(url: str, number: int, until: float, found: dict[str, Any]) -> None:
    """Works until the time is over, in one tab after another."""
    draw = random.Random(number)
    while time.monotonic() < until:
        async with Tab(url) as tab:
            try:
                await tab.open()
                for _ in range(draw.randrange(10, 60)):
                    if time.monotonic() >= until:
                        return
                    await asyncio.sleep(draw.uniform(0.5, 3.5))
                    kind, done = await step(tab, draw)
                    found["seconds"].setdefault(kind, []).append(done.seconds)
                    found["problems"] += [f"{kind} on {tab.page!r}: {each}" for each in done.exceptions]
                    found["problems"] += [f"{kind} on {tab.page!r}: {each}" for each in done.errors]
            except (Lost, Missing) as error:
                found["problems"].append(f"{tab.page!r}: {error}")


async def measure(chosen: argparse.Namespace) -> dict[str, Any]:
    """Seconds by what was done, what went wrong, and memory by the minute."""
    found: dict[str, Any] = {"seconds": {}, "problems": []}
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        prepare(folder / "data")
        with serving(folder) as app:
            began, memories = time.monotonic(), []
            until = began + 60 * chosen.minutes
            people = [asyncio.create_task(person(app.url, each, until, found)) for each in range(chosen.people)]
            while time.monotonic() < until:
                await asyncio.sleep(min(15.0, max(0.0, until - time.monotonic())))
                memories.append((time.monotonic() - began, memory(app.process.pid)))
                print(f"{memories[-1][0]:.0f} s: {memories[-1][1] / 1e6:.0f} MB", flush=True)
            await asyncio.gather(*people)
            spent, log = processor(app.process.pid), app.log.read_text(encoding="utf-8")
    found["problems"] += [f"log: {line}" for line in log.splitlines() if "Traceback" in line or "Error" in line]
    acts = {
        kind: {"count": len(each), "median": statistics.median(each), "worst": max(each)}
        for kind, each in found["seconds"].items()
    }
    return {
        "minutes": chosen.minutes,
        "people": chosen.people,
        "acts": acts,
        "problems": found["problems"][:20],
        "memory": memories,
        "processor": spent,
    }


def growth(memories: list[tuple[float, int]], after: float) -> float:
    """By what part of itself memory is higher in the last third of the time after `after` seconds than in the first."""
    later = [size for seconds, size in memories if seconds >= after]
    third = max(1, len(later) // 3)
    return statistics.median(later[-third:]) / statistics.median(later[:third]) - 1


def describe(found: dict[str, Any]) -> list[str]:
    begins = 60 * min(10.0, found["minutes"] / 3)
    first, last = found["memory"][0][1], found["memory"][-1][1]
    lines = [
        f"{found['people']} sessions for {found['minutes']:g} minutes. Memory of all processes: {first / 1e6:.0f} MB "
        f"at the beginning, {last / 1e6:.0f} MB at the end; after the first {begins / 60:.0f} minutes "
        f"{growth(found['memory'], begins):+.1%}. Faults: {len(found['problems'])}.",
        "",
        "| what | how often | median | worst |",
        "|---|---:|---:|---:|",
    ]
    for kind, act in sorted(found["acts"].items()):
        lines.append(f"| {kind} | {act['count']:,} | {1000 * act['median']:.0f} ms | {1000 * act['worst']:.0f} ms |")
    return [*lines, *([""] if found["problems"] else []), *(f"- {each}" for each in found["problems"])]
