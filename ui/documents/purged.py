"""Purges on the page: what one would take out, and what was taken out lately and can be brought back."""

from __future__ import annotations

from datetime import datetime

import streamlit as st

from crag.analysis.questions.adapters import guard_formula
from crag.core.purging import conditions_of
from crag.export.html import words
from crag.export.html.safe_text import markdown
from crag.storage.library import UNDO_HOURS
from ui.app.session import Session
from ui.components import problems

_SHOWN = 20
"""So many of those that would go are named."""
_COLUMNS = {
    "Document": st.column_config.TextColumn(width=260, pinned=True),
    "Purged": st.column_config.DatetimeColumn(format="distance"),
    "Why": st.column_config.TextColumn(width=420),
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
        rows = st.dataframe(
            [
                {
                    "Document": guard_formula(each.name),
                    "Purged": datetime.fromisoformat(each.at),
                    "Why": guard_formula(each.why),
                }
                for each in found
            ],
            hide_index=True,
            column_config=_COLUMNS,
            on_select="rerun",
            selection_mode="multi-row",
            key=f"purged-{found[0].at}-{len(found)}",
            alt="Documents that can be restored",
        ).selection.rows
        chosen = [found[row] for row in rows if row < len(found)]
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
                going = [
                    {"Document": markdown(each.document.name), "Why": markdown(each.why)} for each in found[:_SHOWN]
                ]
                st.table(going, border="horizontal", hide_index=True, width="content", alt="Documents that would go")
            if (more := len(found) - _SHOWN) > 0:
                st.caption(f"And {more:,} more.")
            if found and st.button(f"Purge {many}", key="purge", type="primary"):
                session.require("edit")
                for each in session.library.purges.purge(conditions):
                    session.note("delete", "document purged", f"{each.document.name}: {each.why}")
                st.rerun()
