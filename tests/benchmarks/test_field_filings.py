"""FinanceBench beside published answers: what is counted where one has what the other missed."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

import pytest

from benchmarks.field import filings


def write_published(folder: Path, ids: Iterable[str]) -> None:
    """A checkout in which every system refused every question."""
    (folder / "results").mkdir(parents=True)
    rows = "\n".join(json.dumps({"financebench_id": id, "label": "Refusal"}) for id in ids)
    for name in filings.SYSTEMS:
        (folder / "results" / f"{name}.jsonl").write_text(rows, encoding="utf-8")


def row(id: str, said: str, page: bool) -> dict[str, object]:
    return {
        "id": id,
        "document": "A",
        "rank": 1,
        "action": "CORRECT",
        "kind": "k",
        "said": said,
        "page": page,
        "low": not page,
    }


def test_what_one_has_and_the_other_missed_is_counted() -> None:
    rows = [row("a", "right", True), row("b", "other", True), row("c", "other", False), row("d", "refused", False)]
    theirs = {"a": "refused", "b": "wrong", "c": "right", "d": "right"}
    found = filings.compare(rows, dict.fromkeys(filings.SYSTEMS, theirs))
    assert found["confident"] == {"right": 1, "other": 1}
    system = found["systems"]["gpt-4_sharedStore"]
    assert (system["page_where_missed"]["value"], system["page_where_missed"]["of"]) == (1.0, 2)
    assert system["no_page_where_right"]["value"] == 1.0
    assert (system["only_ours"], system["only_theirs"]) == (1, 2)
    assert system["ours_less_theirs"]["value"] == pytest.approx(-0.25)
    assert [each["value"] for each in found["kinds"]["k"].values()] == [0.25] + [0.5] * len(filings.SYSTEMS)


def test_labels_of_people_are_read(tmp_path: Path) -> None:
    write_published(tmp_path, ["a"])
    assert filings.read_labels(tmp_path / "results" / "gpt-4_sharedStore.jsonl") == {"a": "refused"}


def test_without_published_answers_it_says_where_they_are_had(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["filings", "--published", str(tmp_path), "--data", str(tmp_path)])
    assert filings.main() == 2
    assert "patronus-ai/financebench" in capsys.readouterr().err
