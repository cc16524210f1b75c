"""What a workspace's pages say of its limits: that one is near, and that an idle workspace will end."""

from __future__ import annotations

from collections.abc import Collection

import streamlit as st

from crag.core.errors import CragError
from crag.limits import told
from ui.app.program import program
from ui.app.session import Session
from ui.kit.safe import markdown

ASKING = ("questions", "calls", "dollars")
ADDING = ("documents", "chunks", "mb", "files", "upload_mb")


def near(session: Session, of: Collection[str]) -> None:
    """One quiet line for each of these limits of which four fifths are used; nothing of others."""
    try:
        found = program().engine.teams.quotas.near(session.workspace, session.library)
    except CragError:
        return  # what can't be read is said where it matters
    for each in found:
        if each.quantity.name in of and each.near is not None:
            st.caption(markdown(told.nearly(each.quantity, each.near)))


def ending(workspace: str, *, keep: bool) -> None:
    """On every page of a private workspace that nobody has used: the day on which it ends, and how to keep it."""
    try:
        day = program().engine.teams.idle.ends(workspace)
    except CragError:
        return
    if day is None:
        return
    with st.container(key="ending"):
        st.warning(
            f"This workspace has not been used for a while. It will be removed, with all that it holds, on "
            f"{day:%A}, {day.day} {day:%B %Y}, unless somebody asks, adds something or keeps it."
        )
        if keep:
            st.button("Keep it", key="ending-keep", on_click=program().engine.teams.idle.touch, args=(workspace,))
