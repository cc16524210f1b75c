"""What one run works with, and what its steps hand on."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Protocol, TypedDict

from crag.core import events as ev
from crag.core.errors import CragError
from crag.core.protocols import (
    Contextualizer,
    Generator,
    RetrievalEvaluator,
    Retriever,
    Rewriter,
    SetGrader,
    StripGrader,
)
from crag.core.settings import Settings
from crag.core.trace import Round
from crag.core.types import (
    Answer,
    Decision,
    Exchange,
    Grade,
    OutputMode,
    RetrievedChunk,
    SetGrade,
    Standalone,
    Step,
    Strip,
    WebPage,
)
from crag.evaluation.refinement import InContext, LlmStripSelector, OneByOne, StripScorer
from crag.generation.reading import WholeReader
from crag.generation.verification import CitationVerifier
from crag.pipeline.questions import LibraryQuestions, WholeAnswer
from crag.runtime.usage import UsageTracker


class EventEmitter:
    """Where a run's events go, with its clock. Shared by its steps and by the parts that stand in for others.

    `listener` hears each event, in the thread of the step that runs; the graph sets it.
    """

    def __init__(self) -> None:
        self._began = time.perf_counter()
        self._pending: deque[ev.Event] = deque()
        self.listener: Callable[[ev.Event], None] = lambda event: None

    def now(self) -> float:
        """Seconds since the run began."""
        return time.perf_counter() - self._began

    def emit(self, event: ev.Event) -> None:
        """Tells the listener, with the time."""
        self.listener(replace(event, at=self.now()))

    def enqueue(self, event: ev.Event) -> None:
        """For other threads than the step's: calls that ended, parts that stepped in."""
        self._pending.append(event)

    def emit_pending(self) -> None:
        """Emits what was put aside."""
        while self._pending:
            self.emit(self._pending.popleft())

    def worked_around(self, step: Step, error: CragError, instead: ev.FallbackAction, by: str = "") -> None:
        """Says that something failed, and what is done instead."""
        self.emit(ev.Failed.of(error, step, self.now(), instead, by))


class Searches(Protocol):
    """What searches the web for a run."""

    def search(self, query: str, max_results: int) -> ev.Searched | None:
        """What was found; None where nothing could be asked, which it has said. Raises CancelledError."""
        ...


@dataclass(frozen=True, kw_only=True)
class RunContext:
    """What one run works with. `web` is None where no provider is on.

    `contextualizer` is needed where a question follows on others. `questions` reads what was typed, and answers what is
    asked of a whole document; None: nothing is known of the library that is searched. `reader` words that with a model.

    `strip_evaluator` scores strips and web pages: where a chunk's grade is a call that costs, it is a local one.
    `strip_grader` scores strips in place; where there is none, or that is not asked for, they are graded one by one.
    `set_grader` grades chunks together, where it graded each of them; None: another evaluator does that.
    `store_grades` writes the run's new grades, at its end. `web_offered`: whether help where there is no answer offers
    the web; None: no help is given. `wanted` says what the run ends with.
    """

    settings: Settings
    retriever: Retriever
    evaluator: RetrievalEvaluator
    rewriter: Rewriter
    web: Searches | None
    generator: Generator
    verifier: CitationVerifier
    meter: UsageTracker = field(default_factory=UsageTracker)
    emitter: EventEmitter = field(default_factory=EventEmitter)
    strip_evaluator: RetrievalEvaluator | None = None
    strip_grader: StripGrader | None = None
    set_grader: SetGrader | None = None
    store_grades: Callable[[], None] = lambda: None
    selector: LlmStripSelector | None = None
    contextualizer: Contextualizer | None = None
    questions: LibraryQuestions | None = None
    reader: WholeReader | None = None
    web_offered: bool | None = None
    wanted: OutputMode = "answer"

    def now(self) -> float:
        """Seconds since the run began."""
        return self.emitter.now()

    def read(self, question: str) -> Standalone:
        """The question as it is read: with what was typed wrongly put right."""
        return self.questions.read(question) if self.questions else Standalone(question=question)

    def emit(self, event: ev.Event) -> None:
        """Tells the listener."""
        self.emitter.emit(event)

    def check(self) -> None:
        """Raises CancelledError once the person has pressed Stop."""
        self.meter.check()

    @property
    def scorer(self) -> RetrievalEvaluator:
        """What scores web pages, and strips one by one."""
        return self.strip_evaluator or self.evaluator

    @property
    def strip_scorer(self) -> StripScorer:
        """What scores strips."""
        if self.strip_grader and self.settings.strip_reading == "in place":
            return InContext(self.strip_grader)
        return OneByOne(self.scorer, self.check)


class State(TypedDict, total=False):
    """What the steps hand on. `round` counts retrievals from 0; `query` is what the library is asked next.

    `history` are the exchanges before the question, oldest first, and `standalone` what a person wants asked in its
    place; `read` is either as it is read, and `question` the one in effect.

    `retrieved` is what the last retrieval brought, `rounds` are those whose action is known, and `acted` the chunks
    that are acted on; `grades` has theirs. `whole`: the answer, where the question is about a whole document.
    """

    question: str
    history: tuple[Exchange, ...]
    standalone: str
    read: Standalone
    query: str
    round: int
    tried: tuple[str, ...]
    retrieved: tuple[RetrievedChunk, ...]
    rounds: tuple[Round, ...]
    acted: tuple[RetrievedChunk, ...]
    grades: dict[str, Grade]
    joint: Grade | None
    together: SetGrade | None
    decision: Decision | None
    strips: tuple[Strip, ...]
    web_query: str
    pages: tuple[WebPage, ...]
    web_strips: tuple[Strip, ...]
    whole: WholeAnswer
    answer: Answer
