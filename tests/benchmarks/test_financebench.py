"""The FinanceBench benchmark: what counts as a page hit, which seconds count, what the page says."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks import faithbench
from benchmarks.financebench_report import strategy_figures
from benchmarks.model_lookups import outcome_of
from benchmarks.table_cells import Cell, told
from crag.analysis.metrics.metrics import ResultRow
from crag.core.types import Action, Chunk, LineBox, Rect
from crag.testing.fakes import chunk_of


def row(id: str = "1", *, rank: int | None = 1, strategy: str = "balanced", **values: object) -> ResultRow:
    rank_of = {"first_reciprocal_rank": 1.0, "acted_reciprocal_rank": 1 / rank if rank else 0.0}
    found = {**rank_of, "acted_holds": rank is not None, **values}
    return ResultRow(question_id=id, question="?", strategy=strategy, **found)  # type: ignore[arg-type]


def test_a_strategy_s_figures() -> None:
    rows = [
        row("1", rank=1, action=Action.CORRECT, seconds=1.0, evidence_page=True),
        row("2", rank=7, action=Action.AMBIGUOUS, seconds=3.0, evidence_page=False),
        row("3", rank=None, action=Action.INCORRECT, seconds=2.0),
        row("4", acted_reciprocal_rank=None, action=Action.CORRECT, seconds=9.0),
    ]
    found = strategy_figures(rows)
    assert (found["first_page_hit_5"]["value"], found["first_page_hit"]["value"]) == (1.0, 1.0)
    assert (found["acted_page_hit"]["value"], found["acted_page_hit"]["known"]) == (pytest.approx(2 / 3), 3)
    assert (found["evidence_page"]["value"], found["evidence_page"]["known"]) == (0.5, 2)
    assert found["actions"] == {"CORRECT": 2, "AMBIGUOUS": 1, "INCORRECT": 1, "none": 0}
    assert found["seconds_median"] == 2.5


# How the answers of a language model to look-ups are judged, and what its page counts


@pytest.mark.parametrize(
    ("answer", "right", "outcome"),
    [
        ("Net sales were $163,220 million in fiscal 2020 [1].", ["163,220"], "right"),
        ("They were $163.2 billion [2].", ["163,220"], "right"),
        ("They were 192,052 [1].", ["163,220"], "wrong"),
        ("They were 192,052 [1].", [], "wrong"),
        ("The sources of 2020 do not say [1].", ["163,220"], "refused"),
    ],
)
def test_an_answer_is_judged_by_the_amounts_that_it_gives(answer: str, right: list[str], outcome: str) -> None:
    assert outcome_of(answer, right) == outcome


# The benchmark of tables' cells: what counts as found, and that its lists are whole


CELL = Cell(
    file="a.pdf",
    page=1,
    value="7,500",
    row="Boats",
    columns=["Year ended May 31,", "2018"],
    unit="in millions",
    box=[400, 100, 430, 110],
    under="Sales",
)


def chunk(text: str, context: str = "") -> Chunk:
    at = text.index("7,500")
    rect = Rect(page=1, left=398.0, top=99.0, right=432.0, bottom=111.0)
    return replace(chunk_of(text), context=context, lines=(LineBox(start=at, end=at + 5, rect=rect),))


@pytest.mark.parametrize(
    ("text", "context", "together", "itself"),
    [
        ("Boats: 2019 6,489; 2018 7,500", "in millions › Year ended May 31, › 2019 | 2018", True, True),
        ("Boats: 6,489; 7,500", "in millions › Year ended May 31, › 2019 | 2018", True, False),
        ("Boats: 2019 6,489; 2018 7,500", "Year ended May 31,", False, True),
        ("Oars: 2019 6,489; 2018 7,500", "in millions › Year ended May 31,", False, False),
    ],
)
def test_what_a_chunk_tells_of_a_cell(text: str, context: str, together: bool, itself: bool) -> None:
    found = told(CELL, [chunk(text, context)])
    assert (found.found, found.together, found.itself, found.under) == (True, together, itself, False)


# The benchmark of summaries that people marked, on two made-up ones in the form of its data


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
