"""The panel of an evaluation under way: progress, the question at hand, what came of it so far, Stop."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import streamlit as st

from crag.core.errors import CragError
from crag.core.trace import Approval, Trace
from crag.core.types import Action
from crag.export.html import words
from crag.export.html.safe_text import excerpt, markdown
from crag.runtime.jobs import Job
from ui.app import clicks, fragments
from ui.app.session import Session
from ui.components import problems
from ui.evaluate.evaluation_job import Event, Part, State
from ui.evaluate.measures import as_text
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
        if asked := _at_hand(session, state):
            st.caption(f"Now: {markdown(excerpt(asked, 160))}")
        if session.may("edit"):
            _ask(session, job, state)
        if rows := so_far(state.parts):
            st.table(rows, border="horizontal", hide_index=True)
        st.button(
            "Stopping…" if job.stopping else "Stop",
            key="eval-stop",
            on_click=clicks.stop,
            args=(session, job.id),
            disabled=job.stopping or not session.may("edit"),
            help="Stops after the questions in progress. Finished ones are kept, and you can resume later.",
        )


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


def so_far(parts: Sequence[Part]) -> list[dict[str, str]]:
    """What the results say until now, by strategy; nothing before the first."""
    return [_line(part) for part in parts if part.rows]


def _line(part: Part) -> dict[str, str]:
    taken = [row.action for row in part.rows]
    actions = [f"{words.ICONS[action]} {taken.count(action):,}" for action in Action if action in taken]
    return {
        "So far": words.strategy(part.strategy),
        "Done": f"{part.done:,} of {part.total:,}",
        "Actions": "  ".join(actions) or "–",
        "Evidence holds it": _share([row.evidence_answer for row in part.rows]),
        "Answer says it": _share([row.answer_holds for row in part.rows]),
        "Failed": f"{sum(bool(row.problem) for row in part.rows):,}",
        "Each": as_text("seconds", _mean([row.seconds for row in part.rows])),
    }


def _share(values: Sequence[bool | None]) -> str:
    known = [value for value in values if value is not None]
    return f"{sum(known):,} of {len(known):,}" if known else "–"


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None


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
