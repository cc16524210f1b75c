"""The stored runs of each workspace, read once per process: what they took, what is known of them, which are chosen."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import streamlit as st

from crag.analysis.evaluate import evaluations, question_set
from crag.analysis.metrics.metrics import label_of
from crag.analysis.questions.sets import Question
from crag.analysis.thresholds.labelled import (
    Case,
    ChunkScore,
    Relevance,
    chunk_scores,
    expected_relevance,
    same_question,
    score_cases,
    with_thumbs,
)
from crag.analysis.thresholds.sweep import Scored
from crag.analysis.whatif.entries import Entry, Shared
from crag.analysis.whatif.replay_plan import StoredDecisions
from crag.core.settings import Settings
from crag.core.trace import Trace
from crag.export.html import words
from crag.messages.answers import origin_text
from crag.storage.labels import Label
from crag.storage.library import Library
from crag.storage.runs import Unreadable
from crag.text import memory
from ui.app.session import Session
from ui.components import forms
from ui.tune.cache import cached

_WORKSPACES = 8
"""Workspaces kept; the one that was not used for longest goes first."""
_EVERY = 100_000_000
"""Runs of a library, at most."""


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
    _runs: dict[str, Entry] = field(default_factory=dict)
    _judged: dict[str, Judged] = field(default_factory=dict)
    _unreadable: dict[str, UnreadableRun] = field(default_factory=dict)
    _order: tuple[str, ...] = ()
    _shared: Shared = field(default_factory=Shared)
    _lock: threading.RLock = field(default_factory=threading.RLock)

    def __post_init__(self) -> None:
        memory.on_deletion(self._forget)

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
                self._forget(set(self._order) - set(order))
                self._order, self.state = order, State()
            self._judged = {
                id: judged for id, judged in self._judged.items() if _expectation(self._runs[id], expected) is not None
            }
            return [id for id in order if id not in self._unreadable and not self._known(id, expected)]

    def _forget(self, gone: Collection[str]) -> None:
        """Keep nothing of these runs."""
        with self._lock:
            known = set(gone) & set(self._order)
            if known & self._runs.keys():
                self._shared = Shared()  # it holds the questions of those that are gone, too
            for kept in (self._runs, self._unreadable, self._judged):
                for id in known & kept.keys():
                    del kept[id]
            if known:
                self._order, self.state = tuple(id for id in self._order if id not in known), State()

    def forget_deleted(self, library: Library) -> None:
        """Keep nothing of the runs that are gone, deleted by another process maybe. Raises StorageError."""
        self._forget(set(self._order).difference(library.runs.ids()))

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
        read = Entry.of(found)
        wanted = _expectation(read, expected)
        judged = None if wanted is None else Judged(wanted, *expected_relevance(found, wanted))
        with self._lock:
            self._runs[found.run_id] = self._shared.entry(read)
            if judged is not None:
                self._judged[found.run_id] = judged
            self.state = State()

    @property
    def runs(self) -> dict[str, Entry]:
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
            return StoredDecisions(read for id, read in self.runs.items() if runs is None or id in runs)


def _expectation(read: Entry, expected: Mapping[str, Question]) -> Question | None:
    return expected.get(same_question(read.question)) if expected else None


@st.cache_resource(max_entries=_WORKSPACES, show_spinner=False)
def runs_of(workspace: str) -> StoredRuns:
    """The runs of a workspace, kept until it is deleted, the process ends or others are used more."""
    return StoredRuns()


@memory.on_deletion
def _forget_workspace(gone: Collection[str]) -> None:
    for each in gone:
        runs_of.clear(each)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, weakref_slot=True)
class Labels:
    """The runs looked at, with their labels; what is made from it is kept as long as it is (`cached`).

    `thumbs`: people's labels on chunks; `judged`: runs of which a question set tells something.
    """

    cases: tuple[Case, ...]
    thumbs: tuple[Label, ...]
    judged: int

    @property
    def some(self) -> bool:
        return bool(self.thumbs) or self.judged > 0


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, weakref_slot=True)
class Learnable:
    """The runs that thresholds can be learnt from: one a question, the newest that tells, all by one evaluator."""

    cases: tuple[Case, ...]
    questions: tuple[Scored, ...]
    evaluator: str

    @property
    def labelled(self) -> int:
        return sum(each.answerable is not None for each in self.questions)


def set_ids(session: Session) -> tuple[str, ...]:
    """The ids of the question sets stored in the session's library, the latest first. Raises CragError."""
    return tuple(each.id for each in session.library.evaluations.sets())


def expected(session: Session) -> Mapping[str, Question]:
    """What the stored question sets know, by question; of several sets the one added last. Raises CragError."""
    ids = set_ids(session)

    def made() -> dict[str, Question]:
        found: dict[str, Question] = {}
        for id in ids:
            for question in question_set(session.library, id).questions:
                if label_of(question) is not None:
                    found.setdefault(same_question(question.question), question)
        return found

    return cached("expected", runs_of(session.workspace), ids, made)


def label_runs(ledger: StoredDecisions, judged: Mapping[str, Judged], thumbs: Sequence[Label]) -> Labels:
    """The runs of a ledger with what sets and people say of them."""
    said: dict[str, dict[str, bool]] = {}
    for label in thumbs:
        said.setdefault(same_question(label.question), {})[label.chunk_id] = label.label == "relevant"
    cases = []
    for entry in ledger.entries:
        found = judged.get(entry.run_id)
        own = said.get(same_question(entry.question), {})
        cases.append(with_thumbs(entry, found.relevance if found else (), found.answerable if found else None, own))
    about = sum(entry.run_id in judged for entry in ledger.entries)
    return Labels(cases=tuple(cases), thumbs=tuple(thumbs), judged=about)


def evaluators(cases: Iterable[Case], settings: Settings) -> list[str]:
    """Who graded the first retrievals that these settings look at, the most frequent first."""
    return [name for name, _ in Counter(filter(None, (_by(case, settings) for case in cases))).most_common()]


def learnable(labels: Labels, settings: Settings, evaluator: str) -> Learnable:
    """The runs by this evaluator from which thresholds under these settings can be learnt."""
    seen: set[str] = set()
    cases, questions = [], []
    for case in labels.cases:
        question = same_question(case.entry.question)
        if question in seen or _by(case, settings) != evaluator:
            continue
        found = score_cases([case], settings)
        if found:
            seen.add(question)
            cases.append(case)
            questions += found
    return Learnable(cases=tuple(cases), questions=tuple(questions), evaluator=evaluator)


def scores(cases: Sequence[Case], settings: Settings) -> list[ChunkScore]:
    """The scores of first retrievals: chunk by chunk, or the one over all of each, labelled as answerable."""
    if settings.evaluator != "joint":
        return chunk_scores(cases, settings)
    found = []
    for case in cases:
        grade = case.entry.rounds[0].joint if case.entry.rounds else None
        if grade is not None and score_cases([case], settings):
            found.append(
                ChunkScore(
                    run_id=case.entry.run_id,
                    chunk_id="",
                    score=grade.score,
                    relevant=case.answerable,
                    evaluator=grade.evaluator,
                )
            )
    return found


def _by(case: Case, settings: Settings) -> str:
    """Who graded most of a first retrieval; empty where nobody did."""
    if not case.entry.rounds:
        return ""
    first = case.entry.rounds[0]
    grades = [first.joint] if settings.evaluator == "joint" else first.grades
    made = Counter(grade.evaluator for grade in grades if grade is not None)
    return made.most_common(1)[0][0] if made else ""


_ALL, _RUNS = "all", "tune-runs"
_AT_ONCE = 20
"""Runs that are read between two updates of the progress."""


@dataclass(frozen=True, slots=True, eq=False)
class Material:
    """The runs looked at, with what they took and with their labels."""

    ledger: StoredDecisions
    labels: Labels
    entries: Mapping[str, Entry]


def read(session: Session) -> StoredRuns:
    """The runs of the session's library, brought up to date, with progress where that takes long. Raises CragError."""
    stored_runs, slot = runs_of(session.workspace), st.empty()
    for done, total in stored_runs.refresh(session.library, expected(session)):
        if total > _AT_ONCE and done % _AT_ONCE == 0:
            slot.progress(done / total, f"Reading past runs: {done:,} of {total:,}. This happens once.")
    slot.empty()
    return stored_runs


def chosen(session: Session, stored_runs: StoredRuns) -> Callable[[], Material]:
    """What finds the runs that the person chose, ready to be decided again. Raises CragError; so does what it returns.

    That holds none of them: else each tab that is left open would keep the runs as they were when it was drawn.
    """
    choice = _choice(session, stored_runs)

    def found() -> Material:
        stored_runs.forget_deleted(session.library)
        state = stored_runs.state  # before the ledger: what comes in between is seen by the next call
        thumbs = tuple(session.library.labels.all())
        sets = set_ids(session)

        ledger = cached("ledger", state, choice, lambda: stored_runs.ledger(choice))

        def labels() -> Labels:
            return label_runs(ledger, stored_runs.judged, thumbs)

        return Material(
            ledger=ledger,
            labels=cached("labels", state, (choice, thumbs, sets), labels),
            entries={entry.run_id: entry for entry in ledger.entries},
        )

    return found


def _choice(session: Session, stored_runs: StoredRuns) -> frozenset[str] | None:
    """The runs to look at; None for all."""
    runs = stored_runs.runs
    options = {_ALL: f"All ({words.count(len(runs), 'run')})"}
    for name, number in Counter(read.strategy for read in runs.values()).most_common():
        options[f"strategy:{name}"] = f"Asked with {words.strategy(name)} ({number:,})"
    for via, number in Counter(read.via for read in runs.values()).most_common():
        if said := origin_text(via):
            options[f"via:{via}"] = f"Asked {said} ({number:,})"
    members: dict[str, frozenset[str]] = {}
    for each in evaluations(session.library):
        own = frozenset(id for id in runs if id.startswith(f"{each.id}-"))
        if own:
            members[f"evaluation:{each.id}"] = own
            about = f"{each.set_name}, {words.strategy(each.strategy)}, {words.ago(each.started_at)}"
            options[f"evaluation:{each.id}"] = f"Evaluated: {about} ({len(own):,})"
    if st.session_state.get(_RUNS) not in options:
        st.session_state[_RUNS] = _ALL
    choice = forms.choice("Runs", options, _RUNS)
    kind, _, name = choice.partition(":")
    if kind == "strategy":
        return frozenset(id for id, read in runs.items() if read.strategy == name)
    if kind == "via":
        return frozenset(id for id, read in runs.items() if read.via == name)
    return members.get(choice)
