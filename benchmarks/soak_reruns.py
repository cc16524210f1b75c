"""Part `reruns`: how soon pages answer while 10, 25 and 50 sessions each ask for a rerun every two seconds.

Pages in turns, in one run of the command: Ask with an answered run, whose thresholds are moved; Tune over 150 stored
runs, moved likewise; and a page of one slider that the same Streamlit serves under the app's options. Each session is a
socket of its own.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from benchmarks.soak_client import Rerun, Tab
from benchmarks.soak_world import bare, beat, closed, opened, prepare, processor
from tests.support.app_server import serving

GOAL = "with 25 sessions a median of at most 2 times that of a page of one slider; with 50 of at most 1 s"
EVERY = 2.0
PAGES = {"ask": "Ask, an answered run open", "tune": "Tune, 150 runs", "slider": "a page of one slider"}


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--sessions", type=int, nargs="+", default=[10, 25, 50])
    parser.add_argument("--pages", nargs="+", choices=list(PAGES), default=list(PAGES))
    parser.add_argument("--rerun-seconds", type=float, default=12.0, help="how long each figure is measured")


async def slide(tab: Tab, number: int) -> Rerun:
    """The thresholds, to anywhere."""
    draw = random.Random(f"{tab.session} {number}")
    return await tab.drag(draw.randrange(5, 40) / 100, draw.randrange(45, 90) / 100)


async def _figures(url: str, pid: int, count: int, page: str, query: str, seconds: float) -> dict[str, Any]:
    tabs = await opened(url, count, page, query)
    try:
        await asyncio.gather(*(slide(tab, 6) for tab in tabs))
        await asyncio.sleep(1)
        before, mine = processor(pid), time.process_time()
        found = await beat(tabs, slide, EVERY, seconds)
        await asyncio.sleep(0.5)  # what is cleared up after the last
        spent, client = processor(pid) - before, time.process_time() - mine
    finally:
        await closed(tabs)
    done = len(found.seconds)
    return {
        "median": found.median,
        "p95": found.p95,
        "reruns": done,
        "server_ms": 1000 * spent / max(done, 1),
        "client_ms": 1000 * client / max(done, 1),
        "problems": found.problems[:5],
    }


async def measure(chosen: argparse.Namespace) -> dict[str, Any]:
    """By sessions and page."""
    rows: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        run = prepare(folder / "data")[-1]
        with ExitStack() as stack:
            app = stack.enter_context(serving(folder))
            one = stack.enter_context(bare(folder / "bare"))
            for count in chosen.sessions:
                for page in chosen.pages:
                    served = one if page == "slider" else app
                    query = f"run={run}" if page == "ask" else ""
                    path = page if page == "tune" else ""
                    at = served.url, served.process.pid
                    asked = await _figures(*at, count, path, query, chosen.rerun_seconds)
                    rows.append({"sessions": count, "page": page, **asked})
                    print(rows[-1], flush=True)
    return {"rows": rows, "seconds": chosen.rerun_seconds}


def describe(found: dict[str, Any]) -> list[str]:
    """The table, and whether the goal is met by it."""
    lines = [
        f"Each figure over {found['seconds']:.0f} s; a session moves the thresholds every two seconds. Server's "
        "processor: all that it took, for one rerun. The clients share the cores.",
        "",
        "| sessions | page | median | p95 | × slider | server's processor | client's | reruns | faults |",
        "|---:|---|---:|---:|---:|---:|---:|---:|---:|",
    ]
    beside = {row["sessions"]: row["median"] for row in found["rows"] if row["page"] == "slider"}
    for row in found["rows"]:
        slider = beside.get(row["sessions"])
        times = f"{row['median'] / slider:.1f}" if slider and row["page"] != "slider" else "–"
        lines.append(
            f"| {row['sessions']} | {PAGES[row['page']]} | {1000 * row['median']:.0f} ms | "
            f"{1000 * row['p95']:.0f} ms | {times} | {row['server_ms']:.1f} ms | {row['client_ms']:.1f} ms | "
            f"{row['reruns']} | {len(row['problems'])} |"
        )
    return [*lines, "", *_verdicts(found["rows"])]


def _verdicts(rows: list[dict[str, Any]]) -> list[str]:
    """Whether the goal is met."""
    beside = {row["sessions"]: row["median"] for row in rows if row["page"] == "slider"}
    said, met = [], True
    for row in rows:
        most = {25: 2 * beside.get(25, 0.0), 50: 1.0}.get(row["sessions"], 0.0)
        if row["page"] == "slider" or not most:
            continue
        met = met and row["median"] <= most
        said.append(
            f"{row['page'].capitalize()} with {row['sessions']}: {row['median']:.2f} s, at most {most:.2f} asked"
        )
    if not said:
        return ["The goal is about 25 and 50 sessions, which were not measured."]
    return [f"- The goal is {'met' if met else 'missed'} ({'; '.join(said)})."]
