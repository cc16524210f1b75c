"""Under a run that found no answer: the web, another document, and the lines at which the documents would be used."""

from __future__ import annotations

import streamlit as st

from crag.analysis.whatif.whatif import relaxing_moves
from crag.core.policy import to_web
from crag.core.settings import Settings
from crag.core.trace import Trace
from crag.export.html.safe_text import markdown
from crag.messages.answers import web_text
from crag.messages.explanations import kept_back_sentence, relaxed_sentence
from ui.app import navigation
from ui.app.session import Session
from ui.components import problems


def actions(session: Session, trace: Trace, *, web_on: bool) -> None:
    """Three ways on from a finished run without an answer, for who may ask; nothing of any other run."""
    if trace.guidance is None or not session.may("ask"):
        return
    settings = Settings.stored(trace.settings).settings
    with st.container(horizontal=True, gap="small", key="refusal"):
        said = f"{web_text(trace, on=web_on)} {trace.guidance.query}"
        if not web_on:
            with st.popover("Search the web"):
                st.markdown(markdown(said))
        elif st.button("Search the web", key="refusal-web", disabled=bool(trace.searches), help=markdown(said)):
            _ask(session, trace, to_web(settings, trace.guidance.query))
        if session.may("edit"):
            st.button("Add a document", key="refusal-add", on_click=navigation.go, args=("documents",))
        needed = st.popover("What would it take?", key="refusal-lines", on_change="rerun")
        if needed.open:
            with needed:
                _lines(session, trace, settings)


def _lines(session: Session, trace: Trace, settings: Settings) -> None:
    moves = relaxing_moves(trace)
    if not moves:
        st.markdown(markdown(kept_back_sentence(trace)))
    for move in moves:
        st.markdown(markdown(relaxed_sentence(move)))
        if st.button("Ask again so", key=f"refusal-{move.threshold}", type="primary"):
            _ask(session, trace, settings.changed(**move.settings))


def _ask(session: Session, trace: Trace, settings: Settings) -> None:
    with problems.reported():
        session.ask_again(trace, settings)
        st.rerun()
