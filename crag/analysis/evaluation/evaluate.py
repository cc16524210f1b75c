"""Question sets asked under a strategy: every result is stored as it comes, and what was broken off goes on."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from pydantic import TypeAdapter, ValidationError

import crag
from crag.analysis.evaluation.asking import EvaluationRun, Progress
from crag.analysis.metrics.metrics import ResultRow
from crag.analysis.metrics.results import rows_from_json
from crag.analysis.questions.sets import Question, QuestionSet
from crag.core.config import AppConfig
from crag.core.errors import CragError, EmptyLibraryError, InputError, QuotaError, StorageError
from crag.core.events import Event
from crag.core.keys import Keys
from crag.core.request import RunRequest
from crag.core.settings import Settings
from crag.core.strategies import strategy as strategy_named
from crag.core.trace import Trace
from crag.engine import Engine, Workspace
from crag.messages.wording import stored_sentence
from crag.pipeline.executor import Events
from crag.pipeline.status import parts_in_words
from crag.providers.costs import Spent, of_day, sum_spent
from crag.providers.prices import Price
from crag.storage.evaluations import EvaluationRecord
from crag.storage.library import Library

__all__ = [
    "Evaluation",
    "Progress",
    "add_set",
    "evaluate",
    "evaluations",
    "question_set",
    "rows",
    "spending",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluation:
    """One strategy with its settings over one set: `done` of its `questions` have a result.

    `parts` says in words what searched, graded and wrote: models and host names, never a key. Times are ISO 8601,
    UTC; `finished_at` is "" while it is not finished.
    """

    id: str
    set_id: str
    set_name: str
    strategy: str
    settings: Settings
    parts: str
    questions: int
    done: int
    started_at: str
    finished_at: str


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
    """Made from the questions alone, written as one list in JSON; one at a time, so that no second copy is held."""
    digest = hashlib.sha256(b"[")
    for place, each in enumerate(questions.questions):
        digest.update(b"," if place else b"")
        digest.update(_QUESTION.dump_json(each))
    digest.update(b"]")
    return digest.hexdigest()[:32]


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
    texts = library.evaluations.results(evaluation_id)
    try:
        return rows_from_json(f"[{','.join(texts)}]")
    except ValidationError:
        return tuple(_row(text) for text in texts)


def spending(library: Library, evaluation_id: str, prices: Mapping[str, Price]) -> Spent:
    """What the outside calls of all its runs took, also of runs deleted since. Raises NotFoundError."""
    return sum_spent(of_day(sums, prices) for sums in library.evaluations.spending(evaluation_id))


def _row(text: str) -> ResultRow:
    try:
        return rows_from_json(f"[{text}]")[0]
    except ValidationError:
        values = json.loads(text)
        return ResultRow(
            question_id=str(values.get("question_id", "")),
            question=str(values.get("question", "")),
            strategy=str(values.get("strategy", "")),
            run_id=str(values.get("run_id", "")),
            problem="This result was stored by another version of this program and can't be read.",
        )


def _evaluation(record: EvaluationRecord) -> Evaluation:
    """What this build can't read of its settings, `parts` says."""
    stored = Settings.stored(json.loads(record.settings))
    return Evaluation(
        id=record.id,
        set_id=record.set_id,
        set_name=record.set_name,
        strategy=record.strategy,
        settings=stored.settings,
        parts=f"{record.parts} {stored_sentence(stored)}".strip(),
        questions=record.questions,
        done=record.done,
        started_at=record.started_at,
        finished_at=record.finished_at,
    )


# ---- evaluating ----------------------------------------------------------------------------------------------------


def evaluate(
    engine: Engine,
    set_id: str,
    strategy: str,
    workspace: Workspace = "default",
    *,
    settings: Settings | None = None,
    config: AppConfig | None = None,
    keys: Keys | None = None,
    allowed: Callable[[str], bool] | None = None,
    cancel: threading.Event | None = None,
    anew: bool = False,
    finished_too: bool = False,
) -> Iterator[Progress]:
    """Ask a set's questions in order, each result stored before it is told of.

    Goes on with the unfinished evaluation of the same set, strategy, settings, parts and documents, unless `anew`;
    else starts one. With `finished_too`, the latest one that is finished is left as it is: its start is all that is
    told. A run that was stored whole without its result is measured, not asked again. `cancel` ends it
    after what is whole: a stopped run is no result. A failed run is one, with its problem; but after
    FAILURES_IN_A_ROW that fail in the same way it stops with a CragError, and forgets the results of those.
    Several processes may evaluate the same at once: they share the work, and no question gets two results.

    The rest is as for `Engine.ask`. Raises, before any event, NotFoundError for no such set, SettingsError,
    EmptyLibraryError, ModelMismatchError, and ProviderError for a service that is chosen and can't be used.
    """
    chosen = settings or strategy_named(strategy).settings
    config, keys, stop = config or engine.config, keys or engine.keys, cancel or threading.Event()
    library = engine.library(workspace)
    questions = dict(enumerate(question_set(library, set_id).questions, start=1))
    if not library.size[1]:
        raise EmptyLibraryError("The library holds no documents yet.")
    library.check_model()
    parts = _parts(engine, library, chosen, config, keys)
    stored = chosen.model_dump_json()
    key = hashlib.sha256(
        json.dumps([crag.__version__, set_id, strategy, stored, parts, _documents(library)]).encode()
    ).hexdigest()

    def ask(question: str, run_id: str) -> Trace:
        while True:
            try:
                return _fold_run(
                    engine.ask(
                        RunRequest(
                            question,
                            strategy,
                            workspace,
                            settings=chosen,
                            config=config,
                            keys=keys,
                            allowed=allowed,
                            cancel=stop,
                            run_id=run_id,
                        )
                    )
                )
            except QuotaError as error:  # more questions a minute than may be: it has time
                if stop.wait(error.retry_after):
                    return Trace(cancelled=True)

    def events() -> Iterator[Progress]:
        begun = library.evaluations.begin(
            set_id, strategy, settings=stored, parts=parts, key=key, anew=anew, finished_too=finished_too
        )
        yield from EvaluationRun(library, begun.id, strategy, questions, ask, stop).events()

    return events()


def _parts(engine: Engine, library: Library, settings: Settings, config: AppConfig, keys: Keys) -> str:
    wiring = engine.wiring(config, keys, settings)
    words = parts_in_words(settings, wiring, evaluator=engine.evaluator.id, generator=engine.generator.by)
    documents = library.documents.count()
    return f"{documents} document{'' if documents == 1 else 's'}, retrieved with {engine.embedder.id}. {words}"


def _documents(library: Library) -> list[str]:
    """What tells one state of the library from another: its documents' ids, which are made from their content."""
    return sorted(document.id for document in library.documents.all())


_QUESTION: TypeAdapter[Question] = TypeAdapter(Question)
_SET: TypeAdapter[QuestionSet] = TypeAdapter(QuestionSet)


def _fold_run(run: Events) -> Trace:
    """The whole run. Raises QuotaError where it was not let in."""
    ended: CragError | None = None

    def events() -> Iterator[Event]:
        nonlocal ended
        ended = yield from run

    trace = Trace.from_events(events())
    if isinstance(ended, QuotaError):
        raise ended
    return trace
