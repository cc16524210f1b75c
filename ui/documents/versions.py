"""Versions of the library on the page: a snapshot is taken, two are compared, the documents go back to one."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

import streamlit as st

from crag.export.html import words
from crag.export.html.safe_text import markdown
from crag.messages.documents import KEPT, KINDS, compared_sentence, rolled_back_sentence, snapshot_text
from crag.storage.library import Library
from crag.storage.snapshots import MOST_SNAPSHOTS, DocumentChange, Snapshot
from ui.app import clicks, tables
from ui.app.clicks import once, requires
from ui.app.session import Session
from ui.components import problems

_NAME = "snapshot-name"
_COLUMNS = {
    "Snapshot": st.column_config.TextColumn(width=260, pinned=True),
    "Taken": st.column_config.DatetimeColumn(format="distance"),
    "Holds": 320,
    "Size": 90,
}


def show(session: Session, any_held: bool) -> None:
    """All snapshots, and what can be done with those selected. `any_held`: whether there are documents to keep.

    Raises CragError.
    """
    found = session.library.snapshots.all()
    if not found and not (any_held and session.may("edit")):
        return
    with st.expander(f"Versions: {words.count(len(found), 'snapshot')}" if found else "Versions", key="versions"):
        st.caption(
            "A snapshot saves the documents as they are now. You can compare with it, or go back to it without "
            f"embedding again. At most {MOST_SNAPSHOTS}. {KEPT}"
        )
        if session.may("edit"):
            with st.container(horizontal=True, vertical_alignment="bottom"):
                st.text_input("Name", key=_NAME, placeholder="by the time", max_chars=60, width=260)
                st.button("Take a snapshot", key="snapshot-take", on_click=once(_take), args=(session,))
        if not found:
            return
        key = f"snapshots-{found[0].name}-{len(found)}"
        rows = tables.picked(list(map(_row, found)), key, "Snapshots of the library", _COLUMNS, several=True)
        chosen = [found[row] for row in rows]
        if not chosen:
            st.caption("Select one to compare it with the documents there are now, or two to compare them.")
        elif len(chosen) > 2:
            st.caption("Select at most two.")
        else:
            with problems.reported():
                _chosen(session, sorted(chosen, key=lambda each: each.taken_at))


def _row(each: Snapshot) -> tables.Row:
    taken = datetime.fromisoformat(each.taken_at) if each.taken_at else None
    return {"Snapshot": each.name, "Taken": taken, "Holds": snapshot_text(each), "Size": words.format_size(each.size)}


def _chosen(session: Session, chosen: Sequence[Snapshot]) -> None:
    """How one differs from now, or two from each other; and the way back to one. Raises CragError."""
    first, second = chosen[0], chosen[1].name if len(chosen) > 1 else ""
    if second == "" and session.may("edit"):
        with st.container(horizontal=True):
            if not first.problem:
                said = (
                    f"Restore the documents of **{markdown(first.name)}**? Those that are there now are saved as a "
                    "snapshot first. Runs and evaluations stay."
                )
                clicks.confirm("Roll back", said, "snapshot-back", _roll_back, session, first.name)
            said = f"Delete **{markdown(first.name)}** for good?"
            clicks.confirm("Delete", said, "snapshot-gone", _delete, session, first.name)
    changes = _compared(
        session.library, session.workspace, (first.name, first.state), second, session.library.documents.version()[:2]
    )
    since = f"Between {first.name} and {second}" if second else f"Since {first.name}"
    st.markdown(f"**{markdown(since)}**: {markdown(compared_sentence(changes))}")
    if changes:
        listed = [
            {
                "Document": each.name,
                "Change": KINDS[each.kind].capitalize(),
                "Chunks before": each.before,
                "Chunks now": each.now,
            }
            for each in changes
        ]
        tables.plain(listed, "snapshot-changes", "Documents that differ", {"Document": 260})


@st.cache_resource(max_entries=16, show_spinner="Comparing…")
def _compared(
    _library: Library, workspace: str, first: tuple[str, str], second: str, now: tuple[str, str]
) -> list[DocumentChange]:
    return _library.snapshots.compare(first[0], second)


@requires("edit")
def _take(session: Session) -> None:
    with st.spinner("Copying the documents…"):
        taken = session.library.snapshots.take(str(st.session_state.get(_NAME, "")).strip())
    st.session_state[_NAME] = ""
    session.note("backup", "snapshot", taken.name)
    st.toast(markdown(f"{taken.name}: {snapshot_text(taken)}"), icon=":material/check:")


@requires("edit")
def _roll_back(session: Session, name: str) -> None:
    with st.spinner("Restoring the documents…"):
        done = session.library.snapshots.roll_back(name)
    session.note("restore", "snapshot", f"{name}; before: {done.before.name}")
    st.toast(markdown(rolled_back_sentence(name, done)), icon=":material/check:", duration="long")


@requires("edit")
def _delete(session: Session, name: str) -> None:
    session.library.snapshots.delete(name)
    session.note("delete", "snapshot", name)
