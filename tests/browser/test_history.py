"""Back, Forward and reload show what the address names; who asks by keyboard keeps their place and hears the end."""

import re

import pytest

from tests.support.browsing import ask, settled, until

expect = pytest.importorskip("playwright.sync_api", reason="needs the playwright package").expect

FIRST, SECOND = (
    "What was hiring manager satisfaction in FY 2019?",
    "Which president signed the Civil Service Act of 1883?",
)
FOLLOWING = "And in FY 2016?"


def welcomed(page):
    page.get_by_text("Three questions to try").wait_for()
    return settled(page)


def answered(page, question):
    ask(page, question)
    page.locator(".path li.done", has_text="Answer").wait_for()
    settled(page)


def shown(page, question, *others):
    """The question that is selected, and the other turns of its conversation."""
    expect(page.locator(".question")).to_contain_text(question)
    expect(page.locator(".turns .where")).to_have_text(list(others))
    settled(page)


def steps(page):
    return page.evaluate("() => history.length")  # of a tab of its own: a browser keeps fifty


def stepped(page, count):
    """The history reaches this number of entries: the app writes the last one once its script is over."""
    until(page, "count => history.length === count", count)


def move(page, by):
    page.evaluate("by => history.go(by)", by)


def test_back_and_forward_show_one_question_or_the_start_page_as_each_was(open_page):
    page = open_page(own=True)
    began = steps(welcomed(page))
    answered(page, FIRST)
    stepped(page, began + 1)
    page.get_by_role("button", name="New conversation").click()
    welcomed(page)
    stepped(page, began + 2)
    answered(page, SECOND)
    stepped(page, began + 3)  # a question each, and the start page between them
    move(page, -1)
    welcomed(page)
    expect(page.locator(".question")).to_have_count(0)
    move(page, -1)
    shown(page, FIRST)
    move(page, 2)
    shown(page, SECOND)
    page.reload()
    shown(page, SECOND)
    move(page, -3)
    welcomed(page)
    stepped(page, began + 3)


def test_back_within_a_conversation_selects_its_turn_and_a_later_question_starts_without_it(open_page):
    page = open_page(own=True)
    began = steps(welcomed(page))
    answered(page, FIRST)
    answered(page, FOLLOWING)
    stepped(page, began + 2)
    shown(page, FOLLOWING, FIRST)
    move(page, -2)
    answered(welcomed(page), SECOND)
    shown(page, SECOND)
    page.locator(".past button", has_text=FIRST).first.click()
    shown(page, FOLLOWING, FIRST)


def test_a_conversation_goes_on_after_a_reload_comes_back_after_undo_and_is_deleted_for_good(open_page):
    page = open_page(own=True)
    answered(welcomed(page), FIRST)
    answered(page, FOLLOWING)
    page.reload()
    shown(page, FOLLOWING, FIRST)
    address = page.url
    undo = page.get_by_role("button", name="Undo")
    for back in (True, False):
        page.locator(".past .dots").first.click()
        page.get_by_role("dialog").get_by_role("button", name="Delete").click()
        undo.wait_for()
        welcomed(page)
        if back:
            undo.click()
            shown(page, FOLLOWING, FIRST)
    other = open_page(base=address)
    expect(other.get_by_test_id("stMain")).to_contain_text("not in this library")
    expect(undo).to_have_count(0)
    page.goto(address)
    expect(page.get_by_test_id("stMain")).to_contain_text("not in this library")


def test_who_asks_by_keyboard_stays_in_the_box_and_hears_how_it_ended(open_page):
    page = open_page()
    welcomed(page)
    announcer, box = (
        page.locator(".unseen[role=status][aria-live=polite]"),
        page.get_by_test_id("stChatInputTextArea"),
    )
    while not box.evaluate("each => each === document.activeElement"):  # the page listens a moment after it is drawn
        page.keyboard.press("/")
        page.wait_for_timeout(200)
    page.keyboard.type("1/2")
    expect(box).to_have_value("1/2")
    box.fill("")
    page.get_by_role("heading").first.click()
    page.keyboard.press("Control+k")
    expect(box).to_be_focused()
    for question, said in ((SECOND, "President Chester A. Arthur signed"), (FIRST, "hiring manager satisfaction")):
        box.focus()
        page.keyboard.type(question)
        page.keyboard.press("Enter")
        page.locator(".question", has_text=question).wait_for()
        page.locator(".path li.done", has_text="Answer").wait_for()
        expect(announcer).to_contain_text(said)
        expect(announcer).to_contain_text("Answered: ")
        expect(box).to_be_focused()
    page.reload()
    shown(page, FIRST, SECOND)
    expect(announcer).to_have_text("")


def test_every_page_image_says_which_page_it_is_and_what_is_marked(open_page):
    page = open_page()
    welcomed(page)
    answered(page, SECOND)
    page.locator("button.cite").first.click()
    image = page.locator(".st-key-page-image img")
    image.wait_for()
    told = image.get_attribute("alt")
    assert "page" in told and "Marked: “" in told and "Civil Service Act" in told and ".pdf" in told
    page.get_by_role("link", name="Documents").click()
    page.locator("[data-testid=stDataFrame]").first.wait_for()
    expect(settled(page).locator("[data-testid=stImageContainer] img")).to_have_attribute(
        "alt", re.compile(r"\.pdf, page 1 of \d+\. Marked: ")
    )


def test_a_question_that_is_too_long_is_refused_and_stays_in_its_box(open_page):
    page = open_page()
    welcomed(page)
    box, typed = page.get_by_test_id("stChatInputTextArea"), "why " * 500 + "so?"
    box.fill(typed)
    box.press("Enter")
    page.get_by_text("The question has 2,003 characters; 2,000 is the limit.").wait_for()
    expect(box).to_have_value(typed)
    assert page.locator(".question").count() == 0
    box.fill("Why so?")
    box.press("Enter")
    page.locator(".question", has_text="Why so?").wait_for()
