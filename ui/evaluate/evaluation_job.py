"""An evaluation under way: the job that makes it, and what its events say so far."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from crag.analysis.evaluate import Progress, evaluate, rows
from crag.analysis.metrics.metrics import ResultRow
from crag.core.config import AppConfig
from crag.core.errors import InputError
from crag.core.protocols import RunRequest
from crag.core.settings import Settings
from crag.runtime.jobs import Job
from crag.storage.library import Library
from ui.app.program import program
from ui.app.session import Session
from ui.components.tab_state import tab_state

_KIND = "evaluation"


@dataclass(frozen=True, slots=True)
class Taken:
    """A file that was read: the id of its set, the file's name, and the set's name if it was stored before."""

    id: str
    name: str
    before: str


@dataclass(slots=True)
class EvaluateState:
    """`job`: the id of the evaluation that is shown.

    `refused`: whether the last file was refused. `turn`: how often a file was dropped. `followed`: ids of large
    evaluations whose losses were asked for.
    """

    job: str = ""
    refused: bool = False
    taken: Taken | None = None
    turn: int = 0
    followed: set[str] = field(default_factory=set)


def state() -> EvaluateState:
    """The tab's."""
    return tab_state(EvaluateState)


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """A strategy to run, with its settings. `resumes`: the id of the evaluation that is to go on."""

    strategy: str
    settings: Settings
    resumes: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluationStarted:
    """What is to be done. `provider`: where queries go that wait for the person's word."""

    set_id: str
    strategies: tuple[str, ...]
    provider: str
    at: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Stepped:
    """A step of the evaluation. `at` is of a clock that only goes forward.

    `earlier`: the results that were there before, with the first step of a strategy.
    """

    progress: Progress
    at: float
    earlier: tuple[ResultRow, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Asking:
    """A query that waits for the person's word."""

    query: str


Event = EvaluationStarted | Stepped | Asking


@dataclass(slots=True)
class Part:
    """One strategy of a job: `done` of `total` have a result, which are `rows`; this job made `made` of them."""

    strategy: str
    done: int = 0
    total: int = 0
    made: int = 0
    rows: list[ResultRow] = field(default_factory=list)


class State:
    """What the events of a job say so far; `queries` were asked about, the last one perhaps still is."""

    def __init__(self, events: Sequence[Event]) -> None:
        self.started: EvaluationStarted | None = None
        self.parts: list[Part] = []
        self.queries: list[str] = []
        self.at = 0.0
        for event in events:
            match event:
                case EvaluationStarted():
                    self.started, self.at = event, event.at
                case Asking():
                    self.queries.append(event.query)
                case Stepped():
                    self._add_step(event)

    def _add_step(self, event: Stepped) -> None:
        progress = event.progress
        if progress.row is None:
            self.parts.append(Part(progress.strategy, rows=list(event.earlier)))
        part = self.parts[-1]
        part.done, part.total = progress.done, progress.total
        if progress.row is not None:
            part.rows.append(progress.row)
            part.made += 1
        self.at = event.at

    @property
    def done(self) -> int:
        """Questions with a result, also those that were asked before this job."""
        return sum(part.done for part in self.parts)

    @property
    def total(self) -> int:
        """Of all strategies, also of those that did not begin yet; 0 before anything began."""
        waiting = len(self.started.strategies) - len(self.parts) if self.started else 0
        return sum(part.total for part in self.parts) + (waiting * self.parts[-1].total if self.parts else 0)

    @property
    def made(self) -> int:
        """Results of this job alone."""
        return sum(part.made for part in self.parts)

    @property
    def failed(self) -> int:
        return sum(bool(row.problem) for part in self.parts for row in part.rows)

    @property
    def seconds(self) -> float:
        """From the start to the latest step."""
        return self.at - self.started.at if self.started else 0.0

    @property
    def rate(self) -> float | None:
        """Questions a second; None before the first."""
        return self.made / self.seconds if self.made and self.seconds > 0 else None

    @property
    def left(self) -> float | None:
        """Seconds until the end at this rate."""
        return (self.total - self.done) / self.rate if self.rate else None


def start(session: Session, set_id: str, name: str, plans: Sequence[Plan], *configs: AppConfig) -> None:
    """Begin, or go on with, the evaluation of a set by these strategies, one after another.

    Of several `configs` that one is taken under which the evaluation to resume was started. A query that needs
    approval waits for the person.
    """
    session.note_keys()
    engine, workspace, keys = program().engine, session.workspace, session.keys
    session.require("edit")
    started = EvaluationStarted(
        set_id=set_id,
        strategies=tuple(plan.strategy for plan in plans),
        provider=next(
            (each.provider.name for each in session.resolve_providers(configs[0]).outside_webs),
            configs[0].providers.web,
        ),
        at=time.monotonic(),
    )

    def work(cancel: threading.Event, emit: Callable[[Event], None]) -> None:
        def allowed(query: str) -> bool:
            emit(Asking(query=query))
            return job.ask(query)

        def ways(plan: Plan) -> Iterator[Iterator[Progress]]:
            request = RunRequest(
                "", plan.strategy, workspace, settings=plan.settings, keys=keys, allowed=allowed, cancel=cancel
            )
            return (evaluate(engine, set_id, replace(request, config=each)) for each in configs)

        emit(started)
        for plan in plans:
            for event in _stepped(ways(plan), engine.library(workspace), plan.resumes):
                emit(event)
            if cancel.is_set():
                return

    job: Job[Event] = Job(_KIND, name, work, workspace, who=session.visitor.person)
    program().jobs.begin(job)
    state().job = job.id


def _stepped(ways: Iterator[Iterator[Progress]], library: Library, resumes: str) -> Iterator[Stepped]:
    """The steps of the first of several ways that is the evaluation to go on, with their times. Raises InputError."""
    for events in ways:
        first = next(events)
        if resumes in ("", first.evaluation):
            earlier = rows(library, first.evaluation) if first.done else ()
            yield Stepped(progress=first, at=time.monotonic(), earlier=earlier)
            for progress in events:
                yield Stepped(progress=progress, at=time.monotonic())
            return
        if not first.done:
            library.evaluations.delete(first.evaluation)  # it has just been started
    raise InputError(
        "This evaluation can't continue: models, services or documents have changed since it started.",
        "Restore them (the evaluation names them), or run the strategy again.",
    )


def steps(session: Session) -> int:
    """How many steps the evaluation under way has made; 0 where none is under way."""
    job = current(session)
    return len(job.events()) if job is not None and job.running else 0


def current(session: Session) -> Job[Event] | None:
    """The evaluation of this session, or one of its library that goes on since before a reload."""
    mine = state().job
    found = program().jobs.get(mine, workspace=session.workspace) if mine else None
    if found is None or not found.running:
        found = next(iter(program().jobs.running(_KIND, workspace=session.workspace)), found)
    if found is not None:
        state().job = found.id  # so that its end is shown here too
    return found  # type: ignore[return-value]
