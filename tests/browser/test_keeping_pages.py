"""A page kept from an answer's web sources in a real browser: the next question is answered from the library."""

import re

import pytest

from tests.support.app_server import over_the_sample
from tests.support.browsing import OFF_SCREEN, ask, settled, until

expect = pytest.importorskip("playwright.sync_api", reason="needs the playwright package").expect

QUESTION = "Why did the airplane skid off the runway at Wausau?"


@pytest.fixture
def own(tmp_path, sample_data):
    """A library of its own, since what is kept stays."""
    with over_the_sample(tmp_path, sample_data) as found:
        yield found


def answered(page, word):
    page.locator(".action .word", has_text=re.compile(f"^{word}$")).wait_for()
    page.locator(".sources li").first.wait_for()
    settled(page)


@pytest.mark.heavy
def test_a_page_is_kept_cited_verified_and_asked_alone(open_page, own):
    page = open_page(base=own.url, own=True)
    page.get_by_text("Three questions to try").wait_for()
    ask(settled(page), QUESTION)
    answered(page, "INCORRECT")
    page.get_by_role("link", name="Documents").click()
    page.get_by_text("Coverage gaps").click()
    page.get_by_text("Ask again").first.wait_for()
    page.get_by_role("link", name="Ask", exact=True).click()
    answered(page, "INCORRECT")

    page.locator(".beneath button", has_text="Keep as a document").first.click()
    page.locator(".beneath", has_text="✓ Kept as").first.wait_for()
    expect(page.get_by_test_id("stToast")).to_contain_text("unverified until you say")
    settled(page).get_by_role("button", name="New conversation").click()
    page.get_by_text("Three questions to try").wait_for()
    ask(settled(page), QUESTION)
    answered(page, "CORRECT")
    expect(page.locator(".sources .beneath").first).to_contain_text("Kept from the web, unverified")
    assert page.locator(".sources .tag.web").first.inner_text() == "WEB, KEPT"

    page.locator("button.cite").first.click()
    page.locator(".st-key-page-view mark.cited").first.wait_for()
    page.locator(".beneath button", has_text="Mark as verified").first.click()
    page.locator(".beneath button", has_text="Mark as verified").wait_for(state="detached")

    page.locator(".st-key-scope-choice button").first.click()
    page.locator(".st-key-scope-chosen input").first.click()
    page.get_by_role("option").filter(has_text="Wausau").first.click()
    page.locator(".st-key-scope-choice", has_text="Asked of: Aviation").wait_for()
    page.keyboard.press("Escape")
    ask(settled(page), "How old was the pilot at Wausau?")
    page.locator(".question", has_text="Asked of").wait_for()
    page.locator(".action .word").wait_for()
    asked = page.locator(".thumbed .name").all_inner_texts()
    assert asked and all(name.startswith("Aviation") for name in asked)
    for width in (1440, 420):
        page.set_viewport_size({"width": width, "height": 900})
        until(page, f"() => ({OFF_SCREEN})().length === 0")
    assert page.get_by_test_id("stException").count() == 0
