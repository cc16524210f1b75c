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
        found = program().engine.quotas.near(session.workspace, session.library)
    except CragError:
        return  # what can't be read is said where it matters
    for each in found:
        if each.quantity.name in of and each.near is not None:
            st.caption(markdown(told.nearly(each.quantity, each.near)))
