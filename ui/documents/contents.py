"""All that a document was cut into: its pages with their chunks, and its tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import streamlit as st

from crag.core.trace import Track
from crag.core.types import Chunk
from crag.export.html import elements as h
from crag.export.html import words
from crag.export.html.page_pictures import DRAWN
from crag.export.html.safe_text import excerpt, markdown
from ui.app import tables as app_tables
from ui.app.session import Session
from ui.components import problems
from ui.components.drawing import draw
from ui.documents.listing import Held
from ui.documents.state import state
from ui.run import pageview


def pages(session: Session, held: Held) -> None:
    """A page at a time, and beside it its chunks, or all with certain words; the selected one is marked on its page.

    Raises CragError.
    """
    document, stored = held.document, session.library.documents
    left, right = st.columns([1, 1], gap="large")
    with left:
        label = "Page" if held.kind in DRAWN else "Part"
        last = max(1, document.pages)
        page = int(st.number_input(label, min_value=1, max_value=last, key=_page_key(document.id), width=180))
        here = stored.chunks(document.id, page=page)
        with problems.reported():
            _page(session, held, page, here)
    with right:
        asked = st.text_input("Find in this document", key=f"find-{document.id}", placeholder="Words in a chunk")
        every = stored.chunks(document.id, lines=False) if asked else here
        _listed(held, page, _with_words(every, asked or ""), asked or "", stored.chunk_tracks(document.id))


def _page(session: Session, held: Held, page: int, here: Sequence[Chunk]) -> None:
    """The page with its chunks marked: one alone where it is selected."""
    document = held.document
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


def _marked_text(marked: Sequence[Chunk], here: Sequence[Chunk]) -> str:
    """What is marked on the page: one chunk alone, or all there are."""
    if marked:
        return f"chunk {marked[0].ordinal + 1}, “{marked[0].text}”"
    return words.count(len(here), "chunk") if here else ""


def _turn_to(key: str, shown: Sequence[Chunk]) -> None:
    """Show the page of the chunk selected in this table, with it alone marked; all of the page's where none is."""
    state().marked = ""
    for row in app_tables.selected_rows(key):
        chunk = shown[row]
        st.session_state[_page_key(chunk.document_id)], state().marked = max(1, chunk.page), chunk.id


def _record(track: Track | None) -> str:
    """What runs said of a chunk."""
    if track is None:
        return "never retrieved"
    said = f"retrieved {words.count(track.retrieved, 'time')}, used {words.count(track.used, 'time')}"
    if track.mean_score is not None and track.last_score is not None:
        said += f", mean score {track.mean_score:.2f}, last {track.last_score:.2f}"
    return f"{said}, last in a run that ended {track.last_action}" if track.last_action else said


def _page_key(document: str) -> str:
    return f"page-{document}"


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
    "Text": 320,
    "Characters": _COLUMN.NumberColumn(format="localized"),
    "Retrieved": _COLUMN.NumberColumn(format="localized", help="Runs that retrieved it."),
    "Used": _COLUMN.NumberColumn(format="localized", help="Runs whose answers may rest on it."),
    "Mean score": _COLUMN.NumberColumn(format="%.2f", help="Mean of its grades, 0 to 1."),
    "Last score": _COLUMN.NumberColumn(format="%.2f"),
}


def _listed(held: Held, page: int, found: Sequence[Chunk], asked: str, tracks: Mapping[str, Track]) -> None:
    """A table of chunks; the selected one is shown whole under it."""
    shown = found[:_MOST]
    many = words.count(len(found), "chunk")
    part = "page" if held.kind in DRAWN else "part"
    said = f"{many} with these words" if asked else f"{many} on {part} {page} of {held.document.pages}"
    st.caption(f"{said}; the first {_MOST:,} are shown." if len(found) > _MOST else f"{said}.")
    if not shown:
        return
    key = f"chunks-{held.document.id}-{asked or page}"
    rows = [_row(chunk, tracks.get(chunk.id)) for chunk in shown]
    app_tables.picked(rows, key, "Chunks of the document", _COLUMNS, on_select=partial(_turn_to, key, shown))
    for chunk in shown:
        if chunk.id == state().marked:
            _whole(chunk, tracks.get(chunk.id))


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


def _whole(chunk: Chunk, track: Track | None) -> None:
    draw(
        h.div("cx")[
            h.h3[f"Chunk {chunk.ordinal + 1:,}, {chunk.where}"],
            h.div("text")[chunk.text],
            h.div("facts")[
                h.span[f"{chunk.kind}, indexed with: {chunk.context or 'nothing else'}"],
                h.span[_record(track)],
            ],
        ]
    )
