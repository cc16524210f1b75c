"""Purges on the page: what one would take out, and what was taken out lately and can be brought back."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from crag.core.purging import conditions_of
from crag.library.purges import UNDO_HOURS, Purged
from ui.app.session import Session
from ui.kit import problems, words
from ui.kit.safe import markdown

_SHOWN = 20
"""So many have a button of their own."""


def show(session: Session) -> None:
    """The documents that can be brought back, each with why it went; nothing where there are none. Raises CragError."""
    found = session.library.purges.undoable()
    if not found:
        return
    with st.expander(f"Purged lately: {words.count(len(found), 'document')}"):
        st.caption(f"What was purged can be brought back for {UNDO_HOURS} hours, and is deleted for good then.")
        if st.button("Bring all back", key="undo-all", type="primary"):
            _undo(session, found)
        for each in found[:_SHOWN]:
            said, undo = st.columns([5, 1], vertical_alignment="center")
            said.markdown(markdown(f"{each.name}, {words.ago(each.at)}: {each.why}"))
            if undo.button("Bring back", key=f"undo-{each.id}"):
                _undo(session, [each])
        if len(found) > _SHOWN:
            st.caption(f"And {len(found) - _SHOWN} more.")


def form(session: Session) -> None:
    """Conditions as the command line takes them; what would go is shown before it does. Raises CragError."""
    with st.expander("Purge…"):
        st.caption("Takes out every document that meets all the conditions.")
        typed = st.text_input("Conditions", key="purge-conditions", placeholder="--older-than 90d --unverified")
        if not typed.strip():
            return
        with problems.reported():
            conditions = conditions_of(typed)
            found = session.library.purges.due(conditions)
            st.caption(f"{words.count(len(found), 'document')} would go.")
            for each in found[:_SHOWN]:
                st.markdown(markdown(f"{each.document.name}: {each.why}"))
            if len(found) > _SHOWN:
                st.caption(f"And {len(found) - _SHOWN} more.")
            if found and st.button("Purge", key="purge", type="primary"):
                session.library.purges.purge(conditions)
                st.session_state.pop("document", None)
                st.rerun()


def _undo(session: Session, purged: Sequence[Purged]) -> None:
    with problems.reported():
        for each in purged:
            session.library.purges.undo(each.id)
        st.rerun()
