"""Part `clicks`: how often the script runs for one press of a citation while other sessions move sliders.

A real browser has an answered run open in Ask and presses its citations, one after the other, while 0, 10 and 25
sessions each move Tune's thresholds every two seconds. Runs are counted from what the server sends to the browser: each
run of the script begins with a message of its own.
"""

from __future__ import annotations

import argparse
import asyncio
import shutil
import statistics
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

from benchmarks.soak_reruns import EVERY, slide
from benchmarks.soak_world import beat, closed, opened, prepare
from benchmarks.tune import ARGUMENTS
from tests.support.app_server import serving

if TYPE_CHECKING:
    from playwright.async_api import Page

GOAL = "a press of a citation is one run of the script, however many sessions are at work"
QUIET = 1.0
"""Seconds without a run of the script after which a press is taken to be done."""
PATIENCE = 30.0


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--beside", type=int, nargs="+", default=[0, 10, 25], help="sessions that move sliders")
    parser.add_argument("--presses", type=int, default=30)


@dataclass
class Heard:
    """What the server has sent to the browser: runs of the script that began, and when the last one ended.

    Without slots: Playwright notes on a listener's object that it listens.
    """

    started: int = 0
    ended: int = 0
    at: float = field(default_factory=time.perf_counter)

    def take(self, data: str | bytes) -> None:
        if not isinstance(data, bytes):
            return
        match ForwardMsg.FromString(data).WhichOneof("type"):
            case "new_session":
                self.started += 1
                self.at = time.perf_counter()
            case "script_finished":
                self.ended += 1
                self.at = time.perf_counter()

    async def quiet(self, more_than: int) -> None:
        """Until a run beyond that number has ended and none has followed for QUIET seconds. Raises TimeoutError."""
        async with asyncio.timeout(PATIENCE):
            while self.started <= more_than or self.ended < self.started or time.perf_counter() - self.at < QUIET:
                await asyncio.sleep(0.02)


async def _press(page: Page, heard: Heard, presses: int) -> list[dict[str, float]]:
    """Runs and seconds of each press, citations in turn."""
    found = []
    cites = page.locator("button.cite")
    for number in range(presses):
        before, began = heard.started, time.perf_counter()
        await cites.nth(number % await cites.count()).press("Enter")
        await heard.quiet(before)
        found.append({"runs": heard.started - before, "seconds": heard.at - began})
    return found


async def _figures(url: str, run: str, count: int, presses: int) -> dict[str, Any]:
    from playwright.async_api import async_playwright  # only this part and the browser tests need it

    heard = Heard()
    async with async_playwright() as driver:
        browser = await driver.chromium.launch(executable_path=shutil.which("chromium"), args=ARGUMENTS)
        page = await browser.new_page(viewport={"width": 1440, "height": 900})
        page.set_default_timeout(PATIENCE * 1000)
        page.on("websocket", lambda socket: socket.on("framereceived", heard.take))
        await page.goto(f"{url}/?run={run}")
        await page.locator("button.cite").first.wait_for()
        await heard.quiet(0)
        tabs = await opened(url, count, "tune")
        moving = asyncio.create_task(beat(tabs, slide, EVERY, 10 * PATIENCE)) if tabs else None
        try:
            pressed = await _press(page, heard, presses)
        finally:
            if moving:
                moving.cancel()
                await asyncio.gather(moving, return_exceptions=True)
            await closed(tabs)
            await browser.close()
    seconds = sorted(each["seconds"] for each in pressed)
    return {
        "beside": count,
        "presses": len(pressed),
        "one": sum(each["runs"] == 1 for each in pressed),
        "most": int(max(each["runs"] for each in pressed)),
        "median": statistics.median(seconds),
        "p95": seconds[int(0.95 * len(seconds))],
    }


async def measure(chosen: argparse.Namespace) -> dict[str, Any]:
    """By sessions beside the browser."""
    rows = []
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        run = prepare(folder / "data")[0]
        with serving(folder) as app:
            for count in chosen.beside:
                rows.append(await _figures(app.url, run, count, chosen.presses))
                print(rows[-1], flush=True)
    return {"rows": rows}


def describe(found: dict[str, Any]) -> list[str]:
    """The table, and whether the goal is met by it."""
    lines = [
        "A browser with an answered run open presses its citations; the others move Tune's thresholds every two "
        "seconds. Timed: from the key to the end of the last run that it caused.",
        "",
        "| sessions beside | presses | one run each | most runs of a press | median | p95 |",
        "|---:|---:|---:|---:|---:|---:|",
    ]
    for row in found["rows"]:
        lines.append(
            f"| {row['beside']} | {row['presses']} | {row['one']} | {row['most']} | {1000 * row['median']:.0f} ms | "
            f"{1000 * row['p95']:.0f} ms |"
        )
    met = all(row["one"] == row["presses"] for row in found["rows"])
    return [*lines, "", f"- The goal is {'met' if met else 'missed'}."]
