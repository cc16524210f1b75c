"""Takes the pictures of the README and the tour again, of the app over the sample library: `make pictures`.

It needs Chromium and the packages of requirements/dev.txt.
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import Any

from playwright.sync_api import sync_playwright

from crag import Engine
from crag.analysis import evaluate as evaluations
from crag.analysis.questions.sets import read_set
from crag.core.config import AppConfig
from crag.core.protocols import RunRequest
from crag.core.sample import load_sample
from crag.core.types import Action
from tests.support.app_server import serving

IMAGES = Path(__file__).resolve().parent / "images"
WIDE, HEIGHT, PATIENCE = 1440, 900, 120_000
"""Pixels of a picture, and milliseconds that a page may take."""


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        runs = _fill(Path(folder, "data"))
        with serving(Path(folder)) as app, sync_playwright() as driver:
            browser = driver.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
            page = browser.new_page(viewport={"width": WIDE, "height": HEIGHT}, color_scheme="light")
            page.set_default_timeout(PATIENCE)
            for action in Action:
                _take(page, f"{app.url}/?run={runs[action]}", ".sources li", f"ask-{action.value.lower()}.png")
            _take(page, f"{app.url}/tune", ".js-plotly-plot", "tune.png")
            browser.close()


def _fill(data: Path) -> dict[Action, str]:
    """The sample with its three questions asked and its question set evaluated; the runs by their actions."""
    sample = load_sample()
    engine = Engine(AppConfig.of(data=data, web="folder", web_folder=sample.web))
    for _ in engine.add(sample.pdf.name, sample.pdf.read_bytes()):
        pass
    id = evaluations.add_set(engine.library(), read_set(sample.question_set.name, sample.question_set.read_bytes()))
    for _ in evaluations.evaluate(engine, id, RunRequest("", "balanced")):
        pass
    asked = {each.expected: engine.trace(RunRequest(each.question, via="app")) for each in sample.questions}
    engine.close()
    return {action: trace.run_id for action, trace in asked.items()}


def _take(page: Any, address: str, there: str, name: str) -> None:
    """The window at an address, once what is named is there and the script has ended."""
    page.goto(address)
    page.locator(there).first.wait_for()
    page.locator("[data-test-script-state=notRunning]").wait_for(state="attached")
    page.wait_for_timeout(1500)  # charts move into place
    page.screenshot(path=IMAGES / name)


if __name__ == "__main__":
    main()
