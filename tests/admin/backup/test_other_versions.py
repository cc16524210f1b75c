"""A data folder of another version, opened by this program: refused in words, and left as it is."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from crag.admin.store import open_store
from crag.core.config import AppConfig
from crag.core.errors import CragError, StorageError
from crag.engine import Engine
from crag.storage.library import Library
from crag.storage.places import PrivateLibraries, name_of
from tests.support import local_models
from tests.support.library_makers import HashEmbedder
from tests.support.many_rows import fill, many


def engine_on(data: Path) -> Engine:
    return local_models.engine(AppConfig.of(data=data), embedder=HashEmbedder())


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A data folder of this version: a library with rows of every kind, and a private one."""
    data = tmp_path / "data"
    private = PrivateLibraries(data)
    for name in ("default", name_of(private.issue())):
        with Library.open(data / "workspaces" / name, HashEmbedder()) as library:
            many(library)
            fill(library, "more")
    return data


def test_an_earlier_program_leaves_a_newer_folder_as_it_is(data: Path) -> None:
    store = open_store(data)
    with store.write():
        pass
    store.close()
    for file in (data / "teams.db", data / "workspaces" / "default" / "library.db"):
        with closing(sqlite3.connect(file)) as connection:
            connection.execute("PRAGMA user_version = 99")
    before = {path: path.read_bytes() for path in data.rglob("*.db")}
    with closing(engine_on(data)) as engine:
        for use in (engine.library, lambda: list(engine.teams.audit.entries())):
            with pytest.raises(CragError, match="newer version") as raised:
                use()
            assert isinstance(raised.value, StorageError)
    assert {path: path.read_bytes() for path in data.rglob("*.db")} == before
