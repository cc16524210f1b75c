"""Monitor in a real browser: a bar and a number list their runs, one opens in Ask, filters filter, nothing juts out."""

import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from crag.core.config import AppConfig
from crag.core.events import RunFinished, RunStarted
from tests.support import local_models
from tests.support.browsing import choose, fits, settled, until
from tests.support.tune_runs import run

pytestmark = pytest.mark.slow

HIGHEST = """() => [...document.querySelector('.js-plotly-plot .trace.bars')?.querySelectorAll('.point path') ?? []]
    .map(bar => bar.getBoundingClientRect()).sort((one, other) => other.height - one.height)
    .map(bar => [bar.x + bar.width / 2, bar.y + bar.height / 2])[0]"""
"""The middle of the highest of the first kind in the first figure; nothing while Plotly draws it again."""

expect = pytest.importorskip("playwright.sync_api", reason="needs the playwright package").expect


@pytest.fixture(scope="module")
def served(served_to_many):
    return served_to_many


@pytest.fixture(scope="module")
def address(served, own_library):
    """Of a library with forty runs of two weeks, every fourth of which ended INCORRECT."""
    name, key = own_library()
    with local_models.engine(AppConfig.of(data=served.data)) as engine:
        for number in range(40):
            at = (datetime.now(UTC) - timedelta(hours=1 + 8 * number)).isoformat(timespec="milliseconds")
            made = run(number, [0.01 if number % 4 == 0 else 0.9], strategy="paper" if number % 3 else "balanced")
            began = RunStarted(
                run_id=made.run_id,
                question=made.question,
                strategy=made.strategy,
                settings=made.settings,
                workspace=name,
                started_at=at,
            )
            engine.library(name).runs.save(replace(made, started_at=at), [began, RunFinished(at=0.4)])
    return f"/monitor{key}"


@pytest.fixture
def page(open_page, address):
    page = open_page(address)
    page.locator(".st-key-mon-says").wait_for()
    page.locator(".js-plotly-plot .points .point").first.wait_for(state="attached")
    return settled(page)


def test_a_click_on_a_bar_lists_its_runs_again_and_again_and_one_opens_in_ask(page):
    listed = page.get_by_role("dialog").locator(".st-key-mon-list canvas").first
    for _ in range(2):  # a second click on the same bar opens its list as the first did
        click_highest_bar(page)
        expect(listed).to_be_visible()
        expect(page.get_by_role("dialog")).to_contain_text(re.compile(r"CORRECT: \d+ runs?\."))
        page.keyboard.press("Escape")
        expect(listed).to_have_count(0)
    page.get_by_role("button", name=re.compile("^40 runs: ")).press("Enter")
    expect(listed).to_be_visible()
    settled(page)
    choose(page, "mon-list")
    page.wait_for_url(re.compile(r"/\?.*run=run-\d+"))


def click_highest_bar(page):
    """Click it as soon as the figure says what is under the mouse: it does not while it is drawn again, or moves."""
    label, at = page.locator(".js-plotly-plot").first.locator(".hoverlayer .hovertext"), None
    for _ in range(100):
        if at == (at := until(page, HIGHEST)) and label.count():
            return page.mouse.click(*at)
        page.mouse.move(at[0] + 1, at[1])
        page.mouse.move(*at)
        page.wait_for_timeout(200)
    raise AssertionError("no bar says what it shows")


def test_nothing_is_off_the_screen_in_either_theme_at_either_width_and_a_filter_leaves_only_its_runs(page):
    fits(page)
    settled(page)
    expect(page.locator(".st-key-mon-says")).to_contain_text("40 runs")
    page.locator(".st-key-mon-strategy input").click()
    page.get_by_role("option", name="Balanced").click()
    expect(page.locator(".st-key-mon-says")).to_contain_text("14 runs")
