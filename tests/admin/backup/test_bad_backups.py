"""What is no backup, damaged or newer, and a place in use: refused in words, and nothing changes."""

import json
import random
import sqlite3
import stat
import zipfile
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from hashlib import sha256
from pathlib import Path

import pytest

from crag.admin.backups import _opened, _read, undo_restore
from crag.core.config import AppConfig
from crag.core.errors import CragError, InputError, NotFoundError, StorageError
from crag.engine import Engine
from crag.storage.data_dir import DataDirLock, alone
from crag.storage.tables import VERSION
from tests.support.backup_world import World
from tests.support.shell import ROOT, crag, line_of, started
from tests.support.sizes import sized

Members = dict[str, bytes]
LIBRARY = "libraries/default/library.db"


def members_of(file: Path) -> Members:
    with zipfile.ZipFile(file) as opened:
        return {name: opened.read(name) for name in opened.namelist()}


def written(file: Path, members: Members, *, hashes: bool = True) -> Path:
    """A backup of these members; with `hashes`, its hashes fit them."""
    if hashes:
        others = {name: sha256(data).hexdigest() for name, data in members.items() if name != "manifest.json"}
        members = said_otherwise(members, files=others)
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as into:
        for name, data in members.items():
            into.writestr(name, data)
    return file


def said_otherwise(members: Members, **changes: object) -> Members:
    said = {**json.loads(members["manifest.json"]), **changes}
    return {**members, "manifest.json": json.dumps(said).encode()}


def with_database_file(members: Members, statements: str) -> Members:
    """The library in it is changed by these statements."""
    name = LIBRARY
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.deserialize(members[name])
        connection.executescript(statements)
        return {**members, name: connection.serialize()}


def a_link(members: Members, file: Path) -> Path:
    written(file, members)
    with zipfile.ZipFile(file, "a") as into:
        link = zipfile.ZipInfo("linked.json")
        link.external_attr = (stat.S_IFLNK | 0o777) << 16
        into.writestr(link, "../outside.txt")
    return file


def twice(members: Members, file: Path) -> Path:
    written(file, members)
    with zipfile.ZipFile(file, "a") as into, pytest.warns(UserWarning, match="Duplicate name"):
        into.writestr(LIBRARY, members[LIBRARY])
    return file


def cut(members: Members, file: Path) -> Path:
    whole = written(file, members).read_bytes()
    file.write_bytes(whole[: len(whole) // 2])
    return file


def larger_than_said(members: Members, file: Path) -> Path:
    """A member that unpacks to more than the zip says: the sizes in both of its heads are changed."""
    data = written(file, members).read_bytes()
    with zipfile.ZipFile(file) as opened:
        size = opened.getinfo(LIBRARY).file_size.to_bytes(4, "little")
    assert data.count(size) >= 2
    file.write_bytes(data.replace(size, (4096).to_bytes(4, "little")))
    return file


HOSTILE: dict[str, tuple[Callable[[Members, Path], Path], str]] = {
    "no zip": (lambda members, file: _bytes(file, b"PK\3\4 not a zip" * 99), "cut off or damaged"),
    "cut off": (cut, "cut off or damaged"),
    "a symbolic link": (a_link, "does not fit"),
    "a way out": (lambda members, file: written(file, {**members, "../../outside.txt": b"x"}), "does not fit"),
    "a way out of the libraries": (
        lambda members, file: written(file, {**members, "libraries/../../x/library.db": b"x"}),
        "does not fit",
    ),
    "more than it says": (
        lambda members, file: written(file, {**members, "keys.secret ": b"x"}, hashes=False),
        "does not fit",
    ),
    "less than it says": (
        lambda members, file: written(file, {n: d for n, d in members.items() if "library.db" not in n}, hashes=False),
        "does not fit",
    ),
    "two files of one name": (twice, "does not fit"),
    "another hash": (
        lambda members, file: written(file, {**members, "settings.json": b"{}"}, hashes=False),
        "differs from its hash",
    ),
    "larger than it says": (larger_than_said, "cut off or damaged"),
    "a manifest of nonsense": (
        lambda members, file: written(file, {**members, "manifest.json": b"[" * 10_000}, hashes=False),
        "can't be read",
    ),
    "a trigger in a library": (
        lambda members, file: written(
            file, with_database_file(members, "CREATE TRIGGER t AFTER INSERT ON meta BEGIN DELETE FROM runs; END")
        ),
        "holds what none does",
    ),
    "a view in a library": (
        lambda members, file: written(
            file, with_database_file(members, "DROP TABLE searches; CREATE VIEW searches AS SELECT * FROM runs")
        ),
        "holds what none does",
    ),
    "no library": (lambda members, file: written(file, {**members, LIBRARY: b"x" * 9_000}), "is damaged"),
    "another format": (lambda members, file: written(file, said_otherwise(members, format=9)), "of format 9"),
    "an earlier format": (
        lambda members, file: written(file, {**members, "manifest.json": b'{"format": 1}'}, hashes=False),
        "of format 1; this program reads",
    ),
    "a newer library": (
        lambda members, file: written(
            file,
            with_database_file(
                members,
                f"PRAGMA user_version = {VERSION + 1}; UPDATE alembic_version SET version_num = {VERSION + 1}",
            ),
        ),
        f"newer version.*schema {VERSION + 1}",
    ),
}


def _bytes(file: Path, data: bytes) -> Path:
    file.write_bytes(data)
    return file


@pytest.fixture
def filled(world: World) -> World:
    world.filled()
    return world


def test_each_is_refused_in_words_and_nothing_changes(filled: World, tmp_path: Path) -> None:
    members = members_of(filled.backup())
    before = filled.stored()
    outside = sorted(tmp_path.rglob("*"))
    for name, (make, said) in HOSTILE.items():
        file = make(members, tmp_path / "hostile.zip")
        with pytest.raises(CragError, match=said) as raised:
            filled.restore(file, replace=True)
        assert "/" not in raised.value.message, name
        assert filled.stored() == before, name
        assert not (filled.config.storage.data / "restoring").exists(), name
        file.unlink()
    new = {path for path in set(tmp_path.rglob("*")) - set(outside) if "restoring" not in path.parts}
    assert {path.name for path in new} <= {"in-use", "restoring", "teams.db-wal", "teams.db-shm"}
    filled.restore(filled.backup(), replace=True)
    assert filled.stored() == before and not (filled.config.storage.data / "restoring").exists()


def test_a_bit_that_is_flipped_anywhere_is_found_or_means_nothing(filled: World, tmp_path: Path) -> None:
    whole = filled.backup().read_bytes()
    chance, file = random.Random(18), tmp_path / "flipped.zip"
    with _opened(_bytes(file, whole)) as (_, manifest):
        expected = manifest.files
    found = 0
    flips = sized(300, 60)
    for _ in range(flips):
        at = chance.randrange(len(whole))
        file.write_bytes(whole[:at] + bytes([whole[at] ^ 1 << chance.randrange(8)]) + whole[at + 1 :])
        try:
            with _opened(file) as (archive, manifest):
                for name in manifest.files:
                    assert all(_read(archive, name, manifest))
                assert manifest.files == expected, "what it holds is the same"
        except InputError:
            found += 1
    assert found > flips * 2 // 3  # the others are in what says nothing: times, names given twice


def test_a_bomb_is_not_unpacked(filled: World, tmp_path: Path) -> None:
    """A manifest that unpacks to far more than any says is not read."""
    file = written(tmp_path / "bomb.zip", {"manifest.json": bytes(64 * 1024 * 1024 + 1)}, hashes=False)
    assert file.stat().st_size < 10_000_000
    with pytest.raises(InputError, match="can't be read"):
        filled.restore(file)


# In use


@contextmanager
def running(data: Path) -> Iterator[None]:
    """Another program that has a library open."""
    code = (
        "import sys; from crag.engine import Engine; engine = Engine(); engine.library().size; "
        "print('open', flush=True); sys.stdin.readline(); engine.close()"
    )
    with started("-c", code, CRAG_DATA=str(data)) as child:
        assert line_of(child) == "open\n"
        yield
        child.communicate("\n", timeout=60)
    assert child.returncode == 0


@pytest.mark.slow
def test_a_folder_in_use_is_refused_until_the_program_has_ended(world: World) -> None:
    world.filled()
    backup, before = world.backup(), world.stored()
    with running(world.config.storage.data):
        for replace in (False, True):
            with pytest.raises(StorageError, match="in use by a running program"):
                world.restore(backup, replace=replace)
        assert world.stored() == before
        world.restore(backup, workspace="default", called="beside")  # what is not there is not in use
        world.backup()
    world.restore(backup, replace=True)
    assert world.stored() == before
    undo_restore(world.config.storage.data)
    assert world.stored().pop("beside") == before["default"]


def test_who_comes_during_a_restore_is_told_and_a_program_in_use_stops_one(world: World) -> None:
    world.filled()
    backup, data = world.backup(), world.config.storage.data
    with pytest.MonkeyPatch.context() as quick:
        quick.setattr("crag.storage.data_dir._WAIT", 0.1)
        with alone(data):
            with pytest.raises(StorageError, match="being restored into this data folder"):
                Engine(AppConfig.of(data=data))
            with pytest.raises(StorageError, match="being restored"):
                world.backup()
            with pytest.raises(StorageError, match="another restore"):
                world.restore(backup, replace=True)
    with used(data), used(data), pytest.raises(StorageError, match="in use"):
        world.restore(backup, replace=True)
    world.restore(backup, replace=True)


@contextmanager
def used(data: Path) -> Iterator[None]:
    use = DataDirLock(data)
    use.begin()
    yield
    use.end()


def test_nothing_is_replaced_unasked_and_what_was_replaced_can_be_brought_back(world: World) -> None:
    world.filled()
    backup, first = world.backup(), world.stored()
    with pytest.raises(NotFoundError, match="put anything aside"):
        undo_restore(world.config.storage.data)
    other = str(world.folder / "second")
    world.filled(other, label="beta")
    second = world.stored(other)
    with pytest.raises(StorageError, match="Something is stored there already"):
        world.restore(backup, other)
    assert world.stored(other) == second
    world.restore(backup, other, replace=True)
    assert world.stored(other) == first
    undo_restore(Path(other))
    assert world.stored(other) == second
    undo_restore(Path(other))
    assert world.stored(other) == first, "the undoing can be undone"


def test_the_command_says_it_in_words_with_a_code(filled: World, tmp_path: Path) -> None:
    backup = filled.backup()
    data = {"CRAG_DATA": str(filled.config.storage.data)}
    for arguments, code, said in (
        (["restore", backup], 1, "stored there already"),
        (["restore", tmp_path / "nowhere.zip"], 1, "There is no backup nowhere.zip"),
        (["restore", ROOT / "README.md", "--replace"], 1, "is no whole backup"),
        (["restore"], 2, "Say which backup"),
        (["restore", backup, "--as", "x"], 2, "--as gives one library a name"),
        (["restore", backup, "--workspace", "default", "--as", "../x"], 1, "no name for a workspace"),
        (["restore", "--undo"], 1, "nothing to undo"),
        (["backup"], 2, "TARGET"),
        (["backup", tmp_path / "b", "--from", tmp_path / "nowhere"], 1, "There is no data folder"),
        (["backup", tmp_path / "b", "--keep", "-1"], 2, "--keep"),
    ):
        ran = crag(*arguments, **data)
        assert ran.code == code and said in ran.err and "Traceback" not in ran.err, arguments
    assert not (tmp_path / "b").exists()
