"""All that a document was cut into: a table of its chunks that can be searched, and its tables as they were read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import streamlit as st

from crag.core.trace import Track
from crag.core.types import Chunk
from crag.export.html import elements as h
from crag.export.html import words
from crag.export.html.safe_text import excerpt, markdown
from ui.app import tables as app_tables
from ui.app.session import Session
from ui.components.drawing import draw
from ui.documents import page_browser
from ui.documents.listing import Held

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
                h.span[page_browser.record(tracks.get(chunk.id))],
            ],
        ]
    )
    st.button("Show it on its page", key="chunk-to-page", on_click=_to_page, args=(chunk,))


def _to_page(chunk: Chunk) -> None:
    page_browser.turn_to(chunk)
    st.session_state[VIEW] = "pages"
