"""The audit log: who did what, where, and what was refused; as a table and as files."""

from __future__ import annotations

from datetime import datetime
from typing import get_args

import streamlit as st

from crag.admin.audit import AuditedAct, Entry
from crag.export.html.safe_text import visible
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

    def written() -> downloads.Table:
        session.require("administer")
        entries = audit.entries(_WRITTEN, who=who, act=act, workspace=where)
        return _FIELDS, ([getattr(each, name) for name in _FIELDS] for each in entries)

    with st.container(horizontal=True, gap="small"):
        downloads.table("", written, "audit", key="log")


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
