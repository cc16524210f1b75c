"""The hourly round through all libraries: purged as configured, and what can't be undone any more is gone."""

import logging
import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from crag.core.config import AppConfig
from crag.core.errors import SettingsError
from crag.core.protocols import RunRequest
from crag.core.trace import Trace
from crag.engine import Engine
from crag.pipeline.libraries import close_interrupted_runs
from crag.storage import in_flight
from crag.storage.library import Library
from crag.testing.fakes import ScriptedEvaluator
from tests.support import library_makers
from tests.support.library_makers import HashEmbedder
from tests.support.small_library import engine_with_texts

EMBEDDER = HashEmbedder()


def filled(data: Path, name: str, *, days: float = 100) -> None:
    """A library of one document, added so many days ago."""
    added = (datetime.now(UTC) - timedelta(days=days)).isoformat()
    with Library(data / "workspaces" / name, EMBEDDER) as library:
        library_makers.fill(library, name, added_at=added)


def test_every_library_is_purged_as_configured_and_only_then(tmp_path: Path) -> None:
    for name, days in (("one", 100), ("two", 100), ("new", 1)):
        filled(tmp_path, name, days=days)
    with Engine(AppConfig.of(data=tmp_path), embedder=EMBEDDER) as quiet:
        quiet.tidy(threading.Event())
        assert quiet.library("one").size[0] == 1
    engine = Engine(AppConfig.of(data=tmp_path, purge="--older-than 30d --where 'verified = false'"), embedder=EMBEDDER)
    used = engine.library("one")
    assert used.search("one", 1)
    engine.tidy(threading.Event())
    assert used.size == (0, 0)
    assert [engine.library(name).size[0] for name in ("two", "new")] == [0, 1]
    assert [each.name for each in engine.library("two").purges.undoable()] == ["two.pdf"]
    (held,) = used.purges.undoable()
    used.purges.undo(held.id)
    engine.tidy(threading.Event())
    assert used.size[0] == 1, "what a person brought back stays"
    engine.close()


def test_a_broken_library_stops_no_other(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    filled(tmp_path, "b")
    filled(tmp_path, "a")
    file = tmp_path / "workspaces" / "a" / "library.db"
    file.write_bytes(file.read_bytes()[:100] + b"nothing of a library" * 500)
    with Engine(AppConfig.of(data=tmp_path, purge="--where 'verified = false'"), embedder=EMBEDDER) as engine:
        with caplog.at_level(logging.WARNING, logger="crag.pipeline.libraries"):
            engine.tidy(threading.Event())
        assert "the library a was not purged" in caplog.text
        assert engine.library("b").size == (0, 0)
        stopped = threading.Event()
        stopped.set()
        engine.tidy(stopped)


def test_conditions_that_can_not_be_read_are_refused_at_once() -> None:
    with pytest.raises(SettingsError, match="is no number of days"):
        AppConfig.of(purge="--older-than soon")
    assert AppConfig.of(purge=" --older-than 30d ").storage.purge == "--older-than 30d"


# A run that a kill cut off is stored with its question; one that ended leaves no note


QUESTION = "How long did hiring take in 2019?"


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    local = ScriptedEvaluator(score=lambda text: 0.9, id="local")
    with engine_with_texts(AppConfig.of(data=tmp_path / "data"), evaluator=local) as made:
        yield made


def killed(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if the process that began all this were gone, and this were another."""
    monkeypatch.setattr(in_flight, "_here", set())


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
