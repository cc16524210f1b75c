"""Documents with 200 files: found, selected, tagged together, asked alone; an upload followed through a reload."""

import re

import pytest

from crag.core.config import AppConfig
from crag.ingest.chunking import chunk_id
from crag.testing.fakes import chunk_of
from tests.support import local_models
from tests.support.browsing import OFF_SCREEN, choose, settled
from tests.support.small_pdf import small_pdf

pytestmark = pytest.mark.slow

expect = pytest.importorskip("playwright.sync_api", reason="needs the playwright package").expect

TEXT = "Nothing of the kind is told on this page\nof an altogether other book, number"
FIRMS = ("Harbour", "Lighthouse", "Ferry", "Canal")


@pytest.fixture(scope="module")
def served(served_to_many):
    return served_to_many


@pytest.fixture(scope="module")
def address(served, own_library):
    """Of a library with 200 documents of one page each."""
    name, key = own_library()
    with local_models.engine(AppConfig.of(data=served.data)) as engine:
        fill(engine, engine.library(name))
    return f"/documents{key}"


def fill(engine, library):
    from dataclasses import replace

    import numpy as np

    from tests.support.made import document_of

    vector = np.eye(1, engine.embedder.dimension, dtype=np.float32)
    for number in range(200):
        name, file = f"{FIRMS[number % 4]} report {number:03}.pdf", small_pdf(f"{TEXT} {number}.")
        chunk = chunk_of(f"{TEXT} {number}.", name=name, page=1)
        chunk = replace(chunk, id=chunk_id(chunk.document_id, 1, chunk.start, chunk.end))
        at = f"2026-01-01T00:{number // 60:02}:{number % 60:02}+00:00"
        document = document_of([chunk], size=len(file), added_at=at, model=engine.embedder.id)
        library.documents.add(document, file, [chunk], vector)


@pytest.fixture
def page(open_page, served, address):
    page = open_page(address)
    page.get_by_role("heading", name=re.compile(r"^2\d\d documents$")).wait_for()
    yield settled(page)
    served.gate_of("embedding").unlink(missing_ok=True)


def search(page, words):
    box = page.get_by_role("textbox", name="Search", exact=True)
    box.fill(words)
    box.press("Enter")


def row(page, number):
    """A click on the box before a row of the table."""
    choose(page, "documents-table", number, across=18)


def test_many_are_found_selected_tagged_together_and_asked_alone(page):
    search(page, "report harbour")
    page.get_by_role("heading", name="50 of 200 documents").wait_for()
    row(page, 0)
    page.get_by_text("1 selected").wait_for()
    page.get_by_role("heading", name="Harbour report 196.pdf").wait_for()
    row(page, 2)
    page.get_by_text("2 selected").wait_for()
    page.get_by_role("button", name="Deselect all").click()
    page.get_by_role("button", name="Select all", exact=True).click()
    page.get_by_text("50 selected").wait_for()
    page.get_by_role("button", name="Edit fields").click()
    tags = page.get_by_role("combobox", name="Add tags")
    tags.fill("quay")
    page.get_by_role("option", name=re.compile("quay")).click()
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Change 50 documents").click()
    page.get_by_text("50 documents changed").wait_for()
    search(page, "quay 196")
    page.get_by_role("heading", name="1 of 200 documents").wait_for()
    page.get_by_text("tags=quay").first.wait_for()
    assert settled(page).evaluate(OFF_SCREEN) == []
    page.get_by_role("button", name="Ask only this").click()
    page.get_by_test_id("stChatInputTextArea").wait_for()


def test_every_file_of_an_upload_is_told_also_after_a_reload_and_at_its_end(page, served):
    served.gate_of("embedding").touch()
    files = [("good", small_pdf(f"{TEXT} one.")), ("bad", b"\0"), ("again", small_pdf(f"{TEXT} one."))]
    files += [(f"more {number}", small_pdf(f"{TEXT} more {number}.")) for number in range(9)]
    page.get_by_test_id("stFileUploaderDropzoneInput").set_input_files(
        [{"name": f"{name}.pdf", "mimeType": "application/pdf", "buffer": data} for name, data in files]
    )
    # All are in the library, found by their words, before the first has its vectors.
    done = "12 of 12 files: 1 failed, 1 in the library already, 10 added"
    page.get_by_text(done).wait_for()
    page.get_by_text(re.compile(r"embedding chunk 0 of \d+")).wait_for()
    page.reload()
    page.get_by_text(done).wait_for()
    search(page, "canal")
    page.get_by_role("heading", name="50 of 210 documents").wait_for()
    served.gate_of("embedding").unlink()
    for place, name in enumerate(("bad.pdf", "again.pdf")):
        expect(listed(page).locator("strong").nth(place)).to_have_text(name)
    page.reload()
    page.get_by_text("12 files: 1 failed, 1 in the library already, 10 added").wait_for()
    expect(listed(page)).to_have_count(12)


def listed(page):
    """The files of an upload, each with its result."""
    return page.get_by_test_id("stTable").locator("tbody tr")
