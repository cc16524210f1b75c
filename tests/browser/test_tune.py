"""Tune in a real browser: a slider flips runs, a cell lists them, one opens in Ask, and Ask uses what was chosen."""

import re
import shutil

import pytest

from crag.analysis.evaluate import add_set
from crag.analysis.questions.sets import read_set
from crag.core.config import AppConfig
from crag.core.protocols import RunRequest
from crag.core.sample import load_sample
from crag.core.strategies import STRATEGIES
from tests.support import local_models
from tests.support.browsing import ask, choose, fits, settled

pytestmark = pytest.mark.slow

expect = pytest.importorskip("playwright.sync_api", reason="needs the playwright package").expect


@pytest.fixture(scope="module")
def served(served_to_many):
    return served_to_many


@pytest.fixture(scope="module")
def address(served, own_library, sample_data):
    """Of a library with the sample, each of its three questions asked, and what is known of them."""
    name, key = own_library()
    shutil.copytree(sample_data / "workspaces" / "default", served.data / "workspaces" / name)
    engine, sample = local_models.engine(AppConfig.of(data=served.data)), load_sample()
    once = STRATEGIES["balanced"].settings.changed(loop_on=(), max_rewrites=0)
    for each in sample.questions:
        list(engine.ask(RunRequest(each.question, workspace=name, settings=once)))
    rows = "\n".join(
        f'{{"question": "{each.question}", "page": 8, "source": "{sample.pdf.name}"}}' for each in sample.questions
    )
    add_set(engine.library(name), read_set("sample.jsonl", rows.encode()))
    engine.close()
    return f"/tune{key}"


@pytest.fixture
def page(open_page, address):
    page = open_page(address)
    page.get_by_role("button", name="Export").wait_for()
    page.get_by_role("slider").first.wait_for()
    return settled(page)


FLAGS, SAYS = ".rail .name", ".rail .says"


def flags(page):
    """What the rail says of its lines."""
    return "".join(page.locator(FLAGS).all_text_contents())


def press(page, slider, key, until):
    """One key after another on a slider until the page says `until`."""
    for _ in range(100):
        page.get_by_role("slider").nth(slider).press(key)
        if until in page.locator(SAYS).inner_text():
            return
    raise AssertionError(f"never said {until!r}")


def test_a_slider_flips_a_run_that_opens_in_ask_which_then_uses_the_sliders(page):
    expect(page.locator(SAYS)).to_contain_text("None of 3 runs would change")
    press(page, 1, "PageUp", "1 enough → partly")
    page.get_by_text("Ask does not use these yet").wait_for()
    chosen = flags(page)
    lower, upper = re.findall(r"\d\.\d\d", chosen)
    choose(page, "tune-cell", 0, 430)  # was CORRECT, would be AMBIGUOUS
    page.locator("[class*=st-key-tune-listed-CORRECT-AMBIGUOUS] canvas").first.wait_for()
    settled(page)
    question = load_sample().questions[0].question
    choose(page, "tune-listed-CORRECT-AMBIGUOUS")
    page.locator(".question", has_text=question).wait_for()
    page.wait_for_url(re.compile(r"/\?.*run="))
    page.get_by_role("link", name="Tune", exact=True).click()
    page.locator(SAYS, has_text="1 enough → partly").wait_for()
    settled(page)
    assert flags(page) == chosen, "the sliders are where they were"
    fits(page)
    page.get_by_role("button", name="Use these").click()
    page.get_by_text("Ask now uses exactly these").wait_for()
    settled(page)
    page.get_by_role("link", name="Ask", exact=True).click()
    page.locator(".question", has_text=question).wait_for()
    settled(page)
    ask(page, "Who established the Civil Service Commission?")
    page.locator(".action .word").wait_for()
    page.locator(".cx .small", has_text=f"lower {lower}, upper {upper}").wait_for()
