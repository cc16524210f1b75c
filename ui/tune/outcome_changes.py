"""What the runs would become: a table to choose from, figures, and what is unknown."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import streamlit as st

from crag.analysis.whatif.entries import Becomes, Entry, Outcome
from crag.core.types import Action
from crag.export.html import elements as h
from crag.export.html import words
from crag.export.html.elements import Html
from crag.export.html.path import chip
from crag.messages.answers import FAR, origin_text
from crag.messages.tuning import unknown_sentence
from ui.app import tables
from ui.app.session import Session
from ui.components.drawing import draw

_BEFORE: tuple[Becomes, ...] = (*Action, "none")
_AFTER: tuple[Becomes, ...] = (*Action, "none", "unknown")


def becomes_text(becomes: Becomes) -> str:
    """What a run was, or would become, in words."""
    return {"none": "no action", "unknown": "unknown"}.get(becomes, str(becomes))


def _chip(becomes: Becomes) -> Html:
    if becomes == "unknown":
        return h.span("verdict none")["? unknown"]
    return chip(None if becomes == "none" else Action(becomes))


def matrix(outcome: Outcome) -> tuple[Becomes, Becomes] | None:
    """Was by would be, in numbers; the cell that is chosen."""
    cells = {cell: len(ids) for cell, ids in outcome.matrix.items()}
    rows = [was for was in _BEFORE if isinstance(was, Action) or any(a == was for a, _ in cells)]
    heads = {becomes_text(b): b for b in _AFTER if isinstance(b, Action) or any(each == b for _, each in cells)}
    shown = [
        {"Was": becomes_text(was), **{head: cells.get((was, becomes)) for head, becomes in heads.items()}}
        for was in rows
    ]
    columns: dict[str, Any] = {head: st.column_config.NumberColumn(width=97) for head in heads}
    columns["Was"] = st.column_config.TextColumn(pinned=True, width=97)
    found = tables.chosen(shown, "tune-cell", "Runs by what they were and what they would be", columns)
    return (rows[found[0]], heads[found[1]]) if found and found[0] < len(rows) and found[1] in heads else None


def listed(session: Session, outcome: Outcome, entries: Mapping[str, Entry], cell: tuple[Becomes, Becomes]) -> None:
    """The questions of a cell; the one that is chosen opens its run in Ask."""
    was, becomes = cell
    ids = outcome.matrix.get(cell, ())
    reasons = {row.run_id: unknown_sentence(row.plan.reason) for row in outcome.rows if row.plan.reason}
    about = h.span("small")[
        f"{words.count(len(ids), 'run')}{'; select a question to open its run in Ask' if ids else ''}"
    ]
    draw(h.div("cx")[h.h3[_chip(was), " → ", _chip(becomes), " ", about]])
    rows = [_row(entries[id], reasons.get(id, "")) for id in ids]
    if rows:
        key = f"tune-listed-{was}-{becomes}"
        tables.open_run(session, rows, lambda row, column: ids[row], key, "The questions of this cell")


def _row(entry: Entry, reason: str) -> tables.Row:
    row = {
        "Question": entry.question,
        "Strategy": entry.strategy,
        "Asked": words.ago(entry.started_at),
        "Through": origin_text(entry.via),
        "Why it is not known": reason,
    }
    return {name: said for name, said in row.items() if said}


def figures(outcome: Outcome) -> Html:
    """How many runs set out to search the web and would, and how many strips were kept and would be."""
    was, would = outcome.searches
    before, after, runs = outcome.kept
    searching = h.span[h.b[f"{was:,} → {would:,}"], " runs that search the web"]
    kept = h.span[h.b[f"{before:,} → {after:,}"], f" strips kept, over {words.count(runs, 'run')} where known"]
    return h.div("cx")[h.div("figures")[searching, kept]]


def unknowns(outcome: Outcome, entries: Mapping[str, Entry]) -> None:
    """What can't be known without a call, with the number of runs; nothing where all is known."""
    groups = (("Their action", outcome.reasons), ("Their action is known, but not everything else", outcome.open))
    rows = [
        {"Unknown": title, "Runs": number, "Why": unknown_sentence(why)}
        for title, reasons in groups
        for why, number in reasons.items()
    ]
    if not rows:
        return
    fold = st.expander("What only a new run can tell", key="tune-unknown", on_change="rerun")
    if not fold.open:
        return
    with fold:
        st.table(rows, border="horizontal", hide_index=True)
        lost = sum(entries[row.run_id].elsewhere for row in outcome.rows if row.plan.unknown)
        if lost:
            st.caption(f"{words.count(lost, 'run')} of these searched another store, {FAR}.")
