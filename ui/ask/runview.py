"""One run on the page: conversation on the left, evidence on the right, followed live or shown from the record."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import streamlit as st

from crag.core.errors import NotFoundError
from crag.core.events import Event
from crag.core.settings import Settings
from crag.core.trace import Trace
from crag.core.types import Action
from crag.messages.wording import stored_sentence
from crag.runtime.jobs import Job
from ui.app import clicks, fragments
from ui.app.session import Session
from ui.ask import conversation, files, followups, presentation, sliders, turns
from ui.compare import state
from ui.components import forms, problems, words
from ui.components.drawing import draw, keep_places
from ui.components.safe_text import markdown
from ui.run import approval, outdated, pageview, thumbs
from ui.run.passage import View
from ui.run.saved_pages import Shelf, shelf_of
from ui.run.slots import Slots

_WELCOME = 12
"""At most so many elements has the welcome, which a new run takes the place of."""


@dataclass(slots=True)
class _Shown:
    """The run on the page, and what the whole script found out about it: a move of a slider takes it from here.

    `change` is the place of what the sliders would change.
    """

    trace: Trace
    slots: Slots
    labels: Mapping[str, str] | None
    running: bool
    settings: Settings = field(default_factory=Settings)
    stale: outdated.Stale = field(default_factory=dict)
    shelf: Shelf | None = None
    change: Any = None


def show(session: Session, run: str, past: Any) -> None:
    """The conversation with `run` selected; `past` is the history's place. Raises CragError.

    A run under way is followed to its end, which is drawn then and there: a rerun begun by this script could take the
    place of one that the browser asks for in the same moment, and with it another page.
    """
    job = session.job(run)
    running = job is not None and job.running  # before its events are read: if it is over now, these are all
    try:
        trace = _known(session, run, more=job is None or running)
    except NotFoundError:
        _tell_of_none(session, run)
        return
    pageview.prepare(session, trace, session.opened)
    problem = st.empty()
    labels = thumbs.labels_of(session, trace.meant) if session.may("ask") else None
    slots = Slots(_cited(session.opened), web=bool(session.resolve_providers().webs), announced=run == session.asked)
    with st.container(key="ask-columns"):
        left, right = st.columns([5, 7], gap="large")
    with left, st.container(key="answer-side"):
        with st.container(key="talk"):
            stop, tools, wording = _left(session, run, trace, slots, job if running else None)
        conversation.entry(session)
    shown = _Shown(trace, slots, labels, running=job is not None and running)
    if not shown.running:
        _look_up(session, shown, tools)
    with right:
        asking = st.empty()
        with asking.container():
            approval.ask(session, job if session.may("ask") else None, trace)
        _right(session, run, shown)
    if job is not None and running:
        keep_places(_WELCOME)
        _follow(job, slots, approval.pending(trace), labels)
        if job.running:
            st.rerun()
        shown.trace, shown.running = _known(session, run, more=False), False
        tools, wording, shown.change = tools.container(), wording.container(), shown.change.container()
        stop.empty()
        asking.empty()
        conversation.history(session, past)
        _look_up(session, shown, tools)
        _under_sliders(session, shown)
    if job is not None and job.problem:
        with problem:
            problems.show(job.problem)
    trace = shown.trace
    slots.write_answer(trace, shown.shelf)
    with wording:
        followups.rewording(session, trace)
    with tools:
        draw(outdated.note(trace, shown.stale))
        files.copy(trace)
        _tools(session, run, trace, shown.stale)


def _tell_of_none(session: Session, run: str) -> None:
    """Why the run in the address is not shown, and the place for a question. Raises CragError."""
    if session.library.in_flight.known(run):
        said, remedy = "This run is under way in another server of the program.", "Reload the page to see how it ended."
    else:
        said, remedy = "The run in the address is not in this library.", "Ask a question below."
        session.forget(run)
    problems.show(NotFoundError(said, remedy))
    conversation.entry(session)


def _known(session: Session, run: str, *, more: bool) -> Trace:
    """What is known of the run; without `more` to come, one that broke off is over too. Raises NotFoundError."""
    trace = session.trace(run)
    return trace if more or trace.finished else replace(trace, finished=True)


def _cited(opened: str | None) -> int | None:
    """The number of the citation that is open, if one is."""
    number = (opened or "").removeprefix("cite:")
    return int(number) if number.isdigit() else None


def _left(session: Session, run: str, trace: Trace, slots: Slots, job: Job[Event] | None) -> tuple[Any, Any, Any]:
    """The conversation; returns the place of the Stop button, and those for what can be done with the finished run:
    with the whole of it, and with what was asked in place of its question. `job`: that of a run under way.
    """
    turns.before(session, run)
    slots.question = st.empty()
    slots.write_question(trace)
    wording = _later(job is not None)
    slots.answer = st.empty()
    slots.help = st.empty()
    stop = st.empty()
    if job is not None:
        stop.button(
            "Stopping…" if job.stopping else "Stop",
            key=f"stop-{run}",
            on_click=clicks.stop,
            args=(session, job.id),
            disabled=job.stopping or not session.may("ask"),
            help="Ends this run; what was found stays.",
        )
    slots.sources = st.empty()
    tools = _later(job is not None)
    turns.after(session, run)
    return stop, tools, wording


def _later(running: bool) -> Any:
    """The place of what is drawn once the run is over. Until then it is empty: a container would show what the run
    before had there."""
    return st.empty() if running else st.container()


def _look_up(session: Session, shown: _Shown, told: Any) -> None:
    """What the library says by now of what the run found; what fails of it is `told` there. Raises CragError."""
    with told, problems.reported():
        shown.stale = outdated.of(session, shown.trace)
    shown.shelf = shelf_of(session, shown.trace) if session.may("edit") else None


def _right(session: Session, run: str, shown: _Shown) -> None:
    """The run, how it was decided and what with."""
    slots = shown.slots
    slots.path = st.empty()
    slots.action = st.empty()
    _tuned(session, run, shown)
    slots.meter = st.empty()


@fragments.alone
def _tuned(session: Session, run: str, shown: _Shown) -> None:
    """The sliders and all that hangs on them, and what stands between; a move of one runs this alone.

    The library is asked only for a source that is opened.
    """
    with st.container(key="tuning"):
        stored = Settings.stored(shown.trace.settings)
        shown.settings = sliders.sliders(run, stored.settings)
        if said := stored_sentence(stored):
            st.caption(markdown(said))
        else:
            keep_places()
    shown.change = _later(shown.running)
    pageview.opened(session, shown.trace, session.opened, partial(_close, session))
    shown.slots.chunks = st.empty()
    shown.slots.web = st.empty()
    if not shown.running:
        _under_sliders(session, shown)


def _close(session: Session) -> None:
    """Show no source; whose number stands out among the sources is another part's, so the whole page is drawn."""
    session.open(None)
    st.rerun()


def _under_sliders(session: Session, shown: _Shown) -> None:
    """The evidence of a run that is over as the sliders have it, and what they would change."""
    view, what = sliders.view(shown.trace, shown.settings)
    view = replace(view, thumbs=shown.labels, stale=shown.stale, shelf=shown.shelf)
    shown.slots.write_evidence(shown.trace, view)
    if what is not None:
        with shown.change:
            sliders.change(session, shown.trace, shown.settings, what)


def _follow(job: Job[Event], slots: Slots, asked: int, labels: Mapping[str, str] | None) -> None:
    """Draw every beat until the job is over, or waits for another word than the one `asked` on the page.

    Any touch of a widget interrupts here and harms nothing.
    """
    trace = Trace()
    for fresh in job.follow():
        for event in fresh:
            trace = trace.apply(event)
        slots.write(trace, replace(View.of(trace), thumbs=labels))
        if approval.pending(trace) != asked:
            return  # buttons come or go: only the script can draw those


def _tools(session: Session, run: str, trace: Trace, stale: outdated.Stale) -> None:
    """Files of this run, and asking it anew."""
    asks = session.may("ask")
    with st.container(horizontal=True):
        if asks and (trace.failure or trace.cancelled):
            _again(session, trace)
        if asks and trace.handed_over:
            _answered_here(session, trace)
        st.button(
            "Compare",
            disabled=not asks,
            key="compare-this",
            on_click=state.prepare,
            args=(trace,),
            help=f"Asks this question in two to four ways at once, side by side{_of_library(trace)}.",
        )
        st.button(
            "Present", key="present-this", on_click=presentation.enter, help="Shows this run step by step, for a room."
        )
        if asks and trace.action is not None and not trace.failure and not trace.elsewhere:
            _as_if(session, trace)
        with st.popover("Export"):
            files.offer(session, trace, stale)
        if session.may("edit"):
            with st.popover("Delete"):
                st.caption("Takes this question and its record out of the history for good.")
                if st.button("Delete this run", key="delete-run", type="primary"):
                    with problems.reported():
                        _delete(session, run)
                        st.rerun()


def _of_library(trace: Trace) -> str:
    """What is asked, where that is not what the run asked."""
    return ", of the documents of this library" if trace.elsewhere else ""


def _answered_here(session: Session, trace: Trace) -> None:
    """Asking the question of a run that handed its evidence over as any other, for an answer."""
    said = f"Asks this question{_of_library(trace)} with your strategy and settings, for an answer."
    if st.button("Answer it here", key="answer-here", help=said):
        with problems.reported():
            session.ask(trace.question, standalone=trace.standalone or None, again=trace)
            st.rerun()


def _as_if(session: Session, trace: Trace) -> None:
    """One click to the run's twin that acts on another action."""
    with st.popover("What if…", help="What if the action had been another one?"):
        st.caption("Asks again as if the scores had led to another action; both stand side by side.")
        with st.container(horizontal=True):
            for action in Action:
                label = f"{words.ICONS[action]} {action}"
                if action is not trace.action and st.button(label, key=f"as-if-{action}"):
                    with problems.reported():
                        state.compare_forced(session, trace, action)
                        st.rerun()


def _delete(session: Session, run: str) -> None:
    session.require("edit")
    session.library.runs.delete(run)
    session.note("delete", "run", run)
    session.forget(run)


def _again(session: Session, trace: Trace) -> None:
    with st.popover("Edit and ask again"):
        asked = st.text_area("Question", value=session.typed(trace.question), key="edit-question")
        forms.question_limit("edit-question")
        if st.button("Ask", key="edit-ask", type="primary"):
            with problems.reported():
                session.ask(asked)
                st.rerun()
