"""PDFs: what PDFium says of each page, composed into text with tables, headings and places."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pypdfium2.raw as pdfium

from crag.ingest.annotations import Form, Note, place_words, read_annotations, write_notes
from crag.ingest.compose import compose_pages
from crag.ingest.files import FileError
from crag.ingest.objects import read_string
from crag.ingest.page_breaks import join_sentences
from crag.ingest.sections import ComposedPage
from crag.ingest.table_units import Carried
from crag.ingest.visibility import read_page
from crag.ingest.words import PageWords

_LONGEST_TEXT, _LONGEST_LABEL = 4096, 64
"""Bytes."""
_DATE = re.compile(r"(?:D:)?\s*(\d{4})-?(\d\d)-?(\d\d)")
"""A date as PDFs write it: "D:20240604091200+02'00'"."""


def opened(data: bytes) -> Any:
    """A PDFium document. The empty password opens what only its owner locked."""
    pdfium.FPDF_InitLibrary()
    document = pdfium.FPDF_LoadMemDocument64(data, len(data), None)
    if not document:
        code = pdfium.FPDF_GetLastError()
        kinds = {pdfium.FPDF_ERR_PASSWORD: "encrypted", pdfium.FPDF_ERR_SECURITY: "encrypted"}
        raise FileError(kinds.get(code, "damaged"), f"PDFium error {code}")
    return document


def read(data: bytes, job: dict[str, Any]) -> Iterator[dict[str, Any] | ComposedPage]:
    """Its pages with their words, tables and places. Raises FileError."""
    document = opened(data)
    pages = pdfium.FPDF_GetPageCount(document)
    if pages < 1:
        raise FileError("no pages")
    if pages > int(job["max_pages"]):
        raise FileError("pages", str(pages))
    about = _properties(document)
    if any(about.values()):
        about["pages"] = str(pages)
    yield {"pages": pages, "title": _metadata(document, "Title"), "properties": about}
    notes: dict[int, list[Note]] = {}
    words = _read_pages(document, pages, notes)
    for page in join_sentences(compose_pages(words, Carried())):
        label = _read_label(document, page.number)
        page.place = f"page {label} ({page.number} of {pages})" if label not in ("", str(page.number)) else ""
        write_notes(page, notes.pop(page.number, ()))
        yield page


def _read_pages(document: Any, pages: int, notes: dict[int, Any]) -> Iterator[tuple[int, Any]]:
    """The words of every page; one that can't be loaded comes as an empty page marked as unreadable.

    What is noted on a page goes into `notes` by its number.
    """
    form = Form(document)
    for number in range(1, pages + 1):
        page = pdfium.FPDF_LoadPage(document, number - 1)
        words = PageWords(612.0, 792.0, [], 0.0, [], failed=True)
        if page:
            try:
                words = read_page(page)
                filled, notes[number] = read_annotations(form, page, words.words)
                words.words = place_words(words.words, filled)
            except ValueError:
                words.failed = True
            finally:
                pdfium.FPDF_ClosePage(page)
        yield number, words


def _read_label(document: Any, number: int) -> str:
    """The number of a page as it is printed, where the file says it."""
    return read_string(pdfium.FPDF_GetPageLabel, document, number - 1, most=_LONGEST_LABEL)


def _properties(document: Any) -> dict[str, str]:
    """What the document's information dictionary says, by name."""
    said = {name.lower(): _metadata(document, name) for name in ("Author", "Subject", "Keywords")}
    for name, key in (("created", "CreationDate"), ("modified", "ModDate")):
        found = _DATE.match(_metadata(document, key))
        said[name] = "-".join(found.groups()) if found else ""
    return said


def _metadata(document: Any, name: str) -> str:
    return read_string(pdfium.FPDF_GetMetaText, document, name.encode("ascii"), most=_LONGEST_TEXT)
