"""One run from its first event to its last: it waits for its turn, goes through the graph, and is stored."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from crag.admin.quotas import Admission
from crag.core import events as ev
from crag.core.config import AppConfig
from crag.core.errors import CancelledError, CragError, UnexpectedError
from crag.core.trace import Trace
from crag.core.types import Step
from crag.pipeline.admission import check_question, lending, storable
from crag.pipeline.build import Asked, Local, build_pipeline
from crag.pipeline.scoping import resolve_scope
from crag.pipeline.tracing import export_spans
from crag.runtime.eventlog import event_to_json
from crag.runtime.fair_queue import FairQueue
from crag.storage.in_flight import InFlightJob
from crag.storage.library import Library

_log = logging.getLogger(__name__)

Events = Generator[ev.Event, None, CragError | None]
"""A run as it happens; what it returns is the error that ended it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunExecutor:
    """What a run needs of the engine that it belongs to.

    `turns` is its queue, `admission` what lets it in, `library` opens what it is asked of, and `local` says which parts
    of this machine it has under a configuration. `given_web` names a web that the engine was given. `watchers` are told
    of its end.
    """

    turns: FairQueue
    admission: Admission
    library: Callable[[], Library]
    local: Callable[[AppConfig], Local]
    given_web: str = ""
    watchers: Sequence[Callable[[Trace], None]] = ()

    def run(self, started: ev.RunStarted, question: str, asked: Asked) -> Events:
        """The run event by event. What fails, it tells; it raises nothing."""
        noted = self._noted(started)  # first of all: of what somebody was told of, a kill leaves a trace
        try:
            return (yield from self._lived(started, question, asked))
        finally:
            if noted is not None:
                noted.begun.over(started.run_id)

    def _noted(self, started: ev.RunStarted) -> Library | None:
        """The library, where it now holds a note of the run. A row of an evaluation needs none: it is asked again."""
        if not started.via:
            return None
        work = InFlightJob(
            id=started.run_id,
            kind="run",
            label=started.question,
            at=started.started_at,
            first=event_to_json(started),
        )
        with suppress(CragError):  # what is the matter is told by the run itself, where it matters
            library = self.library()
            if library.made and library.begun.note(work):
                return library
        return None

    def _lived(self, started: ev.RunStarted, question: str, asked: Asked) -> Events:
        from crag.pipeline.graph import run_graph  # LangGraph takes most of a second to load; only a run needs it

        events: list[ev.Event] = []
        step: Step = "retrieve"
        library: Library | None = None
        ended: CragError | None = None

        def seen(event: ev.Event) -> ev.Event:
            events.append(event)
            return event

        def now() -> float:
            return time.perf_counter() - asked.began

        yield seen(started)
        turn = None
        try:
            self.admission.admit()
            turn = self.turns.join(self.admission.party, self.admission.each)
            for before in turn.wait(asked.cancel):
                yield seen(ev.Queued(before=before, waited=now()))
            if len(events) > 1:
                yield seen(ev.Queued(before=0, waited=now()))
            allowed = lending(asked.allowed, asked.cancel, turn)
            asked = replace(asked, began=time.perf_counter(), allowed=allowed, allowance=self.admission.purse)
            said = check_question(question)
            instead = "" if asked.standalone is None else check_question(storable(asked.standalone))
            library = self.library()
            local = self.local(asked.config)
            scope = None if asked.retriever else resolve_scope(library, asked.settings.where, now())
            if scope is not None:
                yield seen(scope)
            parts, problems = build_pipeline(asked, library, local, self.given_web)
            for place, problem in problems:
                yield seen(ev.Failed.of(problem, place, now()))
            for event in run_graph(said, parts, asked.history, instead):
                if isinstance(event, ev.StepStarted):
                    step = event.step
                yield seen(event)
        except CancelledError as error:
            ended = error
            yield seen(ev.Cancelled(at=now()))
        except CragError as error:
            ended = error
            yield seen(ev.Failed.of(error, step, now(), fatal=True))
        except Exception as error:  # noqa: BLE001 - whatever a part raises, a run ends with RunFinished and is stored
            _log.exception("the step %s failed", step)
            ended = UnexpectedError(f"The step {step!r} failed with {type(error).__name__}.")
            yield seen(ev.Failed.of(ended, step, now(), fatal=True))
        finally:
            if turn is not None:
                turn.leave()
            self.admission.purse.settle()
        finished = ev.RunFinished(at=now())
        trace = Trace.from_events([*events, finished])
        if library is not None:
            try:
                # A question that it holds nothing for makes no library that was not there.
                if library.made or trace.failure is None or asked.retriever is not None:
                    library.runs.save(trace, [*events, finished])
            except CragError as error:
                yield ev.Failed.of(error, step, now(), "not stored")
            export_spans(trace, events)
        self._tell(trace)
        yield finished
        return ended

    def _tell(self, trace: Trace) -> None:
        for watcher in self.watchers:
            try:
                watcher(trace)
            except Exception:  # noqa: BLE001 - whoever watches must not end the run
                _log.exception("a watcher of runs failed")
