"""crag limits: shows what may be taken and is used, changes it, and refuses what is no limit."""

import json
from pathlib import Path

import pytest

from crag.admin.audit import AuditLog
from crag.admin.quotas import Overrides
from crag.admin.store import open_store
from crag.cli.main import main
from crag.core.config import AppConfig


@pytest.fixture(autouse=True)
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CRAG_DATA", str(tmp_path))
    return tmp_path


def shown(capsys: pytest.CaptureFixture[str]) -> dict[str, dict[str, object]]:
    return {record["limit"]: record for record in map(json.loads, capsys.readouterr().out.splitlines())}


def test_limits_are_shown_and_changed_for_all_and_for_one(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["limits", "--json", "--change", "all_calls_day=500", "--change", "library_documents=20"]) == 0
    found = shown(capsys)
    assert found["all_calls_day"] == {
        **{"limit": "all_calls_day", "workspace": "", "most": 500, "used": 0},
        "changed_by": "command line",
    }
    assert main(["limits", "--json", "--workspace", "default", "--change", "library_documents=7"]) == 0
    found = shown(capsys)
    assert found["library_documents"]["most"] == 7 and found["library_documents"]["used"] == 0
    assert "all_calls_day" not in found
    assert main(["limits", "--workspace", "default", "--change", "library_documents="]) == 0
    assert "library_documents          20 documents, 0 documents used" in capsys.readouterr().out
    assert len(list(AuditLog(open_store(data)).entries(act="limit"))) == 4
    assert AppConfig().quotas.library_documents == 50_000


@pytest.mark.parametrize(
    ("given", "code", "why"),
    [
        (["--change", "library_documents"], 2, "no limit and value"),
        (["--change", "library_documents=many"], 2, "no limit and value"),
        (["--change", "library_documents=-1"], 2, "greater than or equal to 0"),
        (["--change", "library_dollars_day=nan"], 2, "library_dollars_day"),
        (["--change", "library_calls_day=1e300"], 2, "library_calls_day"),
        (["--change", "data=1"], 1, "is no limit here"),
        (["--workspace", "nowhere", "--change", "library_documents=1"], 1, "There is no workspace 'nowhere'"),
        (["--workspace", "../x"], 1, "There is no workspace"),
    ],
)
def test_what_is_no_limit_is_refused_and_changes_nothing(
    data: Path, capsys: pytest.CaptureFixture[str], given: list[str], code: int, why: str
) -> None:
    assert main(["limits", *given]) == code
    assert why in capsys.readouterr().err and not Overrides(open_store(data)).all()
