"""Asks the questions of one evaluation that have no result yet, and stores each result as it comes."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

from crag.analysis.metrics.metrics import ResultRow, measure_run
from crag.analysis.metrics.results import rows_to_json
from crag.analysis.questions.sets import QUESTION_CHARS, Question
from crag.core.errors import CragError
from crag.core.makers import Maker
from crag.core.trace import Trace
from crag.messages.wording import about
from crag.storage.library import Library

FAILURES_IN_A_ROW = 5
"""Questions that fail one after another in the same way before an evaluation stops."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """One event of a running evaluation: the result that has just been stored. `row` None: the start.

    `done` of `total` questions have a result, also those that were asked before it was broken off.
    """

    evaluation: str
    strategy: str
    done: int
    total: int
    row: ResultRow | None = None


@dataclass(slots=True)
class EvaluationRun:
    """One process at work on one evaluation; others may be at work on it too. `questions` by place, from 1."""

    library: Library
    id: str
    strategy: str
    questions: dict[int, Question]
    ask: Callable[[str, str], Trace]
    cancel: threading.Event

    def events(self) -> Iterator[Progress]:
        """The start, then every result as it is stored. Raises CragError as `evaluate` does."""
        store = self.library.evaluations
        done = set(store.places(self.id))
        waiting = [place for place in reversed(self.questions) if place not in done]
        streak = _Streak()
        self._finish_if_whole(len(done))
        yield self._progress(len(done), None)
        while waiting and not self.cancel.is_set():
            place = waiting.pop()
            if not store.has_result(self.id, place):
                trace = self._trace(place)
                if trace.cancelled:
                    return
                row = self._measured(trace, self.questions[place])
                if store.save_result(self.id, place, rows_to_json([row])[1:-1]):
                    self._stop_if_broken(streak, place, trace)
                    done.add(place)
                    self._finish_if_whole(len(done))
                    yield self._progress(len(done), row)
                    continue
            # Another process was first: see what is left, and take it in another order than that process does.
            done = set(store.places(self.id))
            waiting = [each for each in waiting if each not in done]
            random.shuffle(waiting)
            self._finish_if_whole(len(done))

    def _finish_if_whole(self, done: int) -> None:
        store = self.library.evaluations
        if done == len(self.questions) == len(store.places(self.id)):
            store.finish(self.id)

    def _progress(self, done: int, row: ResultRow | None) -> Progress:
        return Progress(evaluation=self.id, strategy=self.strategy, done=done, total=len(self.questions), row=row)

    def _trace(self, place: int) -> Trace:
        """The run of a question: the one stored whole before a kill, or a new one."""
        run_id = f"{self.id}-{place}"
        for stored in self.library.runs.traces([run_id]):
            if isinstance(stored, Trace) and stored.finished and not stored.cancelled and not stored.failure:
                return stored
        return self.ask(self.questions[place].question, run_id)

    def _measured(self, trace: Trace, question: Question) -> ResultRow:
        row = measure_run(trace, question)
        return row if _askable(question) else replace(row, run_id="")  # what is refused leaves no run

    def _stop_if_broken(self, streak: _Streak, place: int, trace: Trace) -> None:
        """Raises CragError where the latest questions all failed in the same way; they are to be asked again."""
        if _askable(self.questions[place]):
            streak.add(place, _failures(trace))
        if len(streak.places) < FAILURES_IN_A_ROW:
            return
        self.library.evaluations.drop_results(self.id, streak.places)
        message, remedy = next(iter(streak.shared.values()))
        raise CragError(
            f"Stopped, because {FAILURES_IN_A_ROW} questions in a row failed in the same way: {message}",
            f"{remedy} Then evaluate again: what was done before is kept, and it goes on from there.",
        )


_Failures = dict[tuple[str, ...], tuple[str, str]]
"""Message and remedy by what kind of failure it was."""


@dataclass(slots=True)
class _Streak:
    """The latest questions that failed alike, and the failures all of them share: words and remedy by kind."""

    places: list[int] = field(default_factory=list)
    shared: _Failures = field(default_factory=dict)

    def add(self, place: int, failures: _Failures) -> None:
        both = {kind: said for kind, said in failures.items() if kind in self.shared}
        if both:
            self.places, self.shared = [*self.places, place], both
        else:
            self.places, self.shared = [place] if failures else [], failures


def _failures(trace: Trace) -> _Failures:
    """What was of no use in a run: its own failure, a search that found no way out, a service that never replied.

    A person's no to a query is none of these.
    """
    found: _Failures = {}
    refused = any(approval.approved is False for approval in trace.approvals)
    for failure in trace.failures:
        if failure.fatal or (failure.step == "search" and not trace.searches and not refused):
            said = about(failure.cause, failure.who)
            found["failed", said] = (said, failure.remedy)
        if failure.reason == "limit":  # of the day: what stood in would be measured in place of what was chosen
            found["limit", failure.cause] = (failure.cause, failure.remedy)
        if failure.reason == "resting" and failure.step != "search":  # other runs found that it does not reply
            found["never replied", Maker.of(failure.who).provider] = (about(failure.cause, failure.who), failure.remedy)
    calls = [call for call in trace.calls if call.step != "search"]
    for provider in {call.provider for call in calls}:
        made = [call for call in calls if call.provider == provider]
        if all(call.error for call in made):
            found["never replied", provider] = (about(made[-1].error, made[-1].who), "Check the provider in Settings.")
    return found


def _askable(question: Question) -> bool:
    """Whether the engine takes it; what it does not take says nothing of the services."""
    return 0 < len(question.question.strip()) <= QUESTION_CHARS
