"""What one run works with, and what its steps hand on."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TypedDict

from crag.core import events as ev
from crag.core.errors import CancelledError, CragError
from crag.core.meter import Meter
from crag.core.protocols import (
    Generator,
    Refiner,
    RetrievalEvaluator,
    Retriever,
    Rewriter,
    SearchCache,
    StripSelector,
    Verifier,
    WebSearch,
)
from crag.core.settings import Settings
from crag.core.types import Answer, Decision, Grade, RetrievedChunk, Step, Strip, WebPage

__all__ = ["Parts", "State", "worked_around"]


@dataclass(frozen=True, kw_only=True)
class Parts:
    """What one run works with. `web` is None where no provider is on; `emit` hands an event to the listener
    and is set by the graph. `began` is `time.perf_counter()` at the start.

    The spare parts step in where the first one fails, in order. `strip_evaluator` scores strips and web pages: where
    a chunk's grade is a call that costs, it is a local one. `allowed` is asked before a query leaves this machine;
    None: none is. `pending` holds events that other threads have put there; the graph emits them.
    """

    settings: Settings
    retriever: Retriever
    evaluator: RetrievalEvaluator
    refiner: Refiner
    rewriter: Rewriter
    web: WebSearch | None
    generator: Generator
    verifier: Verifier
    cancel: threading.Event
    began: float
    meter: Meter = field(default_factory=Meter)
    spare_rewriter: Rewriter | None = None
    spare_webs: tuple[WebSearch, ...] = ()
    spare_generator: Generator | None = None
    strip_evaluator: RetrievalEvaluator | None = None
    selector: StripSelector | None = None
    search_cache: SearchCache | None = None
    search_cache_hours: float = 0.0
    allowed: Callable[[str], bool] | None = None
    pending: deque[ev.Event] = field(default_factory=deque)
    emit: Callable[[ev.Event], None] = field(default=lambda event: None)

    def now(self) -> float:
        """Seconds since the run began."""
        return time.perf_counter() - self.began

    def emit_pending(self) -> None:
        """Emits what other threads have put aside: calls that ended, parts that stepped in."""
        while self.pending:
            self.emit(replace(self.pending.popleft(), at=self.now()))

    @property
    def scorer(self) -> RetrievalEvaluator:
        """What scores strips."""
        return self.strip_evaluator or self.evaluator

    def worked_around(self, step: Step, error: CragError, instead: str) -> None:
        """Says that something failed, and what is done instead."""
        self.emit(worked_around(step, error, instead, self.now()))

    def check(self) -> None:
        """Raises CancelledError once the person has pressed Stop."""
        if self.cancel.is_set():
            raise CancelledError("The run was stopped.")


class State(TypedDict, total=False):
    """What the steps hand on. `round` counts retrievals from 0; `query` is what the library is asked next."""

    question: str
    query: str
    round: int
    tried: tuple[str, ...]
    retrieved: tuple[RetrievedChunk, ...]
    grades: dict[str, Grade]
    joint: Grade | None
    decision: Decision | None
    strips: tuple[Strip, ...]
    web_query: str
    pages: tuple[WebPage, ...]
    web_strips: tuple[Strip, ...]
    answer: Answer


def worked_around(step: Step, error: CragError, instead: str, at: float) -> ev.Failed:
    """The event that says that something failed, and what is done instead."""
    return ev.Failed(step=step, message=f"{error.message} {instead}", remedy=error.remedy, instead=instead, at=at)
