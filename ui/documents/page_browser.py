"""A document's pages, one at a time: the page as it looks with its chunks marked, and the chunks beside it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import streamlit as st

from crag.core.trace import Track
from crag.core.types import Chunk
from crag.export.html import elements as h
from crag.export.html import words
from crag.export.html.safe_text import excerpt
from crag.export.html.slides import DRAWN
from ui.app.session import Session
from ui.components import problems
from ui.components.drawing import draw
from ui.documents.listing import Held
from ui.documents.state import state
from ui.run import pageview, presentation, textview

_MOST = 60
"""Chunks beside one page; a text without pages has all of its own on one."""


def show(session: Session, held: Held) -> None:
    """Raises CragError."""
    document, stored = held.document, session.library.documents
    key = _page_key(document.id)
    label = "Page" if held.kind in DRAWN else "Part"
    page = int(st.number_input(label, min_value=1, max_value=max(1, document.pages), key=key, width=180))
    here = stored.chunks(document.id, page=page)
    tracks = stored.chunk_tracks(document.id)
    left, right = st.columns([1, 1], gap="large")
    with left, problems.reported():
        marked = [chunk for chunk in here if chunk.id == state().marked]
        if held.kind in DRAWN:
            rects = [rect for chunk in marked or here for rect in chunk.rects() if rect.page == page]
            st.image(
                pageview.inline(pageview.image(session.library, document.id, page, rects)),
                width="stretch",
                alt=pageview.described(document.name, page, document.pages, _marked_text(marked, here)),
            )
        else:
            with st.container(key="page-text"):
                draw(h.div("cx")[textview.leaf(here, [(chunk.start, chunk.end) for chunk in marked])])
    with right:
        _cards(held, page, here, tracks)


def _marked_text(marked: Sequence[Chunk], here: Sequence[Chunk]) -> str:
    """What is marked on the page: one chunk alone, or all there are."""
    if marked:
        return f"chunk {marked[0].ordinal + 1}, “{marked[0].text}”"
    return words.count(len(here), "chunk") if here else ""


def turn_to(chunk: Chunk) -> None:
    """Show this chunk's page the next time, with it alone marked."""
    st.session_state[_page_key(chunk.document_id)] = chunk.page
    state().marked = chunk.id


def mark(picked: str) -> None:
    """Mark one chunk alone on its page, or all of them again; or end the presentation."""
    kind, _, chunk = picked.partition(":")
    if not presentation.follow(picked) and kind == "mark":
        state().marked = "" if state().marked == chunk else chunk


def record(track: Track | None) -> str:
    """What runs said of a chunk."""
    if track is None:
        return "never retrieved"
    said = f"retrieved {words.count(track.retrieved, 'time')}, used {words.count(track.used, 'time')}"
    if track.mean_score is not None and track.last_score is not None:
        said += f", mean score {track.mean_score:.2f}, last {track.last_score:.2f}"
    return f"{said}, last in a run that ended {track.last_action}" if track.last_action else said


def _page_key(document: str) -> str:
    return f"page-{document}"


def _cards(held: Held, page: int, here: Sequence[Chunk], tracks: Mapping[str, Track]) -> None:
    cards = [
        h.details(data_keep=chunk.id)[
            h.summary[
                h.span("rank num")[chunk.ordinal + 1],
                h.span("where")[h.span("name")[excerpt(chunk.text, 140)]],
                h.span("small")[words.count(len(chunk.text), "character")],
            ],
            h.div("body")[
                h.div("text")[chunk.text],
                h.div("facts")[
                    h.span[f"{chunk.kind}, indexed with: {chunk.context or 'nothing else'}"],
                    h.span[record(tracks.get(chunk.id))],
                    h.button("more", data_pick=f"mark:{chunk.id}")["Mark only this one"],
                ],
            ],
        ]
        for chunk in here[:_MOST]
    ]
    shown = h.div("cards ordinals")[cards] if cards else h.p["No text was found on this page."]
    more = len(here) > _MOST and h.p("small")[f"The first {_MOST}; all of them are under Chunks."]
    part = "page" if held.kind in DRAWN else "part"
    heading = f"{words.count(len(here), 'chunk')} on {part} {page} of {held.document.pages}"
    draw(h.div("cx")[h.h3[heading], shown, more])
