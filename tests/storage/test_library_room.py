"""Libraries that are not there yet, that go away, that are many, and that may hold no more."""

import os
import resource
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from crag.admin.quotas import Quotas
from crag.admin.store import open_store
from crag.core.config import AppConfig
from crag.core.errors import RoomError, StorageError
from crag.core.types import Document
from crag.engine import Engine
from crag.pipeline import libraries
from crag.pipeline.libraries import AWAKE, KNOWN
from crag.storage.library import Library
from crag.storage.places import DataFolder, StorageUse
from tests.support.library_makers import HashEmbedder, on_disk
from tests.support.shell import told_apart
from tests.support.sizes import sized

Fill = Callable[..., Document]
pytestmark = pytest.mark.files


def open_files() -> int:
    return len(os.listdir("/proc/self/fd"))


@pytest.mark.slow
def test_many_libraries_keep_few_files_open_and_stay_usable(tmp_path: Path, fill: Fill) -> None:
    with_files = 2 * AWAKE
    with Engine(AppConfig.of(data=tmp_path), embedder=HashEmbedder()) as engine:
        before = open_files()
        opened = [engine.library(f"p-{number}") for number in range(with_files)]
        for number, library in enumerate(opened):
            fill(library, f"alpha{number}")
            assert library.search("alpha", 1)
            engine.library(f"p-{number}")
        for number in range(with_files):
            assert engine.library(f"p-{number}") is opened[number]
        assert open_files() - before <= 4 * (AWAKE + 1)
        # One that rests is as good as one that does not.
        assert all(library.size == (1, 4) and library.search("alpha", 1) for library in opened)
    for library in opened:
        library.close()
    assert open_files() <= before + 1


def test_visitors_who_only_look_take_no_files_and_no_room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    known = sized(KNOWN, 100)
    monkeypatch.setattr(libraries, "KNOWN", known)
    engine = Engine(AppConfig.of(data=tmp_path), embedder=HashEmbedder())
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(256, hard), hard))
    try:
        for number in range(sized(2_000, 150)):
            library = engine.library(f"p-{number}")
            assert library.size == (0, 0) and library.documents.all() == [] == library.runs.latest(1)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert len(engine._libraries._libraries) <= known
    assert [each.name for each in tmp_path.iterdir()] == ["in-use"]


def test_too_many_open_files_are_named_as_what_they_are(tmp_path: Path, fill: Fill, embedder: HashEmbedder) -> None:
    with Library(tmp_path / "library", embedder) as library:
        fill(library, "alpha")
        library.rest()
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        free = os.open(os.devnull, os.O_RDONLY)  # the lowest that is free: all below are taken
        os.close(free)
        resource.setrlimit(resource.RLIMIT_NOFILE, (free, hard))
        try:
            with pytest.raises(StorageError) as raised:
                library.documents.all()
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        assert "too many files open" in raised.value.message and "ulimit" in raised.value.remedy
        assert len(library.documents.all()) == 1


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """The folder of a data folder's libraries."""
    folder = tmp_path / "workspaces"
    folder.mkdir()
    return folder


def quotas_of(root: Path, **limits: int) -> Quotas:
    """Quotas of the libraries of a data folder."""
    config = AppConfig.of(data=root.parent, **limits)
    return Quotas(open_store(root.parent), lambda: config, StorageUse(DataFolder(root.parent)))


def test_there_are_no_more_libraries_than_there_may_be(root: Path, embedder: HashEmbedder) -> None:
    room = quotas_of(root, libraries=3)
    for number in range(3):
        on_disk(Library(root / f"p-{number}", embedder, partial(room.check_growth, f"p-{number}"))).close()
    with (
        Library(root / "p-3", embedder, partial(room.check_growth, "p-3")) as fourth,
        pytest.raises(RoomError, match="no more than 3"),
    ):
        on_disk(fourth)
    assert not (root / "p-3").exists()
    on_disk(Library(root / "p-0", embedder, partial(room.check_growth, "p-0"))).close()


def test_a_librarys_size_is_looked_at_before_each_write(root: Path) -> None:
    room, folder = quotas_of(root, all_mb=1), root / "p-1"
    room.check_growth(folder.name, makes=True)
    folder.mkdir()
    (folder / "library.db").write_bytes(b"a library")
    room.check_growth(folder.name, 10)
    (folder / "library.db").write_bytes(bytes(2 * 1024**2))
    with pytest.raises(RoomError, match="may hold 1 MB, and have 2"):
        room.check_growth(folder.name, 10)
    with pytest.raises(RoomError, match="may hold 1 MB, and have 2"):
        room.check_growth(folder.name)
    (folder / "library.db").write_bytes(b"emptied")
    room.check_growth(folder.name)


def test_what_one_library_gains_is_missing_to_all_others_at_once(root: Path) -> None:
    room, one, other = quotas_of(root, all_mb=1), root / "p-1", root / "p-2"
    for folder in (one, other):
        room.check_growth(folder.name, makes=True)
        folder.mkdir()
        (folder / "library.db").write_bytes(b"a library")
    room.check_growth(one.name, 10)
    room.check_growth(other.name, 10)
    (one / "library.db").write_bytes(bytes(2 * 1024**2))
    for folder in (one, other):
        with pytest.raises(RoomError, match="together may hold 1 MB"):
            room.check_growth(folder.name, 10)
    (one / "library.db").unlink()
    room.check_growth(other.name, 10)


@pytest.mark.slow
def test_on_a_full_disk_documents_can_be_deleted_and_what_is_stored_can_be_read(tmp_path: Path) -> None:
    found = told_apart("full_disk_child", tmp_path)
    assert found["before"] == found["stored"] > 10 and found["free"] == 0
    assert found["left"] and found["found"] == 3 and found["freed"] > 0 and found["again"]
    assert found["messages"] == ["There is no room left to store the library library."]
