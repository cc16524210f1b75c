"""The comparison with other libraries: how a ranking is judged, and how one side is asked."""

import json
import sys
from pathlib import Path

import pytest

from benchmarks.field.figures import compare, judge, summarize
from benchmarks.field.report import page
from benchmarks.field.retrieval import HERE, SIDES, Measured, Side, SideError, run, stays
from benchmarks.retrieval import Question

RESULTS = HERE.parent / "results"

QUESTION = Question("How high was the revenue?", "a.pdf", frozenset({3, 7}))


def test_a_gold_page_gains_once_at_the_first_passage_that_reaches_it() -> None:
    once = judge(QUESTION, [("a.pdf", [3], "x"), ("a.pdf", [7], "x")])
    again = judge(QUESTION, [("a.pdf", [3], "x"), ("a.pdf", [3], "x"), ("a.pdf", [7], "x")])
    assert once["ndcg@10"] == pytest.approx(1.0)
    assert again["ndcg@10"] < 1.0


def test_the_same_page_of_another_file_is_no_hit() -> None:
    row = judge(QUESTION, [("b.pdf", [3], "x")] * 10)
    assert row["hit@10"] == row["document_hit@5"] == row["ndcg@10"] == 0


def test_a_hit_after_five_long_passages_is_late_in_both_measures() -> None:
    row = judge(QUESTION, [("a.pdf", [1], "x" * 900)] * 5 + [("a.pdf", [3], "x")])
    assert (row["hit@5"], row["hit@10"], row["hit_in_budget"], row["document_hit@5"]) == (0, 1, 0, 1)


def test_equal_text_cuts_off_a_second_long_passage_but_never_the_first() -> None:
    long = "x" * 5_000
    assert judge(QUESTION, [("a.pdf", [3], long)])["hit_in_budget"] == 1
    assert judge(QUESTION, [("a.pdf", [1], "x"), ("a.pdf", [3], long)])["hit_in_budget"] == 0


def test_sides_are_compared_question_by_question() -> None:
    hit, miss = judge(QUESTION, [("a.pdf", [3], "x")]), judge(QUESTION, [])
    found = compare([miss] * 10, [hit] * 10)["hit@5"]
    assert (found["value"], found["low"], found["high"]) == (-1, -1, -1)
    assert summarize([hit, miss])["hit@5"]["value"] == 0.5


@pytest.fixture
def files(tmp_path: Path) -> Path:
    (tmp_path / "bridge.txt").write_text("The bridge over the Tay was opened in 1878.", encoding="utf-8")
    (tmp_path / "bread.txt").write_text("Rye bread is baked from a sour dough.", encoding="utf-8")
    return tmp_path


def request_of(folder: Path) -> dict[str, object]:
    names = sorted(path.name for path in folder.glob("*.txt"))
    return {"store": None, "files": names, "questions": ["When was the bridge opened?"]}


def test_our_side_answers_as_every_side_must(files: Path) -> None:
    found = run(SIDES[0], sys.executable, request_of(files), files)
    source, pages, text = found["ranked"][0][0]
    assert (source, pages) == ("bridge.txt", [1]) and "1878" in text
    assert found["chunks"] == 2 and len(found["search_seconds"]) == 1
    assert found["peak_mb"] > 0 and found["start_seconds"] > 0 and found["installed_bytes"] > 0


def test_the_message_of_a_side_that_cannot_run_is_kept(files: Path, tmp_path: Path) -> None:
    absent = Side("absent", "A library that is not there")
    with pytest.raises(SideError, match="absent"):
        run(absent, sys.executable, request_of(files), files)
    measured = Measured(tmp_path)
    environment = tmp_path / "environments" / "absent" / "bin"
    environment.mkdir(parents=True)
    (environment / "python").symlink_to(sys.executable)
    (environment.parent / "filled").touch()
    measured.measure("a", absent, request_of(files), files)
    assert "absent" in (measured.get("a") or {})["failed"]


def test_the_committed_page_has_the_committed_figures() -> None:
    results = json.loads((RESULTS / "field_retrieval.json").read_text("utf-8"))
    said = page(results, (HERE / "findings.md").read_text("utf-8"))
    assert said == (RESULTS / "field_retrieval.md").read_text("utf-8")


def test_what_is_not_measured_again_stays_with_its_date(tmp_path: Path) -> None:
    before = tmp_path / "field_retrieval.json"
    row = {"chunks": 3}
    former = {"sets": {"squad": {"one": row, "other": row}}, "costs": {"one": {"lines": 40}}}
    before.write_text(json.dumps({"date": "2026-11-26", "models": {"small": former}}), encoding="utf-8")
    found = {"sets": {"squad": {"one": {"chunks": 4}}, "clapnq": {"one": row}}, "costs": {}}
    stays({"date": "2026-11-27", "models": {"small": found}}, before)
    assert found["sets"]["squad"] == {"one": row, "other": row}
    assert found["dates"] == {"squad": "2026-11-26", "clapnq": "2026-11-27"}
    assert found["costs"] == {"one": {"date": "2026-11-26", "lines": 40}}
