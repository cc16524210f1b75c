"""PDFs: what PDFium says of each page, composed into text with tables, headings and places."""

from __future__ import annotations

import ctypes
from collections import Counter, deque
from collections.abc import Iterator
from typing import Any

from crag.ingest.files import FileError
from crag.ingest.sections import ComposedPage

_AHEAD = 8  # pages on either side that a header or footer is looked for on
_REPEATS = 3


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

    from crag.ingest.compose import compose
    from crag.ingest.render_check import Proof
    from crag.ingest.units import Carried

    document = opened(data)
    pages = pdfium.FPDF_GetPageCount(document)
    if pages < 1:
        raise FileError("no pages")
    if pages > int(job["max_pages"]):
        raise FileError("pages", str(pages))
    yield {"pages": pages, "title": _metadata_title(document)}
    heights: Counter[float] = Counter()
    proof = Proof(document, int(job["seconds"]))
    carried = Carried()
    for laid, repeated in with_repeats(_lay_out_pages(document, pages, heights, proof)):
        body = heights.most_common(1)[0][0] if heights else 10.0
        yield compose(laid, repeated, body, carried)


def _lay_out_pages(document: Any, pages: int, heights: Counter[float], proof: Any) -> Iterator[Any]:
    """Every page laid out; one that can't be loaded comes as an empty page marked as unreadable."""
    import pypdfium2.raw as pdfium

    from crag.ingest.compose import lay_out
    from crag.ingest.visibility import read_page
    from crag.ingest.words import PageWords

    for number in range(1, pages + 1):
        page = pdfium.FPDF_LoadPage(document, number - 1)
        words = PageWords(612.0, 792.0, [], 0.0, [], failed=True)
        if page:
            try:
                words = read_page(page, proof)
            except ValueError:
                words.failed = True
            finally:
                pdfium.FPDF_ClosePage(page)
        for word in words.words:
            box = word.box
            heights[round((box.bottom - box.top) * 2) / 2] += len(word.text)
        yield lay_out(number, words)


def with_repeats(laid: Iterator[Any]) -> Iterator[tuple[Any, set[Any]]]:
    """Each page with the edge lines that at least three pages near it share; pages stay few in memory."""
    from crag.ingest.compose import edge_keys

    behind: deque[set[Any]] = deque(maxlen=_AHEAD)
    ahead: deque[tuple[Any, set[Any]]] = deque()

    def first() -> tuple[Any, set[Any]]:
        page, keys = ahead.popleft()
        near = Counter(key for each in [*behind, *(k for _, k in ahead)] for key in each)
        behind.append(keys)
        return page, {key for key in keys if near[key] >= _REPEATS}

    for page in laid:
        ahead.append((page, edge_keys(page)))
        if len(ahead) > _AHEAD:
            yield first()
    while ahead:
        yield first()


def _metadata_title(document: Any) -> str:
    import pypdfium2.raw as pdfium

    size = pdfium.FPDF_GetMetaText(document, b"Title", None, 0)
    if not 2 < size <= 4096:
        return ""
    buffer = ctypes.create_string_buffer(size)
    pdfium.FPDF_GetMetaText(document, b"Title", buffer, size)
    return buffer.raw[: size - 2].decode("utf-16-le", "replace")
