"""A machine whose libraries are backed up."""

from pathlib import Path

import pytest

from tests.support.backup_world import World


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)
