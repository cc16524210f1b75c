"""A run that a kill cut off is stored with its question; one that ended leaves no note."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from crag.core.config import AppConfig
from crag.core.request import RunRequest
from crag.core.trace import Trace
from crag.engine import Engine
from crag.pipeline.libraries import close_interrupted_runs
from crag.storage import runs
from crag.testing.fakes import ScriptedEvaluator
from tests.support.small_library import WordEmbedder, fill

QUESTION = "How long did hiring take in 2019?"


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    made = Engine(
        AppConfig.of(data=tmp_path / "data"),
        embedder=WordEmbedder(),
        evaluator=ScriptedEvaluator(score=lambda text: 0.9, id="local"),
    )
    fill(made)
    yield made
    made.close()


def killed(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if the process that began all this were gone, and this were another."""
    monkeypatch.setattr(runs, "_here", set())


def test_a_run_that_was_cut_off_is_in_the_history_with_its_question_and_settings(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = engine.ask(RunRequest(QUESTION, "paper", via="app"))
    first = next(run)
    assert first.kind == "run_started"
    library = engine.library()
    assert close_interrupted_runs(library) == 0, "it goes on"
    with monkeypatch.context() as patched:
        killed(patched)
        assert close_interrupted_runs(library) == 1
        assert close_interrupted_runs(library) == 0
    trace = library.runs.trace(first.run_id)
    assert (trace.question, trace.strategy) == (QUESTION, "paper")
    assert trace.finished
    assert trace.failure is not None
    assert trace.failure.reason == "cut off"
    assert [each.question for each in library.runs.latest()] == [QUESTION]
    rest = Trace.from_events([first, *run])
    assert rest.answer is not None
    assert library.runs.trace(first.run_id).answer is not None, "a run that was not gone after all is stored whole"


def test_a_run_that_ended_however_leaves_no_note(engine: Engine) -> None:
    ended = engine.trace(RunRequest(QUESTION, via="app")).run_id
    left = engine.ask(RunRequest(QUESTION, via="http"))
    first = next(left)
    left.close()
    assert first.kind == "run_started"
    assert not engine.library().in_flight.known(ended)
    assert not engine.library().in_flight.known(first.run_id)
