"""Tables whose cells can be chosen with mouse or keyboard, and lists of runs that open in Ask."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Literal

import streamlit as st

from crag.export.html.safe_text import visible
from crag.text.spreadsheets import guard_formula
from ui.app import navigation
from ui.app.session import Session

Row = Mapping[str, Any]
Columns = Mapping[str, Any]
"""By name how a column is drawn; a number is the width of a column of texts, in pixels."""
_LINE, _AROUND = 17, 12
"""Of text in a cell that wraps, and of the space around it, in pixels."""


def chosen(
    rows: Sequence[Row],
    key: str,
    alt: str,
    columns: Columns | None = None,
    on_select: Callable[[], None] | Literal["rerun"] = "rerun",
    lines: int = 1,
) -> tuple[int, str] | None:
    """Draw a table; the row's place and the column's name of the cell that is selected in it. `lines`: of a row.

    Texts are guarded, for the table's own menu copies and downloads its cells. `on_select` is called as a selection
    changes, before the page is drawn.
    """
    height = _LINE * lines + _AROUND if lines > 1 else None
    look: dict[str, Any] = {"selection_mode": "single-cell", "placeholder": "·", "row_height": height}
    _draw(rows, key, alt, columns, on_select=on_select, **look)
    return selected(key)


def plain(rows: Sequence[Row], key: str, alt: str, columns: Columns | None = None) -> None:
    """Draw a table of which nothing can be chosen; texts are guarded."""
    _draw(rows, key, alt, columns, placeholder="–")


def picked(
    rows: Sequence[Row],
    key: str,
    alt: str,
    columns: Columns | None = None,
    on_select: Callable[[], None] | Literal["rerun"] = "rerun",
    *,
    several: bool = False,
) -> list[int]:
    """Draw a table; the places of the rows that are selected in it. Texts are guarded. `several`: at once.

    `on_select` is called as a selection changes, before the page is drawn.
    """
    mode = "multi-row" if several else "single-row"
    found = _draw(rows, key, alt, columns, on_select=on_select, selection_mode=mode).selection.rows
    return [row for row in found if row < len(rows)]


def _draw(rows: Sequence[Row], key: str, alt: str, columns: Columns | None, **more: Any) -> Any:
    shown = [{name: _guarded(value) for name, value in row.items()} for row in rows]
    config = {
        name: st.column_config.TextColumn(width=each) if isinstance(each, int) else each
        for name, each in (columns or {}).items()
    }
    return st.dataframe(shown, hide_index=True, column_config=config, key=key, alt=alt, **more)


def selected(key: str) -> tuple[int, str] | None:
    """The cell that is selected in the table of this key."""
    state: Any = st.session_state.get(key)
    cells = state["selection"]["cells"] if state else []
    return (int(cells[0][0]), str(cells[0][1])) if cells else None


def selected_rows(key: str) -> list[int]:
    """The places of the rows that are selected in the table of this key."""
    state: Any = st.session_state.get(key)
    return list(state["selection"]["rows"]) if state else []


def _guarded(value: object) -> object:
    if isinstance(value, tuple):
        return [_guarded(each) for each in value]
    return guard_formula(visible(value)) if isinstance(value, str) else value


def open_run(
    session: Session,
    rows: Sequence[Row],
    run_of: Callable[[int, str], str],
    key: str,
    alt: str,
    columns: Columns | None = None,
    lines: int = 1,
) -> None:
    """Draw a table of runs; the one that is chosen opens in Ask. `run_of`: that of a cell, "" for none."""
    chosen(rows, key, alt, columns, on_select=partial(_open, session, run_of, key), lines=lines)


def show_run(session: Session, run: str) -> None:
    """Show a run in Ask."""
    session.select(run)
    navigation.go("ask")


def _open(session: Session, run_of: Callable[[int, str], str], key: str) -> None:
    cell = selected(key)
    if cell is not None and (run := run_of(*cell)):
        show_run(session, run)
        st.rerun()  # of the whole page, of which the table may be a part that runs alone
