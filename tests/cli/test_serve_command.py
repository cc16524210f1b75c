"""`crag serve`: what it refuses to start with, each in one sentence."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from crag.cli.main import main


@pytest.fixture(autouse=True)
def apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CRAG_DATA", str(tmp_path / "data"))
    for name in ("CRAG_TOKENS", "CRAG_TOKENS_FILE"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize(
    ("arguments", "tokens", "words"),
    [
        (["--host", "0.0.0.0"], "", "Without tokens this machine alone may be served"),
        (["--workspace", "mine"], "a-secret-token=alpha", "With tokens, each has its workspace"),
        (["--workspace", "../mine"], "", "no name for a workspace"),
        ([], "a-secret-token=alpha,alpha-secret", "Entry 2 of the tokens"),
        (["--rate", "-1"], "", "--rate"),
        (["--port", "70000"], "", "Port 70000 of 127.0.0.1 can't be had"),
    ],
)
def test_what_cant_be_served_is_said_in_a_sentence(
    arguments: list[str], tokens: str, words: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("CRAG_TOKENS", tokens)
    assert main(["serve", *arguments]) == 2
    said = capsys.readouterr()
    assert words in said.err and said.err.count("\n") == 1 and not said.out
    assert "secret" not in said.err


def test_a_missing_package_is_said(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("crag.integrations.http.app", "crag.integrations.process"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    assert main(["serve", "--port", "0"]) == 1
    said = capsys.readouterr().err
    assert said.startswith("error: The HTTP server needs packages that are not installed. Run: pip install")
