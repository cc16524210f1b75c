"""`crag people`: what it prints, and that it goes by the settings that the app would go by."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from crag.admin.audit import AuditLog
from crag.admin.people import Identity, people_of, settings_in_use
from crag.admin.store import open_store
from crag.cli.main import main
from crag.core.config import AppConfig
from crag.storage.records import IN_USE, KeyValueStore


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
    assert main(["people", "role", "ben@example.org", "admin", "--was", "viewer"]) == 1
    assert "is editor by now" in capsys.readouterr().err
    assert main(["people", "role", "ben@example.org", "viewer", "--was", "editor"]) == 0
    assert main(["people", "remove", "ben@example.org"]) == 0
    assert main(["people", "remove", "ben@example.org"]) == 1
    assert [each.who for each in AuditLog(open_store(data)).entries()] == ["command line"] * 4


@pytest.mark.parametrize(
    "wrong",
    [["role"], ["role", "ben@example.org"], ["invite", "ben@example.org"], ["remove"], ["list", "--was", "viewer"]],
)
def test_what_is_missing_is_said(wrong: list[str]) -> None:
    assert main(["people", *wrong]) == 2


def test_the_role_that_counts_is_listed_with_its_source_where_the_app_alone_was_configured(
    data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """CRAG_ADMINS is in the environment of the app, and not in the shell of `crag people`."""
    started = AppConfig.of(data=data, admins=("ada@example.org",), editors_group="writers")
    KeyValueStore(data).put(IN_USE, settings_in_use(started))
    with people_of(AppConfig.from_environment()) as people:
        for subject, groups in (("ada", ()), ("eve", ("writers",)), ("ben", ())):
            people.admit(Identity(issuer="http://p", subject=subject, email=f"{subject}@example.org", groups=groups))
    assert main(["people", "list", "--json"]) == 0
    listed = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [(each["role"], each["source"]) for each in listed] == [
        ("admin", "CRAG_ADMINS"),
        ("editor", "CRAG_EDITORS_GROUP: writers"),
        ("viewer", "stored"),
    ]
