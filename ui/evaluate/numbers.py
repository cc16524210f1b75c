"""Evaluations in numbers, remembered while nothing changes: rows, means, differences, funnels, what calls cost."""

from __future__ import annotations

import streamlit as st

from crag.analysis.evaluate import Evaluation, rows, spending
from crag.analysis.funnel import Funnel, trace_funnel
from crag.analysis.metrics.metrics import ResultRow
from crag.analysis.metrics.results import Difference, Result, compare_results, summed_up
from crag.providers.prices import Spent
from crag.storage.library import Library
from ui.app.session import Session
from ui.evaluate import evaluation_job
from ui.run.meter import in_use

_STEPS = 50
"""So often is a large evaluation summed up while it is under way."""
_Key = tuple[str, str, int, str, int]
"""Workspace, evaluation, how much is done, when it ended, and how many steps the job under way has made."""


def _key(session: Session, evaluation: Evaluation) -> _Key:
    """What the numbers hang on. A finished evaluation no longer changes; a large one is summed up now and then."""
    some = 1 if evaluation.finished_at else max(1, evaluation.done // _STEPS)
    step = 0 if evaluation.finished_at else evaluation_job.steps(session) // some
    return session.workspace, evaluation.id, evaluation.done // some, evaluation.finished_at, step


def rows_of(session: Session, evaluation: Evaluation) -> tuple[ResultRow, ...]:
    """What is done of it, in the set's order. Raises NotFoundError."""
    return _rows(session.library, _key(session, evaluation))


def result(session: Session, evaluation: Evaluation) -> Result:
    """Means with intervals, and actions. Raises NotFoundError."""
    return _result(session.library, _key(session, evaluation))


def difference(
    session: Session, first: Evaluation, second: Evaluation, names: tuple[str, str]
) -> dict[str, Difference]:
    """Every measure of the second against the first. Raises ValueError where they share no question."""
    return _difference(session.library, _key(session, first), _key(session, second), names)


def funnel(session: Session, evaluation: Evaluation) -> Funnel:
    """Where its answers are lost, by the documents and runs that are there now. Raises as `trace_funnel` does."""
    library = session.library
    runs = sum(id.startswith(f"{evaluation.id}-") for id in library.runs.ids())
    return _funnel(library, _key(session, evaluation), (*library.size, runs))


def cost(session: Session, evaluation: Evaluation) -> Spent:
    """What the outside calls of its runs took by today's prices, also of runs deleted since. Raises NotFoundError."""
    return spending(session.library, evaluation.id, in_use())


@st.cache_resource(max_entries=32, show_spinner=False)
def _rows(_library: Library, key: _Key) -> tuple[ResultRow, ...]:
    return rows(_library, key[1])


@st.cache_resource(max_entries=64, show_spinner="Summing up…")
def _result(_library: Library, key: _Key) -> Result:
    return summed_up(_rows(_library, key))


@st.cache_resource(max_entries=16, show_spinner="Comparing…")
def _difference(_library: Library, one: _Key, other: _Key, names: tuple[str, str]) -> dict[str, Difference]:
    return compare_results(_rows(_library, one), _rows(_library, other), names=names)


@st.cache_resource(max_entries=32, show_spinner="Following the answers…")
def _funnel(_library: Library, key: _Key, there: tuple[int, ...]) -> Funnel:
    return trace_funnel(_library, key[1])
