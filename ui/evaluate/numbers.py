"""Evaluations in names and numbers, remembered while nothing changes: rows, means, differences, funnels, costs."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence

from crag.analysis.evaluate import Evaluation, rows, spending
from crag.analysis.metrics.metrics import ResultRow
from crag.analysis.metrics.results import Difference, Result, compare_results, summed_up
from crag.analysis.stages.funnel import Funnel, trace_funnel
from crag.core.settings import Settings
from crag.export.html import words
from crag.providers.prices import Spent
from crag.storage.library import Library
from ui.app.program import prices_in_use
from ui.app.session import Session
from ui.components.remembered import remembered
from ui.evaluate import evaluation_job

_STEPS = 50
"""So often is a large evaluation summed up while it is under way."""
Names = tuple[str, str]
_Key = tuple[str, str, int, str, int]
"""Workspace, evaluation, how much is done, when it ended, and how many steps the job under way has made."""


def _key(session: Session, evaluation: Evaluation) -> _Key:
    """What the numbers hang on. A finished evaluation no longer changes; a large one is summed up now and then.

    Raises NotFoundError for one that was deleted.
    """
    session.library.evaluations.get(evaluation.id)
    some = 1 if evaluation.finished_at else max(1, evaluation.done // _STEPS)
    step = 0 if evaluation.finished_at else evaluation_job.steps(session) // some
    return session.workspace, evaluation.id, evaluation.done // some, evaluation.finished_at, step


def rows_of(session: Session, evaluation: Evaluation) -> tuple[ResultRow, ...]:
    """What is done of it, in the set's order. Raises NotFoundError."""
    return _rows(session.library, _key(session, evaluation))


def result(session: Session, evaluation: Evaluation) -> Result:
    """Means with intervals, and actions. Raises NotFoundError."""
    return _result(session.library, _key(session, evaluation))


def difference(session: Session, first: Evaluation, second: Evaluation, names: Names) -> Mapping[str, Difference]:
    """Every measure of the second against the first. Raises ValueError where they share no question."""
    return _difference(session.library, _key(session, first), _key(session, second), names)


def funnel(session: Session, evaluation: Evaluation) -> Funnel:
    """Where its answers are lost, by the documents and runs that are there now. Raises as `trace_funnel` does."""
    return _funnel(session.library, _key(session, evaluation), _there(session, evaluation))


def _there(session: Session, evaluation: Evaluation) -> tuple[int, ...]:
    """What is there now: documents, chunks and runs of the evaluation."""
    library = session.library
    return (*library.size, sum(id.startswith(f"{evaluation.id}-") for id in library.runs.ids()))


def cost(session: Session, evaluation: Evaluation) -> Spent:
    """What the outside calls of its runs took by today's prices, also of runs deleted since. Raises NotFoundError."""
    return spending(session.library, evaluation.id, prices_in_use())


@remembered(max_entries=32)
def _rows(_library: Library, key: _Key) -> tuple[ResultRow, ...]:
    return rows(_library, key[1])


@remembered(max_entries=64, show_spinner="Summing up…")
def _result(_library: Library, key: _Key) -> Result:
    return summed_up(_rows(_library, key))


@remembered(max_entries=16, show_spinner="Comparing…")
def _difference(_library: Library, one: _Key, other: _Key, names: tuple[str, str]) -> dict[str, Difference]:
    return compare_results(_rows(_library, one), _rows(_library, other), names=names)


@remembered(max_entries=32, show_spinner="Following the answers…")
def _funnel(_library: Library, key: _Key, there: tuple[int, ...]) -> Funnel:
    return trace_funnel(_library, key[1])


_ENDING = re.compile(r"\.(csv|tsv|txt|jsonl|ndjson|json)$")
Called = Callable[[str, Settings], str]
"""What a strategy with these settings is called: see `Session.called`."""
_FEW = 2
"""The most changed settings that a name shows."""


def name(evaluation: Evaluation, called: Called) -> str:
    """The saved configuration, or the strategy and what is changed about it. Raises StorageError."""
    saved = called(evaluation.strategy, evaluation.settings)
    if saved != evaluation.strategy:
        return saved
    differs = words.changed(evaluation.strategy, evaluation.settings)
    if not differs:
        return words.strategy(evaluation.strategy)
    said = ", ".join(differs) if len(differs) <= _FEW else f"{len(differs)} settings changed"
    return f"{words.strategy(evaluation.strategy)} ({said})"


def names(evaluations: Sequence[Evaluation], called: Called) -> dict[str, str]:
    """A name for each id, with its time where several would be called alike."""
    plain = {each.id: name(each, called) for each in evaluations}
    often = Counter(plain.values())
    timed = {
        each.id: f"{plain[each.id]}, {words.moment(each.started_at, zone='')}"
        if often[plain[each.id]] > 1
        else plain[each.id]
        for each in evaluations
    }
    seen: Counter[str] = Counter()
    unique = {}
    for id, said in timed.items():
        seen[said] += 1
        unique[id] = said if seen[said] == 1 else f"{said} #{seen[said]}"
    return unique


def file_name(*parts: str) -> str:
    """A name for a download, without ending, made of these parts, in letters, digits and hyphens."""
    stems = ["-".join(re.findall(r"[a-z0-9]+", _ENDING.sub("", part.lower())))[:40] for part in parts]
    return f"crag-{'-'.join(filter(None, stems)) or 'evaluation'}"
