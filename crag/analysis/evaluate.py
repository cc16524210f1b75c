"""Question sets asked under a strategy: every result is stored as it comes, and what was broken off goes on."""

from __future__ import annotations

import hashlib
import json
import random
import threading
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field, replace

from pydantic import TypeAdapter, ValidationError

from crag.analysis.metrics.metrics import ResultRow, measure_run
from crag.analysis.metrics.results import row_from_json, row_to_json
from crag.analysis.questions.sets import QUESTION_CHARS, Question, QuestionSet
from crag.core import __version__
from crag.core.config import AppConfig, Keys
from crag.core.errors import CragError, EmptyLibraryError, InputError, QuotaError, StorageError
from crag.core.model_ids import Maker, about
from crag.core.protocols import RunRequest
from crag.core.settings import Settings, StoredSettings
from crag.core.trace import Trace
from crag.engine import Engine
from crag.pipeline.resolve import problem
from crag.providers.prices import Prices, Spent, of_day, sum_spent
from crag.providers.registry import LOCAL
from crag.storage.evaluations import EvaluationRecord
from crag.storage.library import Library
from crag.web.folder import FOLDER

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
    """One process at work on one evaluation; others may be at work on it too. `questions` by place, from 1; `latest`:
    the last of those that it asked, each with its failures.
    """

    library: Library
    id: str
    strategy: str
    questions: dict[int, Question]
    ask: Callable[[str, str], Trace]
    cancel: threading.Event
    latest: deque[tuple[int, _Failures]] = field(default_factory=lambda: deque(maxlen=FAILURES_IN_A_ROW))

    def events(self) -> Iterator[Progress]:
        """The start, then every result as it is stored. Raises CragError as `evaluate` does."""
        store = self.library.evaluations
        done = set(store.places(self.id))
        waiting = [place for place in reversed(self.questions) if place not in done]
        self._finish_if_whole(len(done))
        yield self._progress(len(done), None)
        while waiting and not self.cancel.is_set():
            place = waiting.pop()
            if not store.has_result(self.id, place):
                trace = self._trace(place)
                if trace.cancelled:
                    return
                row = self._measured(trace, self.questions[place])
                if store.save_result(self.id, place, row_to_json(row)):
                    self._stop_if_broken(place, trace)
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
        for stored in self.library.runs.readable([run_id]):
            if stored.finished and not stored.cancelled and not stored.failure:
                return stored
        return self.ask(self.questions[place].question, run_id)

    def _measured(self, trace: Trace, question: Question) -> ResultRow:
        row = measure_run(trace, question)
        return row if _askable(question) else replace(row, run_id="")  # what is refused leaves no run

    def _stop_if_broken(self, place: int, trace: Trace) -> None:
        """Raises CragError where the latest questions all failed in the same way; they are to be asked again."""
        if not _askable(self.questions[place]):
            return
        self.latest.append((place, _failures(trace)))
        places, failures = zip(*self.latest, strict=True)
        shared = [error for kind, error in failures[-1].items() if all(kind in each for each in failures)]
        if len(places) < FAILURES_IN_A_ROW or not shared:
            return
        self.library.evaluations.drop_results(self.id, places)
        raise CragError(
            f"Stopped, because {FAILURES_IN_A_ROW} questions in a row failed in the same way: {shared[0].message}",
            f"{shared[0].remedy} Then evaluate again: what was done before is kept, and it goes on from there.",
        )


_Failures = dict[tuple[str, ...], CragError]
"""By what kind of failure it was."""


def _failures(trace: Trace) -> _Failures:
    """What was of no use in a run: its own failure, a search that found no way out, a service that never replied.

    A person's no to a query is none of these.
    """
    found: _Failures = {}
    refused = any(approval.approved is False for approval in trace.approvals)
    for failure in trace.failures:
        if failure.fatal or (failure.step == "search" and not trace.searches and not refused):
            said = about(failure.cause, failure.who)
            found["failed", said] = CragError(said, failure.remedy)
        if failure.reason == "limit":  # of the day: what stood in would be measured in place of what was chosen
            found["limit", failure.cause] = CragError(failure.cause, failure.remedy)
        if failure.reason == "resting" and failure.step != "search":  # other runs found that it does not reply
            rested = CragError(about(failure.cause, failure.who), failure.remedy)
            found["never replied", Maker.of(failure.who).provider] = rested
    calls = [call for call in trace.calls if call.step != "search"]
    for provider in {call.provider for call in calls}:
        made = [call for call in calls if call.provider == provider]
        if all(call.error for call in made):
            silent = about(made[-1].error, made[-1].who)
            found["never replied", provider] = CragError(silent, "Check the provider in Settings.")
    return found


def _askable(question: Question) -> bool:
    """Whether the engine takes it; what it does not take says nothing of the services."""
    return 0 < len(question.question.strip()) <= QUESTION_CHARS


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """What an evaluation ran with: ids of models with their hosts, never a key.

    `grader` is empty where nothing is graded; `webs` are None where the strategy searches none. `version` is that of
    the documents, "" where another version of this program did not record it.
    """

    documents: int
    embedder: str
    grader: str
    writer: str
    webs: tuple[str, ...] | None
    version: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluation:
    """One strategy with its settings over one set: `done` of its `questions` have a result.

    `parts` says what searched, graded and wrote; None where another version stored it. Times are ISO 8601,
    UTC; `finished_at` is "" while it is not finished.
    """

    id: str
    set_id: str
    set_name: str
    strategy: str
    stored: StoredSettings
    parts: Parts | None
    questions: int
    done: int
    started_at: str
    finished_at: str

    @property
    def settings(self) -> Settings:
        """The settings as far as this build can read them."""
        return self.stored.settings


# ---- sets ----------------------------------------------------------------------------------------------------------


def add_set(library: Library, questions: QuestionSet) -> str:
    """Store a set; its id. The same questions are stored once, under the latest name. InputError for no question."""
    if not questions.questions:
        raise InputError(f"{questions.name} holds no question that can be asked.", "Correct the rows named above.")
    id = _id_of(questions)
    content = _SET.dump_json(questions).decode()
    counts = len(questions.questions), len(questions.problems)
    library.evaluations.save_set(id, questions.name, questions.kind, *counts, content)
    return id


def _id_of(questions: QuestionSet) -> str:
    """Made from the questions alone."""
    return hashlib.sha256(_QUESTIONS.dump_json(questions.questions)).hexdigest()[:32]


def question_set(library: Library, id: str) -> QuestionSet:
    """Raises NotFoundError, and StorageError for a set of another version that can't be read."""
    try:
        return _SET.validate_json(library.evaluations.set_content(id))
    except ValidationError as error:
        raise StorageError(
            "This question set was stored by another version of this program and can't be read.", "Load its file again."
        ) from error


# ---- results -------------------------------------------------------------------------------------------------------


def evaluations(library: Library) -> list[Evaluation]:
    """Newest first."""
    return [_evaluation(record) for record in library.evaluations.all()]


def rows(library: Library, evaluation_id: str) -> tuple[ResultRow, ...]:
    """What is done of an evaluation, in the set's order. Raises NotFoundError.

    A row's run may have been deleted since. A result of another version that can't be read is a row that says so.
    """
    return tuple(map(_row, library.evaluations.results(evaluation_id)))


def spending(library: Library, evaluation_id: str, prices: Prices) -> Spent:
    """What the outside calls of all its runs took, also of runs deleted since. Raises NotFoundError."""
    return sum_spent(of_day(sums, prices) for sums in library.evaluations.spending(evaluation_id))


def _row(text: str) -> ResultRow:
    try:
        return row_from_json(text)
    except ValidationError:
        values = json.loads(text)
        return ResultRow(
            question_id=str(values.get("question_id", "")),
            question=str(values.get("question", "")),
            strategy=str(values.get("strategy", "")),
            run_id=str(values.get("run_id", "")),
            problem="Another version stored this result, and it can't be read.",
        )


def _evaluation(record: EvaluationRecord) -> Evaluation:
    same = asdict(record)
    stored = Settings.stored(json.loads(same.pop("settings")))
    return Evaluation(**same | {"stored": stored, "parts": _read_parts(record.parts)})


# ---- evaluating ----------------------------------------------------------------------------------------------------


def evaluate(
    engine: Engine, set_id: str, request: RunRequest, *, restart: bool = False, finished_too: bool = False
) -> Iterator[Progress]:
    """Ask a set's questions in order, each result stored before it is yielded.

    Goes on with the unfinished evaluation of the same set, strategy, settings, parts and documents, unless `restart`;
    else starts one. With `finished_too`, the latest one that is finished is left as it is: its start is all that is
    reported. A run that was stored whole without its result is measured, not asked again. `cancel` ends it
    after what is whole: a stopped run is no result. A failed run is one, with its problem; but after
    FAILURES_IN_A_ROW that fail in the same way it stops with a CragError, and forgets the results of those.
    Several processes may evaluate the same at once: they share the work, and no question gets two results.

    `request` says how each question is asked; its own question and run id are replaced. Raises, before any event,
    NotFoundError for no such set, SettingsError, EmptyLibraryError, ModelMismatchError, and ProviderError for a
    service that is chosen and can't be used.
    """
    request = engine.resolve_strategy(request)
    stop = request.cancel or threading.Event()
    config, keys = request.config or engine.config, request.keys or engine.keys
    asked = replace(request, settings=request.effective_settings, config=config, keys=keys, cancel=stop)
    library = engine.library(request.workspace)
    questions = dict(enumerate(question_set(library, set_id).questions, start=1))
    if not library.size[1]:
        raise EmptyLibraryError("The library holds no documents yet.")
    library.check_model()
    parts = _PARTS.dump_json(_parts(engine, library, request.effective_settings, config, keys)).decode()
    stored = request.effective_settings.model_dump_json()
    key = hashlib.sha256(json.dumps([__version__, set_id, request.strategy, stored, parts]).encode()).hexdigest()

    def ask(question: str, run_id: str) -> Trace:
        while True:
            trace, ended = Trace.from_run(engine.ask(replace(asked, question=question, run_id=run_id)))
            if not isinstance(ended, QuotaError):
                return trace
            if stop.wait(ended.retry_after):  # more questions a minute than may be: it has time
                return Trace(cancelled=True)

    def events() -> Iterator[Progress]:
        opened = library.evaluations.begin(
            set_id, request.strategy, settings=stored, parts=parts, key=key, restart=restart, finished_too=finished_too
        )
        yield from EvaluationRun(library, opened.id, request.strategy, questions, ask, stop).events()

    return events()


def _parts(engine: Engine, library: Library, settings: Settings, config: AppConfig, keys: Keys) -> Parts:
    """Raises ProviderError for a service that is chosen and can't be used: another one would be measured then."""
    plan = engine.resolve_providers(config, keys, settings)
    if plan.missing:
        raise problem(plan.missing[0])
    grader = plan.grader.endpoint.id if plan.grader.provider != LOCAL else engine.evaluator.id
    webs = tuple(f"folder {plan.pages}" if web.provider == FOLDER else web.provider.name for web in plan.webs)
    return Parts(
        documents=library.documents.count(),
        embedder=engine.embedder.id,
        grader="" if settings.evaluator == "none" else grader,
        writer=plan.writer.endpoint.id if plan.writer else engine.generator.by,
        webs=webs if settings.web_on else None,
        version=library.documents.content_hash(),
    )


def _read_parts(text: str) -> Parts | None:
    try:
        return _PARTS.validate_json(text)
    except ValidationError:
        return None


_PARTS: TypeAdapter[Parts] = TypeAdapter(Parts)
_QUESTIONS: TypeAdapter[tuple[Question, ...]] = TypeAdapter(tuple[Question, ...])
_SET: TypeAdapter[QuestionSet] = TypeAdapter(QuestionSet)
