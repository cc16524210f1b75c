"""Follow-up questions on the Ask page: whether the conversation completes them, and what is asked in their place."""

from __future__ import annotations

import streamlit as st

from crag.core.trace import Trace
from ui.app.session import Session
from ui.components import forms, problems


def switch(session: Session) -> None:
    """Whether the next questions may take over from earlier ones; remembered in this session."""
    chosen = st.toggle(
        "Use the conversation for follow-ups",
        value=session.follows,
        key="follow-ups",
        help="“And in 2018?” is completed from earlier questions; the completed question is shown below yours. "
        "Off: each question is asked exactly as you type it.",
    )
    session.follow(chosen)


def rewording(session: Session, trace: Trace) -> None:
    """For a follow-up that something else was asked in place of: asking it in one's own words, or as typed."""
    if not trace.standalone or not trace.finished:
        return
    with st.container(key="rewording", horizontal=True, gap="small"):
        with st.popover("Edit the question", type="tertiary"):
            worded = st.text_area("Asked as", value=trace.standalone, key=f"worded-{trace.run_id}")
            forms.question_limit(f"worded-{trace.run_id}")
            if st.button("Ask", key="worded-ask", type="primary"):
                _ask(session, trace, worded)
        if st.button("Ask it as typed", key="as-it-stands", type="tertiary"):
            _ask(session, trace, trace.question)


def _ask(session: Session, trace: Trace, worded: str) -> None:
    with problems.reported():
        session.ask(trace.question, standalone=worded, again=trace)
        st.rerun()
