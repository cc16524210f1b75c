"""The first page in a browser that nobody used before: a run plays by itself and can be paused."""

import pytest

from tests.support.browsing import fits, settled

pytestmark = pytest.mark.slow

expect = pytest.importorskip("playwright.sync_api", reason="needs the playwright package").expect

STATE = "page => [...document.querySelectorAll('.tour .states > li')].map(each => getComputedStyle(each).{})"


@pytest.fixture
def page(open_page, served_to_many, own_library):
    _, key = own_library()
    page = open_page(f"/{key}", base=served_to_many.url)
    page.locator(".tour .states > li").first.wait_for(state="attached")
    return settled(page)


def states(page, style):
    return page.evaluate(STATE.format(style))


def test_the_run_plays_one_state_at_a_time_and_is_paused_by_keyboard(page):
    page.emulate_media(reduced_motion="no-preference")
    shown = page.locator(".tour .states > li").filter(visible=True)
    expect(shown).to_have_count(1)
    expect(shown).to_contain_text("Evaluate")  # it goes on by itself
    page.locator(".tour .pause summary").focus()
    page.keyboard.press("Enter")
    expect(page.locator(".tour .pause summary")).to_have_text("Play", use_inner_text=True)
    assert set(states(page, "animationPlayState")) == {"paused"}
    page.keyboard.press("Enter")
    page.locator("h1").focus()
    assert set(states(page, "animationPlayState")) == {"running"}


def test_with_reduced_motion_nothing_moves_and_all_states_can_be_reached(page):
    page.emulate_media(reduced_motion="reduce")
    assert set(states(page, "animationName")) == {"none"} and set(states(page, "visibility")) == {"visible"}
    page.locator(".tour .states").focus()
    for _ in range(30):  # a key that comes while the last still scrolls is lost
        page.keyboard.press("ArrowRight")
        page.wait_for_timeout(200)
    expect(page.locator(".tour .states > li").last).to_be_in_viewport(ratio=0.9)
    fits(page)
