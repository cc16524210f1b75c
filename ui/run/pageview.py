"""The source of a citation or chunk: its page as an image with the words marked, or the web passage."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from crag.core.errors import NotFoundError
from crag.core.trace import Trace
from crag.core.types import Chunk, Citation, Rect, WebPage
from crag.ingest.render import render_page
from crag.library.library import Library
from ui.app.program import program
from ui.app.session import Session
from ui.kit import html as h
from ui.kit import words
from ui.kit.drawing import draw
from ui.kit.problems import reported
from ui.kit.safe import link
from ui.run.passage import View, recognised, surroundings

_WIDTH = 1100
_METRES_A_POINT = 0.0254 / 72


def opened(session: Session, trace: Trace, what: str | None, close: Callable[[], None], whose: str = "") -> None:
    """What is opened beside the answer, with a way back. `whose`: the run, where there are several."""
    if what is None:
        return
    with st.container(border=True, key="page-view"):
        draw(h.div("cx", data_reveal="1")[whose and h.b[whose]])
        bar = st.container(horizontal=True, gap="small")
        with reported():
            kind, _, name = what.partition(":")
            if kind == "cite":
                _citation(session, trace, _cited(trace, name), bar)
            elif kind == "chunk":
                _chunk(session, _found(trace, name), None, bar)
        bar.button("Close", key="page-close", on_click=close)


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
        short = trace.answer.short if trace.answer else None
        told = short.rects if short and short.citation == citation.number else ()
        _chunk(session, source, citation, bar, told)
    else:
        raise NotFoundError("The source of this citation is not part of the run.")


def _chunk(
    session: Session, chunk: Chunk, citation: Citation | None, bar: DeltaGenerator, told: Sequence[Rect] = ()
) -> None:
    """`told`: where the words lie that are the short answer."""
    rects = citation.rects if citation and citation.rects else chunk.rects()
    home = min((rect.page for rect in rects), default=chunk.page)
    pages = session.library.documents.get(chunk.document_id).pages
    number = f"Source {citation.number}: " if citation else ""
    leaf = st.session_state.get("leaf", home)
    sure = citation.recognised if citation else chunk.recognised
    draw(h.div("cx")[h.b[number, chunk.source], h.span("quiet")[f", page {leaf} of {pages}"], " ", recognised(sure)])
    bar.button("‹ Page before", key="page-back", disabled=leaf <= 1, on_click=_turn, args=(leaf - 1,))
    bar.button("Page after ›", key="page-on", disabled=leaf >= pages, on_click=_turn, args=(leaf + 1,))
    here = [rect for rect in rects if rect.page == leaf]
    drawn = image(session.library, chunk.document_id, leaf, here, told)
    with st.container(key="page-image"):
        draw(h.div("cx", data_at=f"{_depth(drawn, here):.4f}"))
        st.image(drawn, width="stretch")
    if citation:
        draw(h.div("cx small")[f"Cited: “{citation.quote}”"])


def _turn(leaf: int) -> None:
    st.session_state.leaf = leaf


def _web(trace: Trace, citation: Citation, page: WebPage) -> None:
    where = (
        h.a(href=page.url, target="_blank", rel="noopener noreferrer")["Open the page in a new tab"]
        if link(page.url)
        else page.url
    )
    short = trace.answer.short if trace.answer else None
    told = (short.start, short.end) if short and short.citation == citation.number else None
    body = surroundings(page.text, trace.strips.get(page.id, ()), View.of(trace), citation.strip_id, told)
    draw(
        h.div("cx")[
            h.b[f"Source {citation.number}: ", h.span("tag web")["WEB"], f" {page.title}"],
            h.p("small")[where, f". Found by {words.web(page.provider)} for ", h.span("query")[page.query]],
            body,
        ]
    )


def image(library: Library, document: str, page: int, rects: Sequence[Rect], strong: Sequence[Rect] = ()) -> bytes:
    """A page as PNG with the rectangles marked; remembered. Raises NotFoundError, DocumentError."""
    return _image(str(library.folder), document, page, tuple(rects), tuple(strong), _library=library)


def _depth(png: bytes, rects: Sequence[Rect]) -> float:
    """How far down the image the first of the rectangles begins: 0 at the top, also for none, to 1 at the bottom."""
    pixels_a_metre = place = 0
    height = int.from_bytes(png[20:24], "big")
    while place < len(png) - 24 and not pixels_a_metre:
        if png[place + 12 : place + 16] == b"IDAT":
            break
        if png[place + 12 : place + 16] == b"pHYs":
            pixels_a_metre = int.from_bytes(png[place + 20 : place + 24], "big")
        place += 12 + int.from_bytes(png[place + 8 : place + 12], "big")
    top = min((rect.top for rect in rects), default=0.0)
    return min(1.0, max(0.0, top * _METRES_A_POINT * pixels_a_metre / height)) if height else 0.0


@st.cache_data(show_spinner=False, max_entries=96, ttl=3600)
def _image(
    folder: str, document: str, page: int, rects: tuple[Rect, ...], strong: tuple[Rect, ...], *, _library: Library
) -> bytes:
    config = program().config  # a document that was read under other limits is drawn under them
    data = _library.documents.file(document)
    return render_page(data, page, config, highlights=rects, strong=strong, width=_WIDTH)
