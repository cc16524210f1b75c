"""Reading and presenting with the keyboard in a real browser: a run for a room, in the app and as a file; citations."""

import pytest

from crag.core.trace import Trace
from crag.export.html import pages
from tests.support.browsing import OFF_SCREEN, opened_file, settled, until
from tests.support.whole_run import approved, events

pytestmark = pytest.mark.slow

expect = pytest.importorskip("playwright.sync_api", reason="needs the playwright package").expect

FOCUSED = "(what) => document.activeElement.getAttribute('data-pick') === what"


def at(page):
    return page.locator(".slideshow:not([hidden]) .place").inner_text()


def heading(page):
    return page.locator(".slideshow:not([hidden]) .scene.shown h2")


def test_a_run_is_presented_with_the_arrow_keys_and_left_with_escape(page):
    page.get_by_role("button", name="Share", exact=True).click()
    page.get_by_role("button", name="Present it full screen").click()
    page.locator(".slideshow[data-started]").wait_for()
    settled(page)
    expect(heading(page)).to_have_text("A question to the documents.")
    expect(page.get_by_test_id("stHeader")).to_be_hidden()
    last = page.locator(".slideshow .scene").count()
    said = []
    for number in range(1, last + 1):
        assert at(page) == f"{number} of {last}"
        said.append(heading(page).inner_text())
        page.keyboard.press("ArrowRight")
    assert len(set(said)) == last and any(each.startswith("CORRECT") for each in said)
    for width in (1440, 420):
        page.set_viewport_size({"width": width, "height": 900})
        page.keyboard.press("Home")
        for _ in range(last):
            assert not page.evaluate(OFF_SCREEN)
            page.keyboard.press("PageDown")
    page.keyboard.press("ArrowLeft")
    assert at(page) == f"{last - 1} of {last}"
    page.reload()
    page.locator(".slideshow[data-started]").wait_for()
    assert at(page) == f"{last - 1} of {last}", "a reload comes back to the step"
    settled(page)
    for _ in range(6):
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.closest('.slideshow') !== null"), "tab stays in the presentation"
    page.keyboard.press("Home")
    page.keyboard.press("ArrowRight")
    assert at(page) == f"2 of {last}"
    page.keyboard.press("Escape")
    page.locator(".slideshow").wait_for(state="detached")
    page.locator(".sources li").first.wait_for()
    assert "#" not in page.url and "present" not in page.url


def test_a_citation_opened_with_the_keyboard_is_entered_and_left_to_where_it_was(page):
    cite = page.locator("button.cite").first
    cite.wait_for()  # it takes no focus before it is seen, which is once its clicks are heard
    cite.press("Enter")
    until(page, "() => document.activeElement.getAttribute('aria-label') === 'Source 1, opened'")
    settled(page)
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.closest('.st-key-page-view') !== null")
    page.keyboard.press("Escape")
    page.locator(".st-key-page-view").wait_for(state="detached")
    until(page, FOCUSED, "cite:1")
    settled(page)
    page.keyboard.press("Space")
    page.locator(".st-key-page-view").wait_for()


def test_an_exported_conversation_is_presented_and_replayed_offline(browser, tmp_path):
    file = tmp_path / "talk.html"
    turns = [
        pages.Turn(trace=Trace.from_events(made()), events=made, stale={}, pictures=lambda: {1: b"no picture"})
        for made in (events, approved)
    ]
    file.write_text(pages.conversation(turns, 2), encoding="utf-8")
    with opened_file(browser, file, viewport={"width": 900, "height": 700}, offline=True) as page:
        second = page.locator("#turn-2")
        second.scroll_into_view_if_needed()
        second.get_by_role("button", name="Present").click()
        page.keyboard.press("ArrowRight")
        page.keyboard.press("End")
        expect(heading(page)).to_have_text("Source 2: w1.")
        expect(second.locator(".scene h2", has_text="Check this")).to_have_count(1)
        page.keyboard.press("Home")
        expect(page.locator(".slideshow:not([hidden]) .scene.shown .asked")).to_have_text("When was the bridge opened?")
        page.keyboard.press("Escape")
        assert page.locator(".slideshow:not([hidden])").count() == 0
        assert page.evaluate("document.activeElement.textContent") == "Present", "back where it was started"
        second.locator("button.cite").first.press("Enter")
        assert page.evaluate("document.activeElement.closest('.sources') !== null"), "a number leads to its source"
        second.get_by_role("button", name="Back").click()
        assert second.get_attribute("data-state") == "paused"
