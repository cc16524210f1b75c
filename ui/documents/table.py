"""The table of documents: real values, so that every column sorts, and which rows are selected."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import partial
from typing import Any

import streamlit as st

from crag.core.metadata import written_field
from crag.export.html import words
from crag.text.spreadsheets import guard_formula
from ui.app import tables
from ui.documents.listing import Held
from ui.documents.state import state

_ROW, _HEAD, _MOST = 35, 38, 12
"""Pixels of a row and of what stands above the first; the rows in view."""

_COLUMN = st.column_config
_COLUMNS = {
    "Document": _COLUMN.TextColumn(width=210, pinned=True),
    "Title": _COLUMN.TextColumn(width=230),
    "Tags": _COLUMN.ListColumn(width=150),
    "Date": _COLUMN.TextColumn(width=95, help="The date of the document's content, as given: a day, month or year."),
    "Confidence": _COLUMN.NumberColumn(format="%.2f", help="How far its content is trusted, 0 to 1."),
    "Verified": _COLUMN.CheckboxColumn(help="A person has checked it."),
    "Pages": _COLUMN.NumberColumn(format="localized"),
    "Chunks": _COLUMN.NumberColumn(format="localized"),
    "Size": _COLUMN.NumberColumn(format="bytes"),
    "Added": _COLUMN.DatetimeColumn(format="distance"),
    "Cited": _COLUMN.NumberColumn(
        format="localized",
        help="Questions whose answers cite it. A question asked again, or under several strategies, counts once.",
    ),
    "Problems": _COLUMN.TextColumn(width=260),
}
_MAYBE = frozenset({"Problems", "Tags", "Date", "Other fields", "Model", "Kind"})
"""Columns that are there only where they tell documents apart."""


def picked() -> tuple[str, ...]:
    """The ids of the documents that are selected."""
    return state().selected


def pick(ids: Sequence[str]) -> None:
    """From now on these are selected."""
    state().selected = tuple(ids)


def show(shown: Sequence[Held]) -> None:
    """The table of these rows; of what was selected, what is not among them is selected no more."""
    ids = tuple(held.document.id for held in shown)
    wanted = set(picked())
    pick([id for id in ids if id in wanted])
    rows = [at for at, id in enumerate(ids) if id in wanted]
    # The browser tells rows by their places, also after others are listed and before it knows: another table has
    # another key, so nothing of the one before is heard.
    here = state()
    if here.rows != ids or sorted(tables.selected_rows(here.table)) != rows:
        here.rows, here.table = ids, f"documents-table-{secrets.token_hex(4)}"
    st.dataframe(
        _rows(shown),
        hide_index=True,
        height=_HEAD + _ROW * min(len(shown), _MOST),
        column_config=_COLUMNS,
        on_select=partial(_take, here.table, ids),
        selection_mode="multi-row",
        selection_default={"selection": {"rows": rows, "columns": [], "cells": []}},
        key=here.table,
        placeholder="",
        alt="The documents of the library",
    )


def _take(key: str, ids: Sequence[str]) -> None:
    pick([ids[row] for row in sorted(tables.selected_rows(key)) if row < len(ids)])


def _rows(shown: Sequence[Held]) -> list[dict[str, Any]]:
    """Texts are guarded, for the table's own menu copies and downloads its cells."""
    rows = [
        {
            "Document": guard_formula(held.document.name),
            "Title": guard_formula(held.document.title),
            "Kind": words.kind(held.kind),
            "Tags": [guard_formula(tag) for tag in held.tags],
            "Date": held.date,
            "Confidence": held.confidence,
            "Verified": held.verified,
            "Pages": held.document.pages,
            "Chunks": held.document.chunks,
            "Size": held.document.size,
            "Added": _moment(held.document.added_at),
            "Cited": held.cited,
            "Problems": guard_formula(" ".join(held.problems)),
            "Other fields": guard_formula(_others(held)),
            "Model": guard_formula(held.document.model),
        }
        for held in shown
    ]
    same = {
        name
        for name in _MAYBE
        if not any(row[name] for row in rows) or (name in ("Kind", "Model") and len({row[name] for row in rows}) == 1)
    }
    return [{name: value for name, value in row.items() if name not in same} for row in rows]


def _others(held: Held) -> str:
    """The given fields that have no column of their own."""
    own = ("tags", "date", "confidence", "verified")
    return "; ".join(written_field(name, value) for name, value in held.given.items() if name not in own)


def _moment(iso: str) -> datetime | None:
    try:
        then = datetime.fromisoformat(iso)
    except ValueError:
        return None
    return then if then.tzinfo else then.replace(tzinfo=UTC)
