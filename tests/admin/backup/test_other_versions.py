"""A data folder of another version, opened by this program: refused in words, and left as it is."""

import contextlib
import re
import shlex
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from crag.admin.store import open_store
from crag.cli.main import load_command, main
from crag.core.config import AppConfig
from crag.core.errors import CragError, StorageError
from crag.engine import Engine
from crag.storage.library import Library
from crag.storage.private import PrivateLibraries, name_of
from tests.support import local_models
from tests.support.library_makers import HashEmbedder, fill
from tests.support.shell import ROOT


def engine_on(data: Path) -> Engine:
    return local_models.engine(AppConfig.of(data=data), embedder=HashEmbedder())


NEWER = "alembic_version SET version_num = 99"


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A data folder of this version: a library, and a private one."""
    data = tmp_path / "data"
    private = PrivateLibraries(data)
    for name in ("default", name_of(private.issue())):
        with Library(data / "workspaces" / name, HashEmbedder()) as library:
            fill(library, "more")
    return data


def test_an_earlier_program_leaves_a_newer_folder_as_it_is(data: Path) -> None:
    store = open_store(data)
    with store.write():
        pass
    store.close()
    for file in (data / "teams.db", data / "workspaces" / "default" / "library.db"):
        with closing(sqlite3.connect(file)) as connection, connection:
            connection.execute("PRAGMA user_version = 99")
            table = "team_meta SET value = 99 WHERE key = 'version'" if file.name == "teams.db" else NEWER
            connection.execute(f"UPDATE {table}")
    before = {path: path.read_bytes() for path in data.rglob("*.db")}
    with closing(engine_on(data)) as engine:
        for use in (engine.library, lambda: list(engine.teams.audit.entries())):
            with pytest.raises(CragError, match="newer version") as raised:
                use()
            assert isinstance(raised.value, StorageError)
    assert {path: path.read_bytes() for path in data.rglob("*.db")} == before


# The page on backups: its commands, word for word and in their order, in a clean directory


PAGE = (ROOT / "docs" / "backup.md").read_text(encoding="utf-8")


def commands() -> list[list[str]]:
    blocks = re.findall(r"^```sh\n(.*?)^```", PAGE, flags=re.MULTILINE | re.DOTALL)
    lines = [line for block in blocks for line in block.splitlines()]
    return [shlex.split(line, comments=True)[3:] for line in lines if line.startswith("python -m crag ")]


@pytest.mark.slow
def test_they_run_as_they_stand_and_end_where_they_began(
    sample_data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(sample_data, tmp_path / "data")
    monkeypatch.setenv("CRAG_DATA", "data")
    monkeypatch.delenv("CRAG_DATABASE_URL", raising=False)
    assert len(commands()) == 8
    with contextlib.chdir(tmp_path):
        for command in commands():
            assert main(command, local_models.engine) == 0, (command, capsys.readouterr().err)
        for place in ("data/workspaces/default", "elsewhere/workspaces/earlier"):
            assert main(["search", "retirement", "--library", place, "--json"], local_models.engine) == 0
    assert (tmp_path / "data" / "workspaces" / "earlier" / "library.db").exists(), "the undoing brought it back"
    assert list((tmp_path / "data").glob("before-*")), "what was undone lies there"


def test_the_nightly_command_is_one() -> None:
    (line,) = re.findall(r"^15 3 .*python -m (crag .*)$", PAGE, flags=re.MULTILINE)
    _, name, *arguments = shlex.split(line)
    given = load_command(name).make_context(name, arguments).params
    assert given["keep"] == 14 and given["quiet"]
