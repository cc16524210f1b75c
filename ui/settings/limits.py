"""The Limits tab of Settings: the limits of all workspaces together, and how much of each is used."""

from __future__ import annotations

import streamlit as st

from crag.export.html.safe_text import markdown
from ui.app.notices import NEAR
from ui.app.program import program
from ui.app.session import Session


def show(session: Session) -> None:
    """A bar for each limit; who does not run the program sees the limits alone. Raises CragError."""
    for each in program().engine.teams.quotas.standings():
        if session.visitor.administers:
            near = ":material/warning: " if each.share >= NEAR else ""
            st.progress(min(1.0, each.share), f"{near}**{each.title}** {markdown(each.text)}", width=500)
        else:
            st.markdown(f"**{each.title}** {markdown(each.allowed)}")
    st.caption(
        "These are the limits of all workspaces together. Your administrator sets them with the environment variables "
        "`CRAG_ALL_QUESTIONS_MINUTE`, `CRAG_ALL_MB` and `CRAG_ALL_DOLLARS_DAY`; 0 is no limit."
    )
