"""`crag people`: what it prints, and that it goes by the settings that the app would go by."""

import json
from pathlib import Path

import pytest

from crag.admin.audit import AuditLog
from crag.admin.store import open_store
from crag.cli.main import main


@pytest.fixture(autouse=True)
def data(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setenv("CRAG_DATA", str(tmp_path))
    return tmp_path


def test_invited_promoted_removed_and_each_in_the_log(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["people", "invite", "Ben@Example.org", "viewer"]) == 0
    assert main(["people", "role", "ben@example.org", "editor"]) == 0
    capsys.readouterr()
    assert main(["people", "list", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["email"], told["role"], told["standing"]) == ("ben@example.org", "editor", "invited")
    assert main(["people", "role", "ben@example.org", "viewer"]) == 0
    assert main(["people", "remove", "ben@example.org"]) == 0
    assert main(["people", "remove", "ben@example.org"]) == 1
    assert [each.who for each in AuditLog(open_store(data)).entries()] == ["command line"] * 4


@pytest.mark.parametrize(
    "wrong",
    [["role"], ["role", "ben@example.org"], ["invite", "ben@example.org"], ["remove"]],
)
def test_what_is_missing_is_said(wrong: list[str]) -> None:
    assert main(["people", *wrong]) == 2
