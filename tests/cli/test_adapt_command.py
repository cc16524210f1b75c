"""`adapt`: shows what labels teach and changes nothing; --apply uses it, --remove stops; bad labels in a sentence."""

from __future__ import annotations

from pathlib import Path

import pytest

from crag.storage.library import Library
from tests.support.shell import crag
from tests.support.small_library import WordEmbedder
from tests.support.tune_runs import add_report, run


@pytest.fixture
def place(tmp_path: Path) -> tuple[str, Path]:
    """A library whose runs score one page high, which is right two times in three, and a set that says so."""
    rows = ["id,question,source,page"]
    with Library.open(tmp_path / "library", WordEmbedder()) as library:
        add_report(library, WordEmbedder.dimension)
        for number in range(60):
            library.runs.save(run(number, [0.97, 0.03], evaluator="local-6"), [])
            rows.append(f"{number},Why did it happen in {number}?,report.pdf,{1 if number % 3 else 2}")
    (tmp_path / "set.csv").write_text("\n".join([*rows, "new,Was this asked?,report.pdf,1"]) + "\n")
    return "--library", tmp_path / "library"


def test_it_is_shown_then_used_then_not(place: tuple[str, Path]) -> None:
    labels = place[1].parent / "set.csv"
    shown = crag("adapt", "--labels", labels, *place)
    assert shown.code == 0 and "It helps: log loss" in shown.out and "The shipped scores are in use" in shown.out
    assert "1 question of the set were never asked" in shown.err
    used = crag("adapt", "--apply", "--json", *place)
    (record,) = used.records
    assert used.code == 0 and record["applied"] and record["chunks"]["labels"] == 120
    assert record["sets"]["reason"] == "few" and record["in_use"].startswith("In use")
    assert "shipped scores are in use" in crag("adapt", "--remove", *place).out
    assert "shipped scores are in use" in crag("adapt", *place).out


def test_without_labels_nothing_is_used(place: tuple[str, Path]) -> None:
    refused = crag("adapt", "--apply", *place)
    assert refused.code == 1 and "At least 30 labelled chunks are needed; 0 are there." in refused.out
    assert crag("adapt", "--apply", "--remove", *place).code == 2
