"""crag limits: shows each limit with what is used of it."""

import json
from pathlib import Path

import pytest

from crag.admin.spending import Spending
from crag.admin.store import open_store
from crag.cli.main import main


def test_each_limit_is_shown_with_what_is_used_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, value in {"CRAG_DATA": str(tmp_path), "CRAG_ALL_DOLLARS_DAY": "20", "CRAG_ALL_MB": "0"}.items():
        monkeypatch.setenv(name, value)
    Spending(open_store(tmp_path)).add(1.5)
    assert main(["limits", "--json"]) == 0
    found = {each["limit"]: each for each in map(json.loads, capsys.readouterr().out.splitlines())}
    assert found["all_dollars_day"] == {"limit": "all_dollars_day", "most": 20, "used": 1.5}
    assert found["all_mb"]["most"] is None and found["all_questions_minute"]["most"] == 600
    assert main(["limits"]) == 0
    shown = capsys.readouterr().out
    assert "$1.50 of $20.00 today (UTC)" in shown and "0 MB, no limit" in shown
