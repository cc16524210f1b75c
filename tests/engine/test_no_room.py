"""Asking goes on where nothing more can be stored: the answer comes, and the run says that it is not in the history."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from crag.core.config import AppConfig
from crag.core.errors import StorageError
from crag.core.request import RunRequest
from crag.core.trace import Trace
from crag.engine import Engine
from crag.storage.store import Cache
from crag.testing.fakes import ScriptedEvaluator
from tests.support.library_makers import HashEmbedder

TEXT = b"The bridge was opened in 1890 by the mayor. It is four hundred metres long.\n"


def engine_on(data: Path, **limits: int) -> Engine:
    config = AppConfig.of(data=data, **limits)  # type: ignore[arg-type]
    return Engine(config, embedder=HashEmbedder(), evaluator=ScriptedEvaluator(score=lambda text: 0.9))


@pytest.fixture
def data(tmp_path: Path) -> Iterator[Path]:
    """Two workspaces with a document each, of some two megabytes; the first one has three more."""
    with closing(engine_on(tmp_path)) as engine:
        for workspace in ("default", "other"):
            list(engine.add("bridge.txt", TEXT, workspace))
    (tmp_path / "workspaces" / "default" / "large").write_bytes(bytes(3_000_000))
    yield tmp_path


def asked(engine: Engine, workspace: str) -> Trace:
    return Trace.from_events(engine.ask(RunRequest("How long is the bridge?", workspace=workspace)))


def test_a_run_that_began_before_the_limit_was_reached_leaves_no_note(data: Path) -> None:
    with closing(engine_on(data)) as engine:
        events = engine.ask("How long is the bridge?")
        next(events)
        engine.teams.quotas.change("", "all_mb", 1.0, seen=0, by="test")
        trace = Trace.from_events(events)
        assert trace.answer is not None
        assert not engine.library().in_flight.known(trace.run_id)


def test_a_cache_that_fails_ends_no_run(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise StorageError("There is no room left.")

    for name in ("load_grades", "save_grades", "load_search", "save_search"):
        monkeypatch.setattr(Cache, name, refuse)
    with closing(engine_on(data)) as engine:
        trace = asked(engine, "default")
    assert trace.answer is not None and trace.failures == ()
