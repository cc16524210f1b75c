"""What leads to a run: the strategy, the history, earlier questions, and what a click means."""

from __future__ import annotations

from typing import Any

import streamlit as st

from crag.core.types import Action
from crag.library.runs import RunSummary
from crag.strategies import STRATEGIES
from ui.app import workspaces
from ui.app.program import program
from ui.app.session import Session
from ui.kit import problems, words
from ui.kit.look import draw
from ui.kit.safe import excerpt, markdown, text
from ui.run import thumbs

__all__ = ["entry", "follow", "history", "sidebar"]

_PAST = 30
"""So many earlier questions are listed."""


def entry(session: Session) -> None:
    """Where a question is typed; asking it selects its run."""
    with st.container(key="entry"):
        asked = st.chat_input("Ask a question about your documents", key="question")
    if asked:
        with problems.told():
            session.ask(asked)
            st.rerun()


def follow(session: Session, picked: str) -> None:
    """Do what a click asked for. Raises CragError."""
    kind, _, rest = picked.partition(":")
    if kind == "run" and session.trace(rest):
        session.select(rest)
    elif kind in ("cite", "chunk"):
        session.open(picked)
    elif kind == "label" and (selected := session.attach()):
        thumbs.toggle(session, session.trace(selected), rest)


def sidebar(session: Session) -> Any:
    """Strategy and history; returns the place of the history."""
    with st.sidebar:
        chosen = st.selectbox(
            "Strategy",
            list(STRATEGIES),
            index=list(STRATEGIES).index(session.strategy),
            format_func=lambda name: STRATEGIES[name].title,
            key="strategy-choice",
            help="How the next question is handled. Past runs keep the strategy they were asked with.",
        )
        session.use(chosen)
        strategy = STRATEGIES[chosen]
        st.caption(f"{markdown(strategy.help)} Source: {markdown(strategy.source)}.")
        changes = session.changes(chosen)
        if changes:
            st.caption(f"With {words.count(len(changes), 'setting')} of yours: {markdown(', '.join(changes))}.")
            st.button("Back to the strategy's own", key="strategy-reset", on_click=session.reset, args=(chosen,))
        st.button("New conversation", key="new", width="stretch", on_click=_anew, args=(session,))
        workspaces.words_on_the_key(program().config)
        past = st.empty()
        with problems.told():
            history(session, past)
        return past


def _anew(session: Session) -> None:
    st.session_state.turns = []
    session.select(None)


def history(session: Session, place: Any) -> None:
    """What was asked before, the question on the page marked; a click opens it. Raises CragError."""
    runs = session.library.runs(_PAST)
    more = "+" if len(runs) == _PAST else ""
    asked = "".join(_asked(run, run.run_id == st.session_state.selected) for run in runs)
    lead = f'<p class="small" id="past">Past questions ({len(runs)}{more})</p>'
    drawn = f'<div class="cx">{lead}<ul class="past" aria-labelledby="past">{asked}</ul></div>'
    draw(drawn if runs else "", place)


def _asked(run: RunSummary, here: bool) -> str:
    sign = words.ICONS[Action(run.action)] if run.action else "–"
    about = f"{run.action or 'No action'}, {run.strategy}, {words.ago(run.started_at)}"
    return (
        f'<li><button data-pick="run:{text(run.run_id)}" title="{text(about)}"{" aria-current=true" if here else ""}>'
        f'<span class="sign" aria-hidden="true">{sign}</span> {text(excerpt(run.question, 60))}</button></li>'
    )
