"""The source of a citation or chunk: its page as an image or text with the words marked, or the web passage; and small
pictures of cited places, with the lines round them."""

from __future__ import annotations

import base64
import io
import logging
from collections.abc import Callable, Sequence
from contextlib import suppress

import streamlit as st
from PIL import Image
from streamlit.delta_generator import DeltaGenerator

from crag.core.config import AppConfig
from crag.core.errors import CragError, NotFoundError
from crag.core.trace import Trace
from crag.core.types import Chunk, Citation, Document, Rect, ShortAnswer, WebPage
from crag.ingest.reader import render_page
from crag.messages.slides import shown_sources
from crag.storage.library import Library
from crag.text.injection import detect_injection
from ui.app import tab
from ui.app.program import program
from ui.app.session import Session
from ui.components import html as h
from ui.components import words
from ui.components.drawing import draw
from ui.components.problems import reported
from ui.components.safe_text import excerpt, link
from ui.run import saved_pages, textview
from ui.run.passage import View, annotate, recognised, spoken_layer, surroundings

_WIDTH = 1100
_DESCRIBED = 300
"""Characters that a description says at most of what is marked."""


def opened(session: Session, trace: Trace, what: str | None, close: Callable[[], None], whose: str = "") -> None:
    """What is opened beside the answer, with a way back. `whose`: the run, where there are several."""
    if what is None:
        return
    with st.container(border=True, key="page-view"):
        draw(h.div("cx", data_reveal=what, tabindex="-1", role="group", aria_label=_label(what))[whose and h.b[whose]])
        bar = st.container(horizontal=True, gap="small")
        with reported():
            kind, _, name = what.partition(":")
            if kind == "cite":
                _citation(session, trace, _cited(trace, name), bar)
            elif kind == "chunk":
                _chunk(session, trace, _found(trace, name), None, bar)
        bar.button("Close", key="page-close", on_click=close)


def prepare(session: Session, trace: Trace, what: str | None) -> None:
    """Have the page that is to be opened drawn, before a script clears anything: it takes a process of its own, and
    what is cleared and not drawn again yet, the answer among it, would be gone meanwhile. `opened` tells what fails."""
    kind, _, name = (what or "").partition(":")
    with suppress(CragError):
        citation = _cited(trace, name) if kind == "cite" else None
        chunk = trace.sources.get(citation.source_id if citation else name)
        document = _document(session.library, chunk) if isinstance(chunk, Chunk) else None
        if isinstance(chunk, Chunk) and document and document.kind in textview.DRAWN:
            image(session.library, chunk.document_id, *_marked(trace, chunk, citation, tab.runs().leaf))


def _label(what: str) -> str:
    """What a reader hears where the keyboard comes to a view."""
    kind, _, name = what.partition(":")
    return f"Source {name}, opened" if kind == "cite" else "Chunk, opened"


def _cited(trace: Trace, number: str) -> Citation:
    for citation in trace.answer.citations if trace.answer else ():
        if str(citation.number) == number:
            return citation
    raise NotFoundError("This answer has no such source.", "Choose one of the numbers in the answer.")


def _found(trace: Trace, id: str) -> Chunk:
    source = trace.sources.get(id)
    if not isinstance(source, Chunk):
        raise NotFoundError("This run has no such chunk.", "Choose one of the chunks listed.")
    return source


def _citation(session: Session, trace: Trace, citation: Citation, bar: DeltaGenerator) -> None:
    source = trace.sources.get(citation.source_id)
    if isinstance(source, WebPage):
        _web(trace, citation, source)
    elif isinstance(source, Chunk):
        _chunk(session, trace, source, citation, bar)
    else:
        raise NotFoundError("The source of this citation is not part of the run.")


def _chunk(session: Session, trace: Trace, chunk: Chunk, citation: Citation | None, bar: DeltaGenerator) -> None:
    document = _document(session.library, chunk)
    if document is None or document.kind not in textview.DRAWN:
        _text(session, trace, document, chunk, citation, bar)
        return
    leaf, here, answer_span = _marked(trace, chunk, citation, tab.runs().leaf)
    pages = document.pages
    number = f"Source {citation.number}: " if citation else ""
    sure = citation.recognised if citation else chunk.recognised
    draw(h.div("cx")[h.b[number, chunk.source], h.span("quiet")[f", page {leaf} of {pages}"], " ", recognised(sure)])
    bar.button("‹ Previous page", key="page-back", disabled=leaf <= 1, on_click=_turn, args=(leaf - 1,))
    bar.button("Next page ›", key="page-on", disabled=leaf >= pages, on_click=_turn, args=(leaf + 1,))
    drawn = image(session.library, chunk.document_id, leaf, here, answer_span)
    with st.container(key="page-image"):
        draw(h.div("cx", data_at=f"{_depth(drawn, here):.4f}"))
        marked = f"“{citation.quote if citation else chunk.text}”" if here else ""
        st.image(inline(drawn), width="stretch", alt=described(chunk.source, leaf, pages, marked))
    if citation:
        draw(h.div("cx small")[f"Cited: “{citation.quote}”"])
    for each in detect_injection(chunk.text):
        draw(h.div("cx small")[h.p[annotate(chunk.text, each.start, each.end, spoken_layer(chunk.text, [each]))]])


def _document(library: Library, chunk: Chunk) -> Document | None:
    """What the chunk is of, if the library holds it still."""
    held = [] if chunk.elsewhere else library.documents.all([chunk.document_id])
    return held[0] if held else None


def _marked(
    trace: Trace, chunk: Chunk, citation: Citation | None, leaf: int | None = None
) -> tuple[int, Sequence[Rect], Sequence[Rect]]:
    """The page to look at, which is `leaf` if given; what is marked on it, and over that the short answer."""
    rects = citation.rects if citation and citation.rects else chunk.rects()
    leaf = leaf or min((rect.page for rect in rects), default=chunk.page)
    strong = [rect for short in _shorts(trace, citation) for rect in short.rects]
    return leaf, [rect for rect in rects if rect.page == leaf], strong


def _shorts(trace: Trace, citation: Citation | None) -> list[ShortAnswer]:
    """The words of the short answer, or the cells of a result, that stand in what this citation quotes."""
    places = trace.answer.places if trace.answer and citation else ()
    return [each for each in places if citation and each.citation == citation.number]


def _short(trace: Trace, citation: Citation | None) -> ShortAnswer | None:
    """The first of them."""
    return next(iter(_shorts(trace, citation)), None)


def _text(
    session: Session,
    trace: Trace,
    document: Document | None,
    chunk: Chunk,
    citation: Citation | None,
    bar: DeltaGenerator,
) -> None:
    """A document without pages to draw: the part that the chunk is of, or the one that was turned to.

    Of one that the library holds no more, deleted or replaced by what its web page says now, what the run kept of it;
    so of one of another store.
    """
    shown = (tab.runs().leaf or chunk.page) if document else chunk.page
    pages = document.pages if document else 1
    here = session.library.documents.chunks(document.id, page=shown, lines=False) if document else [chunk]
    where = (citation or chunk).where if shown == chunk.page else here[0].where if here else ""
    part = f"part {shown} of {pages}" if pages > 1 else ""
    number = f"Source {citation.number}: " if citation else ""
    said = [each for each in (where, part) if each and each != f"part {shown}"]
    draw(h.div("cx")[h.b[number, chunk.source], h.span("quiet")[[f", {each}" for each in said]]])
    if document is None:
        lost = "This text is from another store." if chunk.elsewhere else "This text is no longer in the library."
        draw(h.div("cx")[h.div("note")[f"{lost} It is shown as the run kept it."]])
    if pages > 1:
        bar.button("‹ Previous part", key="page-back", disabled=shown <= 1, on_click=_turn, args=(shown - 1,))
        on = shown >= pages
        bar.button("Next part ›", key="page-on", disabled=on, on_click=_turn, args=(shown + 1,))
    strips = trace.strips.get(chunk.id, ())
    span = textview.cited_span(chunk, citation, strips) if citation else (chunk.start, chunk.end)
    short = _short(trace, citation)
    here_too = shown == chunk.page
    answer_span = (chunk.start + short.start, chunk.start + short.end) if short and here_too else None
    if chunk.from_web:
        draw(h.div("cx")[h.p("small")[saved_pages.tag(chunk), " ", saved_pages.origin(chunk)]])
    with st.container(key="page-text"):
        draw(h.div("cx")[textview.leaf(here, [span] if here_too else [], answer_span)])


def _turn(leaf: int) -> None:
    tab.runs().leaf = leaf


def _web(trace: Trace, citation: Citation, page: WebPage) -> None:
    where = (
        h.a(href=page.url, target="_blank", rel="noopener noreferrer")["Open the page in a new tab"]
        if link(page.url)
        else page.url
    )
    short = _short(trace, citation)
    answer_span = (short.start, short.end) if short else None
    strips = trace.strips.get(page.id, ())
    body = surroundings(page.text, strips, View.of(trace), citation.strip_id, answer_span, page.injections)
    draw(
        h.div("cx")[
            h.b[f"Source {citation.number}: ", h.span("tag web")["WEB"], f" {page.title}"],
            h.p("small")[where, f". Found by {words.web(page.provider)} for ", h.span("query")[page.query]],
            body,
        ]
    )


def described(source: str, page: int, pages: int, marked: str) -> str:
    """The alternative text of a page's image: document, page, and what is marked on it."""
    return f"{source}, page {page} of {pages}. Marked: {excerpt(marked or 'nothing', _DESCRIBED)}"


def image(
    library: Library,
    document: str,
    page: int,
    rects: Sequence[Rect],
    strong: Sequence[Rect] = (),
    config: AppConfig | None = None,
) -> bytes:
    """A page as PNG with the rectangles marked; remembered. `config`: another one than the app's own.

    Raises NotFoundError, DocumentError.
    """
    return _image(str(library.folder), document, page, tuple(rects), tuple(strong), _library=library, _config=config)


def inline(png: bytes) -> str:
    """The image itself as an address: it reaches its own tab, and nobody else can ask for it."""
    return f"data:image/png;base64,{base64.b64encode(png).decode()}"


def _depth(png: bytes, rects: Sequence[Rect]) -> float:
    """How far down the image the first of the rectangles begins: 0 at the top, also for none, to 1 at the bottom."""
    top = min((rect.top for rect in rects), default=0.0)
    with suppress(OSError, ValueError), Image.open(io.BytesIO(png)) as page:
        pixels = float(page.info.get("dpi", (72.0, 72.0))[1]) / 72
        return min(1.0, max(0.0, top * pixels / page.height))
    return 0.0


@st.cache_data(show_spinner=False, max_entries=96, ttl=3600)
def _image(
    folder: str,
    document: str,
    page: int,
    rects: tuple[Rect, ...],
    strong: tuple[Rect, ...],
    *,
    _library: Library,
    _config: AppConfig | None,
) -> bytes:
    config = _config or program().config  # a document that was read under other limits is drawn under them
    data = _library.documents.file(document)
    return render_page(data, page, config, highlights=rects, strong=strong, width=_WIDTH)


_LOG = logging.getLogger(__name__)
_HIGH = 0.56
"""How high a cut of a page is, in its width: what a projector shows without scrolling."""
_ABOVE = 0.3
"""So much of the cut stands above the first marked words."""
_QUALITY = 72
"""Of the WebP: letters stay sharp at it, and a picture takes some 80 to 100 kB."""


def pictures(library: Library, trace: Trace, config: AppConfig | None = None) -> dict[int, bytes]:
    """WebP images of the sources that a presentation shows, by number; none of one without pages, or that is gone.

    `config`: another one than the app's own.
    """
    found = {}
    for citation in shown_sources(trace):
        source = trace.sources.get(citation.source_id)
        if isinstance(source, Chunk) and (made := _picture(library, trace, source, citation, config)):
            found[citation.number] = made
    return found


def _picture(
    library: Library, trace: Trace, chunk: Chunk, citation: Citation, config: AppConfig | None
) -> bytes | None:
    document = _document(library, chunk)
    if document is None or document.kind not in textview.DRAWN:
        return None
    page, here, strong = _marked(trace, chunk, citation)
    try:
        png = image(library, chunk.document_id, page, here, strong, config)
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
