"""The hourly round through all libraries: purged as configured, and what can't be undone any more is gone."""

from __future__ import annotations

import logging
import threading
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from crag.core.config import AppConfig
from crag.core.errors import SettingsError
from crag.engine import Engine
from crag.storage.library import Library
from tests.support.library_makers import HashEmbedder, make_document

EMBEDDER = HashEmbedder()


def filled(data: Path, name: str, *, days: float = 100) -> None:
    """A library of one document, added so many days ago."""
    added = (datetime.now(UTC) - timedelta(days=days)).isoformat()
    document, file, chunks = make_document(name, added_at=added)
    with Library.open(data / "workspaces" / name, EMBEDDER) as library:
        library.documents.add(document, file, chunks, EMBEDDER.embed([chunk.indexed_text for chunk in chunks]))


def test_every_library_is_purged_as_configured_and_only_then(tmp_path: Path) -> None:
    for name, days in (("one", 100), ("two", 100), ("new", 1)):
        filled(tmp_path, name, days=days)
    quiet = Engine(AppConfig.of(data=tmp_path), embedder=EMBEDDER)
    quiet.tidy(threading.Event())
    assert quiet.library("one").size[0] == 1
    quiet.close()
    engine = Engine(AppConfig.of(data=tmp_path, purge="--older-than 30d --unverified"), embedder=EMBEDDER)
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
    engine = Engine(AppConfig.of(data=tmp_path, purge="--unverified"), embedder=EMBEDDER)
    with caplog.at_level(logging.WARNING, logger="crag.pipeline.libraries"):
        engine.tidy(threading.Event())
    assert "the library a was not purged" in caplog.text
    assert engine.library("b").size == (0, 0)
    stopped = threading.Event()
    stopped.set()
    engine.tidy(stopped)
    engine.close()


def test_conditions_that_can_not_be_read_are_refused_at_once() -> None:
    with pytest.raises(SettingsError, match="is no number of days"):
        AppConfig.of(purge="--older-than soon")
    assert AppConfig.of(purge=" --unverified ").storage.purge == "--unverified"
