"""Two app servers over one PostgreSQL and one Milvus: what one does the other sees, and neither keeps a file."""

import re
from contextlib import ExitStack

import pytest

from tests.support.app_server import serving
from tests.support.browsing import ask, settled
from tests.support.milvus_server import MilvusServer
from tests.support.small_pdf import small_pdf

pytest.importorskip("pymilvus", reason="pip install -r requirements/milvus.txt")
expect = pytest.importorskip("playwright.sync_api", reason="needs the playwright package").expect

LIGHT = small_pdf(
    "The colossus of Rhodes was a statue of the sun god.",
    "The lighthouse of Alexandria guided ships into the harbour of the city.",
)
QUESTION = "What guided ships into the harbour of Alexandria?"


@pytest.fixture
def milvus(tmp_path):
    with MilvusServer(tmp_path / "milvus") as server:
        yield server


@pytest.fixture
def apps(tmp_path, database, milvus):
    """Two servers of the app, each with a data folder of its own."""
    with ExitStack() as stack:
        served = []
        for name in ("first", "second"):
            (tmp_path / name).mkdir()
            chosen = {"CRAG_DATABASE_URL": database, "CRAG_INDEX": "milvus", "CRAG_MILVUS_URI": milvus.uri}
            served.append(stack.enter_context(serving(tmp_path / name, **chosen)))
        yield served


def answered(page, question):
    """The page once the question is answered."""
    ask(page, question)
    page.locator(".sources li").first.wait_for()
    return settled(page)


@pytest.mark.heavy  # two servers of the app beside those of PostgreSQL and Milvus
def test_two_app_servers_share_one_library_and_keep_no_file(open_page, apps, milvus):
    first, second = (open_page("/documents", base=app.url, own=True) for app in apps)
    for page in (first, second):
        page.get_by_text("The library is empty").wait_for()
    settled(first).get_by_test_id("stFileUploaderDropzoneInput").set_input_files(
        [{"name": "light.pdf", "mimeType": "application/pdf", "buffer": LIGHT}]
    )
    first.get_by_text("Added: 2 pages").wait_for()

    second.get_by_role("link", name="Ask", exact=True).click()
    second.get_by_text("1 document, 2 chunks in the library").wait_for()
    answered(settled(second), QUESTION)
    cited = second.locator(".sources li").first
    expect(cited).to_contain_text("light.pdf")
    expect(cited).to_contain_text("p. 2")
    expect(second.get_by_text("The stored texts were searched")).to_have_count(0)

    milvus.kill()
    answered(second, "Which statue was at Rhodes?")
    expect(second.get_by_text("Milvus can't be reached.").first).to_be_visible()
    expect(second.get_by_text("The stored texts were searched for the question's words instead.").first).to_be_visible()
    milvus.start()

    second.get_by_role("link", name="Documents").click()
    second.get_by_role("button", name="Delete document").click()
    second.get_by_test_id("stPopoverBody").get_by_role("button", name="Delete").click()
    second.get_by_text("The library is empty").wait_for()
    first.get_by_role("link", name="Ask", exact=True).click()
    first.get_by_text(re.compile("Ask your documents|The library is empty")).first.wait_for()
    expect(first.get_by_test_id("stMain")).not_to_contain_text("in the library")
    for app in apps:
        assert not [path for path in app.data.rglob("*") if path.is_file()], "all is on the servers"
