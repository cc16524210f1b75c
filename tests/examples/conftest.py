"""Workspaces with the sample's report in them, a way to run an example as a person does, and a server to ask."""

import json
import runpy
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.support import shell

ROOT = Path(__file__).resolve().parents[2]
Run = Callable[..., str]


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory, sample_data: Path) -> Path:
    """A data folder with two workspaces that hold the sample's report, so that no example has to read it."""
    folder = tmp_path_factory.mktemp("examples")
    for workspace in ("examples", "default"):
        shutil.copytree(sample_data / "workspaces" / "default", folder / "workspaces" / workspace)
    return folder


@pytest.fixture
def run(data: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs an example within this process, which has loaded what it imports; gives what it printed."""
    monkeypatch.setenv("CRAG_DATA", str(data))

    def ran(name: str, *arguments: str) -> str:
        monkeypatch.setattr(sys, "argv", [name, *arguments])
        runpy.run_module(f"examples.{name}", run_name="__main__")
        return capsys.readouterr().out

    return ran


@pytest.fixture(scope="module")
def served(data: Path) -> Iterator[str]:
    """The address of a server as its command starts it; the token "secret" opens the workspace "default"."""
    command = ["-m", "crag", "serve", "--port", "0", "--json", "--quiet"]
    with shell.started(*command, CRAG_DATA=str(data), CRAG_TOKENS="secret=default") as process:
        try:
            yield json.loads(shell.line_of(process))["url"]
        finally:
            process.terminate()


def process(command: list[str], data: Path, **more: str) -> str:
    """What a command prints over this data folder; `more` are further variables. Raises where it fails."""
    environment = shell.environment(CRAG_DATA=str(data), **more)
    ended = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return ended.stdout
