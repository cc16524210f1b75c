"""The main job in a real browser: questions, citations, a run touched in its middle, looks."""

import re

import pytest

from tests.support.browsing import ask, fits, from_menu, settled, until

expect = pytest.importorskip("playwright.sync_api", reason="needs the playwright package").expect

RUNS = """() => {
    window.runs = 0;
    const app = document.querySelector('.stApp'), state = () => app.getAttribute('data-test-script-state');
    new MutationObserver(changes => changes.forEach(change => {
        if (change.oldValue === 'notRunning' && state() === 'running') window.runs += 1;
    })).observe(app, { attributes: true, attributeOldValue: true, attributeFilter: ['data-test-script-state'] });
}"""
"""Counts from now on how often the script begins to run."""
MARKUP = "<img src=x onerror=\"document.title='broken'\"> **So**"
QUESTION = "How many full-time equivalent employees did OPM have in fiscal year 2019?"


@pytest.fixture
def first(open_page):
    """The Ask page over the sample library."""
    page = open_page()
    page.get_by_text("Three questions to try").wait_for()
    return settled(page)


@pytest.mark.slow  # test_live.py opens one too
def test_a_citation_opens_the_page_it_comes_from_at_the_cited_words(page):
    cite = page.locator("button.cite").first
    cite.wait_for()  # it takes no focus before it is seen, which is once its clicks are heard
    cite.press("Enter")
    image = page.locator(".st-key-page-view img")
    image.wait_for()
    until(page, "() => document.querySelector('.st-key-page-view img').naturalWidth > 600")
    page.get_by_text(re.compile(r"page \d+ of \d+")).first.wait_for()
    page.get_by_role("button", name="Close").click()
    image.wait_for(state="detached")
    settled(page)
    page.set_viewport_size({"width": 1440, "height": 600})  # the page is taller than its box
    page.evaluate(RUNS)
    page.locator("button.cite").first.click()
    until(
        page,
        """() => {
        const box = document.querySelector('.st-key-page-image'), image = box && box.querySelector('img');
        if (!image || !image.clientHeight || image.clientHeight < 1.2 * box.clientHeight) return false;
        const share = Number(box.querySelector('[data-at]').dataset.at);
        const cited = image.getBoundingClientRect().top + share * image.clientHeight;
        const seen = box.getBoundingClientRect();
        return share > 0.3 && box.scrollTop > 50 && cited > Math.max(0, seen.top)
            && cited < Math.min(innerHeight, seen.bottom) - 20;
    }""",
    )
    settled(page)
    assert page.evaluate("window.runs") <= 2, "a click is heard by the first run that it begins"


@pytest.mark.slow
def test_a_line_of_the_rail_is_dragged_and_a_chunk_that_is_open_stays_so(first):
    page = first
    page.locator(".st-key-try-0 button").first.click()
    page.locator(".sources li").first.wait_for()
    settled(page)
    chunk = page.locator("details[data-keep]").first
    chunk.locator("summary").click()
    chunk.locator("mark, s").first.wait_for()
    enough = page.get_by_role("slider", name="enough line")
    enough.hover()
    page.evaluate(RUNS)
    axis = page.locator(".rail .axis").bounding_box()
    page.mouse.down()
    page.mouse.move(axis["x"] + 0.97 * axis["width"], axis["y"], steps=4)
    expect(enough).to_have_attribute("aria-valuetext", re.compile(r"0.9\d: 0 passages above, decision AMBIGUOUS$"))
    expect(page.locator("html[data-asked-again] .rail .mark.ambiguous")).to_have_count(1)
    assert page.evaluate("window.runs") == 0, "it all comes from the table that the browser has"
    page.mouse.up()
    page.locator(".change", has_text="What if").wait_for()
    assert page.locator("details[data-keep]").first.get_attribute("open") is not None
    page.locator("details[data-keep] [data-pick^='chunk:']").first.click()
    page.locator(".st-key-page-view img").wait_for()
    enough.press("ArrowLeft")
    settled(page)
    expect(page.locator(".st-key-page-view img"), "what is opened beside the run stays too").to_have_count(1)
    page.locator(".st-key-page-close button").click()
    page.locator(".st-key-page-view").wait_for(state="detached")
    expect(page.locator(".change")).to_have_count(1)


@pytest.mark.slow
def test_a_run_survives_sliders_page_switches_and_a_reload_and_markup_in_its_question_builds_nothing(first, served):
    page = first
    served.gate.touch()
    ask(page, f"{MARKUP} {QUESTION}")
    page.get_by_text(re.compile(r"Grading: 3 of \d+ chunks")).wait_for()
    expect(page.locator(".path li.active")).to_have_text(re.compile("^Evaluate"))
    expect(page.get_by_text("Three questions to try")).to_have_count(0)
    slider = page.get_by_role("slider").nth(1)
    before = slider.get_attribute("aria-valuenow")
    while slider.get_attribute("aria-valuenow") == before:  # a key is lost where the slider is just drawn anew
        slider.press("ArrowLeft")
        page.wait_for_timeout(200)
    page.get_by_text(re.compile(r"Grading: 3 of \d+ chunks")).wait_for()
    page.get_by_role("link", name="Documents").click()
    page.get_by_text("Add documents, up to").wait_for()
    page.get_by_role("link", name="Ask", exact=True).click()
    page.get_by_text(re.compile(r"Grading: 3 of \d+ chunks")).wait_for()
    page.reload()
    page.get_by_text(re.compile(r"Grading: 3 of \d+ chunks")).wait_for()
    served.gate.unlink()
    page.locator(".action .word").wait_for()
    page.locator(".question", has_text=QUESTION).wait_for()
    settled(page)
    page.reload()
    page.locator(".action .word").wait_for()
    assert page.title() != "broken" and page.locator(".question img").count() == 0
    expect(page.locator(".question").first).to_contain_text(MARKUP)


@pytest.mark.slow
def test_nothing_is_off_the_screen_in_either_theme_at_either_width(page):
    for name, mark in (
        ("Ask", ".action .word"),
        ("Documents", "[data-testid=stDataFrame]"),
        ("Settings", "[data-testid=stTable]"),
    ):
        if name == "Settings":
            from_menu(page, name)
        else:
            page.get_by_role("link", name=name, exact=True).click()
        page.locator(mark).first.wait_for()
        fits(settled(page))


@pytest.mark.slow
def test_the_pages_of_the_menu_are_reached_by_keyboard(page):
    page.get_by_role("button", name="More", exact=True).focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("menuitem", name="Compare", exact=True)).to_be_focused()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    page.get_by_role("heading", name="Evaluate").wait_for()
