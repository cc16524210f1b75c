"""The benchmark of summaries that people marked, on two made-up ones in the form of its data."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks import faithbench

SOURCE = "The Keller Bridge was opened in 1931. It is 412 metres long. Marta Keller designed it."
FALSE = "The Keller Bridge was opened in 1948."


def write_summaries(folder: Path) -> None:
    """A checkout with one batch: a summary that its source bears out, and one with another year."""
    said = dict.fromkeys(faithbench.DETECTORS, 1.0)
    marks = [{"label": ["Unwanted", "Unwanted.Instrinsic"], "summary_start": 32, "summary_end": 36}]
    samples = [
        {"source": SOURCE, "summary": "The Keller Bridge was opened in 1931.", "annotations": [], "metadata": said},
        {"source": SOURCE, "summary": FALSE, "annotations": marks, "metadata": said},
    ]
    place = folder / "data_for_release" / "batch_1.json"
    place.parent.mkdir(parents=True)
    place.write_text(json.dumps({"samples": samples}), encoding="utf-8")


def test_a_summary_with_another_year_is_flagged_and_the_true_one_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write_summaries(tmp_path)
    monkeypatch.setattr("sys.argv", ["faithbench", "--data", str(tmp_path), "--limit", "2"])
    assert faithbench.main() == 0
    page = capsys.readouterr().out
    ours, detector = (
        next(row for row in page.splitlines() if row.startswith(f"| {name} |"))
        for name in ("the check of sentences", "HHEM-2.1")
    )
    assert ours.split(" | ")[1].startswith("1.000") and detector.split(" | ")[1].startswith("0.500")
    assert "Of 1 sentences with an unwanted span 100% are flagged, of 1 in summaries without a mark 0%." in page
