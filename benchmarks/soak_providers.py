"""A model's server and a web search are down, slow, wrong, and well again, while sessions go on asking.

Both are one real server on loopback. The sessions ask through the app; what each run came to is read from the library.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import tempfile
import time
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmarks.soak_app import engine
from benchmarks.soak_client import Lost, Missing, Tab
from benchmarks.soak_kills import stock
from benchmarks.soak_served import Supervised
from benchmarks.soak_world import closed, memory
from crag.core.config import AppConfig
from crag.core.trace import Trace
from crag.runtime.circuits import LONGEST_REST
from tests.support.failing_servers import LLM_KEY, TAVILY_KEY, Failure, Part, world

GOAL = "runs end within their budget, the circuit opens and closes, the stored runs say it; memory and threads are flat"

PHASES: Mapping[str, Failure | None] = {
    "well": None,
    "down (connections reset)": "refused",
    "failing (status 500)": "500",
    "asking too much (status 429)": "429",
    "wrong (a page of HTML)": "garbage",
    "slow (never a reply)": "hang",
    "well again": None,
}
PARTS: tuple[Part, ...] = ("grade", "support", "select", "rewrite", "search", "answer")
_BUDGET = 12
"""Seconds that a run may take for outside calls."""


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--phase-seconds", type=float, default=30.0, help="providers: of each kind of failure")
    parser.add_argument("--askers", type=int, default=10, help="providers: sessions that ask")


async def measure(chosen: argparse.Namespace) -> dict[str, Any]:
    with tempfile.TemporaryDirectory(prefix="crag-providers-") as folder:
        return await asked_through(Path(folder), chosen.phase_seconds, chosen.askers, tuple(PHASES))


def describe(figures: dict[str, Any]) -> list[str]:
    rows = [
        f"{figures['askers']} sessions, {figures['seconds']:g} seconds each, the last as much longer as a service is "
        f"left alone at most; a run has {_BUDGET} seconds for outside calls, which at most half of a run's steps wait "
        "for. `left alone`: steps in which the service was not called because it had failed in earlier runs.",
        "",
        "| the services are | runs | no answer | not ended | seconds, median (most) | calls a run | steps left alone "
        "| memory | threads |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for name, each in figures["phases"].items():
        rows.append(
            f"| {name} | {each['runs']} | {each['unanswered']} | {each['unfinished']} | "
            f"{each['median']:.1f} ({each['most']:.1f}) | {each['calls']:.1f} | {each['resting']} | "
            f"{each['memory_mb']:.0f} MB | {each['threads']} |"
        )
    rows += [
        "",
        f"As the log says it: {figures['opened']} times opened, {figures['closed']} closed.",
    ]
    return [*rows, *(f"- {problem}" for problem in figures["problems"])]


async def asked_through(folder: Path, seconds: float, askers: int, phases: tuple[str, ...]) -> dict[str, Any]:
    """All phases one after the other; what the runs of each came to."""
    stock(AppConfig.of(data=folder / "data"), [f"stock-{number}.txt" for number in range(6)])
    found: dict[str, Any] = {}
    problems: list[str] = []
    with (
        world() as outside,
        Supervised(
            folder,
            CRAG_LLM="openai-compatible",
            CRAG_LLM_BASE_URL=f"{outside.address}/v1",
            CRAG_LLM_MODEL="tester",
            CRAG_LLM_KEY=LLM_KEY,
            CRAG_EVALUATOR="llm",
            CRAG_WEB="tavily",
            CRAG_TAVILY_BASE_URL=outside.address,
            TAVILY_API_KEY=TAVILY_KEY,
            CRAG_PRIVATE_ADDRESSES="true",
            CRAG_RUN_SECONDS=str(_BUDGET),
            CRAG_RUNS_AT_ONCE=str(askers),
            CRAG_WEB_CACHE_HOURS="0",
        ) as app,
    ):
        tabs = [Tab(app.url) for _ in range(askers)]
        try:
            await asyncio.gather(*(tab.open() for tab in tabs))
            await tabs[0].ask("How long did hiring take in 2019, before anything?")
            seen: set[str] = set(_runs(folder / "data"))
            for phase in phases:
                failure = PHASES[phase]
                outside.fails.clear()
                if failure is not None:
                    outside.fails.update(dict.fromkeys(PARTS, failure))
                # A service that failed for so long is tried again when its longest rest is over.
                ends = time.monotonic() + seconds + (LONGEST_REST if phase == "well again" else 0)
                await asyncio.gather(*(_ask(tab, place, phase, ends, problems) for place, tab in enumerate(tabs)))
                every = _runs(folder / "data")
                found[phase] = _came_to([trace for id, trace in every.items() if id not in seen])
                found[phase]["memory_mb"] = memory(app.pid) / 2**20
                found[phase]["threads"] = len(list(Path(f"/proc/{app.pid}/task").iterdir()))
                seen = set(every)
            outside.hanging.set()
        finally:
            await closed(tabs)
        said = app.said()
    if LLM_KEY in said or TAVILY_KEY in said:
        problems.append("a key is in the log")
    return {
        "askers": askers,
        "seconds": seconds,
        "phases": found,
        "opened": said.count(" is left alone ("),
        "closed": said.count(" answers again ("),
        "problems": problems,
    }


async def _ask(tab: Tab, place: int, phase: str, ends: float, problems: list[str]) -> None:
    number = 0
    while time.monotonic() < ends:
        number += 1
        try:
            done = await tab.ask(f"How long did hiring take, asks {place}-{number} while all is {phase}?")
        except Missing:  # the page says why there is no place for a question
            problems.append(f"{phase}: {' '.join(tab.texts().split())[:300]}")
            await tab.open()
            continue
        except Lost as error:
            problems.append(f"{phase}: {error}")
            return
        problems += [f"{phase}: {each}" for each in (*done.exceptions, *done.errors)]


def _runs(data: Path) -> dict[str, Trace]:
    opened = engine(AppConfig.of(data=data))
    try:
        runs = opened.library().runs
        return {id: runs.trace(id) for id in runs.ids()}
    finally:
        opened.close()


def _came_to(traces: list[Trace]) -> dict[str, Any]:
    took = [trace.seconds for trace in traces] or [0.0]
    return {
        "runs": len(traces),
        "unanswered": sum(trace.finished and trace.answer is None for trace in traces),
        "unfinished": sum(not trace.finished for trace in traces),
        "median": statistics.median(took),
        "most": max(took),
        "calls": sum(len(trace.calls) for trace in traces) / max(1, len(traces)),
        "resting": sum(failure.reason == "resting" for trace in traces for failure in trace.failures),
        "reasons": dict(Counter(f"{each.step}: {each.reason}" for trace in traces for each in trace.failures)),
    }
