"""A model chosen, tried and asked in a real browser, with a key that is found nowhere afterwards."""

from contextlib import contextmanager

import pytest

from tests.support.browsing import ask, fits, settled
from tests.support.model_server import WORDS, serving

pytestmark = pytest.mark.slow

expect = pytest.importorskip("playwright.sync_api", reason="needs the playwright package").expect

KEY = "sk-browser-5hWq8ZrTn3"
WRONG = "sk-browser-wrong-1Jd6"
QUESTION = "How many full-time equivalent employees did OPM have in fiscal year 2019?"


@contextmanager
def guarded():
    """A model server that answers to KEY alone, and counts what it answered."""
    with serving() as server:
        server.reply, server.answered = '{"sum": 5}', 0

        class Guarded(server.RequestHandlerClass):
            def parse_request(self):
                if not super().parse_request():
                    return False
                if self.headers.get("Authorization") == f"Bearer {KEY}":
                    with server.lock:
                        server.answered += 1
                    return True
                self.rfile.read(int(self.headers.get("Content-Length") or 0))
                self.send_error(401)
                return False

        server.RequestHandlerClass = Guarded
        yield server


@pytest.fixture
def page(open_page):
    """The Settings page, with the sample loaded."""
    page = open_page("/settings")
    page.locator(".st-key-models").wait_for()
    return settled(page)


def enter(page, label, value):
    field = page.get_by_label(label, exact=True)
    field.fill(value)
    field.press("Enter")


def told(page, words):
    expect(page.locator(".st-key-models")).to_contain_text(words)
    return settled(page)


def test_from_a_wrong_key_to_a_cited_answer(page, served):
    with guarded() as server:
        page.get_by_text("Compatible server", exact=True).click()
        enter(page, "Model server", server.address)
        told(page, "does not accept the key")
        enter(page, "Key", WRONG)
        told(page, "Set for this session")
        told(page, "does not accept the key")
        enter(page, "Model", "ok")
        page.locator(".st-key-models-test-llm button:enabled").click()
        expect(page.get_by_test_id("stAlert")).to_contain_text("Enter a valid key in Settings.")
        assert page.get_by_label("Key", exact=True).input_value() == "" and not server.answered
        enter(page, "Key", KEY)
        told(page, "1 model listed by the server.")
        page.get_by_label("Model", exact=True).last.click()
        page.get_by_role("option", name="ok").click()
        page.locator(".st-key-models-test-llm button:enabled").click()
        told(page, "It works.")
        fits(page)
        page.get_by_role("link", name="Ask", exact=True).click()
        ask(page, QUESTION)
        page.locator(".answer", has_text=WORDS[0].strip()).wait_for()
        page.locator("button.cite").first.wait_for()
        settled(page)
        assert server.answered > 2
    places = left(page, served)
    assert sum(QUESTION in place for place in places) > 1, "what was asked is found in page and files"
    assert not [key for key in (KEY, WRONG) for place in places if key in place]


def left(page, served) -> list[str]:
    """Everything a browser session leaves behind: page, address, storage, the server's log, every stored file."""
    fields = page.evaluate("() => [...document.querySelectorAll('input, textarea')].map(field => field.value).join()")
    stored = page.evaluate("() => JSON.stringify([{...localStorage}, {...sessionStorage}, document.cookie])")
    files = [file for file in served.data.parent.rglob("*") if file.is_file()]
    assert served.data.parent / "log" in files and len(files) > 2
    return [page.content(), page.url, fields, stored, *(file.read_bytes().decode(errors="replace") for file in files)]
