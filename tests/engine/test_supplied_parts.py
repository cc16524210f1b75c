"""A part that another program supplies and that raises or returns nonsense ends as a failed step with its name."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from crag.core import events as ev
from crag.core.config import AppConfig
from crag.core.protocols import RunRequest
from crag.core.settings import Settings
from crag.core.strategies import STRATEGIES
from crag.core.trace import Trace
from crag.core.types import Answer, Grade, Passage, RetrievedChunk, WebPage
from crag.testing.fakes import FixedWeb, chunk_of
from tests.support.small_library import WordEmbedder, engine_with_texts

QUESTION = "How long did hiring take in 2019?"
Make = Callable[..., Any]


def fail(*_: object) -> Any:
    raise KeyError("anything")


def forged(kind: type, made: Any, **fields: object) -> Any:
    """A value with fields that its own checks would refuse."""
    copy = object.__new__(kind)
    for name in kind.__dataclass_fields__:  # type: ignore[attr-defined]
        object.__setattr__(copy, name, fields.get(name, getattr(made, name)))
    return copy


GRADE = Grade(passage_id="", score=0.9)
CHUNK = RetrievedChunk(chunk=chunk_of("Hiring took eighty days."), rank=1, similarity=0.5)
PAGE = WebPage(
    id="p", url="https://example.org/", title="Hiring", text="Hiring took ninety days.", provider="x", rank=1, query="q"
)


class Part:
    """Every kind of part at once. `make` gives what it returns."""

    id = by = name = "broken-part"
    calls_models = leaves = False
    problems = ()

    def __init__(self, make: Make) -> None:
        self._make = make

    def grade(self, question: str, passages: Sequence[Passage]) -> Any:
        return self._make(passages)

    def grade_joint(self, question: str, passages: Sequence[Passage]) -> Any:
        return self._make(passages)

    def search(self, query: str, k: int) -> Any:
        return self._make(query)

    def rewrite(self, question: str, **how: object) -> Any:
        return self._make(question)

    def answer(self, question: str, knowledge: object, sources: object, settings: Settings) -> Any:
        return self._make(question)


def late(question: str) -> Iterator[Any]:
    yield "A piece. "
    raise RuntimeError("in the middle")


BROKEN: dict[tuple[str, str], Make] = {
    ("evaluator", "raises"): fail,
    ("evaluator", "no grades"): lambda passages: iter([]),
    ("evaluator", "nan"): lambda passages: [
        forged(Grade, GRADE, passage_id=each.id, score=float("nan")) for each in passages
    ],
    ("evaluator", "out of range"): lambda passages: [
        forged(Grade, GRADE, passage_id=each.id, score=7.0) for each in passages
    ],
    ("rewriter", "raises"): fail,
    ("rewriter", "empty"): lambda question: " ",
    ("web", "raises"): fail,
    ("web", "no text"): lambda query: [forged(WebPage, PAGE, text=None)],
    ("generator", "raises late"): late,
    ("generator", "nothing"): lambda question: iter([]),
    ("generator", "no answer"): lambda question: iter([forged(Answer, Answer(text="x"), text=None)]),
    ("retriever", "none"): lambda query: None,
    ("retriever", "nan"): lambda query: [forged(RetrievedChunk, CHUNK, similarity=float("nan"))],
}
STEPS = {
    "evaluator": "evaluate",
    "rewriter": "rewrite",
    "web": "search",
    "generator": "answer",
    "retriever": "retrieve",
}


def asked(folder: Path, kind: str, part: Any) -> tuple[list[ev.Event], Trace]:
    """The events of a run with that part, and the run as it is stored."""
    parts: dict[str, Any] = {}
    how: dict[str, Any] = {}
    if kind == "rewriter":
        parts["web"] = FixedWeb(texts=["Hiring took ninety days."])
    if kind == "retriever":
        how["retriever"] = part
    else:
        parts[kind] = part
    with engine_with_texts(AppConfig.of(data=folder), lambda text: 0.3, **parts) as engine:
        settings = STRATEGIES["balanced"].settings
        events = list(engine.ask(RunRequest(QUESTION, settings=settings, **how)))
        started = events[0]
        assert isinstance(started, ev.RunStarted)
        return events, engine.library().runs.trace(started.run_id)


@pytest.mark.parametrize(("kind", "how"), BROKEN)
def test_a_part_that_fails_or_returns_nonsense_is_a_failed_step_with_its_name(
    tmp_path: Path, kind: str, how: str
) -> None:
    events, stored = asked(tmp_path / "data", kind, Part(BROKEN[kind, how]))
    assert isinstance(events[-1], ev.RunFinished)
    failures = [event for event in events if isinstance(event, ev.Failed) and event.step == STEPS[kind]]
    assert failures and all("broken-part" in event.cause for event in failures), [event.cause for event in failures]
    alone = kind in ("retriever", "generator")  # nothing stands in for these
    assert all(event.fatal == alone for event in failures)
    assert stored.finished and (stored.answer is None) == alone
    assert stored == Trace.from_events(events)


def test_a_defect_of_our_own_ends_the_run_and_is_stored(tmp_path: Path) -> None:
    class Embedder(WordEmbedder):
        broken = False

        def embed(self, texts: Sequence[str]) -> Any:
            return fail() if self.broken else super().embed(texts)

    embedder = Embedder()
    with engine_with_texts(AppConfig.of(data=tmp_path / "data"), lambda text: 0.3, embedder=embedder) as engine:
        embedder.broken = True
        events = list(engine.ask(QUESTION))
        assert isinstance(events[-1], ev.RunFinished) and isinstance(events[-2], ev.Failed)
        assert events[-2].fatal and events[-2].step == "retrieve" and "KeyError" in events[-2].cause
        assert len(engine.library().runs.latest()) == 1


def test_an_interruption_passes(tmp_path: Path) -> None:
    def interrupt(question: str) -> Any:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        asked(tmp_path / "data", "generator", Part(interrupt))
