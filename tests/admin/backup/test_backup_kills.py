"""Kills in the middle of backing up and restoring: what was there or what is to come, and the same command goes on."""

import random
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from crag.admin.backups import _opened, _read, undo_restore
from crag.core.config import AppConfig
from crag.storage import data_dir
from crag.storage.data_dir import DataDirLock
from crag.storage.library import Library
from crag.storage.private import PrivateLibraries
from tests.support import local_models
from tests.support.backup_world import World
from tests.support.kills import work_until_killed
from tests.support.library_makers import HashEmbedder, fill
from tests.support.shell import line_of, started
from tests.support.sizes import sized

pytestmark = pytest.mark.slow

KILLS = 25
"""Of backing up and of restoring, each."""


def killed(seconds: float, *arguments: object) -> float:
    """Start a process that backs up or restores, and kill it so many seconds after it has begun; how many these were.

    With 0 it is killed when it has done it once.
    """
    with started("-m", "tests.support.backup_child", *arguments) as child:
        assert line_of(child) == "started\n"
        began = time.perf_counter()
        if seconds:
            time.sleep(seconds)
        else:
            assert line_of(child).startswith("ended")
        child.kill()
    assert child.returncode == -signal.SIGKILL
    return time.perf_counter() - began


def test_a_kill_while_backing_up_leaves_whole_backups_alone(world: World) -> None:
    world.filled()
    folder, data = world.folder / "backups", world.config.storage.data
    longest = killed(0, "backup", folder, data)
    moments = random.Random(18)
    for _ in range(sized(KILLS, 2)):
        killed(moments.uniform(0.01, 1.5) * longest, "backup", folder, data)
        for file in folder.glob("crag-*.zip"):
            with _opened(file) as (archive, manifest):
                assert len(manifest.libraries) == 2 and not manifest.left_out
                assert all(any(_read(archive, name, manifest)) for name in manifest.files)
    world.backup()
    assert {path.suffix for path in folder.iterdir()} == {".zip"}, "what was begun is gone with the next one"


def test_a_kill_while_restoring_leaves_the_old_state_or_the_new_one(world: World) -> None:
    world.filled()
    new, backup = world.stored(), world.backup()
    data = world.folder / "other"
    where = str(data)
    world.filled(where, label="old")
    with Library(data / "workspaces" / "more", HashEmbedder()) as library:
        fill(library, "more")
    old = world.stored(where)
    scratch = world.folder / "scratch"
    World(scratch).filled()
    longest = killed(0, "restore", backup, scratch / "data")
    moments = random.Random(18)
    for _ in range(sized(KILLS, 2)):
        killed(moments.uniform(0.05, 1.4) * longest, "restore", backup, data)
        use = DataDirLock(data)  # as the next program that starts
        use.begin()
        use.end()
        found = world.stored(where)
        assert found in (old, new)
        if found == new:
            undo_restore(data)
            assert world.stored(where) == old
    assert world.restore(backup, where, replace=True)[1] and world.stored(where) == new
    undo_restore(data)
    assert world.stored(where) == old


def test_a_kill_between_any_two_moves_is_finished_by_whoever_comes_next(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each rename in turn is the last one that a restore makes."""
    world.filled()
    new, backup = world.stored(), world.backup()
    other = world.folder / "other"
    world.filled(str(other), label="old")
    old, rename = world.stored(str(other)), Path.rename
    for last in range(9):
        left = iter(range(last))

        def dying(path: Path, to: Path, left: object = left) -> Path:
            if next(left, None) is None and "other" in str(path):  # type: ignore[call-overload]
                raise KeyboardInterrupt
            return rename(path, to)

        monkeypatch.setattr(Path, "rename", dying)
        try:
            world.restore(backup, str(other), replace=True)
        except KeyboardInterrupt:
            pass
        else:
            assert last == 8, "each move was the last one once"
            return
        finally:
            monkeypatch.setattr(Path, "rename", rename)
        assert (other / "restoring" / "moves.json").exists()
        with_engine = local_models.engine(AppConfig.of(data=other)) if last % 4 == 0 else None
        if with_engine is not None:
            with_engine.close()
        else:
            data_dir.finish(other)
        assert world.stored(str(other)) == new and not (other / "restoring").exists()
        undo_restore(other)
        assert world.stored(str(other)) == old
    pytest.fail("there are more moves than were tried")


def test_what_was_confirmed_before_a_backup_begins_is_in_it_whoever_else_writes(world: World) -> None:
    folder = world.config.storage.data / "workspaces" / "default"
    PrivateLibraries(world.config.storage.data).issue()
    there: set[str] = set()
    open_: set[str] = set()
    moments = random.Random(18)
    for number in range(sized(20, 2)):
        # It is killed with its log as it lies; another one goes on writing while the backup is taken.
        said = work_until_killed(folder, f"p{number}", moments.uniform(0, 0.2), after=3)
        there, open_ = (there | set(said.there)) - set(said.gone), set(said.open)
        backup = _while_writing(folder, f"q{number}", world.backup)
        other = world.folder / f"other{number}"
        world.restore(backup, str(other))
        with Library(other / "workspaces" / "default", HashEmbedder()) as library:
            found = {document.id for document in library.documents.all()}
            assert there - open_ <= found, "what was confirmed is there"
            assert not found & set(said.gone), "what was deleted is not"
            assert not library.verify()


def _while_writing(folder: Path, prefix: str, work: Callable[[], Path]) -> Path:
    with started("-m", "tests.support.adding_child", folder, prefix, "", "") as child:
        assert line_of(child).startswith("added ")
        try:
            return work()
        finally:
            child.kill()
