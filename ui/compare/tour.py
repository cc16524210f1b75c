"""The guided tour: the sample broken on purpose, with what plain RAG and CRAG make of each situation side by side."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass

import streamlit as st

from crag.analysis.tour import QUESTIONS, Outcome, marked, play
from crag.core.errors import BusyError, NotFoundError
from crag.core.trace import Trace
from crag.export.html import elements as h
from crag.export.html import words
from crag.export.html.answer import answer, state_chip
from crag.export.html.elements import Html
from crag.export.html.path import action
from crag.export.html.safe_text import markdown
from crag.messages.explanations import TITLES, says_text, situation_sentence
from crag.runtime.jobs import Job
from ui.app import clicks, fragments
from ui.app.clicks import once, requires
from ui.app.program import program
from ui.app.session import Session
from ui.compare import state
from ui.components import problems
from ui.components.drawing import draw

_KIND = "tour"


@dataclass(frozen=True, slots=True, kw_only=True)
class Embedded:
    """`done` chunks of `total` of the sample are embedded."""

    done: int
    total: int


Event = Embedded | Outcome


def panel(session: Session) -> None:
    """Where the tour is started, followed and shown; nothing where the sample is not there."""
    try:
        program().engine.sample()
    except NotFoundError:
        return
    opened = st.expander("Break it on purpose: a guided tour on the sample", key=state.TOUR, on_change="rerun")
    if not opened.open:
        return
    with opened, problems.reported():
        st.caption(
            "Breaks the sample report in three ways, and asks plain RAG and CRAG each time. It runs on this machine, "
            "without a language model, with the sample's pages as the web. Your library is not touched."
        )
        job = _current(session)
        running = job is not None and job.running
        clicks.button("Start the tour", "tour-start", once(_start), session, type="primary", disabled=running)
        if job is None:
            return
        if running:
            fragments.follow(session, lambda: job.running, lambda: _under_way(session, job))
            return
        if job.problem:
            problems.show(job.problem)
        _show(job)


@requires("ask")
def _start(session: Session) -> None:
    """One tour at a time in this program: it is work of half a minute. Raises BusyError."""
    if program().jobs.running(_KIND):
        raise BusyError("A tour is under way.", "Wait a minute, then start yours.")
    engine = program().engine

    def work(cancel: threading.Event, emit: Callable[[Event], None]) -> None:
        for outcome in play(engine, cancel, lambda done, total: emit(Embedded(done=done, total=total))):
            emit(outcome)

    job = program().jobs.start(_KIND, "Guided tour", work, workspace=session.workspace, who=session.visitor.person)
    state.state().tour = job.id


def _current(session: Session) -> Job[Event] | None:
    """This tab's tour, or one of its workspace that goes on since before a reload."""
    mine = state.state().tour
    found = program().jobs.get(mine, workspace=session.workspace) if mine else None
    found = found or next(iter(program().jobs.running(_KIND, workspace=session.workspace)), None)
    return found  # type: ignore[return-value]


def _under_way(session: Session, job: Job[Event]) -> None:
    events = job.events()
    done = sum(isinstance(each, Outcome) for each in events)
    last = events[-1] if events else None
    said = [*TITLES.values()][min(done, len(TITLES) - 1)] if done else "Reading the report"
    if isinstance(last, Embedded):
        said = f"Reading the report: chunk {last.done:,} of {last.total:,} embedded"
    st.progress(done / len(QUESTIONS), f"**{done} of {len(QUESTIONS)}** · {said}")
    clicks.stop_button(session, [job], "tour-stop", "What was found stays.")
    _show(job)


def _show(job: Job[Event]) -> None:
    """Each situation that was played, with both runs side by side."""
    outcomes = [each for each in job.events() if isinstance(each, Outcome)]
    for number, outcome in enumerate(outcomes, 1):
        situation = outcome.situation
        with st.container(border=True, key=f"tour-{situation}"):
            st.markdown(f"**{number}. {TITLES[situation]}**")
            st.caption(markdown(situation_sentence(situation)))
            columns = st.columns(len(outcome.runs), gap="medium")
            for column, trace in zip(columns, outcome.runs, strict=True):
                with column:
                    draw(_run(trace, says_text(trace)))


def _run(trace: Trace, says: str) -> Html:
    """One run's action and answer as on the Ask page, and how much of what it found speaks to a model."""
    head = h.p[h.b[words.strategy(trace.strategy)], " ", state_chip(trace.outcome), " ", h.span("tag")[says]]
    number = marked(trace)
    note = h.p("small")[f"Marked: {words.count(number, 'chunk')} with text that speaks to a model."] if number else ""
    return h.fragment(h.div("cx")[head], action(trace), answer(trace, opens=False), h.div("cx")[note])
