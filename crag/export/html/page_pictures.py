"""Pages of cited documents as pictures, with what is cited marked: beside an answer, and on slides."""

from __future__ import annotations

import io
import logging
from collections.abc import Callable, Mapping, Sequence

from PIL import Image

from crag.core.config import AppConfig
from crag.core.errors import CragError
from crag.core.trace import Trace
from crag.core.types import Chunk, Citation, Document, Rect, ShortAnswer
from crag.ingest.reader import render_page
from crag.storage.library import Library

_log = logging.getLogger(__name__)

DRAWN = ("pdf", "image")
"""The kinds of documents that are shown as pictures of their pages."""
_HIGH = 0.56
"""How high a cut of a page is, in its width: what a projector shows without scrolling."""
_ABOVE = 0.3
"""So much of the cut stands above the first marked words."""
_QUALITY = 72
"""Of the WebP: letters stay sharp at it, and a picture takes some 80 to 100 kB."""
_WIDTH = 1100
_MOST_SOURCES = 3
"""At most this many cited places are shown."""
Pictures = Mapping[int, bytes]
"""A WebP image of the cited place, by the number of the citation."""
PageImage = Callable[[Library, str, int, Sequence[Rect], Sequence[Rect]], bytes]
"""Draws a page of a document in a library as PNG, with rectangles marked, some of them strongly."""


def held_document(library: Library, chunk: Chunk) -> Document | None:
    """What the chunk is of, if the library holds it still."""
    held = [] if chunk.elsewhere else library.documents.all([chunk.document_id])
    return held[0] if held else None


def draw_page(
    config: AppConfig, library: Library, document: str, page: int, rects: Sequence[Rect], strong: Sequence[Rect] = ()
) -> bytes:
    """A page as PNG with the rectangles marked, `_WIDTH` pixels wide. Raises NotFoundError, DocumentError."""
    data = library.documents.file(document)
    return render_page(data, page, config, highlights=rects, strong=strong, width=_WIDTH)


def is_drawn(document: Document | None, chunk: Chunk) -> bool:
    """Whether a chunk stands on a page that is shown as a picture: the properties of a document stand on none."""
    return document is not None and document.kind in DRAWN and chunk.page > 0


def find_marked(
    trace: Trace, chunk: Chunk, citation: Citation | None, leaf: int | None = None
) -> tuple[int, Sequence[Rect], Sequence[Rect]]:
    """The page to look at, which is `leaf` if given; what is marked on it, and over that the short answer."""
    rects = citation.rects if citation and citation.rects else chunk.rects()
    leaf = leaf or min((rect.page for rect in rects), default=chunk.page)
    strong = [rect for short in find_shorts(trace, citation) for rect in short.rects]
    return leaf, [rect for rect in rects if rect.page == leaf], strong


def find_shorts(trace: Trace, citation: Citation | None) -> list[ShortAnswer]:
    """The words of the short answer, or the cells of a result, that stand in what this citation quotes."""
    places = trace.answer.places if trace.answer and citation else ()
    return [each for each in places if citation and each.citation == citation.number]


def pictures(library: Library, trace: Trace, image: PageImage) -> dict[int, bytes]:
    """WebP images of the sources that a presentation shows, by number; none of one without pages, or that is gone.

    `image` draws a page.
    """
    found = {}
    for citation in shown_sources(trace):
        source = trace.sources.get(citation.source_id)
        if isinstance(source, Chunk) and (made := _picture(library, trace, source, citation, image)):
            found[citation.number] = made
    return found


def _picture(library: Library, trace: Trace, chunk: Chunk, citation: Citation, image: PageImage) -> bytes | None:
    document = held_document(library, chunk)
    if not is_drawn(document, chunk):
        return None
    page, here, strong = find_marked(trace, chunk, citation)
    try:
        png = image(library, chunk.document_id, page, here, strong)
    except CragError as error:  # the words of the citation are shown in its place
        _log.info("no picture of page %d of %s: %s", page, chunk.document_id, error)
        return None
    return cut(png, here)


def cut(png: bytes, rects: Sequence[Rect]) -> bytes:
    """The part of a page, drawn with its resolution, round the first of the rectangles, as WebP."""
    with Image.open(io.BytesIO(png)) as page:
        width, height = page.size
        pixels = page.info.get("dpi", (72.0, 72.0))[1] / 72
        tall = min(height, round(width * _HIGH))
        first = min((rect.top for rect in rects), default=0.0) * pixels
        top = round(min(max(0.0, first - _ABOVE * tall), height - tall))
        made = io.BytesIO()
        page.convert("RGB").crop((0, top, width, top + tall)).save(made, "webp", quality=_QUALITY, method=4)
    return made.getvalue()


def shown_sources(trace: Trace) -> tuple[Citation, ...]:
    """The first citations, one of each place: two on the same page make one picture."""
    places: dict[tuple[str, object], Citation] = {}
    for citation in trace.answer.citations if trace.answer else ():
        places.setdefault((citation.source, citation.page or citation.source_id), citation)
    return tuple(places.values())[:_MOST_SOURCES]
