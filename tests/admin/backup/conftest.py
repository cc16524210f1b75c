"""A machine whose libraries are backed up, without a database and with one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.backup_world import World


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    made = World(tmp_path, "")
    with made.stack:
        yield made


@pytest.fixture
def with_database(tmp_path: Path, database: str) -> Iterator[World]:
    made = World(tmp_path, database)
    with made.stack:
        yield made
