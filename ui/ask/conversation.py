"""What leads to a run: the strategy, what is asked and of what, the turns round it, and what a click means."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Literal

import streamlit as st

from crag.core.errors import CragError, QuestionError
from crag.core.filters import Scope
from crag.core.metadata import tags_of
from crag.core.trace import Trace
from crag.export.html import elements as h
from crag.export.html import words
from crag.export.html.answer import state_chip
from crag.export.html.elements import Html
from crag.export.html.safe_text import excerpt, markdown
from crag.messages.answers import brief_text
from crag.pipeline.request import check_question
from ui.access import workspaces
from ui.app import notices, tab
from ui.app.clicks import once
from ui.app.program import program
from ui.app.session import CHOICE, REFUSALS, Session
from ui.ask import conversations
from ui.components import forms, problems
from ui.components.drawing import draw
from ui.run import parts as run_parts
from ui.run import presentation, saved_pages

_MOST = 100
_DOCUMENTS, _TAGS = "scope-chosen", "scope-chosen-tags"


def control(session: Session) -> None:
    """The choice, and what was chosen; nothing where there is only one document to ask."""
    with problems.reported():
        scope, names = _there(session)
        gone = tab.runs().gone
        if not scope and session.library.documents.count() < 2 and not gone:
            return
        _control(session, scope, names)
        if gone:
            rest = "Only the others are searched." if scope else "Questions now search all documents."
            st.warning(f"{words.count(gone, 'document')} that you chose can no longer be found. {rest}")


def _control(session: Session, scope: Scope, names: dict[str, str]) -> None:
    with st.container(key="scope", horizontal=True, gap="small", vertical_alignment="center"):
        label = f"Asked of: {_named(scope, names)}" if scope else "All documents"
        choice = st.popover(markdown(label), key="scope-choice", on_change="rerun")
        if choice.open:
            with choice:
                _choose(session, scope)
        if scope:
            st.button("Ask all", key="scope-clear", type="tertiary", on_click=_limit, args=(session, Scope()))


def _there(session: Session) -> tuple[Scope, dict[str, str]]:
    """The scope without documents that were deleted since, which is noted, and the names of those that are there."""
    scope = session.scope
    names = session.library.documents.names(scope.documents) if scope.documents else {}
    left = tuple(id for id in scope.documents if id in names)
    if left != scope.documents:
        tab.runs().gone = len(scope.documents) - len(left)
        scope = replace(scope, documents=left)
        session.limit(scope)
    return scope, names


def _named(scope: Scope, names: dict[str, str]) -> str:
    """What was chosen, in few words."""
    documents = [excerpt(names[id], 40) for id in scope.documents]
    said = documents if len(documents) == 1 else [words.count(len(documents), "document")] if documents else []
    tags = [f"tag {tag}" for tag in scope.tags]
    return ", ".join([*said, *tags])


def _choose(session: Session, scope: Scope) -> None:
    names = session.library.documents.names()
    tags = {tag for given in session.library.documents.given().values() for tag in tags_of(given)}
    st.session_state[_DOCUMENTS] = list(scope.documents)
    st.session_state[_TAGS] = [tag for tag in scope.tags if tag in tags]
    st.multiselect(
        "Documents",
        list(names),
        format_func=names.__getitem__,
        key=_DOCUMENTS,
        placeholder="All documents",
        max_selections=_MOST,
        on_change=_chosen,
        args=(session,),
    )
    if tags:
        st.multiselect(
            "And all documents with a tag",
            sorted(tags, key=str.casefold),
            key=_TAGS,
            placeholder="No tag",
            on_change=_chosen,
            args=(session,),
        )
    st.caption("The next questions search only these. With nothing chosen, they search all documents.")


def _chosen(session: Session) -> None:
    tags = st.session_state.get(_TAGS, ())
    _limit(session, Scope(tuple(st.session_state[_DOCUMENTS]), tuple(tags)))


def _limit(session: Session, scope: Scope) -> None:
    tab.runs().gone = 0
    session.limit(scope)


def entry(session: Session) -> None:
    """Where a question is typed; asking it selects its run."""
    if not session.may("ask"):
        st.caption(REFUSALS["ask"])
        return
    with st.container(key="entry"):
        control(session)
        asked = st.chat_input("Ask a question about your documents", key="question", on_submit=_put_back)
        notices.near(notices.ASKING)
        if waiting := tab.runs().waiting:
            st.info(f"“{markdown(excerpt(waiting, 200))}” is asked as soon as a document has been read.")
            st.button("Don’t ask it", key="waiting-off", type="tertiary", on_click=_stop_waiting)
    if asked:
        with problems.reported():
            put(session, asked)
            st.rerun()


def put(session: Session, question: str) -> None:
    """Ask; where there is no document yet, let the question wait for the first. Raises CragError."""
    if session.library.documents.count():
        session.ask(question)
    else:
        session.require("ask")
        tab.runs().waiting = check_question(question)


def ask_waiting(session: Session) -> None:
    """Ask what waited for a document, if anything did."""
    if waiting := tab.runs().waiting:
        tab.runs().waiting = ""
        with problems.reported():
            session.ask(waiting)
            st.rerun()


def _stop_waiting() -> None:
    tab.runs().waiting = ""


def _put_back() -> None:
    """A question that is too long is not asked: it stays in its box, whole, and the page says why."""
    try:
        check_question(st.session_state["question"])
    except QuestionError as error:
        problems.announce(error)
        st.session_state["question"] = str(st.session_state["question"])


def follow(session: Session, picked: str) -> None:
    """Do what a click asked for. Raises CragError."""
    kind, _, rest = picked.partition(":")
    if presentation.follow(picked):
        return
    if kind == "run" and session.trace(rest):
        session.select(rest)
    elif kind == "manage":
        tab.runs().managed = rest
    elif kind in ("cite", "chunk"):
        session.open(picked)
    elif kind == "why":
        tab.runs().why = rest
    elif kind in ("keep", "verify") and (selected := session.attach()):
        saved_pages.follow(session, session.trace(selected), picked)
    elif kind == "label" and (selected := session.attach()):
        run_parts.toggle(session, session.trace(selected), rest)


def sidebar(session: Session) -> None:
    """Strategy and conversations; before the first document, only whose library this is."""
    with st.sidebar:
        if not session.library.documents.count() and not session.library.runs.latest(1):
            workspaces.show_key_notice(program().config)
            return
        help = "How the next question is handled. Past runs keep the strategy they were asked with."
        known = session.strategies
        chosen = forms.strategy("Strategy", known, session.strategy, CHOICE, persist_state=None, help=help)
        session.use(chosen)
        st.caption(words.about(known[chosen], changes := session.changes(chosen)))
        if changes:
            st.button("Reset to defaults", key="strategy-reset", on_click=session.reset, args=(chosen,))
        st.button("New conversation", key="new", width="stretch", on_click=session.select, args=(None,))
        workspaces.show_key_notice(program().config)
        with problems.reported():
            conversations.show(session)


def rewording(session: Session, trace: Trace) -> None:
    """Asking in one's own words what failed, was stopped, or was asked in another form; and a follow-up as typed."""
    if not trace.finished or not (session.may("ask") and (trace.standalone or trace.failure or trace.cancelled)):
        return
    with st.container(key="rewording", horizontal=True, gap="small"):
        with st.popover("Edit the question", type="tertiary"):
            worded = st.text_area("Asked as", value=trace.meant, key=f"worded-{trace.run_id}")
            if st.button("Ask", key="worded-ask", type="primary"):
                _ask_in_its_place(session, trace, worded)
        if trace.standalone and st.button("Ask it as typed", key="as-it-stands", type="tertiary"):
            _ask_in_its_place(session, trace, trace.question)


def _ask_in_its_place(session: Session, trace: Trace, worded: str) -> None:
    with problems.reported():
        session.ask(trace.question, standalone=worded, again=trace)
        st.rerun()


_NEAR, _MORE = 6, 50
"""Turns shown before and after the selected one, and how many more each click adds."""


def around(session: Session, turns: Sequence[str], which: Literal["earlier", "later"]) -> None:
    """The turns on one side of the selected one, oldest first, and a button for those still further from it."""
    shown = _NEAR + tab.runs().more
    near = turns[-shown:] if which == "earlier" else turns[:shown]
    if which == "later":
        _draw(session, near)
    if more := len(turns) - len(near):
        label = f"Show {which} turns ({words.count(more, 'more', '')})"
        st.button(label, key=f"turns-{which}", type="tertiary", on_click=once(_widen))
    if which == "earlier":
        _draw(session, near)


def _widen() -> None:
    tab.runs().more += _MORE


def _draw(session: Session, turns: Sequence[str]) -> None:
    drawn = []
    for run in turns:
        with suppress(CragError):  # deleted meanwhile, or of another version
            drawn.append(_turn(session.trace(run)))
    if drawn:
        draw(h.div("cx")[h.div("turns")[drawn]])


def _turn(trace: Trace) -> Html:
    answer = trace.answer
    said = brief_text(answer) or answer.text if answer else "" if trace.finished else "working…"
    peek = h.span("peek")[state_chip(trace.outcome), f" {excerpt(said, 140)}"]
    return h.button("turn", data_pick=f"run:{trace.run_id}")[h.span("where")[trace.question], peek]
