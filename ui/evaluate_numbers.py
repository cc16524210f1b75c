"""Evaluations in numbers, remembered while nothing changes: their rows, means and differences, what calls cost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import streamlit as st

from crag.core.meter import Call
from crag.core.trace import Trace
from crag.evaluation import Evaluation, rows
from crag.library.library import Library
from crag.measure.costs import Spent, spent
from crag.measure.metrics import Row
from crag.measure.results import Difference, Result, compared, summed_up
from ui.meter import in_use
from ui.session import Session

__all__ = ["Cost", "cost", "difference", "result", "rows_of"]


@dataclass(frozen=True, slots=True)
class Cost:
    """What the calls of an evaluation's runs took; `gone` runs that made calls were deleted and are not in it."""

    spent: Spent
    gone: int


_Key = tuple[str, str, int, str, int]
"""Workspace, evaluation, how much is done, when it ended, and how many steps of the job under way were heard."""


def _key(session: Session, evaluation: Evaluation, heard: int) -> _Key:
    """What the numbers hang on. A finished evaluation no longer changes, whatever is under way."""
    step = 0 if evaluation.finished_at else heard
    return session.workspace, evaluation.id, evaluation.done, evaluation.finished_at, step


def rows_of(session: Session, evaluation: Evaluation, heard: int = 0) -> tuple[Row, ...]:
    """What is done of it, in the set's order. Raises NotFoundError."""
    return _rows(session.library, _key(session, evaluation, heard))


def result(session: Session, evaluation: Evaluation, heard: int = 0) -> Result:
    """Means with intervals, and actions. Raises NotFoundError."""
    return _result(session.library, _key(session, evaluation, heard))


def difference(
    session: Session, first: Evaluation, second: Evaluation, names: tuple[str, str], heard: int = 0
) -> dict[str, Difference]:
    """Every measure of the second against the first. Raises ValueError where they share no question."""
    return _difference(session.library, _key(session, first, heard), _key(session, second, heard), names)


def cost(session: Session, evaluation: Evaluation, heard: int = 0) -> Cost:
    """What the calls of its runs cost by today's prices."""
    called = tuple(row.run_id for row in rows_of(session, evaluation, heard) if row.calls)
    return _cost(session.library, _key(session, evaluation, heard), called, tuple(sorted(in_use().items())))


@st.cache_resource(max_entries=32, show_spinner=False)
def _rows(_library: Library, key: _Key) -> tuple[Row, ...]:
    return rows(_library, key[1])


@st.cache_resource(max_entries=64, show_spinner="Summing up…")
def _result(_library: Library, key: _Key) -> Result:
    return summed_up(_rows(_library, key))


@st.cache_resource(max_entries=16, show_spinner="Comparing…")
def _difference(_library: Library, one: _Key, other: _Key, names: tuple[str, str]) -> dict[str, Difference]:
    return compared(_rows(_library, one), _rows(_library, other), names=names)


@st.cache_resource(max_entries=64, show_spinner="Reckoning costs…")
def _cost(_library: Library, key: _Key, _called: Sequence[str], prices: tuple[object, ...]) -> Cost:
    calls: list[Call] = []
    read = 0
    for trace in _library.traces(_called):
        if isinstance(trace, Trace):
            calls += trace.calls
            read += 1
    return Cost(spent(calls, in_use()), len(_called) - read)
