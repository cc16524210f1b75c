"""The panel of an evaluation under way: progress, the question at hand, what came of it so far, Stop."""

from __future__ import annotations

from functools import partial

import streamlit as st

from crag.core.errors import CragError
from crag.core.trace import Approval, Trace
from crag.export.html import words
from crag.export.html.safe_text import excerpt, markdown
from crag.runtime.jobs import Job
from ui.app import clicks, fragments
from ui.app.session import Session
from ui.components import problems
from ui.evaluate.evaluation_job import Event, State
from ui.evaluate.sets import loaded
from ui.run import approval

_BEAT = 1.0
"""Seconds between two looks at the job."""


def show_live(session: Session, job: Job[Event]) -> None:
    """Follow the evaluation to its end."""
    fragments.follow(session, lambda: job.running, partial(_show_live, session, job), _BEAT)


def _show_live(session: Session, job: Job[Event]) -> None:
    state = State(job.events())
    with st.container(key="eval-live", border=True):
        st.markdown(f"**Evaluating {markdown(job.label)}**{_which(state)}")
        st.progress(state.done / state.total if state.total else 0.0, _figures(job, state))
        if state.done:
            st.caption("Results shows what is known so far.")
        if asked := _at_hand(session, state):
            st.caption(f"Now: {markdown(excerpt(asked, 160))}")
        if session.may("edit"):
            _ask(session, job, state)
        help = "Stops after the questions in progress. Finished ones are kept, and you can resume later."
        clicks.stop_button(session, [job], "eval-stop", help)


def _at_hand(session: Session, state: State) -> str:
    """The question that is being answered; nothing where that is not known."""
    if state.started is None or not state.parts:
        return ""
    done = {row.question_id for row in state.parts[-1].rows}
    try:
        questions = loaded(session, state.started.set_id).questions
    except CragError:
        return ""
    return next((each.question for each in questions if each.id not in done), "")


def _figures(job: Job[Event], state: State) -> str:
    """How far it is, how fast, how long it still takes, and what failed."""
    facts = [f"{state.done:,} of {state.total:,} questions" if state.total else "starting"]
    if state.rate:
        each = f"{words.format_duration(1 / state.rate)} each"
        facts.append(f"{state.rate:.1f} a second" if state.rate >= 1 else each)
    if _waits(job, state):
        facts.append("waiting for your approval")
    elif state.left is not None and not job.stopping:
        facts.append(f"about {_rough(state.left)} left")
    facts.append(f"{state.failed:,} failed" if state.failed else "none failed")
    return " · ".join(facts)


def _rough(seconds: float) -> str:
    return words.format_duration(seconds) if seconds >= 60 else f"{max(1.0, seconds):.0f} s"


def _which(state: State) -> str:
    if not state.parts or state.started is None:
        return ""
    number, all = len(state.parts), len(state.started.strategies)
    place = f", strategy {number} of {all}" if all > 1 else ""
    return f" with {markdown(words.strategy(state.parts[-1].strategy))}{place}"


def _waits(job: Job[Event], state: State) -> bool:
    return bool(state.queries) and not job.answered(len(state.queries)) and not job.stopping


def _ask(session: Session, job: Job[Event], state: State) -> None:
    """The query that waits for a word, if one does."""
    if state.started is None or not _waits(job, state):
        return
    provider = state.started.provider
    asked = [Approval(query=query, provider=provider, approved=True) for query in state.queries[:-1]]
    waiting = Approval(query=state.queries[-1], provider=provider)
    approval.ask(session, job, Trace(approvals=(*asked, waiting)))  # type: ignore[arg-type]


def show_outcome(job: Job[Event]) -> None:
    """What came of a job that is over."""
    state = State(job.events())
    kept = f"{words.count(state.done, 'result')} kept" if state.done else "nothing was done yet"
    if job.problem:
        problems.show(job.problem)
    elif job.stopping and state.done < state.total:
        said = f"Stopped: {kept}. Press Resume to continue."
        st.success(markdown(said), icon=":material/check:")
    else:
        failed = f", {state.failed:,} failed" if state.failed else ""
        took = words.format_duration(state.seconds)
        said = f"Done: {job.label}, {words.count(state.made, 'question')} in {took}{failed}."
        st.success(markdown(said), icon=":material/check:")
