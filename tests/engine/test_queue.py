"""More questions and files than may be worked on at once: the others wait, see their place, and get their turn."""

import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from random import Random

import pytest

from crag.core import events as ev
from crag.core.config import AppConfig
from crag.core.errors import SettingsError
from crag.core.ingesting import DocumentFailed
from crag.core.protocols import RetrievalEvaluator, RunRequest
from crag.core.trace import Trace
from crag.core.types import Grade, Passage
from crag.engine import Engine
from crag.testing.fakes import ScriptedEvaluator
from tests.support.small_library import WordEmbedder, engine_with_texts, spread
from tests.support.small_pdf import small_pdf

QUESTION = "How long did hiring take in 2019?"
LARGE = small_pdf("The moon circles the earth.", ballast=Random(0).randbytes(1_500_000))


class Held:
    """Grades as `inner` does, once it is let; counts how many grade at the same time."""

    def __init__(self, inner: RetrievalEvaluator) -> None:
        self.inner, self.id, self.calls_models = inner, inner.id, inner.calls_models
        self.free, self.lock, self.now, self.most = threading.Event(), threading.Lock(), 0, 0

    def grade(self, question: str, passages: Sequence[Passage]) -> Iterator[Grade]:
        with self.lock:
            self.now += 1
            self.most = max(self.most, self.now)
        assert self.free.wait(60)
        yield from self.inner.grade(question, passages)
        with self.lock:
            self.now -= 1

    def grade_joint(self, question: str, passages: Sequence[Passage]) -> Grade:
        return self.inner.grade_joint(question, passages)


@pytest.fixture
def evaluator() -> Held:
    return Held(ScriptedEvaluator(score=spread))


@pytest.fixture
def engine(tmp_path: Path, evaluator: Held) -> Iterator[Engine]:
    config = AppConfig.of(data=tmp_path, runs_at_once=2, readers=1)
    with engine_with_texts(config, evaluator=evaluator) as made:
        yield made
        evaluator.free.set()


def asked(engine: Engine, cancel: threading.Event, seen: list[ev.Event], waits: threading.Semaphore) -> Trace:
    for event in engine.ask(RunRequest(QUESTION, cancel=cancel)):
        seen.append(event)
        if isinstance(event, ev.Queued) and event.before:
            waits.release()
    return Trace.from_events(seen)


def test_six_questions_two_at_once_all_answered_each_seeing_its_place(engine: Engine, evaluator: Held) -> None:
    never, waits = threading.Event(), threading.Semaphore(0)
    lists: list[list[ev.Event]] = [[] for _ in range(6)]
    with ThreadPoolExecutor(6) as pool:
        runs = [pool.submit(asked, engine, never, seen, waits) for seen in lists]
        for _ in range(4):
            assert waits.acquire(timeout=60)
        evaluator.free.set()
        traces = [run.result(60) for run in runs]
    assert evaluator.most <= 2
    assert all(trace.finished and trace.answer and not trace.before for trace in traces)
    places = [[event.before for event in seen if isinstance(event, ev.Queued)] for seen in lists]
    waited = [each for each in places if each]
    assert len(waited) == 4 and {each[0] for each in waited} == {1, 2, 3, 4}
    assert all(each[-1] == 0 and each == sorted(each, reverse=True) for each in waited)
    for trace, seen in zip(traces, lists, strict=True):
        assert [event.at for event in seen] == sorted(event.at for event in seen), "the clock stands still meanwhile"
        assert engine.library().runs.events(trace.run_id) == seen


def test_stop_ends_a_run_that_waits_and_those_before_it_go_on(engine: Engine, evaluator: Held) -> None:
    never, stop, waits = threading.Event(), threading.Event(), threading.Semaphore(0)
    with ThreadPoolExecutor(3) as pool:
        first = [pool.submit(asked, engine, never, [], threading.Semaphore(0)) for _ in range(2)]
        while evaluator.now < 2:
            threading.Event().wait(0.01)
        last = pool.submit(asked, engine, stop, [], waits)
        assert waits.acquire(timeout=60)
        stop.set()
        assert last.result(60).cancelled
        evaluator.free.set()
        assert all(run.result(60).answer for run in first)


def test_a_saved_limit_lets_those_who_wait_in_and_what_runs_keeps_its_configuration(
    engine: Engine, evaluator: Held
) -> None:
    never, waits, before = threading.Event(), threading.Semaphore(0), engine.embedder
    lists: list[list[ev.Event]] = [[] for _ in range(3)]
    with ThreadPoolExecutor(3) as pool:
        runs = [pool.submit(asked, engine, never, seen, waits) for seen in lists]
        assert waits.acquire(timeout=60), "two at once, one waits"
        engine.reconfigure(engine.config.changed(runs_at_once=3, web="tavily"))
        while evaluator.now < 3:
            threading.Event().wait(0.01)
        evaluator.free.set()
        traces = [run.result(60) for run in runs]
    assert all(trace.answer and not trace.failures for trace in traces), "begun with no web, none is missed"
    assert "Tavily needs a key." in Trace.from_events(engine.ask(QUESTION)).failures[0].cause
    assert engine.embedder is before


def test_a_changed_limit_counts_for_the_next_file(tmp_path: Path) -> None:
    with Engine(AppConfig.of(data=tmp_path), embedder=WordEmbedder()) as engine:
        library = engine.library()
        engine.reconfigure(engine.config.changed(all_mb=1))
        [*_, last] = engine.add("one.pdf", LARGE)
        assert isinstance(last, DocumentFailed) and "may hold 1 MB" in last.message and engine.library() is library
        with pytest.raises(SettingsError, match="data folder"):
            engine.reconfigure(engine.config.changed(data=tmp_path / "other"))
