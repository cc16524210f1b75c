"""Follow-up questions on the Ask page: whether the conversation completes them, and what is asked in their place."""

from __future__ import annotations

import streamlit as st

from crag.core.trace import Trace
from ui.app.session import Session
from ui.components import forms, problems


def switch(session: Session) -> None:
    """Whether the next questions may take over from earlier ones; remembered in this session."""
    chosen = st.toggle(
        "Complete follow-ups from the conversation",
        value=session.follows,
        key="follow-ups",
        help="“And in 2018?” is asked with what earlier questions named. What was asked is shown under the question. "
        "Off: every question is asked as it stands.",
    )
    session.follow(chosen)


def rewording(session: Session, trace: Trace) -> None:
    """For a follow-up that something else was asked in place of: asking it in one's own words, or as it stands."""
    if not trace.standalone or not trace.finished:
        return
    with st.container(key="rewording", horizontal=True, gap="small"):
        with st.popover("Change what is asked", type="tertiary"):
            worded = st.text_area("Asked as", value=trace.standalone, key=f"worded-{trace.run_id}")
            forms.question_limit(f"worded-{trace.run_id}")
            if st.button("Ask", key="worded-ask", type="primary"):
                _ask(session, trace, worded)
        if st.button("Ask it as it stands", key="as-it-stands", type="tertiary"):
            _ask(session, trace, trace.question)


def _ask(session: Session, trace: Trace, worded: str) -> None:
    with problems.reported():
        session.ask(trace.question, standalone=worded, again=trace)
        st.rerun()
