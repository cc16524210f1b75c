"""One run from its first event to its last: it waits for its turn, goes through the graph, and is stored."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from crag.admin.quotas import Quotas
from crag.core import events as ev
from crag.core.config import AppConfig
from crag.core.errors import CancelledError, CragError, UnexpectedError
from crag.core.events import event_to_json
from crag.core.filters import Filter, scope_of
from crag.core.protocols import RunRequest
from crag.core.trace import Trace
from crag.core.types import Step
from crag.pipeline.build import Local, budget_of, build_pipeline
from crag.pipeline.context import EventEmitter
from crag.pipeline.graph import run_graph
from crag.pipeline.request import QUESTION_CHARS, check_question, named_client
from crag.pipeline.spans import export_spans
from crag.runtime.circuits import Circuits
from crag.runtime.fair_queue import FairQueue, QueueTicket
from crag.runtime.usage import UsageTracker
from crag.runtime.waiting import CLOCK, Clock
from crag.storage.in_flight import InFlightJob
from crag.storage.library import Library


def resolve_scope(library: Library, where: Filter, at: float) -> ev.ScopeResolved | None:
    """The scope that a filter has, its documents by their names now; None where it has none."""
    scope = scope_of(where)
    if not scope:
        return None
    names = library.documents.names() if scope.documents else {}
    found = {id: name for id, name in names.items() if id.startswith(scope.documents)}
    gone = sum(1 for prefix in scope.documents if not any(id.startswith(prefix) for id in found))
    return ev.ScopeResolved(documents=tuple(found.values()), tags=scope.tags, gone=gone, at=at)


def release_while_asking(
    ask: Callable[[str], bool] | None, cancel: threading.Event, turn: QueueTicket
) -> Callable[[str], bool] | None:
    """Asks the person, while others have the turn: a person may take long, or be gone."""
    if ask is None:
        return None

    def allowed(query: str) -> bool:
        with turn.released(cancel):
            return ask(query)

    return allowed


_log = logging.getLogger(__name__)

Events = Generator[ev.Event, None, CragError | None]
"""A run as it happens; what it returns is the error that ended it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunExecutor:
    """Executes one run with what its engine provides.

    `queue` orders runs, this one among those of its `tenant`. `quotas` admit it and its outside calls. `library` opens
    what it is asked of, `local` gives the parts of this machine under a configuration. `given_web` names a web provider
    that the engine was given. `watchers` get each trace at its end. `clock` times outside calls, `circuits` say which
    services are paused.
    """

    queue: FairQueue
    quotas: Quotas
    tenant: str
    library: Callable[[], Library]
    local: Callable[[AppConfig], Local]
    given_web: str = ""
    watchers: Sequence[Callable[[Trace], None]] = ()
    clock: Clock = CLOCK
    circuits: Circuits | None = None

    def run(self, request: RunRequest) -> Events:
        """The run event by event. `request` has its settings, configuration, keys and id. A failure is an event."""
        workspace = request.workspace
        started = ev.RunStarted(
            run_id=request.run_id or "",
            question=request.question[:QUESTION_CHARS],
            strategy=request.strategy,
            settings=request.effective_settings.model_dump(mode="json"),
            workspace=workspace.name if isinstance(workspace, Path) else workspace,
            started_at=datetime.now(UTC).isoformat(timespec="milliseconds"),
            via=request.via,
            client=named_client(request.client),
            wanted=request.wanted,
            conversation=request.conversation,
        )
        registered = self._register_in_flight(started)  # before its first event, so that a crash can be reported
        try:
            return (yield from self._execute(started, request))
        finally:
            if registered is not None:
                registered.in_flight.finish(started.run_id)

    def _register_in_flight(self, started: ev.RunStarted) -> Library | None:
        """The library that now lists the run as in flight. A row of an evaluation needs no entry: it is asked again."""
        if not started.via:
            return None
        work = InFlightJob(
            id=started.run_id,
            kind="run",
            label=started.question,
            at=started.started_at,
            first=event_to_json(started),
        )
        try:
            library = self.library()
            if library.exists and library.in_flight.start(work):
                return library
        except Exception as error:  # noqa: BLE001 - the run itself reports what is wrong, where it matters
            _log.info("no note of a run in flight: %s", type(error).__name__)
        return None

    def _execute(self, started: ev.RunStarted, request: RunRequest) -> Events:
        events: list[ev.Event] = []
        step: Step = "retrieve"
        library: Library | None = None
        ended: CragError | None = None
        config = request.config or AppConfig()
        cancel = request.cancel or threading.Event()
        emitter = EventEmitter()

        def seen(event: ev.Event) -> ev.Event:
            events.append(event)
            return event

        yield seen(started)
        ticket = None
        try:
            self.quotas.ask()
            ticket = self.queue.join(self.tenant)
            for before in ticket.wait(cancel):
                yield seen(ev.Queued(before=before, waited=emitter.now()))
            if len(events) > 1:
                yield seen(ev.Queued(before=0, waited=emitter.now()))
            emitter = EventEmitter()  # the time of waiting is not the run's
            request = replace(request, allowed=release_while_asking(request.allowed, cancel, ticket))
            question = check_question(request.question)
            standalone = "" if request.standalone is None else check_question(request.standalone)
            library = self.library()
            scope = None
            if request.retriever is None:
                scope = resolve_scope(library, request.effective_settings.where, emitter.now())
            if scope is not None:
                yield seen(scope)
            meter = UsageTracker(
                budget_of(config),
                cancel,
                lambda call: emitter.enqueue(ev.Called(call=call)),
                clock=self.clock,
                allowance=self.quotas,
                circuits=self.circuits,
            )
            local = self.local(config)
            parts, problems = build_pipeline(request, library, local, meter, emitter, self.given_web)
            for place, problem in problems:
                yield seen(ev.Failed.of(problem, place, emitter.now()))
            for event in run_graph(question, parts, tuple(request.history), standalone):
                if isinstance(event, ev.StepStarted):
                    step = event.step
                yield seen(event)
        except CancelledError as error:
            ended = error
            yield seen(ev.Cancelled(at=emitter.now()))
        except Exception as error:  # noqa: BLE001 - whatever a part raises, a run ends with RunFinished and is stored
            ended = _as_ours(error, step)
            yield seen(ev.Failed.of(ended, step, emitter.now(), fatal=True))
        finally:
            if ticket is not None:
                ticket.leave()
        finished = ev.RunFinished(at=emitter.now())
        trace = Trace.from_events([*events, finished])
        if library is not None:
            try:
                # A question that it holds nothing for makes no library that was not there.
                if library.exists or trace.failure is None or request.retriever is not None:
                    library.runs.save(trace, [*events, finished])
            except Exception as error:  # noqa: BLE001 - a run that can't be stored ends with RunFinished, too
                yield ev.Failed.of(_as_ours(error, step), step, emitter.now(), "not stored")
        self._tell(trace, events)
        yield finished
        return ended

    def _tell(self, trace: Trace, events: Sequence[ev.Event]) -> None:
        for watcher in (lambda each: export_spans(each, events), *self.watchers):
            try:
                watcher(trace)
            except Exception:  # noqa: BLE001 - a watcher must not end the run
                _log.exception("a watcher of runs failed")


def _as_ours(error: Exception, step: Step) -> CragError:
    """The error as ours; one that nobody expected is logged."""
    if isinstance(error, CragError):
        return error
    _log.error("the step %s failed", step, exc_info=error)
    return UnexpectedError(f"The step {step!r} failed with {type(error).__name__}.")
