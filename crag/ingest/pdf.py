"""PDFs: what PDFium says of each page, composed into text with tables, headings and places."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from typing import Any

from crag.ingest.files import FileError
from crag.ingest.sections import ComposedPage

_LONGEST_TITLE, _LONGEST_LABEL = 4096, 64
"""Bytes."""


def opened(data: bytes) -> Any:
    """A PDFium document. The empty password opens what only its owner locked."""
    import pypdfium2.raw as pdfium

    pdfium.FPDF_InitLibrary()
    document = pdfium.FPDF_LoadMemDocument64(data, len(data), None)
    if not document:
        code = pdfium.FPDF_GetLastError()
        kinds = {pdfium.FPDF_ERR_PASSWORD: "encrypted", pdfium.FPDF_ERR_SECURITY: "encrypted"}
        raise FileError(kinds.get(code, "damaged"), f"PDFium error {code}")
    return document


def read(data: bytes, job: dict[str, Any]) -> Iterator[dict[str, Any] | ComposedPage]:
    """Its pages with their words, tables and places. Raises FileError."""
    import pypdfium2.raw as pdfium

    from crag.ingest.compose import compose_pages
    from crag.ingest.page_breaks import join_sentences
    from crag.ingest.table_units import Carried

    document = opened(data)
    pages = pdfium.FPDF_GetPageCount(document)
    if pages < 1:
        raise FileError("no pages")
    if pages > int(job["max_pages"]):
        raise FileError("pages", str(pages))
    yield {"pages": pages, "title": _metadata_title(document)}
    read = _read_pages(document, pages)
    for page in join_sentences(compose_pages(read, Carried())):
        label = _read_label(document, page.number)
        page.place = f"page {label} ({page.number} of {pages})" if label not in ("", str(page.number)) else ""
        yield page


def _read_pages(document: Any, pages: int) -> Iterator[tuple[int, Any]]:
    """The words of every page; one that can't be loaded comes as an empty page marked as unreadable."""
    import pypdfium2.raw as pdfium

    from crag.ingest.visibility import read_page
    from crag.ingest.words import PageWords

    for number in range(1, pages + 1):
        page = pdfium.FPDF_LoadPage(document, number - 1)
        words = PageWords(612.0, 792.0, [], 0.0, [], failed=True)
        if page:
            try:
                words = read_page(page)
            except ValueError:
                words.failed = True
            finally:
                pdfium.FPDF_ClosePage(page)
        yield number, words


def _read_label(document: Any, number: int) -> str:
    """The number of a page as it is printed, where the file says it."""
    import pypdfium2.raw as pdfium

    return _read_text(lambda buffer, size: pdfium.FPDF_GetPageLabel(document, number - 1, buffer, size), _LONGEST_LABEL)


def _metadata_title(document: Any) -> str:
    import pypdfium2.raw as pdfium

    return _read_text(lambda buffer, size: pdfium.FPDF_GetMetaText(document, b"Title", buffer, size), _LONGEST_TITLE)


def _read_text(ask: Callable[[Any, int], int], most: int) -> str:
    """What PDFium writes into a buffer as UTF-16; empty where there is nothing, or more than `most` bytes."""
    size = ask(None, 0)
    if not 2 < size <= most:
        return ""
    buffer = ctypes.create_string_buffer(size)
    ask(buffer, size)
    return buffer.raw[: size - 2].decode("utf-16-le", "replace")
