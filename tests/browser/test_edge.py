"""The server's edge as a browser meets it: frames of other pages, a portal that may, uploads that find no room."""

import pytest

from tests.support.browsing import until
from tests.support.web_server import Reply, serving

pytestmark = pytest.mark.slow

expect = pytest.importorskip("playwright.sync_api", reason="needs the playwright package").expect


@pytest.fixture
def visit(browser):
    context = browser.new_context(viewport={"width": 1440, "height": 900})
    context.set_default_timeout(40_000)
    yield context.new_page()
    context.close()


def framing(url: str):
    """A page that shows an address in a frame."""
    page = f"<h1>Portal</h1><iframe width=1200 height=800 src='{url}'></iframe>"
    return lambda request: Reply(body=page.encode())


def test_a_page_of_another_origin_can_t_frame_the_app(served_to_many, visit) -> None:
    said: list[str] = []
    visit.on("console", lambda message: said.append(message.text))
    with serving(framing(served_to_many.url)) as stranger:
        visit.goto(stranger.address)
        visit.get_by_role("heading", name="Portal").wait_for()
        until(visit, "() => document.readyState === 'complete'")
    assert visit.frame_locator("iframe").locator("#root").count() == 0
    assert any("frame-ancestors" in each for each in said), said


def test_a_portal_that_the_owner_named_can(served_to_many, portal, visit) -> None:
    portal.answer = framing(served_to_many.url)
    visit.goto(portal.address)
    visit.frame_locator("iframe").get_by_text("Three questions to a sample").wait_for()


def test_an_upload_that_finds_no_room_is_told_and_harms_nothing(served_to_many, visit) -> None:
    answered: list[int] = []
    visit.on("response", lambda found: "upload_file" in found.url and answered.append(found.status))
    visit.goto(f"{served_to_many.url}/documents")
    drop = visit.get_by_test_id("stFileUploaderDropzoneInput").first
    drop.wait_for(state="attached")
    drop.set_input_files([{"name": "big.pdf", "mimeType": "application/pdf", "buffer": b"%PDF-1.4\n" + b" " * 2**21}])
    expect(visit.get_by_test_id("stFileUploader")).to_contain_text("Error")
    assert answered == [503]
    for number in range(3):  # each alone fits, and what was read makes room for the next
        name = f"small-{number}.pdf"
        body = b"%PDF-1.4\n" + b"%d" % number * 600_000
        drop.set_input_files([{"name": name, "mimeType": "application/pdf", "buffer": body}])
        visit.locator("tr", has_text=name).wait_for()
        # The place for files is drawn anew after each: one that is dropped on the old one would be lost.
        visit.locator("[data-test-script-state=notRunning]").wait_for(state="attached")
