"""The tabs of the page, each drawn by a function of its own."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from ui.administration import log, people, spaces
from ui.app.session import Session
from ui.components import problems

_TABS: dict[str, Callable[[Session], None]] = {
    "People": people.show,
    "Workspaces": spaces.show,
    "Audit log": log.show,
}


def show(session: Session) -> None:
    """One tab at a time is drawn: the others are not asked for anything."""
    chosen = st.segmented_control(
        "View", list(_TABS), default="Workspaces", required=True, key="admin-view", label_visibility="collapsed"
    )
    if chosen is not None:
        with problems.reported():
            _TABS[chosen](session)
