"""From a question without an answer to one that has it, and to the web, in a real browser."""

import pytest

from tests.support.browsing import OFF_SCREEN, ask, settled


@pytest.mark.heavy  # tests/app/test_guidance.py clicks a suggestion
def test_without_an_answer_a_click_leads_to_one(open_page):
    page = open_page()
    page.get_by_text("Three questions to try").wait_for()
    settled(page)
    ask(page, "what type of car is a jeep considered")
    suggested = page.locator(".guide button[data-pick='ask:0']")
    suggested.wait_for()
    settled(page)
    page.set_viewport_size({"width": 420, "height": 900})
    assert page.evaluate(OFF_SCREEN) == []
    page.locator(".guide button[data-pick^='chunk:']").first.click()
    page.locator(".st-key-page-view img").wait_for()
    settled(page)
    question = suggested.locator(".says").inner_text()
    suggested.focus()
    page.keyboard.press("Enter")
    page.locator(".question", has_text=question).wait_for()
    page.locator(".action .word", has_text="CORRECT").wait_for()
    page.locator(".sources li").first.wait_for()
    assert page.locator(".guide").count() == 0
