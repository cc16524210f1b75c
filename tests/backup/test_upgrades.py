"""A data folder of any earlier version, opened by this program: everything is there, and a question is answered."""

from __future__ import annotations

import json
import random
import re
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from crag.core.config import AppConfig
from crag.core.errors import CragError, StorageError
from crag.core.trace import Trace
from crag.engine import Engine
from crag.library.kept import CHOSEN
from crag.library.library import Library
from crag.library.private import PrivateLibraries, name_of
from crag.library.schema import VERSION
from crag.teams.store import Store
from tests.support import local_models
from tests.support.backup_world import World
from tests.support.kills import ROOT
from tests.support.library_makers import HashEmbedder, as_version
from tests.support.many_rows import fill, many
from tests.support.shell import environment
from tests.support.sizes import sized
from tests.support.stored import stored_library
from ui.app.program import Program

QUESTION = "What does alpha part 1 tell of?"
Rows = dict[str, list[tuple[object, ...]]]


def rows_of(file: Path, like: Rows | None = None) -> Rows:
    """The rows of every table that a file had, in the columns that it had; `like`: those of an earlier look."""
    with closing(sqlite3.connect(file)) as connection:
        found: Rows = {}
        if like is None:
            names = [row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
            # What searches words, what Alembic notes and what the library says of itself are another version's.
            wanted = [each for each in names if not re.match(r"chunk_search|sqlite_|alembic|meta$", each)]
            columns = {each: [row[1] for row in connection.execute(f"PRAGMA table_info({each})")] for each in wanted}
        else:
            columns = {table: list(map(str, rows[0])) for table, rows in like.items()}
        for table, names in columns.items():
            listed = ", ".join(f'"{name}"' for name in names)
            rows = connection.execute(f"SELECT {listed} FROM {table}").fetchall()
            found[table] = [tuple(names), *sorted(rows, key=repr)]
        return found


def version_of(file: Path) -> int:
    with closing(sqlite3.connect(file)) as connection:
        return int(connection.execute("PRAGMA user_version").fetchone()[0])


def engine_on(data: Path) -> Engine:
    return local_models.engine(AppConfig(data=data), embedder=HashEmbedder())


def answered(engine: Engine, workspace: str = "default") -> tuple[object, ...]:
    """What a question comes to: its action, its chunks with their scores, and the answer."""
    trace: Trace = engine.trace(QUESTION, workspace=workspace)
    assert trace.answer is not None
    assert trace.round is not None
    return trace.action, [each.chunk.id for each in trace.round.chunks], trace.answer.text


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


# The oldest goes through every step; a library of each version by itself: tests/library/test_library_outside.py.
@pytest.mark.parametrize(
    "version", [1, *(pytest.param(each, marks=pytest.mark.heavy) for each in range(2, VERSION - 1)), VERSION - 1]
)
def test_a_data_folder_of_every_earlier_version_is_there_whole_and_answers(
    data: Path, version: int, world: World, tmp_path: Path
) -> None:
    with closing(engine_on(data)) as engine:
        expected = answered(engine)
        names = engine.private_libraries.stored()
    for name in names:
        with Library.open(data / "workspaces" / name, HashEmbedder()) as library:
            pass
        as_version(library, version)
    files = [data / "workspaces" / name / "library.db" for name in names]
    before = {file: rows_of(file) for file in files}
    assert before[files[0]]["documents"] and {version_of(file) for file in files} == {version}

    # A backup holds it as it is, and restoring brings it up to date.
    backup = world.backup(str(data))
    assert {each.version for each in backup.contents.libraries} == {version}
    assert {version_of(file) for file in files} == {version}
    world.restore(backup.file, str(tmp_path / "restored"))

    for place in (data, tmp_path / "restored"):
        with closing(engine_on(place)) as engine:
            assert answered(engine) == expected
            assert not engine.library(names[0]).verify() and not engine.library(names[1]).verify()
        for file in files:
            moved = place / file.relative_to(data)
            assert version_of(moved) == VERSION
            after = rows_of(moved, like=before[file])
            after["runs"] = [row for row in after["runs"] if QUESTION not in row]
            then = {**before[file], "runs": [row for row in before[file]["runs"] if QUESTION not in row]}
            assert {table: rows for table, rows in after.items() if table not in ("calls", "tracks", "grades")} == {
                table: rows for table, rows in then.items() if table not in ("calls", "tracks", "grades")
            }, "but for what the question itself has left"


@pytest.mark.parametrize("version", [3, 4])
def test_what_earlier_builds_really_stored_answers_too(version: int, tmp_path: Path) -> None:
    data = tmp_path / "data"
    key = "0123456789abcdef" * 2  # as those builds named a private library's folder
    stored_library(data / "workspaces" / key, version)
    with closing(local_models.engine(AppConfig(data=data, embedding="small"))) as engine:
        engine.private_libraries.settle()
        assert engine.private_libraries.known(key)
        assert [path.name for path in (data / "workspaces").iterdir()] == [name_of(key)]
        library = engine.library(name_of(key))
        documents = library.documents.all()
        assert documents and library.runs.latest() and not library.verify()
        trace = engine.trace("Which harbour?", workspace=name_of(key))
        assert trace.round and trace.round.chunks and trace.answer is not None


@pytest.mark.slow
@pytest.mark.parametrize("version", [1, *(pytest.param(each, marks=pytest.mark.heavy) for each in (4, VERSION - 1))])
def test_a_kill_in_the_middle_leaves_the_old_version_or_the_new_one(data: Path, version: int) -> None:
    folder = data / "workspaces" / "default"
    with Library.open(folder, HashEmbedder()) as library:
        pass
    as_version(library, version)
    file, kept = folder / "library.db", (folder / "library.db").read_bytes()
    before = rows_of(file)
    of = upgraded_until(folder, 10**9)
    assert of > 3, "how many steps there are"
    moments, seen = random.Random(18), set()
    for _ in range(sized(20, 2)):
        for each in folder.glob("library.db*"):
            each.unlink()
        file.write_bytes(kept)
        upgraded_until(folder, moments.randrange(1, of))
        found = version_of(file)
        assert found in (version, VERSION)
        seen.add(found)
        assert rows_of(file, like=before) == before
        with Library.open(folder, HashEmbedder()) as library:
            assert library.search("alpha", 1)[0].chunk.source == "alpha.pdf" and not library.verify()
        assert version_of(file) == VERSION and rows_of(file, like=before) == before
    assert version in seen


def upgraded_until(folder: Path, step: int) -> int:
    """A process that upgrades and is killed at this step; how many there were, where it was not."""
    ran = subprocess.run(
        [sys.executable, str(ROOT / "tests" / "support" / "upgrading_child.py"), str(folder), str(step)],
        capture_output=True,
        env=environment(),
        check=False,
    )
    assert ran.returncode in (0, -9), ran.stderr
    return int(ran.stdout) if ran.returncode == 0 else 0


def test_settings_of_another_version_are_used_or_told(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CRAG_DATA", str(data))
    for said, notice in (({"workspaces": "private", "run_calls": 9}, ""), ({"of_the_future": 1}, "were not used")):
        (data / CHOSEN).write_text(json.dumps(said))
        program = Program(make=lambda config: local_models.engine(config, embedder=HashEmbedder()), warm=lambda _: None)
        config = program.config
        assert notice in program.notice and bool(notice) == bool(program.notice)
        assert (config.workspaces == "private") == (not notice)
        program.close()


def test_an_earlier_program_leaves_a_newer_folder_as_it_is(data: Path) -> None:
    store = Store(data)
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
