"""What leads to a run: the strategy, the history, earlier questions, and what a click means."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from crag.core.protocols import OWN
from crag.core.strategies import STRATEGIES
from crag.core.trace import Trace
from crag.core.types import Action
from crag.export.html import elements as h
from crag.export.html import words
from crag.export.html.elements import Html
from crag.export.html.safe_text import excerpt, markdown
from crag.messages.answers import origin_text, origin_word
from crag.pipeline.libraries import close_interrupted_runs
from crag.storage.runs import RunSummary
from ui.access import workspaces
from ui.app import notices, tab
from ui.app.program import program
from ui.app.session import REFUSALS, Session
from ui.ask import scope
from ui.components import forms, problems
from ui.components.drawing import draw
from ui.run import presentation, saved_pages, thumbs

_PAST = 30
"""So many earlier questions are listed."""
_WHOSE = "past-own"


def entry(session: Session) -> None:
    """Where a question is typed; asking it selects its run."""
    if not session.may("ask"):
        st.caption(REFUSALS["ask"])
        return
    with st.container(key="entry"):
        scope.control(session)
        asked = st.chat_input("Ask a question about your documents", key="question")
        forms.question_limit("question")
        notices.near(session, notices.ASKING)
    if asked:
        with problems.reported():
            session.ask(asked)
            st.rerun()


def follow(session: Session, picked: str) -> None:
    """Do what a click asked for. Raises CragError."""
    kind, _, rest = picked.partition(":")
    if presentation.follow(picked):
        return
    if kind == "run" and session.trace(rest):
        session.visit(rest)
    elif kind in ("cite", "chunk"):
        session.open(picked)
    elif kind == "why":
        tab.runs().why = rest
    elif kind in ("keep", "verify") and (selected := session.attach()):
        saved_pages.follow(session, session.trace(selected), picked)
    elif kind in ("ask", "web") and (selected := session.attach()):
        _go_on(session, session.trace(selected), kind, rest)
    elif kind == "label" and (selected := session.attach()):
        thumbs.toggle(session, session.trace(selected), rest)


def _go_on(session: Session, trace: Trace, kind: str, suggested: str) -> None:
    """Ask the web, or the question suggested under that number instead. Raises CragError."""
    if trace.guidance is None:
        return
    questions = [each.question for each in trace.guidance.suggestions]
    if kind == "web":
        session.search_web(trace, trace.guidance.query)
    elif suggested.isdecimal() and int(suggested) < len(questions):
        session.ask(questions[int(suggested)])


def sidebar(session: Session) -> None:
    """Strategy and history; before the first document, only whose library this is."""
    with st.sidebar:
        if not session.library.documents.count() and not session.library.runs.latest(1):
            workspaces.show_key_notice(program().config)
            return
        help = "How the next question is handled. Past runs keep the strategy they were asked with."
        chosen = forms.strategy("Strategy", session.strategy, "strategy-choice", persist_state=None, help=help)
        session.use(chosen)
        strategy = STRATEGIES[chosen]
        st.caption(f"{markdown(strategy.help)} {words.source(strategy)}")
        changes = session.changes(chosen)
        if changes:
            listed = markdown(", ".join(words.describe_settings(changes)))
            st.caption(f"With your {words.count(len(changes), 'setting')}: {listed}.")
            st.button("Reset to defaults", key="strategy-reset", on_click=session.reset, args=(chosen,))
        _follow_ups()
        st.button("New conversation", key="new", width="stretch", on_click=session.begin_conversation)
        workspaces.show_key_notice(program().config)
        with problems.reported():
            _history(session)


def _whose(listed: Sequence[RunSummary]) -> None:
    """Which runs the history lists, once programs have asked here too."""
    if st.session_state.get(_WHOSE) or any(run.via not in OWN for run in listed):
        st.toggle(
            "Only questions asked in this app",
            key=_WHOSE,
            persist_state="session",
            help="Hides questions that came from agents and other programs.",
        )


def _history(session: Session) -> None:
    """What was asked before, the question on the page marked; a click opens it. Raises CragError."""
    close_interrupted_runs(session.library)
    runs = session.library.runs.latest(_PAST, own=bool(st.session_state.get(_WHOSE)))
    _whose(runs)
    more = "+" if len(runs) == _PAST else ""
    lead = h.p("small", id="past")[f"Past questions ({len(runs)}{more})"]
    asked = [_asked(run, run.run_id == tab.runs().selected) for run in runs]
    draw(h.div("cx")[lead, h.ul("past", aria_labelledby="past")[asked]] if runs else None)


def _asked(run: RunSummary, here: bool) -> Html:
    sign = words.ICONS[Action(run.action)] if run.action else "–"
    parts = (run.action or "No action", run.strategy, words.ago(run.started_at), origin_text(run.via))
    button = h.button(
        data_pick=f"run:{run.run_id}", title=", ".join(filter(None, parts)), aria_current="true" if here else None
    )
    via = (word := origin_word(run.via)) and (" ", h.span("tag")[word])
    asked = h.span("asked")[h.span("sign", aria_hidden="true")[sign], " ", excerpt(run.question, 60)]
    return h.li[button[asked, via]]


def _follow_ups() -> None:
    """Whether the next questions may take over from earlier ones; remembered in this session."""
    tab.choices().follows = st.toggle(
        "Use the conversation for follow-ups",
        value=tab.choices().follows,
        key="follow-ups",
        help="“And in 2018?” is completed from earlier questions; the completed question is shown below yours. "
        "Off: each question is asked exactly as you type it.",
    )


def rewording(session: Session, trace: Trace) -> None:
    """For a follow-up that something else was asked in place of: asking it in one's own words, or as typed."""
    if not trace.standalone or not trace.finished:
        return
    with st.container(key="rewording", horizontal=True, gap="small"):
        with st.popover("Edit the question", type="tertiary"):
            worded = st.text_area("Asked as", value=trace.standalone, key=f"worded-{trace.run_id}")
            forms.question_limit(f"worded-{trace.run_id}")
            if st.button("Ask", key="worded-ask", type="primary"):
                _ask_in_its_place(session, trace, worded)
        if st.button("Ask it as typed", key="as-it-stands", type="tertiary"):
            _ask_in_its_place(session, trace, trace.question)


def _ask_in_its_place(session: Session, trace: Trace, worded: str) -> None:
    with problems.reported():
        session.ask(trace.question, standalone=worded, again=trace)
        st.rerun()
