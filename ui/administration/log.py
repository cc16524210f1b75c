"""The audit log: who did what, where, and what was refused; as a table and as files."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime
from typing import get_args

import streamlit as st

from crag.admin.audit import AuditedAct, Entry
from crag.export.html.safe_text import visible
from crag.text.spreadsheets import csv_export
from ui.app import tables
from ui.app.program import program
from ui.app.session import Session
from ui.components import downloads

_SHOWN, _WRITTEN = 500, 100_000
"""Entries in the table, and in a file, at most."""
_FIELDS = ("at", "who", "act", "workspace", "what", "detail", "refused")
_COLUMNS = {
    "When (UTC)": st.column_config.DatetimeColumn(width=160, pinned=True),
    **{"Who": 200, "Act": 100, "Workspace": 160, "What": 220, "Detail": 280},
}


def show(session: Session) -> None:
    """The newest entries that the filters let through, and all of those as files. Raises CragError."""
    audit = program().engine.teams.audit
    people, places = audit.names()
    with st.container(horizontal=True, gap="small"):
        who = st.selectbox("Who", ["", *people], format_func=_named, key="log-who")
        act = st.selectbox("Act", ["", *get_args(AuditedAct)], format_func=_named, key="log-act")
        named = {each.name: each.title for each in program().engine.teams.spaces.all()}
        where = st.selectbox(
            "Workspace",
            [None, *places],
            format_func=lambda name: "Any" if name is None else visible(named.get(name, name)) or "None",
            key="log-workspace",
        )
    found = list(audit.entries(_SHOWN, who=who, act=act, workspace=where))
    kept = program().config.serving.audit_days
    many = f"The latest {_SHOWN} entries." if len(found) == _SHOWN else f"Entries: {len(found)}."
    st.caption(f"{many} {f'Kept for {kept:,} days.' if kept else 'Kept indefinitely.'}")
    if not found:
        return
    tables.plain([_drawn(each, named) for each in found], "log", "The audit log", _COLUMNS)

    def entries() -> list[Entry]:
        session.require("administer")
        return list(audit.entries(_WRITTEN, who=who, act=act, workspace=where))

    with st.container(horizontal=True, gap="small"):
        downloads.file("CSV", lambda: as_csv(entries()), "audit.csv", "text/csv", key="log-csv")
        downloads.file("JSON lines", lambda: as_lines(entries()), "audit.jsonl", "application/jsonl", key="log-jsonl")


def as_csv(entries: Sequence[Entry]) -> bytes:
    """A table of entries in which nothing is a formula."""
    return csv_export(_FIELDS, [[getattr(each, name) for name in _FIELDS] for each in entries])


def as_lines(entries: Sequence[Entry]) -> str:
    """An object a line."""
    records = ({name: getattr(each, name) for name in _FIELDS} for each in entries)
    return "".join(json.dumps(each, ensure_ascii=False) + "\n" for each in records)


def _drawn(entry: Entry, named: dict[str, str]) -> dict[str, object]:
    return {
        "When (UTC)": datetime.fromisoformat(entry.at),
        "Who": entry.who,
        "Act": entry.act,
        "Refused": "refused" if entry.refused else "",
        "Workspace": named.get(entry.workspace, entry.workspace),
        "What": entry.what,
        "Detail": entry.detail,
    }


def _named(name: str) -> str:
    return visible(name) or "Any"
