"""How long it takes from a key on a slider of Tune to the page drawn anew, with 1,000 stored runs of ten chunks.

python -m benchmarks.tune [--runs 1000] [--moves 100]

The runs of `benchmarks.stored_runs` are stored in a library with a question set that labels them, so that the page
shows all it can: flips, histogram, recommendation, map of pairs and curves, with all folds open. A real browser presses
the arrow keys on the sliders. Timed are the script body on the server (what the product does for a move, with
Streamlit's calls in it), and in the browser from the key to the histogram with its threshold moved, and to the last
change of the page.
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import statistics
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.pages import load, machine, ms, p95, parse, publish, table
from benchmarks.stored_runs import store_runs
from crag.core.config import AppConfig
from crag.engine import Engine
from tests.support.app_server import serving

APP = Path(__file__).with_name("tune_app.py")
GOAL = 0.150
"""Seconds of our own work for a move, at the median."""
THUMBS = {"lower": 0, "upper": 1, "k": 2, "strip filter": 3}
"""The sliders of the page, in the order of its keyboard."""
KEYS = ("ArrowRight", "ArrowLeft")
ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"]
ARGUMENTS += ["--disable-component-update", "--disable-sync", "--disable-dev-shm-usage"]
QUIET = 500
"""Milliseconds without a change, after which a page is taken to be drawn."""
FLAGS = ".rail .name"
"""What the rail says of its lines."""
CLOSED = "[data-testid=stMain] [data-testid=stExpander] details:not([open]) > summary"
WATCH = """() => {
    window.crag = {};
    addEventListener('keydown', () => { window.crag = { key: performance.now() }; }, true);
    const drawn = (name) => requestAnimationFrame(() => requestAnimationFrame(() => {
        if (window.crag.key) window.crag[name] = performance.now() - window.crag.key;
    }));
    const read = () => [...document.querySelectorAll('FLAGS')].map(each => each.textContent).join();
    let flags = read();
    new MutationObserver(() => {
        const now = read();
        if (now && now !== flags) { flags = now; drawn('seen'); }
        drawn('last');
    }).observe(document.querySelector('[data-testid=stMain]'), { subtree: true, childList: true, characterData: true });
}""".replace("FLAGS", FLAGS)
STILL = """quiet => {
    const now = performance.now() - window.crag.key;
    return window.crag.last && now > window.crag.last + quiet;
}"""


@dataclass(frozen=True, slots=True)
class Move:
    """One key on a slider: seconds until the threshold had moved on the rail, and until the last change."""

    slider: str
    seen: float | None
    last: float


@dataclass(frozen=True, slots=True)
class Work:
    """Seconds of the script body by the clock, and of its thread by the processor."""

    clock: float
    processor: float


def prepare(folder: Path, runs: int) -> None:
    """A library of that many runs, each question labelled: answered on one page, or by nothing in the library."""
    engine = Engine(AppConfig.of(data=folder))
    store_runs(engine.library(), runs)
    engine.close()


def drive(address: str, sliders: Sequence[str]) -> tuple[list[Move], float]:
    """One move on each of `sliders` in order, and the seconds from the address to the page complete."""
    from playwright.sync_api import sync_playwright  # only this benchmark and the browser tests need it

    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=shutil.which("chromium"), args=ARGUMENTS)
        page = browser.new_page(viewport={"width": 1440, "height": 900})
        page.set_default_timeout(120_000)
        began = time.perf_counter()
        page.goto(address)
        still = page.locator("[data-test-script-state=notRunning]")
        page.locator(FLAGS).first.wait_for()
        still.wait_for(state="attached")
        opened = time.perf_counter() - began
        while page.locator(CLOSED).count():  # what a fold holds is drawn once it is opened
            page.locator(CLOSED).first.click()
            page.wait_for_timeout(QUIET)
            still.wait_for(state="attached")
        page.evaluate(WATCH)
        moves = []
        for place, slider in enumerate(sliders):
            page.get_by_role("slider").nth(THUMBS[slider]).focus()
            page.keyboard.press(KEYS[place // 7 % 2])
            page.wait_for_function(STILL, arg=QUIET)
            found = page.evaluate("() => window.crag")
            seen = found.get("seen")
            moves.append(Move(slider, seen and seen / 1000, found["last"] / 1000))
        browser.close()
    return moves, opened


def chosen(count: int) -> list[str]:
    """The sliders to move: mostly the thresholds."""
    draw = random.Random(1)
    return draw.choices(list(THUMBS), weights=[4, 4, 1, 1], k=count)


def report(works: Sequence[Work], moves: Sequence[Move], opened: float, runs: int) -> str:
    median = statistics.median(work.clock for work in works)
    seen = [move.seen for move in moves if move.seen is not None]
    met = "met" if median <= GOAL else "missed"
    lines = [
        "# From a slider of Tune to the page drawn anew",
        "",
        f"`python -m benchmarks.tune`: {runs:,} stored runs of ten chunks, all labelled, {len(moves)} keys pressed on "
        f"sliders in Chromium; {machine()}, shared by server and browser. Load of the "
        f"machine at the end {load()}.",
        "",
        f"Goal: {ms(GOAL)} of our own work at the median: **{ms(median)}: {met}**.",
        "",
        table(
            ["", "moves", "median", "p95"],
            [
                row("our own work: the script body, by the clock", [work.clock for work in works]),
                row("our own work: the script body, processor time", [work.processor for work in works]),
                row("key to the threshold moved on the histogram", seen),
                row("key to the last change of the page", [move.last for move in moves]),
                *(
                    row(f"key to the last change, {name}", [m.last for m in moves if m.slider == name])
                    for name in THUMBS
                ),
            ],
        ),
    ]
    return "\n".join([*lines, "", NOTES.format(opened=f"{opened:.1f}")])


def row(name: str, seconds: Sequence[float]) -> list[object]:
    high = ms(p95(seconds)) if len(seconds) >= 20 else "–"
    return [name, len(seconds), ms(statistics.median(seconds)) if seconds else "–", high]


NOTES = """\
The script body includes Streamlit's own calls in it. It re-decides all runs and draws flips, flow, matrix, histogram
and marks anew; the recommendation with its bootstrap, the map of pairs and the curves are worked out once for the same
labels, k and aggregation, and the moves of k are among those measured. No model is asked. Drawn means two animation
frames after the page has changed. The first opening of the page, which reads and labels all runs once a process and
loads the models, took {opened} s.
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--moves", type=int, default=100)
    options = parse(parser)
    if options.runs < 1 or options.moves < 1:
        raise SystemExit("at least one run and one move")
    with tempfile.TemporaryDirectory() as place:
        folder, log = Path(place), Path(place) / "moves"
        prepare(folder / "data", options.runs)
        with serving(folder, APP, CRAG_BENCH_LOG=str(log)) as app:
            moves, opened = drive(f"{app.url}/tune", chosen(options.moves))
        works = [Work(**json.loads(line)) for line in log.read_text(encoding="utf-8").splitlines()]
    text = report(works[-options.moves :], moves, opened, options.runs)
    publish("tune", text, folder=options.folder)


if __name__ == "__main__":
    main()
