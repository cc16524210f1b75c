"""Purges on the page: what one would take out, and what was taken out lately and can be brought back."""

from __future__ import annotations

from datetime import datetime

import streamlit as st

from crag.core.purging import conditions_of
from crag.export.html import words
from crag.storage.library import UNDO_HOURS
from ui.app import tables
from ui.app.session import Session
from ui.components import problems

_COLUMNS = {
    "Document": st.column_config.TextColumn(width=260, pinned=True),
    "Purged": st.column_config.DatetimeColumn(format="distance"),
    "Why": 420,
}


def show(session: Session) -> None:
    """Documents that can be restored, each with why it went; nothing where there are none. Raises CragError."""
    found = session.library.purges.undoable()
    if not found:
        return
    with st.expander(f"Recently purged: {words.count(len(found), 'document')}"):
        st.caption(
            f"Purged documents can be restored for {UNDO_HOURS} hours; then they are deleted permanently. Select "
            "rows to restore some of them."
        )
        rows = [{"Document": each.name, "Purged": datetime.fromisoformat(each.at), "Why": each.why} for each in found]
        key = f"purged-{found[0].at}-{len(found)}"
        picked = tables.picked(rows, key, "Documents that can be restored", _COLUMNS, several=True)
        chosen = [found[row] for row in picked]
        label = f"Restore {words.count(len(chosen), 'document')}" if chosen else "Restore all"
        if session.may("edit") and st.button(label, key="undo"):
            with problems.reported():
                session.require("edit")
                with st.spinner("Restoring…"):
                    for each in chosen or found:
                        session.library.purges.undo(each.id)
                        session.note("delete", "purge undone", each.name)
                st.rerun()


def form(session: Session) -> None:
    """Conditions as the command line takes them; what would go is shown before it does. Raises CragError."""
    with st.expander("Purge…"):
        st.caption("Removes every document that meets all conditions.")
        typed = st.text_input("Conditions", key="purge-conditions", placeholder="--older-than 90d --unverified")
        if not typed.strip():
            return
        with problems.reported():
            conditions = conditions_of(typed)
            found = session.library.purges.due(conditions)
            many = words.count(len(found), "document")
            st.caption(f"{many} would be removed. They can be restored for {UNDO_HOURS} hours.")
            if found:
                going = [{"Document": each.document.name, "Why": each.why} for each in found]
                tables.plain(going, "purge-going", "Documents that would go", {"Why": 420})
            if found and st.button(f"Purge {many}", key="purge", type="primary"):
                session.require("edit")
                for each in session.library.purges.purge(conditions):
                    session.note("delete", "document purged", f"{each.document.name}: {each.why}")
                st.rerun()
