"""Health tells the truth: no files to spare, no folder to write, no room on the disk; and it costs little to ask."""

import os
import resource

import pytest

from crag.analysis.monitoring.health import SPARE_MB, Health
from crag.storage.postgres import Server


@pytest.fixture
def few_files():
    """Room for a hundred more open files than there are."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    held = [os.open(os.devnull, os.O_RDONLY)]
    resource.setrlimit(resource.RLIMIT_NOFILE, (held[0] + 100, before[1]))
    yield held
    for each in held:
        os.close(each)
    resource.setrlimit(resource.RLIMIT_NOFILE, before)


def well(health: Health) -> bool:
    return health.lacking(models=True) == ()


def test_a_folder_that_can_be_written_is_well_also_before_it_is_there(tmp_path) -> None:
    assert well(Health(tmp_path))
    assert well(Health(tmp_path / "not" / "yet"))
    assert not any(tmp_path.iterdir()), "nothing is written to find out"


def test_a_file_in_the_folder_s_place_is_no_folder(tmp_path) -> None:
    (tmp_path / "data").write_text("")
    for place in (tmp_path / "data", tmp_path / "data" / "deeper"):
        assert Health(place).lacking(models=True) == ("records",)


def test_a_full_disk_is_told(tmp_path) -> None:
    assert Health(tmp_path, free=lambda _: SPARE_MB * 2**20 - 1).lacking(models=True) == ("disk",)
    assert well(Health(tmp_path, free=lambda _: SPARE_MB * 2**20))


def test_too_many_open_files_are_told_and_none_is_kept_open(tmp_path, few_files) -> None:
    health = Health(tmp_path, kept=0)
    assert well(health)
    few_files.extend(os.dup(few_files[0]) for _ in range(80))
    assert health.lacking(models=True) == ("files",) and health.failing()
    while len(few_files) > 1:
        os.close(few_files.pop())
    assert all(well(health) for _ in range(20))


def test_asked_often_it_looks_once(tmp_path) -> None:
    looks: list[object] = []
    health = Health(tmp_path, kept=3600, free=lambda folder: looks.append(folder) or 2**40)
    assert all(well(health) for _ in range(50))
    assert len(looks) == 1


def test_a_database_that_cannot_be_reached_is_told_without_its_address(tmp_path) -> None:
    health = Health(tmp_path / "none", server=Server("postgresql+psycopg://me:hidden@127.0.0.1:9/crag"))
    assert health.lacking(models=True) == ("records",)
