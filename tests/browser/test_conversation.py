"""A conversation of six turns on the sample, in a real browser: follow-ups, a change of subject, a new beginning."""

import pytest

from tests.support.browsing import OFF_SCREEN, ask, settled

expect = pytest.importorskip("playwright.sync_api", reason="needs the playwright package").expect

TURNS = [
    ("What was hiring manager satisfaction in FY 2019?", ""),
    ("And in FY 2016?", "What was hiring manager satisfaction in FY 2016?"),
    ("What about the year before?", "What was hiring manager satisfaction in FY 2015?"),
    ("Which president signed the Civil Service Act of 1883?", ""),
    ("When did he sign it?", "sign the Civil Service Act of 1883?"),
    ("Why did the airplane skid off the runway at Wausau?", ""),
    ("What about Madill?", "Why did the airplane skid off the runway at Madill?"),
]


@pytest.mark.heavy
def test_six_turns_ask_what_was_meant_and_a_new_conversation_forgets(open_page):
    page = open_page()
    page.get_by_text("Three questions to try").wait_for()
    settled(page)
    for question, meant in TURNS:
        ask(page, question)
        page.locator(".path li.done", has_text="Answer").wait_for()
        settled(page)
        if meant:
            expect(page.locator(".asked-as .as")).to_contain_text(meant)
        else:
            expect(page.locator(".asked-as")).to_have_count(0)
    assert page.evaluate(OFF_SCREEN) == []
    page.get_by_role("button", name="Ask it as typed").click()
    expect(page.locator(".asked-as")).to_have_count(0)
    settled(page).get_by_role("button", name="New conversation").click()
    page.get_by_text("Three questions to try").wait_for()
    ask(settled(page), "And in FY 2016?")
    page.locator(".path li.done", has_text="Retrieve").wait_for()
    expect(page.locator(".path li", has_text="In context")).to_have_count(0)
