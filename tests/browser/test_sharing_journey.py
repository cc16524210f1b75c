"""One workspace seen by four: its owner, who it is shared with, who reads it by a link, and who administers."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.app_server import ROOT, Served, serving
from tests.support.browsing import in_menu, until
from tests.support.small_pdf import small_pdf

WORD = "Zanzibarine"
TEXT = f"The {WORD} lighthouse of Alexandria guided ships into the harbour of the city."
STILL = "() => document.querySelector('[data-test-script-state=notRunning]')"


@pytest.fixture(scope="module")
def shared_app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serving(tmp_path_factory.mktemp("people"), ROOT / "tests" / "support" / "named_app.py") as found:
        yield found


@pytest.fixture
def seen_by(open_page: Callable[..., Any], shared_app: Served) -> Callable[..., Any]:
    """seen_by("Anna", "/documents"): a page in a browser of that person's own; without a name, of nobody's."""

    def opened(name: str, path: str = "", **how: Any) -> Any:
        page = open_page("/_stcore/health", base=shared_app.url, own=True, **how)
        if name:
            page.context.add_cookies([{"name": "person", "value": name, "url": shared_app.url}])
        page.goto(shared_app.url + path)
        page.get_by_test_id("stApp").wait_for()
        until(page, STILL)
        return page

    return opened


@pytest.mark.slow
def test_a_workspace_is_shared_read_by_a_link_and_closed_again(
    seen_by: Callable[..., Any], shared_app: Served, tmp_path: Path
) -> None:
    anna = seen_by("Anna", "/documents")
    file = {"name": f"{WORD}.pdf", "mimeType": "application/pdf", "buffer": small_pdf(TEXT)}
    anna.get_by_test_id("stFileUploaderDropzoneInput").set_input_files([file])
    anna.get_by_text("Added: 1 page").wait_for()
    until(anna, "() => location.search.includes('ws=u-')")
    own = anna.url.partition("ws=")[2].partition("&")[0]

    ben = seen_by("Ben", f"/documents?ws={own}")
    ben.get_by_text("You have no access to the workspace in this address").wait_for()
    assert WORD not in ben.inner_text("body") and own not in ben.url
    assert in_menu(ben, "Administration").count() == 0
    ben.keyboard.press("Escape")

    anna.get_by_role("button", name="Share…").click()
    dialog = anna.get_by_role("dialog")
    dialog.get_by_label("E-mail").fill("ben@example.org")
    dialog.get_by_role("button", name="Add", exact=True).click()
    dialog.get_by_text("ben@example.org").wait_for()
    dialog.get_by_role("button", name="Create a link").click()
    address = dialog.get_by_test_id("stCode").inner_text().strip()
    assert address.startswith(f"{shared_app.url}/?link=")

    ben.goto(f"{shared_app.url}/documents?ws={own}")
    ben.get_by_text(f"{WORD}.pdf").first.wait_for()
    assert ben.get_by_test_id("stFileUploaderDropzoneInput").count() == 0  # a viewer adds nothing

    reader = seen_by("", address.removeprefix(shared_app.url))
    reader.get_by_text("Shared with you by Anna, to read").wait_for()
    reader.get_by_role("link", name="Documents").first.click()
    reader.get_by_text(f"{WORD}.pdf").first.wait_for()
    assert reader.get_by_test_id("stFileUploaderDropzoneInput").count() == 0
    assert in_menu(reader, "Settings").count() == 0
    reader.keyboard.press("Escape")
    assert "Anna" not in shared_app.log.read_text() and address.rpartition("=")[2] not in shared_app.log.read_text()

    cleo = seen_by("Cleo", "/administration", width=420, theme="dark")
    cleo.get_by_role("heading", name="Administration").wait_for()
    cleo.get_by_text("Audit log", exact=True).click()
    cleo.get_by_text("Kept for 365 days.").wait_for()

    dialog.get_by_role("button", name="End", exact=True).click()
    dialog.get_by_test_id("stCode").wait_for(state="detached")
    dialog.get_by_role("button", name="Remove").click()
    dialog.get_by_text("Nobody yet").wait_for()
    reader.get_by_role("link", name="Ask").first.click()
    reader.get_by_text("lets nobody in").wait_for()
    assert WORD not in reader.inner_text("body")
    ben.get_by_role("link", name="Ask").first.click()
    ben.get_by_role("button", name="My workspace").wait_for()
    assert WORD not in ben.inner_text("body")
