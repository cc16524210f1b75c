"""Texts that are no PDF: told by their bytes, read in parts, cited by their headings."""

import hashlib
import zipfile
from io import BytesIO

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crag.core.config import AppConfig
from crag.core.errors import LimitError
from crag.core.types import Media
from crag.ingest.chunking import chunk_document
from crag.ingest.files import content_id, media_of, safe_name
from crag.ingest.grid import cells_of_rows
from crag.ingest.reader import read_document
from crag.ingest.sections import PART, Block, fill_pages, write_table

pytestmark = pytest.mark.usefixtures("read_here")

CONFIG = AppConfig()
PROSE = "The harbour was dredged in 1931, and the fishing fleet returned to it within the year. "


def zipped(*names: str) -> bytes:
    held = BytesIO()
    with zipfile.ZipFile(held, "w") as file:
        for name in names:
            file.writestr(name, "<x/>")
    return held.getvalue()


@pytest.mark.parametrize(
    ("data", "name", "media"),
    [
        (b"junk\n%PDF-1.7 \0\1", "a.txt", "pdf"),
        (zipped("[Content_Types].xml", "word/document.xml"), "a.pdf", "docx"),
        (zipped("[Content_Types].xml", "ppt/presentation.xml"), "a", "pptx"),
        (zipped("other.txt"), "a.docx", None),
        (b"\x89PNG\r\n\x1a\n\0\0", "a.pdf", "image"),
        (b"RIFF\0\0\0\0WEBPVP8 ", "a", "image"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "a.doc", None),
        (b"\n<!-- saved --><!DOCTYPE HTML>\n<html>", "a.txt", "html"),
        (b"a,b\n1,2\n", "a.csv", "csv"),
        (b"# Title\n", "notes.md", "markdown"),
        ("Größe".encode("utf-16"), "a", "text"),
        (b"words\0and more", "a.txt", None),
    ],
)
def test_bytes_decide_what_a_file_is(data: bytes, name: str, media: Media | None) -> None:
    assert media_of(data, name) == media


def test_markdown_is_cited_by_its_headings() -> None:
    text = f"# Harbour book\n\n{PROSE * 3}\n\n## The fleet\n{PROSE * 3}\r\n\r\n###### Nets ##\n{PROSE * 4}"
    parsed = read_document(text.encode(), "book.md", CONFIG)
    assert (parsed.kind, parsed.title) == ("markdown", "Harbour book")
    chunks = chunk_document(parsed, "id", "book.md")
    assert [chunk.place for chunk in chunks] == ["section Harbour book", "section The fleet", "section Nets"]
    assert all(chunk.text == parsed.pages[chunk.page - 1].text[chunk.start : chunk.end] for chunk in chunks)
    assert chunks[0].where == "section Harbour book"


def test_a_long_text_comes_in_parts() -> None:
    parsed = read_document(f"{PROSE * 10}\n\n".encode() * 30, "book.txt", CONFIG)
    assert len(parsed.pages) > 2
    assert all(PART < len(page.text) < 3 * PART for page in parsed.pages[:-1])
    assert chunk_document(parsed, "id", "book.txt")[-1].where == f"part {len(parsed.pages)}"
    with pytest.raises(LimitError, match="at most 2"):
        read_document(f"{PROSE * 10}\n\n".encode() * 30, "book.txt", AppConfig.of(max_pages=2))


@pytest.mark.parametrize("data", ["Größe – 5 €".encode(mode) for mode in ("utf-8", "utf-8-sig", "utf-16", "cp1252")])
def test_a_text_is_read_in_the_encoding_that_it_is_written_in(data: bytes) -> None:
    assert read_document(data, "a.txt", CONFIG).pages[0].text == "Größe – 5 €"


def test_a_table_among_blocks_keeps_its_header() -> None:
    [page] = fill_pages(
        [
            Block(text="Sums", heading=True),
            Block(text=" "),
            *write_table(cells_of_rows([["a", "b"], ["1", "2"], ["3", "4"]])),
        ]
    )
    assert page.headings == [(0, "Sums")]
    [found] = page.tables
    assert (page.text[found.start : found.end], found.heads) == ("a; b\n1: b 2\n3: b 4", ("a | b",))


# Identity is the bytes; a name is a label that can do no harm


def test_content_id_is_the_hash_of_the_bytes() -> None:
    assert content_id(b"abc") == hashlib.sha256(b"abc").hexdigest()


@pytest.mark.parametrize(
    ("name", "safe"),
    [
        ("report.pdf", "report.pdf"),
        ("../../etc/passwd", "passwd"),
        ("C:\\Users\\me\\Q3 report.pdf", "Q3 report.pdf"),
        ("<img src=x onerror=alert(1)>.pdf", "_img src=x onerror=alert(1)_.pdf"),
        ("evil\u202efdp.exe", "evilfdp.exe"),
        ("a\x00b\nc.pdf", "abc.pdf"),
        ("..", "document"),
        ("", "document"),
        ("Übersicht 2019.pdf", "Übersicht 2019.pdf"),
    ],
)
def test_names(name: str, safe: str) -> None:
    assert safe_name(name) == safe


@given(st.text(max_size=200))
def test_any_name_becomes_a_harmless_label(name: str) -> None:
    safe = safe_name(name)
    assert 0 < len(safe) <= 120
    assert not set(safe) & set('/\\<>:"|?*\x00\n\r\t')
    assert safe.strip(". ")
    assert safe_name(safe) == safe
