"""The examples' workspace with the sample's report in it, and a way to run one as a person does."""

from __future__ import annotations

import runpy
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

Run = Callable[..., str]


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory, sample_data: Path) -> Path:
    """A data folder whose workspace "examples" holds the sample's report, so that no example has to read it."""
    folder = tmp_path_factory.mktemp("examples")
    shutil.copytree(sample_data / "workspaces" / "default", folder / "workspaces" / "examples")
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
