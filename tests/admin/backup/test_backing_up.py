"""Backups: all that is stored is in one, as it was at one moment, and comes back from it wherever it goes."""

import hashlib
import json
import stat
import threading
import zipfile
from collections import namedtuple
from pathlib import Path

import pytest
from filelock import FileLock

from crag.admin import backups
from crag.core.errors import InputError, NotFoundError, StorageError
from crag.storage.library import Library
from crag.storage.private import PrivateLibraries, name_of
from tests.support.backup_world import World
from tests.support.library_makers import HashEmbedder, fill


def test_everything_comes_back(world: World, tmp_path: Path) -> None:
    key, place = world.filled(), str(tmp_path / "other")
    before, names = world.stored(), ["default", name_of(key)]
    assert all(before[name] for name in (*names, "teams.db", "keys.secret", "settings.json"))
    backup, manifest = world.made()
    assert list(manifest.libraries) == names and manifest.left_out == {}
    assert world.restore(backup, place) == (names, None)
    assert world.stored(place) == before == world.stored()
    assert PrivateLibraries(tmp_path / "other").known(key), "its address goes on working"
    with Library(tmp_path / "other" / "workspaces" / "default", HashEmbedder()) as library:
        assert library.search("alpha of default", 1)[0].chunk.source == "alpha of default.pdf"
        assert not library.verify()
    assert [(entry.act, entry.who, entry.refused) for entry in world.noted(place)] == [
        ("restore", "command line", False)
    ]


def test_the_file_opens_with_any_tool_is_its_owner_s_alone_and_fits_its_hashes(world: World) -> None:
    world.filled()
    backup = world.backup()
    assert stat.S_IMODE(backup.stat().st_mode) == 0o600 and stat.S_IMODE(backup.parent.stat().st_mode) == 0o700
    assert [each.name for each in backup.parent.iterdir()] == [backup.name], "nothing beside it"
    with zipfile.ZipFile(backup) as opened:
        assert opened.testzip() is None
        said = json.loads(opened.read("manifest.json"))
        names = set(opened.namelist()) - {"manifest.json"}
        assert said["whole"] is True and len(names) == 5
        assert said["files"] == {name: hashlib.sha256(opened.read(name)).hexdigest() for name in names}
    (entry,) = world.noted()
    assert entry.act == "backup" and entry.what == backup.name and not entry.refused


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

    world.restore(world.backup(watch=meanwhile), str(world.folder / "other"))
    assert added.is_set() and world.stored(str(world.folder / "other")) == before != world.stored()


def test_one_library_alone_goes_under_its_name_or_another_beside_what_is_there(world: World, tmp_path: Path) -> None:
    world.filled()
    stored = world.stored()
    alone, manifest = world.made(workspace="default")
    assert alone.name.startswith("crag-default-") and list(manifest.files) == ["libraries/default/library.db"]
    with pytest.raises(InputError, match="holds one library"):
        world.restore(alone, str(tmp_path / "other"))
    with pytest.raises(StorageError, match="stored there already: default"):
        world.restore(alone, workspace="default")
    with Library(world.config.storage.data / "workspaces" / "default", HashEmbedder()) as library:
        assert world.restore(alone, workspace="default", called="earlier") == (["earlier"], None)
        fill(library, "later")
    assert world.stored()["earlier"] == stored["default"] != world.stored()["default"]
    _, aside = world.restore(world.backup(), workspace="default", replace=True)
    assert aside is not None and aside.name.startswith("before-")
    with pytest.raises(NotFoundError, match="no library nowhere in it"):
        world.restore(alone, workspace="nowhere")
    with pytest.raises(NotFoundError, match="no library to back up"):
        world.backup(workspace="nowhere")


def test_the_newest_stay_and_none_goes_for_one_that_is_not_whole(world: World) -> None:
    world.filled()
    folder = world.folder / "backups"
    single = world.backup(workspace="default").name
    (folder / "crag-notes.zip").write_text("somebody's own")
    made = [world.backup(keep=3).name for _ in range(5)]
    assert sorted(path.name for path in folder.iterdir()) == sorted([single, "crag-notes.zip", *made[2:]])
    with Library(world.config.storage.data / "workspaces" / "broken", HashEmbedder()) as library:
        fill(library, "broken")
    file = world.config.storage.data / "workspaces" / "broken" / "library.db"
    file.write_bytes(file.read_bytes()[:9000] + bytes(file.stat().st_size - 9000))
    broken, manifest = world.made(keep=1)
    assert list(manifest.left_out) == ["broken"] and "damaged" in manifest.left_out["broken"]
    assert set(made[2:]) < {path.name for path in folder.iterdir()}
    world.restore(broken, str(world.folder / "other"))
    assert "default" in world.stored(str(world.folder / "other"))


def test_nothing_is_written_where_there_is_nothing_or_a_file_already_or_it_is_stopped(world: World) -> None:
    with pytest.raises(NotFoundError, match="no library to back up"):
        world.backup()
    world.filled()
    (world.folder / "there.zip").write_bytes(b"mine")
    with pytest.raises(InputError, match=r"there\.zip already"):
        world.backup(to="there.zip")

    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        world.backup(watch=stop)
    assert (world.folder / "there.zip").read_bytes() == b"mine" and list((world.folder / "backups").iterdir()) == []


def test_what_a_killed_backup_has_left_goes_with_the_next_one_and_another_s_work_stays(world: World) -> None:
    world.filled()
    work = world.folder / "backups" / ".crag-backup"
    work.mkdir(parents=True)
    (work / "backup.zip").write_bytes(b"half")
    with FileLock(work / "lock"), pytest.raises(StorageError, match="Another backup"):
        world.backup()
    assert (work / "backup.zip").read_bytes() == b"half"
    file = world.backup()
    assert [path.name for path in work.parent.iterdir()] == [file.name]


def test_a_restore_needs_room_for_what_the_backup_holds(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    world.filled()
    space = namedtuple("space", "total used free")
    backup = world.backup()
    monkeypatch.setattr(backups.shutil, "disk_usage", lambda path: space(10**9, 10**9 - 10**4, 10**4))
    with pytest.raises(StorageError, match="0 MB are free"):
        world.restore(backup, str(world.folder / "other"))
    assert not (world.folder / "other" / "workspaces").exists()
