"""Workspaces: all there are, with their owners and sizes; opening, renaming and deleting one."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

import streamlit as st

from crag.admin.workspaces import Workspace
from crag.core.errors import CragError
from crag.export.html import elements as h
from crag.export.html import words
from crag.export.html.safe_text import visible
from ui.access import workspace_entry
from ui.administration.people import state
from ui.app import sharing, tables
from ui.app.program import program
from ui.app.session import Session
from ui.components import problems
from ui.components.drawing import draw
from ui.components.remembered import remembered

_COUNTED = 300
"""Documents are counted in so many libraries at most: each is opened for it."""
_COLUMNS = {
    "Title": st.column_config.TextColumn(width=240, pinned=True),
    "Owner": 200,
    "Documents": st.column_config.NumberColumn(width=100),
    "Size": 90,
    "Last used": st.column_config.DatetimeColumn(format="distance"),
    "Library": 160,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Row:
    """One workspace: what is known of who may enter it, if anything is, and how large its library is."""

    name: str
    space: Workspace | None
    owner: str
    size: int
    members: int

    @property
    def title(self) -> str:
        if self.space is not None:
            return self.space.title
        return "Library of a key" if self.name.startswith("p-") else f"Library {self.name}"


def show(session: Session) -> None:
    """The table, and what is done with the row selected. Raises CragError."""
    found = _rows()
    if not found:
        st.caption("There are no workspaces yet: one is created when something is added to it.")
        return
    st.caption(f"{words.count(len(found), 'workspace')}, {words.format_size(sum(each.size for each in found))} in all.")
    drawn = [_drawn(each, counted=number < _COUNTED) for number, each in enumerate(found)]
    rows = tables.picked(drawn, f"admin-spaces-{state().spaces}-{len(found)}", "All workspaces", _COLUMNS)
    for row in rows:
        _change(session, found[row])
    if not rows:
        st.caption("Select a row to open, rename or delete a workspace.")


def _rows() -> list[_Row]:
    engine = program().engine
    known = {each.name: each for each in engine.teams.spaces.all()}
    people = {each.id: each.called for each in engine.teams.people.all()}
    root, many = engine.private_libraries.libraries, engine.teams.spaces.member_counts()
    sizes = {name: root.size(name) for name in root.names()}
    return [
        _Row(
            name=name,
            space=known.get(name),
            owner=people.get(known[name].owner, "") if name in known else "",
            size=sizes.get(name, 0),
            members=many.get(name, 0),
        )
        for name in [*known, *sorted(set(sizes) - set(known))]
    ]


def _drawn(row: _Row, *, counted: bool) -> dict[str, object]:
    used = datetime.fromisoformat(row.space.used_at) if row.space is not None else None
    return {
        "Title": row.title,
        "Owner": row.owner,
        "Documents": _documents(row.name, row.size) if counted and row.size else 0 if not row.size else None,
        "Size": words.format_size(row.size),
        "Last used": used,
        "Members": row.members,
        "Library": row.name,
    }


@remembered(ttl=600, max_entries=2000)
def _documents(name: str, size: int) -> int | None:
    """How many documents it holds, counted again when its size has changed; None where it can't be read."""
    try:
        return program().engine.library(name).documents.count()
    except CragError:
        return None


def _change(session: Session, row: _Row) -> None:
    spaces, actor = program().engine.teams.spaces, session.entered.actor
    with st.container(border=True):
        draw(h.div("cx")[h.p[h.b[row.title]]])
        with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
            if actor.id:
                st.button("Open it", key="admin-open", on_click=_open, args=(row.name,))
            title = st.text_input("Title", value=row.title, max_chars=80, key=f"admin-title-{row.name}")
            if st.button("Rename", key="admin-rename", disabled=title.strip() == row.title):
                with problems.reported():
                    session.require("administer")
                    if row.space is None:
                        spaces.adopt(row.name, title, actor)
                    else:
                        spaces.rename(row.name, title, actor)
                    _refresh()
            _owner(session, row)
            with st.popover("Delete…"):
                sharing.confirm_deletion(row.name, row.title, _refresh)


def _owner(session: Session, row: _Row) -> None:
    """Another owner, as when somebody has left; a person's own workspace stays theirs."""
    people = {each.id: each.called for each in program().engine.teams.people.all() if each.standing == "here"}
    if row.space is None or row.space.personal or not people:
        return
    with st.popover("Owner…"):
        owner = st.selectbox("Owner", list(people), format_func=lambda id: visible(people[id]), key="admin-owner")
        if st.button("Hand over", key="admin-hand-over", disabled=owner == row.space.owner):
            with problems.reported():
                session.require("administer")
                program().engine.teams.spaces.hand_over(row.name, owner, session.entered.actor)
                _refresh()


def _open(name: str) -> None:
    workspace_entry.go(name)


def _refresh() -> None:
    state().spaces += 1
    st.rerun()
