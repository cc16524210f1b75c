"""The page on backups: its commands, word for word and in their order, in a clean directory."""

from __future__ import annotations

import contextlib
import re
import shlex
import shutil
from pathlib import Path

import pytest

from crag.cli.main import load_command, main
from tests.support import local_models
from tests.support.kills import ROOT

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
    assert len(commands()) == 10
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
