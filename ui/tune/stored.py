"""The stored runs of each workspace, read once per process and kept ready to be re-decided together."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import streamlit as st

from crag.analysis.questions.sets import Question
from crag.analysis.thresholds.recommend import Relevance, expected_relevance, same_question
from crag.analysis.whatif.entries import Entry, Saved, Shared
from crag.analysis.whatif.replay_plan import StoredDecisions
from crag.core.trace import Trace
from crag.core.types import Call, Step
from crag.providers.prices import Price, sum_calls
from crag.storage.library import Library
from crag.storage.runs import Unreadable

_WORKSPACES = 8
"""Workspaces kept; the one that was not used for longest goes first."""
_EVERY = 100_000_000
"""Runs of a library, at most."""


@dataclass(frozen=True, slots=True)
class StoredRun:
    """A stored run without its texts. `steps`: that of each of the entry's stages; `calls`: its outside calls."""

    entry: Entry
    steps: tuple[Step, ...]
    calls: tuple[Call, ...]

    @classmethod
    def of(cls, trace: Trace) -> StoredRun:
        stages = (record.step for record in trace.steps if record.step not in ("contextualize", "answer", "verify"))
        return cls(entry=Entry.of(trace), steps=tuple(stages), calls=trace.calls)


@dataclass(frozen=True, slots=True)
class Judged:
    """What a question set says of a run's chunks, by round and rank, and of its first retrieval."""

    expected: Question
    relevance: Relevance
    answerable: bool | None


@dataclass(frozen=True, slots=True)
class UnreadableRun:
    """A stored run that can't be read, and why, in words."""

    run_id: str
    question: str
    why: str


class State:
    """The runs of a library as they are until one comes or goes."""

    __slots__ = ("__weakref__",)


@dataclass
class StoredRuns:
    """One workspace's runs, as far as they are read; shared by all its sessions.

    `state` is another object whenever a run comes or goes: what was made from the runs as they were goes with it.
    """

    state: State = field(default_factory=State)
    _runs: dict[str, StoredRun] = field(default_factory=dict)
    _judged: dict[str, Judged] = field(default_factory=dict)
    _unreadable: dict[str, UnreadableRun] = field(default_factory=dict)
    _order: tuple[str, ...] = ()
    _shared: Shared = field(default_factory=Shared)
    _lock: threading.RLock = field(default_factory=threading.RLock)

    def refresh(self, library: Library, expected: Mapping[str, Question]) -> Iterator[tuple[int, int]]:
        """Reads what is new and drops what was deleted; yields how many of how many runs to read are read.

        `expected`: the questions of which something is known beforehand, by `same_question`. May be left off
        anywhere: what was read stays. Raises CragError where the library can't be read at all.
        """
        wanted = self._wanted(tuple(reversed(library.runs.ids())), expected)
        for done, found in enumerate(library.runs.traces(wanted)):
            yield done, len(wanted)
            self._add(found, library, expected)

    def _wanted(self, order: tuple[str, ...], expected: Mapping[str, Question]) -> list[str]:
        """The runs not read yet, and those to be judged by another expectation; forgets what is gone."""
        with self._lock:
            if order != self._order:
                there = set(order)
                if not self._runs.keys() <= there:
                    self._shared = Shared()  # it holds the questions of those that are gone, too
                for known in (self._runs, self._unreadable, self._judged):
                    for id in known.keys() - there:
                        del known[id]
                self._order, self.state = order, State()
            self._judged = {
                id: judged for id, judged in self._judged.items() if _expectation(self._runs[id], expected) is not None
            }
            return [id for id in order if id not in self._unreadable and not self._known(id, expected)]

    def _known(self, id: str, expected: Mapping[str, Question]) -> bool:
        if id not in self._runs:
            return False
        wanted, judged = _expectation(self._runs[id], expected), self._judged.get(id)
        return wanted is None or (judged is not None and judged.expected == wanted)

    def _add(self, found: Trace | Unreadable, library: Library, expected: Mapping[str, Question]) -> None:
        if isinstance(found, Unreadable):
            question = next(
                (run.question for run in library.runs.latest(_EVERY, every=True) if run.run_id == found.run_id),
                found.run_id,
            )
            with self._lock:
                self._unreadable[found.run_id] = UnreadableRun(found.run_id, question, found.message)
                self.state = State()
            return
        read = StoredRun.of(found)
        wanted = _expectation(read, expected)
        judged = None if wanted is None else Judged(wanted, *expected_relevance(found, wanted))
        with self._lock:
            self._runs[found.run_id] = replace(read, entry=self._shared.entry(read.entry))
            if judged is not None:
                self._judged[found.run_id] = judged
            self.state = State()

    @property
    def runs(self) -> dict[str, StoredRun]:
        """The runs by id, newest first."""
        with self._lock:
            return {id: self._runs[id] for id in self._order if id in self._runs}

    @property
    def judged(self) -> dict[str, Judged]:
        """What question sets say, by run."""
        with self._lock:
            return dict(self._judged)

    @property
    def unreadable(self) -> tuple[UnreadableRun, ...]:
        """What can't be read, newest first."""
        with self._lock:
            return tuple(self._unreadable[id] for id in self._order if id in self._unreadable)

    def ledger(self, runs: frozenset[str] | None = None) -> StoredDecisions:
        """These runs, all without a choice, newest first."""
        with self._lock:
            return StoredDecisions(read.entry for id, read in self.runs.items() if runs is None or id in runs)


def _expectation(read: StoredRun, expected: Mapping[str, Question]) -> Question | None:
    return expected.get(same_question(read.entry.question)) if expected else None


def dollars(runs: Sequence[StoredRun], prices: Mapping[str, Price]) -> StoredDecisions | None:
    """The runs that made outside calls, with dollars in place of the seconds of their stages; None without any.

    So what they save is what those stages cost; `uncounted` are the stages of which nobody knows.
    """
    entries = [_priced(run, prices) for run in runs if run.calls]
    return StoredDecisions(entries) if entries else None


def _priced(read: StoredRun, prices: Mapping[str, Price]) -> Entry:
    """Where a step was taken more than once, its cost is parted by the calls of each, or evenly."""
    stages = []
    for stage, step in zip(read.entry.stages, read.steps, strict=True):
        whole = sum_calls([call for call in read.calls if call.step == step], prices)
        weights = [each.took.calls for each, other in zip(read.entry.stages, read.steps, strict=True) if other == step]
        part = stage.took.calls / sum(weights) if sum(weights) else 1 / len(weights)
        took = Saved(seconds=whole.dollars * part, uncounted=int(bool(whole.unknown)))
        stages.append(replace(stage, took=took))
    return replace(read.entry, stages=tuple(stages))


@st.cache_resource(max_entries=_WORKSPACES, show_spinner=False)
def runs_of(workspace: str) -> StoredRuns:
    """The runs of a workspace, kept until the process ends or others are used more."""
    return StoredRuns()
