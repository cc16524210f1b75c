"""All that a document was cut into: its pages one at a time, a table of its chunks, and its tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import streamlit as st

from crag.core.trace import Track
from crag.core.types import Chunk
from crag.export.html import elements as h
from crag.export.html import words
from crag.export.html.safe_text import excerpt, markdown
from crag.export.html.slides import DRAWN
from ui.app import tables as app_tables
from ui.app.session import Session
from ui.components import problems
from ui.components.drawing import draw
from ui.documents.listing import Held
from ui.documents.state import state
from ui.run import pageview, presentation

_BESIDE = 60
"""Chunks beside one page; a text without pages has all of its own on one."""


def pages(session: Session, held: Held) -> None:
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
                draw(h.div("cx")[pageview.leaf(here, [(chunk.start, chunk.end) for chunk in marked])])
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
        for chunk in here[:_BESIDE]
    ]
    shown = h.div("cards ordinals")[cards] if cards else h.p["No text was found on this page."]
    more = len(here) > _BESIDE and h.p("small")[f"The first {_BESIDE}; all of them are under Chunks."]
    part = "page" if held.kind in DRAWN else "part"
    heading = f"{words.count(len(here), 'chunk')} on {part} {page} of {held.document.pages}"
    draw(h.div("cx")[h.h3[heading], shown, more])


VIEW = "document-view"
"""Holds which view of a document is open."""
_MOST = 5_000
"""Rows sent to the browser."""
_TABLES = 10
"""Tables drawn at once."""

_COLUMN = st.column_config
_COLUMNS = {
    "#": _COLUMN.NumberColumn(width=55, format="localized"),
    "Page": _COLUMN.NumberColumn(width=60, format="localized"),
    "Text": 520,
    "Characters": _COLUMN.NumberColumn(format="localized"),
    "Retrieved": _COLUMN.NumberColumn(format="localized", help="Runs that retrieved it."),
    "Used": _COLUMN.NumberColumn(format="localized", help="Runs whose answers may rest on it."),
    "Mean score": _COLUMN.NumberColumn(format="%.2f", help="Mean of its grades, 0 to 1."),
    "Last score": _COLUMN.NumberColumn(format="%.2f"),
}


def chunks(session: Session, held: Held) -> None:
    """A table of all chunks; the selected one is shown whole. Raises CragError."""
    id = held.document.id
    asked = st.text_input("Find in this document", key=f"find-{id}", placeholder="Words in a chunk", width=480)
    every = session.library.documents.chunks(id, lines=False)
    tracks = session.library.documents.chunk_tracks(id)
    found = _with_words(every, asked or "")
    shown = found[:_MOST]
    said = f"{len(found):,} of {words.count(len(every), 'chunk')}" if asked else words.count(len(every), "chunk")
    st.caption(f"{said}; the first {_MOST:,} are shown." if len(found) > _MOST else f"{said}.")
    if not shown:
        return
    rows = [_row(chunk, tracks.get(chunk.id)) for chunk in shown]
    for place in app_tables.picked(rows, f"chunks-{id}-{asked}", "The chunks of the document", _COLUMNS):
        _whole(shown[place], tracks)


def tables(session: Session, held: Held) -> None:
    """The tables as they were read, a line a row, some at a time. Raises CragError."""
    every = [each for each in session.library.documents.chunks(held.document.id, lines=False) if each.kind == "table"]
    if not every:
        st.caption("No table was found in this document.")
        return
    sheets = -(-len(every) // _TABLES)
    sheet = 1
    if sheets > 1:
        label = f"Sheet of {sheets:,}, each of {_TABLES} pieces of tables"
        sheet = int(st.number_input(label, min_value=1, max_value=sheets, width=320, key=f"tables-{held.document.id}"))
    st.caption(f"{words.count(len(every), 'piece')} of tables")
    for chunk in every[(sheet - 1) * _TABLES : sheet * _TABLES]:
        st.caption(f"**{markdown(chunk.where)}** {markdown(chunk.context)}")
        rows = [{"Row": markdown(line)} for line in chunk.text.splitlines() if line.strip()]
        st.table(rows, border="horizontal", hide_index=True, hide_header=True, alt=f"Table of {chunk.where}")


def _with_words(every: Sequence[Chunk], asked: str) -> Sequence[Chunk]:
    wanted = asked.casefold().split()
    return [each for each in every if all(word in each.text.casefold() for word in wanted)] if wanted else every


def _row(chunk: Chunk, track: Track | None) -> dict[str, Any]:
    return {
        "#": chunk.ordinal + 1,
        "Page": chunk.page,
        **({"Place": chunk.place} if chunk.place else {}),
        "Kind": chunk.kind,
        "Text": excerpt(chunk.text, 200),
        "Characters": len(chunk.text),
        "Retrieved": track.retrieved if track else 0,
        "Used": track.used if track else 0,
        "Mean score": track.mean_score if track else None,
        "Last score": track.last_score if track else None,
    }


def _whole(chunk: Chunk, tracks: Mapping[str, Track]) -> None:
    draw(
        h.div("cx")[
            h.h3[f"Chunk {chunk.ordinal + 1:,}, {chunk.where}"],
            h.div("text")[chunk.text],
            h.div("facts")[
                h.span[f"{chunk.kind}, indexed with: {chunk.context or 'nothing else'}"],
                h.span[record(tracks.get(chunk.id))],
            ],
        ]
    )
    st.button("Show it on its page", key="chunk-to-page", on_click=_to_page, args=(chunk,))


def _to_page(chunk: Chunk) -> None:
    turn_to(chunk)
    st.session_state[VIEW] = "pages"
