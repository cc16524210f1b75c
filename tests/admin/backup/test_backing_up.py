"""Backups: all that is stored is in one, as it was at one moment, and comes back from it wherever it goes."""

import hashlib
import json
import stat
import threading
import zipfile
from collections import namedtuple
from pathlib import Path

import pytest

from crag.admin import backups
from crag.admin.archive import Archive
from crag.core.errors import CancelledError, InputError, NotFoundError, StorageError
from crag.storage.library import Library
from crag.storage.private import PrivateLibraries
from tests.support.backup_world import World
from tests.support.library_makers import HashEmbedder
from tests.support.many_rows import fill


def test_everything_comes_back(world: World, tmp_path: Path) -> None:
    made, place = world.filled(), str(tmp_path / "other")
    before = world.stored()
    assert before["default"]["meta"] and before["team_people"] and before["keys.secret"]  # type: ignore[index]
    backup = world.backup()
    assert [each.workspace for each in backup.contents.libraries] == sorted(made.names)
    assert backup.contents.left_out == ()
    restored = world.restore(backup.file, place)
    assert restored.aside is None and set(restored.libraries) == set(made.names)
    assert world.stored(place) == before == world.stored()
    assert PrivateLibraries(tmp_path / "other").known(made.key), "its address goes on working"
    with Library(tmp_path / "other" / "workspaces" / "default", HashEmbedder()) as library:
        assert library.search("alpha of default", 1)[0].chunk.source == "alpha of default.pdf"
        assert not library.verify()
    assert [(entry.act, entry.who, entry.refused) for entry in world.noted(place)] == [
        ("restore", "command line", False)
    ]


def test_the_file_opens_with_any_tool_is_its_owner_s_alone_and_fits_its_hashes(world: World, tmp_path: Path) -> None:
    world.filled()
    backup = world.backup()
    assert (
        stat.S_IMODE(backup.file.stat().st_mode) == 0o600 and stat.S_IMODE(backup.file.parent.stat().st_mode) == 0o700
    )
    assert [each.name for each in backup.file.parent.iterdir()] == [backup.file.name], "nothing beside it"
    with zipfile.ZipFile(backup.file) as opened:
        assert opened.testzip() is None
        opened.extractall(tmp_path / "out")
        names = set(opened.namelist())
    lines = (tmp_path / "out" / "SHA256SUMS").read_text().splitlines()
    assert {line.split("  ")[1] for line in lines} == names - {"SHA256SUMS"}
    for line in lines:
        said, name = line.split("  ")
        assert hashlib.sha256((tmp_path / "out" / name).read_bytes()).hexdigest() == said
    assert json.loads((tmp_path / "out" / "manifest.json").read_text())["whole"] is True
    (entry,) = world.noted()
    assert entry.act == "backup" and entry.what == backup.file.name and not entry.refused


def test_what_is_written_to_a_library_while_it_is_read_is_not_in_the_backup(world: World) -> None:
    world.filled()
    before = world.stored()
    added = threading.Event()

    def meanwhile(what: str, done: int, of: int) -> None:
        if added.is_set():
            return
        added.set()
        with Library(world.config.storage.data / "workspaces" / "default", HashEmbedder()) as library:
            fill(library, "meanwhile")

    backup = world.backup(watch=meanwhile)
    assert added.is_set()
    world.restore(backup.file, str(world.folder / "other"))
    assert world.stored(str(world.folder / "other")) == before != world.stored()


def test_one_library_alone_goes_under_its_name_or_another_beside_what_is_there(world: World, tmp_path: Path) -> None:
    world.filled()
    stored = world.stored()
    alone = world.backup(workspace="default")
    assert alone.file.name.startswith("crag-default-") and alone.contents.kept == () and alone.contents.teams == 0
    with pytest.raises(InputError, match="single libraries"):
        world.restore(alone.file, str(tmp_path / "other"))
    with pytest.raises(StorageError, match="stored there already: default"):
        world.restore(alone.file, workspace="default")
    with Library(world.config.storage.data / "workspaces" / "default", HashEmbedder()) as library:
        restored = world.restore(alone.file, workspace="default", called="earlier")
        assert list(restored.libraries) == ["earlier"] and restored.aside is None
        fill(library, "later")
    assert world.stored()["earlier"] == stored["default"] != world.stored()["default"]
    aside = world.restore(world.backup().file, workspace="default", replace=True).aside
    assert aside is not None and aside.name.startswith("before-")
    with pytest.raises(NotFoundError, match="no library nowhere in the backup"):
        world.restore(alone.file, workspace="nowhere")
    with pytest.raises(StorageError, match="nowhere can't be backed up"):
        world.backup(workspace="nowhere")


def test_the_newest_stay_and_none_goes_for_one_that_is_not_whole(world: World) -> None:
    world.filled()
    folder = world.folder / "backups"
    single = world.backup(workspace="default").file.name
    (folder / "crag-notes.zip").write_text("somebody's own")
    made = [world.backup(keep=3).file.name for _ in range(5)]
    assert sorted(path.name for path in folder.iterdir()) == sorted([single, "crag-notes.zip", *made[2:]])
    with Library(world.config.storage.data / "workspaces" / "broken", HashEmbedder()) as library:
        fill(library, "broken")
    file = world.config.storage.data / "workspaces" / "broken" / "library.db"
    file.write_bytes(file.read_bytes()[:9000] + bytes(file.stat().st_size - 9000))
    broken = world.backup(keep=1)
    assert [each.workspace for each in broken.contents.left_out] == ["broken"] and "damaged" in str(broken.contents)
    assert broken.removed == () and set(made[2:]) < {path.name for path in folder.iterdir()}
    world.restore(broken.file, str(world.folder / "other"))
    assert "default" in world.stored(str(world.folder / "other"))


def test_nothing_is_written_where_there_is_nothing_no_room_or_a_file_already(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(NotFoundError, match="no library to back up"):
        world.backup()
    world.filled()
    (world.folder / "there.zip").write_bytes(b"mine")
    with pytest.raises(InputError, match=r"there\.zip already"):
        world.backup(to="there.zip")
    stop = threading.Event()
    stop.set()
    with pytest.raises(CancelledError):
        world.backup(cancel=stop)
    space = namedtuple("space", "total used free")
    monkeypatch.setattr(backups.shutil, "disk_usage", lambda path: space(10**9, 10**9 - 10**6, 10**6))
    with pytest.raises(StorageError, match="1 MB are free"):
        world.backup(to="full")
    assert not (world.folder / "full").exists() and (world.folder / "there.zip").read_bytes() == b"mine"
    assert list((world.folder / "backups").iterdir()) == []


def test_what_a_killed_backup_has_left_goes_with_the_next_one_and_another_s_work_stays(world: World) -> None:
    world.filled()
    folder = world.folder / "backups"
    for name in (".crag-backup-00000000", ".crag-backup-11111111"):
        (folder / name).mkdir(parents=True)
        (folder / name / "backup.zip").write_bytes(b"half")
    with backups._lock(folder / ".crag-backup-11111111"):
        file = world.backup().file
        assert {path.name for path in folder.iterdir()} == {file.name, ".crag-backup-11111111"}


def test_model_files_are_named_and_not_in_it(world: World) -> None:
    world.filled()
    (world.config.storage.data / "models").mkdir()
    (world.config.storage.data / "models" / "large.gguf").write_bytes(bytes(10))
    backup = world.backup()
    assert backup.contents.models == ("large.gguf",)
    with Archive(backup.file) as archive:
        assert archive.verify()[0] == 6
