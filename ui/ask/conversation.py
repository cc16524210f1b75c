"""What leads to a run: the strategy, the history, earlier questions, and what a click means."""

from __future__ import annotations

import streamlit as st

from crag.core.types import Action
from crag.strategies import STRATEGIES
from ui.app import workspaces
from ui.app.program import program
from ui.app.session import Session
from ui.kit import problems, words
from ui.kit.safe import excerpt, markdown
from ui.run import thumbs

__all__ = ["entry", "follow", "sidebar"]


def entry(session: Session) -> None:
    """Where a question is typed; asking it selects its run."""
    with st.container(key="entry"):
        asked = st.chat_input("Ask a question about your documents", key="question")
    if asked:
        with problems.reported():
            session.ask(asked)
            st.rerun()


def follow(session: Session, picked: str | None) -> None:
    """Do what a click asked for."""
    if picked is None:
        return
    kind, _, rest = picked.partition(":")
    if kind == "run" and rest in session.turns:
        session.select(rest)
    elif kind in ("cite", "chunk"):
        session.open(picked)
    elif kind == "label" and (selected := session.attach()):
        thumbs.toggle(session, session.trace(selected), rest)


def sidebar(session: Session) -> None:
    """Strategy and history."""
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
        workspaces.show_key_notice(program().config)
        _history(session)


def _anew(session: Session) -> None:
    st.session_state.turns = []
    session.select(None)


def _history(session: Session) -> None:
    with problems.reported():
        runs = session.library.runs.latest(30)
        if not runs:
            return
        st.caption(f"Past questions ({len(runs)}{'+' if len(runs) == 30 else ''})")
        with st.container(key="history", gap="xxsmall"):
            for run in runs:
                sign = words.ICONS[Action(run.action)] if run.action else "–"
                st.button(
                    f"{sign} {markdown(excerpt(run.question, 60))}",
                    key=f"history-{run.run_id}",
                    help=markdown(f"{run.action or 'No action'}, {run.strategy}, {words.ago(run.started_at)}"),
                    type="tertiary",
                    on_click=session.select,
                    args=(run.run_id,),
                )
