"""One run on the page: conversation on the left, evidence on the right, followed live or shown from the record."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from crag.core.errors import NotFoundError
from crag.core.events import Event
from crag.core.settings import Settings
from crag.core.trace import Trace
from crag.export.html import marks
from crag.export.html.marks import SavedPages
from crag.export.html.passage import View
from crag.export.html.safe_text import markdown
from crag.messages.wording import stored_sentence
from crag.runtime.jobs import Job
from ui.app import clicks, fragments, tab
from ui.app.program import program
from ui.app.session import Session
from ui.ask import causes, conversation, conversations, files, refusal, sliders
from ui.compare import state
from ui.components import problems
from ui.components.drawing import draw
from ui.run import approval, pageview, presentation
from ui.run import parts as run_parts
from ui.run.parts import RunParts
from ui.run.saved_pages import saved_pages_of


@dataclass(frozen=True, slots=True)
class _Shown:
    """The run on the page, and what the whole script found out about it: a move of a slider takes it from here."""

    trace: Trace
    labels: Mapping[str, str] | None
    asked: bool
    web_on: bool
    opened: str | None
    running: bool
    stale: marks.Stale = field(default_factory=dict)
    saved: SavedPages | None = None

    def parts(self, view: View) -> RunParts:
        view = replace(
            view,
            thumbs=self.labels,
            stale=self.stale,
            saved=self.saved,
            explains=not self.running,
        )
        return RunParts(trace=self.trace, view=view, opened=_cited(self.opened), announced=self.asked)


def show(session: Session, run: str) -> None:
    """The conversation with `run` selected, which is followed to its end if it is under way. Raises CragError."""
    job = session.job(run)
    running = job is not None and job.running  # before its events are read: if it is over now, these are all
    try:
        trace = _known(session, run, more=job is None or running)
    except NotFoundError:
        _tell_of_none(session, run)
        return
    opened = tab.runs().opened
    pageview.prepare(session, trace, opened)
    if job is not None and job.problem:
        problems.show(job.problem)
    labels = run_parts.labels_of(session, trace.meant) if session.may("ask") else None
    web_on = bool(session.resolve_providers().webs)
    shown = _Shown(trace, labels, run == tab.runs().asked, web_on, opened, running)
    with st.container(key="ask-columns"):
        left, right = st.columns([5, 7], gap="large")
    with left, st.container(key="answer-side"):
        with st.container(key="talk"):
            turns = session.turns
            here = turns.index(run)
            conversation.around(session, turns[:here], "earlier")
            said = st.container()
            conversation.around(session, turns[here + 1 :], "later")
        conversation.entry(session)
    with right:
        if job is not None and running:
            fragments.follow(session, lambda: job.running, partial(_under_way, session, run, job, shown, said))
        else:
            with st.container():
                _over(session, run, shown, said)


def _tell_of_none(session: Session, run: str) -> None:
    """Why the run in the address is not shown, and the place for a question. Raises CragError."""
    if session.library.in_flight.known(run):
        said, remedy = "This run is in progress on another server.", "Reload the page to see how it ended."
    else:
        said, remedy = "The run in the address is not in this library.", "Ask a question below."
        session.forget([run])
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


def _under_way(session: Session, run: str, job: Job[Event], shown: _Shown, said: DeltaGenerator) -> None:
    """The run as far as it has come. Raises CragError."""
    shown = replace(shown, trace=session.trace(run))
    parts = shown.parts(View.of(shown.trace))
    with said:
        parts.draw("question", "answer")
        clicks.stop_button(session, [job], "stop", "Stops this run and keeps what was found.")
        parts.draw("sources")
    _tuned(session, run, shown, job)


def _over(session: Session, run: str, shown: _Shown, said: DeltaGenerator) -> None:
    """The run that has ended, what the library says by now of what it found, and what can be done with it.

    Raises CragError.
    """
    trace = shown.trace
    with said, problems.reported():
        shown = replace(shown, stale=marks.find_stale(program().engine, session.workspace, trace))
    shown = replace(shown, saved=saved_pages_of(session, trace) if session.may("edit") else None)
    parts = shown.parts(View.of(trace))
    with said:
        parts.draw("question")
        conversation.rewording(session, trace)
        parts.draw("answer", "help")
        refusal.actions(session, trace, web_on=shown.web_on)
        parts.draw("sources")
        draw(marks.stale_note(trace, shown.stale))
        _tools(session, run, trace, shown.stale)
    _tuned(session, run, shown)
    parts.draw("meter")


@fragments.alone
def _tuned(session: Session, run: str, shown: _Shown, job: Job[Event] | None = None) -> None:
    """The rail, the sliders and all that hangs on them; a move of one runs this alone. `job`: of a run under way.

    The library is asked only whether the run is still there, and for a source that is opened. Raises NotFoundError.
    """
    trace = shown.trace
    session.trace(run)
    rail, verdict, path = st.container(), st.container(), st.container()
    with st.container(key="tuning"):
        stored = Settings.stored(trace.settings)
        settings = sliders.sliders(run, stored.settings)
        if said := stored_sentence(stored):
            st.caption(markdown(said))
    view, what = sliders.view(trace, settings)
    parts = shown.parts(view)
    with rail:
        sliders.draw_lines(trace, settings, stored.settings, web_on=shown.web_on)
    with verdict:
        approval.ask(session, job if session.may("ask") else None, trace)
        if what is None:
            parts.draw("action")
        else:
            sliders.change(session, trace, settings, what)
    with path:
        parts.draw("path")
    pageview.opened(session, trace, shown.opened, partial(_close, session))
    parts.draw("chunks", "web")


def _close(session: Session) -> None:
    """Show no source; whose number stands out among the sources is another part's, so the whole page is drawn."""
    session.open(None)
    st.rerun()


def _tools(session: Session, run: str, trace: Trace, stale: marks.Stale) -> None:
    """Why it ended so, how it is shown to others, and all else that can be done with the run."""
    asks = session.may("ask")
    with st.container(horizontal=True):
        if asks and trace.handed_over:
            _answered_here(session, trace)
        if trace.rounds:
            causes.button(session, trace)
        with st.popover("Share"):
            clicks.button("Present it full screen", "present-this", presentation.enter)
            files.offer(session, trace, stale)
        with st.popover("More…"):
            said = f"Asks this question in two to four ways at once, side by side{_of_library(trace)}."
            clicks.button("Compare", "compare-this", state.prepare, trace, disabled=not asks, help=said)
            if trace.rounds and not trace.elsewhere:
                causes.miss_button(session, trace)
            if session.may("edit"):
                said = "Deletes this question and its record. It can be undone for half a minute."
                clicks.button("Delete", "delete-run", conversations.delete_run, session, run, help=said)


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
