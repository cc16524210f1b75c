"""A library of one's own: the sample in one click, its address, and what is touched while something goes on in it:
files added on the first screen and beside others, thumbs, the history."""

import re
from contextlib import suppress

import pytest

from tests.support.browsing import ask, settled, until
from tests.support.small_pdf import small_pdf

playwright = pytest.importorskip("playwright.sync_api", reason="needs the playwright package")
expect, Error = playwright.expect, playwright.Error

HELD = re.compile(r"Grading: 3 of \d+ chunks")
LATER = "Which year was the winter of the keeper?"
QUESTION = "What did the lighthouse keeper write about the harbour in winter?"
PDF = small_pdf("The lighthouse of Alexandria guided ships into the harbour of the city.")
KEEPER = [
    f"The lighthouse keeper wrote page {n} about the harbour\nand the winter of the year 18{n}0." for n in range(6)
]


def fresh(page):
    """Nothing is on the page that the script has not drawn in this run: Streamlit greys it until the script is over."""
    expect(page.locator("[data-stale=true]").filter(visible=True)).to_have_count(0)


def drop(page, name, *pages):
    place = page.get_by_test_id("stFileUploaderDropzoneInput")
    place.wait_for(state="attached")
    place.set_input_files([{"name": name, "mimeType": "application/pdf", "buffer": small_pdf(*pages)}])


@pytest.fixture
def served(served_to_many):
    """A library of its own for each test."""
    yield served_to_many
    served_to_many.gate_of("reading").unlink(missing_ok=True)


@pytest.fixture
def page(open_page):
    page = open_page()
    page.get_by_text("Ask your documents").wait_for()
    return settled(page)


@pytest.mark.slow
def test_a_private_library_stays_with_its_address(open_page):
    mine = open_page("/documents")
    drop = mine.get_by_test_id("stFileUploaderDropzoneInput")
    drop.wait_for(state="attached")
    drop.set_input_files([{"name": "light.pdf", "mimeType": "application/pdf", "buffer": PDF}])
    mine.locator("tr", has_text="light.pdf").first.wait_for()  # as it is drawn to its end it may stand twice
    mine.wait_for_url(re.compile(r"/documents\?w=[0-9a-f]{48}\b"))
    key = mine.url.partition("w=")[2][:48]
    mine.get_by_role("link", name="Ask", exact=True).click()
    mine.get_by_text("1 document, 1 chunk in the library").wait_for()
    mine.wait_for_url(re.compile(rf"/\?w={key}$"))
    ask(mine, "What guided ships?")
    mine.locator(".action .word").wait_for()
    settled(mine)
    mine.reload()
    mine.locator(".action .word").wait_for()
    assert f"w={key}" in mine.url and "run=" in mine.url
    run = re.search(r"run=([\w-]+)", mine.url)[1]
    other = open_page(f"/?run={run}&w=default")
    other.get_by_text("not in this library").wait_for()
    other.get_by_text("This address is the key to your library").wait_for()
    settled(other)
    assert re.search(r"[?&]w=[0-9a-f]{48}$", other.url) and key not in other.url
    assert "1 document" not in other.get_by_test_id("stMain").inner_text()


def test_files_are_added_on_the_first_screen_asked_about_cited_judged_and_found_in_the_history(page, served):
    served.gate_of("reading").touch()
    drop(page, "keeper.pdf", *KEEPER)
    page.get_by_test_id("stProgress").wait_for()
    expect(page.locator("[data-testid=stMain] strong", has_text="keeper.pdf").first).to_be_visible()
    fresh(page)
    box = page.get_by_test_id("stChatInputTextArea")
    box.fill(QUESTION)
    box.press("Enter")
    page.get_by_text("is asked as soon as a document has been read").wait_for()
    served.gate_of("reading").unlink()
    page.locator(".action .word").wait_for()
    settled(page)
    page.locator("button.cite").first.click()
    cited = page.locator(".st-key-page-view img")
    cited.wait_for()
    page.get_by_role("button", name="Close").click()
    cited.wait_for(state="detached")
    settled(page)

    held = page.locator("button.thumb[aria-pressed=true]")
    for number in range(4):  # quickly one after the other
        page.locator("button.thumb.relevant").nth(number).click()
    expect(held).to_have_count(4)
    page.reload()
    page.locator("button.thumb[aria-pressed=true]").first.click()
    expect(held).to_have_count(3)
    page.reload()
    expect(held.first).to_be_visible()  # from when on it is heard
    held.first.focus()
    page.keyboard.press("Enter")
    expect(held).to_have_count(2)

    page.get_by_role("button", name="New conversation").click()
    page.locator(".question").wait_for(state="detached")
    settled(page)
    ask(page, LATER)
    page.locator(".past button[aria-current=true]", has_text=LATER[:20]).wait_for()
    settled(page)
    older = page.locator(".past button", has_text=QUESTION[:20])
    older.focus()
    page.keyboard.press("Enter")
    expect(older).to_have_attribute("aria-current", "true")
    expect(page.locator(".past button[aria-current]")).to_have_count(1)
    until(page, "() => document.activeElement.closest('.past') !== null")


@pytest.mark.slow
def test_documents_can_be_used_and_deleted_while_a_file_is_added(page, served):
    page.get_by_role("link", name="Documents").click()
    page.get_by_text("The library is empty").wait_for()
    drop(page, "keeper.pdf", *KEEPER)
    page.get_by_role("heading", name="keeper.pdf").wait_for()
    settled(page)
    served.gate_of("reading").touch()
    drop(page, "other.pdf", "Nothing of the kind is told on this page\nof an altogether other book.")
    page.get_by_test_id("stProgress").wait_for()
    fresh(page)
    page.get_by_label("Page", exact=True).filter(visible=True).fill("3")
    page.keyboard.press("Enter")
    page.get_by_text("1 chunk on page 3 of 6").wait_for()
    page.get_by_test_id("stProgress").wait_for()
    fresh(page)
    served.gate_of("reading").unlink()
    page.get_by_text("2 documents").wait_for()
    expect(page.get_by_test_id("stMain")).to_contain_text("1 chunk on page 3 of 6")  # else it says what is there
    expect(page.locator(".progress")).to_have_count(0)
    settled(page)
    served.gate_of("reading").touch()
    drop(page, "third.pdf", "A third book tells of bridges\nand of nothing else.")
    page.get_by_test_id("stProgress").wait_for()
    while page.get_by_role("heading", name="keeper.pdf").count():
        with suppress(Error):  # the page is drawn again while the upload begins, which closes what is opened
            page.get_by_role("button", name="Delete document").click(timeout=5_000)
            sure = page.get_by_test_id("stPopoverBody").filter(has_text="Delete keeper.pdf")  # and no other
            sure.get_by_role("button", name="Delete").click(timeout=5_000)
            settled(page)
    expect(page.get_by_role("heading", name="keeper.pdf")).to_have_count(0)
    page.get_by_test_id("stProgress").wait_for()
    fresh(page)
    served.gate_of("reading").unlink()
    page.get_by_text("2 documents").wait_for()
    expect(page.locator(".progress")).to_have_count(0)


@pytest.mark.slow
def test_a_thumb_pressed_while_the_run_is_drawn_anew_counts_and_a_page_is_left_at_its_end(page, served):
    drop(page, "keeper.pdf", *KEEPER)
    page.get_by_text("in the library").wait_for()
    settled(page)
    served.gate.touch()
    ask(page, QUESTION)
    page.get_by_text(HELD).wait_for()
    thumb = page.locator("button.thumb.relevant").first
    thumb.hover()
    page.mouse.down()
    thumb.evaluate("thumb => { window.pressed = thumb; }")
    served.gate.unlink()
    until(page, "() => !window.pressed.isConnected")
    page.mouse.up()
    expect(page.locator("button.thumb[aria-pressed=true]")).to_have_count(1)
    page.locator(".action .word").wait_for()
    settled(page)
    served.gate.touch()
    ask(page, "Which harbour did the keeper see in the winter of 1830?")
    page.get_by_text(HELD).wait_for()
    served.gate.unlink()
    page.get_by_text("Supported").or_(page.locator(".figures")).first.wait_for()
    page.get_by_role("link", name="Documents").click()
    page.get_by_role("heading", name="keeper.pdf").wait_for()
    settled(page)
    expect(page.get_by_role("heading", name="keeper.pdf")).to_be_visible()


@pytest.mark.slow
def test_nothing_of_the_run_before_stands_beside_the_one_under_way(page, served):
    drop(page, "keeper.pdf", *KEEPER)
    page.get_by_text("in the library").wait_for()
    for number, question in enumerate((QUESTION, LATER, "And who wrote of the harbour?")):
        settled(page)
        served.gate.touch()
        ask(page, question)
        page.get_by_text(HELD).wait_for()
        fresh(page)
        served.gate.unlink()
        page.get_by_role("button", name="Share", exact=True).wait_for()
        settled(page)
        if number == 0:
            page.get_by_role("slider").first.press("End")
            page.get_by_role("button", name="Reset to this run's settings").wait_for()
            page.locator(".answer [data-pick^=cite]").first.click()
            page.locator(".st-key-page-view").wait_for()
