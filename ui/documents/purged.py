"""What purges took out lately, on the page, and how it is brought back."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

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


def _undo(session: Session, purged: Sequence[Purged]) -> None:
    with problems.reported():
        for each in purged:
            session.library.purges.undo(each.id)
        st.rerun()
