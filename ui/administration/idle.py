"""Workspaces that nobody uses: when each of them will be removed, and a way to keep it."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date

import streamlit as st

from crag.admin.idle import Ending
from ui.app.program import program
from ui.app.session import Session
from ui.components import problems, words
from ui.components.safe_text import markdown

_SHOWN = 50
"""So many are listed; when some of these are kept or gone, others follow."""


def show(session: Session, titles: Mapping[str, str]) -> None:
    """Those that have a warning, by their titles; nothing where none has. Raises CragError."""
    found = program().engine.teams.idle.endings()
    if not found:
        return
    with st.container(border=True, key="admin-idle"):
        them = "it" if len(found) == 1 else "them"
        st.markdown(f"**{words.count(len(found), 'workspace')} will be removed because nobody uses {them}.**")
        st.caption(
            "Every page there says so. Asking a question, adding something, or keeping it there cancels the removal."
        )
        for each in found[:_SHOWN]:
            _line(session, each, titles.get(each.workspace, each.workspace))
        if len(found) > _SHOWN:
            st.caption(f"And {len(found) - _SHOWN:,} more, which end later.")


def _line(session: Session, each: Ending, title: str) -> None:
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        said = f"**{markdown(title)}** ends on {_day(each.ends)}; used last on {_day(each.used)}"
        st.markdown(said, width="stretch")
        st.button("Keep it", key=f"admin-keep-{each.workspace}", on_click=_keep, args=(session, each.workspace))


def _keep(session: Session, workspace: str) -> None:
    """A callback: before the page is drawn, so that the line is gone from it."""
    engine = program().engine
    with problems.reported(by=problems.announce):
        session.require("administer", "keep an idle workspace")
        engine.teams.idle.keep(workspace)
        engine.teams.audit.note(
            "workspace", session.visitor.name, workspace=workspace, what="kept", detail="it was idle"
        )


def _day(day: date) -> str:
    return f"{day.day} {day:%B %Y}"
