"""Comparing in a real browser: two lanes live, touched and reloaded in their middle, sources, thumbs, forced twins."""

import re

import pytest

from tests.support.browsing import fits, from_menu, settled, until

pytestmark = pytest.mark.slow

expect = pytest.importorskip("playwright.sync_api", reason="needs the playwright package").expect

ELSEWHERE = """() => document.addEventListener('load', event => {
    if (window.away || !event.target.closest('.st-key-page-view')) return;
    setTimeout(() => {
        document.querySelector('[data-testid=stMain]').scrollTo(0, 99999);
        window.away = true;
    }, 300);
}, true)"""
"""What arrives late elsewhere on the page may leave it scrolled to another place, once the page image is there."""
SENT_LATE = """() => {
    const plain = window.setTimeout;
    window.setTimeout = (work, after, ...given) => plain(work, after || 600, ...given);
}"""
"""A click is sent later than the next request of a fragment, which then sends it as well."""
HELD = re.compile(r"Grading: 3 of \d+ chunks")


@pytest.fixture
def page(open_page):
    """The Compare page, over the sample library."""
    page = open_page("/compare")
    page.get_by_role("heading", name="Compare").wait_for()
    page.locator(".st-key-compare-begin button").wait_for()
    return settled(page)


def begin(page, question="What average premium increase was negotiated for FEHB plan year 2020?"):
    """Compare a question; of one that nothing is remembered of the grading can be held."""
    page.get_by_label("Question").fill(question)
    page.keyboard.press("Control+Enter")
    settled(page)
    page.get_by_role("button", name="Compare", exact=True).click()
    page.locator(".cmp-heads").first.wait_for()


def done(page):
    page.locator(".st-key-compare-new").wait_for()
    return settled(page)


def lane(page, number):
    """What is drawn of one run, in the order of lanes."""
    runs = re.search(r"runs=([^&]+)", page.url)[1].replace("%2C", ",").split(",")
    return page.locator(f"[data-scope='{runs[number]}']")


def test_two_strategies_end_side_by_side_on_the_screen_a_citation_opens_there_and_a_lane_in_ask(page):
    begin(page)
    done(page)
    expect(page.get_by_test_id("stTable").first).to_contain_text("Plain RAG")
    expect(lane(page, 0).locator(".tag.only", has_text="used only here").first).to_be_attached()
    expect(lane(page, 1).locator(".action .word")).to_have_text("Your documents: enough")
    assert lane(page, 0).locator(".action .word").count() == 0
    tops = [lane(page, number).locator(".cards").first.bounding_box()["y"] for number in (0, 1)]
    assert tops[0] == tops[1], "the chunks of both lanes begin at the same height"
    fits(page)
    settled(page)
    page.evaluate(ELSEWHERE)
    lane(page, 1).locator("button.cite").first.click()
    image = page.locator(".st-key-cmp-page-1 .st-key-page-view img")
    image.wait_for()
    until(
        page,
        "() => { const box = document.querySelector('.st-key-page-view').getBoundingClientRect();"
        " return window.away && box.top >= 0 && box.top < innerHeight / 2; }",
    )
    page.get_by_role("button", name="Close").click()
    image.wait_for(state="detached")
    settled(page)
    page.locator(".cmp-heads").first.get_by_text("Open in Ask").nth(1).click()
    page.locator(".st-key-ask-columns .question").wait_for()
    expect(page.locator(".action .word")).to_have_text("Your documents: enough")
    settled(page)


def test_lanes_go_on_while_things_are_touched_and_after_a_reload(page, served):
    served.gate.touch()
    begin(page, question="What did the agency say about the average premium increase for plan year 2020?")
    page.get_by_text(HELD).wait_for()
    expect(page.locator(".st-key-compare-new")).to_have_count(0)
    expect(page.get_by_text("Questions to try")).to_have_count(0)
    thumb = lane(page, 1).locator("button.thumb.relevant").nth(1)
    thumb.click()
    expect(lane(page, 1).locator("button.thumb.relevant").nth(1)).to_have_attribute("aria-pressed", "true")
    expect(lane(page, 0).locator("button.thumb.relevant").nth(1)).to_have_attribute("aria-pressed", "true")
    page.get_by_text("Another comparison").click()
    page.evaluate(SENT_LATE)
    page.get_by_role("button", name="Add a column").click()
    page.get_by_text("Column 3").wait_for()
    settled(page)
    expect(page.get_by_text("Column 4")).to_have_count(0)
    page.get_by_role("button", name="Remove").last.click()
    expect(page.get_by_text("Column 3").filter(visible=True)).to_have_count(0)
    page.get_by_text(HELD).wait_for()
    page.get_by_role("link", name="Documents").click()
    page.get_by_text("Add documents, up to").wait_for()
    from_menu(page, "Compare")
    page.get_by_text(HELD).wait_for()
    page.reload()
    page.get_by_text(HELD).wait_for()
    served.gate.unlink()
    done(page)
    expect(lane(page, 1).locator(".action .word")).to_have_count(1)
    page.reload()
    done(page)
    pressed = lane(page, 0).locator("button.thumb[aria-pressed=true]")
    expect(pressed).to_have_count(1)
    expect(pressed).to_be_visible()  # from when on it is heard
    pressed.focus()
    page.keyboard.press("Enter")
    expect(page.locator("button.thumb[aria-pressed=true]")).to_have_count(0)
    until(page, "() => document.activeElement.classList.contains('thumb')")
