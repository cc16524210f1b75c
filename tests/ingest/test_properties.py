"""What files say of themselves: it can be asked, is filtered by, and is cited as no page."""

import datetime
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path

import pytest
from docx import Document as WordDocument

from crag.core.config import AppConfig
from crag.core.ingesting import DocumentAdded
from crag.engine import Engine
from crag.ingest.chunking import chunk_document
from crag.ingest.reader import read_document
from tests.support.reported import kind
from tests.support.small_library import WordEmbedder
from tests.support.tiny_pdf import line, pdf

CONFIG = AppConfig()
INFO = b"<< /Title (Mooring rules) /Author (Ingrid Solheim) /CreationDate (D:20230418101500+02'00') >>"


def rules() -> bytes:
    made = WordDocument()
    about = made.core_properties
    about.author, about.title = "Ingrid Solheim", "Mooring rules"
    about.created, about.modified = datetime.datetime(2023, 4, 18), datetime.datetime(2023, 5, 2)
    made.add_paragraph("Boats may be moored for at most nine nights in a row.")
    buffer = BytesIO()
    made.save(buffer)
    return buffer.getvalue()


def test_the_properties_of_a_word_document_are_a_chunk_of_their_own() -> None:
    text, about = chunk_document(read_document(rules(), "rules.docx", CONFIG), "id", "rules.docx")
    assert (about.page, about.where, about.kind) == (0, "document properties", "text")
    assert "The author of this document is Ingrid Solheim, who wrote it." in about.text
    assert "It was last modified on 2 May 2023." in about.text
    assert "Ingrid" not in text.text and about.context.startswith("Mooring rules")


def test_a_pdf_says_its_author_day_and_number_of_pages() -> None:
    parsed = read_document(pdf([line(72, 700, "Nine nights.")] * 3, info=INFO), "rules.pdf", CONFIG)
    assert dict(parsed.properties) == {"author": "Ingrid Solheim", "created": "2023-04-18", "pages": "3"}
    about = chunk_document(parsed, "id", "rules.pdf")[-1].text
    assert "This document was created on 18 April 2023. It has 3 pages." in " ".join(about.split())


def test_a_file_that_says_nothing_of_itself_has_no_such_chunk() -> None:
    for data, name in ((b"Plain words.", "a.txt"), (pdf([line(72, 700, "Plain words.")]), "a.pdf")):
        assert all(chunk.page for chunk in chunk_document(read_document(data, name, CONFIG), "id", name))


def test_names_that_programs_write_for_nobody_are_left_out() -> None:
    info = b"<< /Author (anonymous) /Subject (unspecified) /Keywords () >>"
    assert dict(read_document(pdf([line(72, 700, "Words.")], info=info), "a.pdf", CONFIG).properties) == {"pages": "1"}


def test_a_web_page_names_its_author() -> None:
    page = b'<html><head><meta name="author" content="Bo Lind"></head><body><p>The dock is closed.</p></body></html>'
    assert dict(read_document(page, "a.html", CONFIG).properties)["author"] == "Bo Lind"


def test_slides_are_counted() -> None:
    assert int(dict(read_document(kind("crossing.pptx"), "a.pptx", CONFIG).properties)["slides"]) > 1


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    with Engine(AppConfig().changed(data=tmp_path), embedder=WordEmbedder()) as made:
        yield made


def test_documents_are_filtered_by_author_and_day(engine: Engine) -> None:
    [added] = [each for each in engine.add("rules.docx", rules()) if isinstance(each, DocumentAdded)]
    fields = engine.library().documents.fields(added.document.id)
    assert (fields["author"], fields["created"], fields["modified"]) == ("Ingrid Solheim", "2023-04-18", "2023-05-02")
    assert engine.library().documents.get(added.document.id).properties == added.document.properties
    given = engine.library().documents.describe(added.document.id, {"author": "Tor Dahl"})
    assert given["author"] == "Tor Dahl"
