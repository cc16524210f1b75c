"""An exported run in a real browser, as a file: it replays to its end, asks for nothing, hostile text is inert."""

from dataclasses import replace

import pytest

from crag.core.trace import Trace
from crag.export.html import pages
from tests.support.browsing import opened_file
from tests.support.whole_run import events

expect = pytest.importorskip("playwright.sync_api", reason="needs the playwright package").expect

HOSTILE = "</script><script>window.broken = 1</script><!--<script> <img src=x onerror='window.broken = 1'> ]]>\u2028"


@pytest.fixture
def run():
    first, *rest = events()
    return [replace(first, question=HOSTILE), *rest]


@pytest.fixture
def exported(browser, run, tmp_path):
    """The page, opened from a file."""
    file = tmp_path / "run.html"
    file.write_text(pages.page(Trace.from_events(run), run), encoding="utf-8")
    with opened_file(browser, file, viewport={"width": 900, "height": 900}) as page:
        yield page
        assert page.evaluate("window.broken") is None


def state(page):
    return page.locator(".run").get_attribute("data-state")


def test_it_opens_at_the_end_and_replays_to_the_end(exported):
    page = exported
    expect(page.locator(".action .word")).to_have_text("Your documents: partly")
    end = page.locator("body").inner_html()
    page.get_by_role("button", name="Replay").click()
    expect(page.get_by_role("button", name="Pause")).to_be_visible()
    expect(page.locator(".action .word")).to_have_count(0)
    page.locator(".run[data-state=end]").wait_for()
    expect(page.locator(".action .word")).to_have_text("Your documents: partly")
    assert page.locator("body").inner_html() == end


@pytest.mark.slow
def test_it_pauses_steps_and_slides(exported):
    page = exported
    slider = page.get_by_role("slider", name="Moment of the run")
    slider.focus()
    page.keyboard.press("Home")
    assert state(page) == "paused" and page.locator("output.label").inner_text().startswith("1 of ")
    expect(page.locator(".part details")).to_have_count(0)
    assert page.get_by_role("button", name="Back").is_disabled()
    step = page.get_by_role("button", name="Step")
    for _ in range(40):
        if page.locator(".path li.active", has_text="Evaluate").count():
            break
        step.click()
    assert page.get_by_text("waiting…").count() == 3
    page.locator("details summary").first.click()
    step.click()
    assert page.get_by_text("waiting…").count() == 2
    assert page.locator("details").first.get_attribute("open") is not None, "what was opened stays open"
    page.get_by_role("button", name="Play").click()
    page.get_by_role("button", name="Pause").click()
    assert state(page) == "paused"
    at = slider.input_value()
    page.wait_for_timeout(400)
    assert slider.input_value() == at
    slider.focus()
    page.keyboard.press("End")
    assert state(page) == "end" and step.is_disabled()


def test_its_lines_are_moved_and_a_dot_leads_to_its_passage(exported):
    page, says = exported, exported.locator(".rail .says")
    expect(says).to_have_text("1 grade failed and might have changed it.")
    line = page.get_by_role("slider", name="enough line")
    line.focus()
    page.keyboard.press("Home")
    expect(says).to_contain_text("From partly to enough (CORRECT): the question would be asked again.")
    expect(page.locator(".run[data-asked-again]")).to_have_count(1)
    expect(page.locator(".cx.rail[role=group]")).to_have_attribute("data-route", "documents")
    page.keyboard.press("End")
    expect(line).to_have_attribute("aria-valuenow", "1")
    expect(page.locator(".run[data-asked-again]")).to_have_count(0)
    dot = page.locator(".rail .dot").first
    passage = dot.get_attribute("data-pick").removeprefix("chunk:")
    dot.click()
    expect(page.locator(f'.part details[data-keep="{passage}"]')).to_have_attribute("open", "")


def test_hostile_words_are_only_words(exported):
    page = exported
    for key in ("Home", "End"):
        page.get_by_role("slider", name="Moment of the run").focus()
        page.keyboard.press(key)
        assert page.locator("body").inner_text().count("window.broken = 1") >= 2
        assert page.locator("img, .part script").count() == 0
    assert page.locator("script").count() == 3
