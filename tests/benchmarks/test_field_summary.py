"""The page over all tables beside the field: who is called ahead, and what is said of a table that is not there."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from benchmarks.field import summary


@pytest.mark.parametrize(
    ("low", "high", "said"),
    [(-0.2, -0.1, "ahead"), (0.1, 0.2, "**behind**"), (-0.1, 0.1, "no difference shown"), (None, None, "–")],
)
def test_only_an_interval_without_0_puts_a_side_ahead(low: float | None, high: float | None, said: str) -> None:
    assert summary.verdict({"value": 0.0, "low": low, "high": high}) == said


def test_a_table_that_is_not_there_is_named_with_the_place_of_its_data(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copy(summary.RESULTS / "field_filings.json", tmp_path)
    monkeypatch.setattr("sys.argv", ["summary", "--results", str(tmp_path)])
    assert summary.main() == 0
    page = (tmp_path / "field.md").read_text(encoding="utf-8")
    assert capsys.readouterr().out.strip() == page.strip()
    assert "field_mtrag: not measured here. Its data: github.com/" in page and "libraries" not in page


def test_the_committed_page_has_the_committed_figures(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in summary.SOURCES:
        if (source := summary.RESULTS / f"{name}.json").is_file():
            shutil.copy(source, tmp_path)
    monkeypatch.setattr("sys.argv", ["summary", "--results", str(tmp_path)])
    assert summary.main() == 0
    assert (tmp_path / "field.md").read_text("utf-8") == (summary.RESULTS / "field.md").read_text("utf-8")


def test_what_is_less_theirs_is_turned_into_less_ours() -> None:
    results = json.loads((summary.RESULTS / "field_filings.json").read_text(encoding="utf-8"))
    assert "**behind**" in summary.page({"field_filings": results}, "")
