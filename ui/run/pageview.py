"""The source of a citation or chunk: its page as an image, its text with the words marked, or the web passage."""

from __future__ import annotations

import base64
import io
from bisect import bisect_right
from collections.abc import Callable, Sequence
from contextlib import suppress
from itertools import accumulate

import streamlit as st
from PIL import Image
from streamlit.delta_generator import DeltaGenerator

from crag.core.errors import CragError, NotFoundError
from crag.core.trace import Trace
from crag.core.types import Chunk, Citation, Document, Rect, Strip, WebPage
from crag.export.html import elements as h
from crag.export.html import marks
from crag.export.html.elements import Html
from crag.export.html.page_pictures import draw_page, find_marked, find_shorts, held_document, is_drawn
from crag.export.html.passage import Passage, Sweep, View, draw_surroundings, recognised, short_layer, spoken_layer
from crag.export.html.safe_text import excerpt
from crag.providers.registry import title
from crag.storage.library import Library
from crag.text.guard import detect_injection
from ui.app import tab
from ui.app.program import program
from ui.app.session import Session
from ui.components.drawing import draw
from ui.components.problems import reported
from ui.components.remembered import remembered

_ENDS = (".", "!", "?", ":", ";", "。", "！", "？", "؟", "।")
_SECTION = "section "

Span = tuple[int, int]


def cited_span(chunk: Chunk, citation: Citation, strips: Sequence[Strip]) -> Span:
    """Where on its page the words of a citation stand: its quote, else the strip that it is of, else all the chunk."""
    start, end = next(((each.start, each.end) for each in strips if each.id == citation.strip_id), (0, len(chunk.text)))
    at = chunk.text.find(citation.quote, start) if citation.quote else -1
    if at >= 0:
        start, end = at, at + len(citation.quote)
    return chunk.start + start, chunk.start + end


def leaf(chunks: Sequence[Chunk], cited: Sequence[Span], short: Span | None = None) -> Html:
    """One page's text; `chunks` are those of the page. The `cited` spans are marked, and in them the words `short`.

    What speaks to a language model is marked.
    """
    ordered = sorted(chunks, key=lambda chunk: chunk.start)
    if not ordered:
        return h.p("quiet")["There is no text in this part."]
    text, first = _leaf_text(ordered), ordered[0].start
    headings = {each.place.removeprefix(_SECTION) for each in ordered if each.place.startswith(_SECTION)}
    tables = [(each.start, each.end) for each in ordered if each.kind == "table"]
    ends = [*accumulate((end for _, end in tables), max)]
    marks = [(begin - first, stop - first, None) for begin, stop in sorted(cited)]
    answering = (short[0] - first, short[1] - first) if short else None
    before: list[int] = []  # the first mark says that it is, for the page to be scrolled there

    def drawn(_: None, inside: Html, begin: int, stop: int) -> Html:
        before.append(begin)
        return h.mark("cited", data_first="1" if len(before) == 1 else None)[inside]

    sweep = Sweep(text, (marks, drawn), short_layer(answering), spoken_layer(text, detect_injection(text)))
    lines = []
    start = first
    for line in text.split("\n"):
        end = start + len(line)
        started = bisect_right(tables, (start, len(text) + first))
        row = started > 0 and end <= ends[started - 1]
        kind = "row" if row else "heading" if line in headings else "line"
        if line.strip():
            lines.append(h.div(kind, dir="auto")[sweep.draw(start - first, end - first)])
        start = end + 1
    return h.div("leaf")[lines, sweep.rest()]


def _leaf_text(ordered: Sequence[Chunk]) -> str:
    """The page's text from its first chunk on. Between two chunks stood white space, whose kind the text shows."""
    parts, end = [ordered[0].text], ordered[0].end
    before = ordered[0]
    for chunk in ordered[1:]:
        gap = chunk.start - end
        flows = gap == 1 and before.kind == chunk.kind == "text" and before.text.endswith(_ENDS)
        parts.append((" " if flows else "\n") * max(0, gap))
        parts.append(chunk.text[max(0, -gap) :])
        before, end = chunk, max(end, chunk.end)
    return "".join(parts)


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
        document = held_document(session.library, chunk) if isinstance(chunk, Chunk) else None
        if isinstance(chunk, Chunk) and is_drawn(document, chunk):
            image(session.library, chunk.document_id, *find_marked(trace, chunk, citation, tab.runs().leaf))


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
    document = held_document(session.library, chunk)
    if document is None or not is_drawn(document, chunk):
        _text(session, trace, document, chunk, citation, bar)
        return
    leaf, here, answer_span = find_marked(trace, chunk, citation, tab.runs().leaf)
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
    if heard := detect_injection(chunk.text):
        sweep = Sweep(chunk.text, spoken_layer(chunk.text, heard))
        draw(h.div("cx small")[[h.p[sweep.draw(each.start, each.end)] for each in heard], sweep.rest()])


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
    part = f"part {shown} of {pages}" if pages > 1 and shown else ""
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
    span = cited_span(chunk, citation, strips) if citation else (chunk.start, chunk.end)
    short = next(iter(find_shorts(trace, citation)), None)
    here_too = shown == chunk.page
    answer_span = (chunk.start + short.start, chunk.start + short.end) if short and here_too else None
    if chunk.from_web:
        draw(h.div("cx")[h.p("small")[marks.tag(chunk), " ", marks.origin(chunk)]])
    with st.container(key="page-text"):
        draw(h.div("cx")[leaf(here, [span] if here_too else [], answer_span)])


def _turn(leaf: int) -> None:
    tab.runs().leaf = leaf


def _web(trace: Trace, citation: Citation, page: WebPage) -> None:
    where = marks.opener(page.url) or page.url
    short = next(iter(find_shorts(trace, citation)), None)
    answer_span = (short.start, short.end) if short else None
    strips = trace.strips.get(page.id, ())
    text = Passage(text=page.text, strips=strips, cited=citation.strip_id, short=answer_span, spoken=page.injections)
    body = draw_surroundings(text, View.of(trace))
    draw(
        h.div("cx")[
            h.b[f"Source {citation.number}: ", marks.WEB, f" {page.title}"],
            h.p("small")[where, f". Found by {title(page.provider)} for ", h.span("query")[page.query]],
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
) -> bytes:
    """A page as PNG with the rectangles marked; remembered. Raises NotFoundError, DocumentError."""
    return _image(str(library.folder), document, page, tuple(rects), tuple(strong), _library=library)


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


@remembered(max_entries=96, ttl=3600)
def _image(
    folder: str,
    document: str,
    page: int,
    rects: tuple[Rect, ...],
    strong: tuple[Rect, ...],
    *,
    _library: Library,
) -> bytes:
    return draw_page(program().config, _library, document, page, rects, strong)
