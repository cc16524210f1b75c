"""The cited places of a run as small pictures: the marked words with the lines of the page round them."""

from __future__ import annotations

import io
import logging
from collections.abc import Sequence

from PIL import Image

from crag.core.errors import CragError
from crag.core.trace import Trace
from crag.core.types import Chunk, Citation, Rect
from crag.messages.slides import shown_sources
from crag.storage.library import Library
from ui.run import pageview, textview

_LOG = logging.getLogger(__name__)
_HIGH = 0.56
"""How high a cut of a page is, in its width: what a projector shows without scrolling."""
_ABOVE = 0.3
"""So much of the cut stands above the first marked words."""
_QUALITY = 72
"""Of the WebP: letters stay sharp at it, and a picture takes some 80 to 100 kB."""


def pictures(library: Library, trace: Trace) -> dict[int, bytes]:
    """WebP images of the sources that a presentation shows, by number; none of one without pages, or that is gone."""
    found = {}
    for citation in shown_sources(trace):
        source = trace.sources.get(citation.source_id)
        if isinstance(source, Chunk) and (made := _picture(library, trace, source, citation)):
            found[citation.number] = made
    return found


def _picture(library: Library, trace: Trace, chunk: Chunk, citation: Citation) -> bytes | None:
    held = [] if chunk.elsewhere else library.documents.all([chunk.document_id])
    if not held or held[0].kind not in textview.DRAWN:
        return None
    places = trace.answer.places if trace.answer else ()
    strong = [rect for each in places if each.citation == citation.number for rect in each.rects]
    rects = citation.rects or chunk.rects()
    page = min((rect.page for rect in rects), default=chunk.page)
    here = [rect for rect in rects if rect.page == page]
    try:
        png = pageview.image(library, chunk.document_id, page, here, strong)
    except CragError as error:  # the words of the citation are shown in its place
        _LOG.info("no picture of page %d of %s: %s", page, chunk.document_id, error)
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
