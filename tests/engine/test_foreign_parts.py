"""Parts that others bring and that raise, or return nonsense: a failed step with their name, and a stored run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from crag.core.config import AppConfig
from crag.core.trace import Trace
from crag.core.types import Action, Grade, Passage
from crag.engine import Engine
from crag.testing.fakes import ScriptedEvaluator
from tests.support.library_makers import HashEmbedder

TEXT = b"The bridge was opened in 1890 by the mayor. It is four hundred metres long.\n"


class Broken:
    """A part of any kind that raises, or returns what it is given."""

    id = name = by = "broken-part"
    calls_models, leaves, dimension = False, True, 64
    problems = ()

    def __init__(self, result: Any = None) -> None:
        self.result = result

    def _end(self) -> Any:
        if self.result is None:
            raise ZeroDivisionError("a defect of theirs")
        return self.result

    def search(self, query: str, k: int) -> Any:
        return self._end()

    def rewrite(self, question: str, **_: object) -> Any:
        return self._end()

    def answer(self, *_: object) -> Any:
        return self._end()

    def grade(self, question: str, passages: Sequence[Passage]) -> Any:
        return self._end()

    def grade_joint(self, question: str, passages: Sequence[Passage]) -> Any:
        return self._end()


class OutOfRange(Broken):
    def grade(self, question: str, passages: Sequence[Passage]) -> Iterator[Grade]:
        for passage in passages:
            yield Grade(passage_id=passage.id, score=float("nan"))


def run(folder: Path, score: float = 0.9, retriever: Any = None, **parts: Any) -> tuple[Trace, int]:
    """The folded run, and how many runs are stored after it."""
    given = {"embedder": HashEmbedder(), "evaluator": ScriptedEvaluator(score=lambda text: score), **parts}
    with closing(Engine(AppConfig(data=folder, web="folder" if "web" in parts else "off"), **given)) as engine:
        list(engine.add("bridge.txt", TEXT))
        trace = Trace.from_events(engine.ask("How long is the bridge?", retriever=retriever))
        return trace, len(engine.library().runs.latest())


def said(trace: Trace) -> list[tuple[str, str]]:
    return [(each.step, each.instead) for each in trace.failures]


@pytest.mark.parametrize("result", [None, 7, "text", ["no chunk"]])
def test_a_retriever(tmp_path: Path, result: object) -> None:
    trace, stored = run(tmp_path, retriever=Broken(result))
    assert trace.finished and trace.failure is not None and stored == 1
    assert trace.failure.step == "retrieve" and "broken-part" in f"{trace.failure.who} {trace.failure.cause}"


@pytest.mark.parametrize("part", [Broken(), Broken(7), Broken(["no grade"]), OutOfRange()])
def test_an_evaluator(tmp_path: Path, part: Broken) -> None:
    trace, stored = run(tmp_path, evaluator=part)
    assert trace.finished and trace.failure is None and stored == 1
    assert trace.decision is not None and trace.decision.unknown == 1
    assert trace.round is not None and "broken-part" in str(next(iter(trace.round.grades.values())).error)


@pytest.mark.parametrize("result", [None, 7, [3.5], ["a beginning without an end"]])
def test_a_generator(tmp_path: Path, result: object) -> None:
    trace, stored = run(tmp_path, generator=Broken(result))
    assert trace.finished and trace.failure is not None and stored == 1
    assert trace.failure.step == "answer"


@pytest.mark.parametrize("result", [None, 7, "  "])
def test_a_rewriter(tmp_path: Path, result: object) -> None:
    trace, stored = run(tmp_path, score=0.0, rewriter=Broken(result))
    assert trace.finished and trace.action is Action.INCORRECT and stored == 1
    assert ("rewrite", "same query") in said(trace) and "broken-part" in trace.failures[0].cause


@pytest.mark.parametrize("result", [None, 7])
def test_a_web_search(tmp_path: Path, result: object) -> None:
    trace, stored = run(tmp_path, score=0.0, web=Broken(result))
    assert trace.finished and ("search", "documents") in said(trace) and stored == 1
    assert any("broken-part" in each.cause for each in trace.failures)


def test_what_no_guard_expects_ends_as_a_failed_step(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def defect(*_: object, **__: object) -> None:
        raise ZeroDivisionError("a defect of ours")

    monkeypatch.setattr("crag.run.steps.decide", defect)
    trace, stored = run(tmp_path)
    assert trace.finished and trace.failure is not None and stored == 1
    assert (trace.failure.step, "ZeroDivisionError" in f"{trace.failure.who} {trace.failure.cause}") == ("act", True)
