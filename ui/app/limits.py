"""What a workspace's pages say of its limits: that one is near, and that an idle workspace will end."""

from __future__ import annotations

from collections.abc import Collection

import streamlit as st

from crag.admin import quantities
from crag.core.errors import CragError
from ui.access.current import Presence
from ui.app.program import program
from ui.app.session import Session
from ui.components import problems
from ui.components.safe_text import markdown

ASKING = ("questions", "calls", "dollars")
ADDING = ("documents", "mb", "files")


def near(session: Session, of: Collection[str]) -> None:
    """One quiet line for each of these limits of which four fifths are used; nothing of others."""
    try:
        found = program().engine.teams.quotas.near(session.workspace)
    except CragError:
        found = []  # what can't be read is said where it matters
    lines = [quantities.nearly(each.quantity, each.near) for each in found if each.quantity.name in of and each.near]
    for line in lines:
        st.caption(markdown(line))


def ending(workspace: str, *, keep: bool) -> None:
    """On every page of a private workspace that nobody has used: the day on which it ends, and how to keep it."""
    try:
        day = program().engine.teams.idle.ends(workspace)
    except CragError:
        day = None
    if day is None:
        return
    with st.container(key="ending"):
        st.warning(
            f"This workspace has not been used for a while. It will be removed, with everything in it, on "
            f"{day:%A}, {day.day} {day:%B %Y}, unless somebody asks a question, adds something or keeps it."
        )
        if keep:
            st.button("Keep it", key="ending-keep", on_click=_keep, args=(workspace,))


def _keep(workspace: str) -> None:
    with problems.reported(by=problems.announce):
        here = Presence()
        here.require("ask", "keep an idle workspace")
        if here.workspace == workspace:
            program().engine.teams.idle.keep(workspace)
