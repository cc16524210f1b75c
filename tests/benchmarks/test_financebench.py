"""The FinanceBench benchmark: what counts as a page hit, which seconds count, what the page says."""

from __future__ import annotations

import pytest

from benchmarks.financebench import differences
from benchmarks.financebench_report import page_hit, report, seconds_to_answer, strategy_figures
from crag.core.types import Action
from crag.measure.metrics import Row
from crag.measure.ranking import ranked


def row(id: str = "1", *, rank: int | None = 1, strategy: str = "balanced", **values: object) -> Row:
    places = ["other"] * 10
    if rank is not None:
        places[rank - 1] = "page"
    found = {"acted_by_page": ranked(places, ["page"]), "acted_holds": rank is not None, **values}
    return Row(question_id=id, question="?", strategy=strategy, **found)  # type: ignore[arg-type]


def test_a_page_hit_is_an_expected_page_among_the_first_chunks() -> None:
    assert page_hit(row(rank=6)) is True
    assert page_hit(row(rank=6), 5) is False
    assert page_hit(row(rank=5), 5) is True
    assert page_hit(row(rank=None)) is False
    assert page_hit(row(acted_by_page=None)) is None


def test_the_check_of_citations_is_no_time_to_the_answer() -> None:
    assert seconds_to_answer(row(seconds=2.0, step_seconds={"verify": 0.5, "answer": 1.0})) == 1.5
    assert seconds_to_answer(row(seconds=2.0)) == 2.0
    assert seconds_to_answer(row()) is None


def test_a_strategy_s_figures() -> None:
    rows = [
        row("1", rank=1, action=Action.CORRECT, seconds=1.0, evidence_page=True),
        row("2", rank=7, action=Action.AMBIGUOUS, seconds=3.0, evidence_page=False),
        row("3", rank=None, action=Action.INCORRECT, seconds=2.0),
        row("4", acted_by_page=None, action=Action.CORRECT, seconds=9.0),
    ]
    found = strategy_figures(rows)
    assert found["page_hit_5"]["value"] == pytest.approx(1 / 3)
    assert (found["page_hit"]["value"], found["page_hit"]["known"]) == (pytest.approx(2 / 3), 3)
    assert (found["evidence_page"]["value"], found["evidence_page"]["known"]) == (0.5, 2)
    assert found["actions"] == {"CORRECT": 2, "AMBIGUOUS": 1, "INCORRECT": 1, "none": 0}
    assert found["seconds_median"] == 2.5


def test_the_page_has_a_column_a_strategy_and_says_what_differs() -> None:
    rows = {
        name: [row(str(number), strategy=name, evidence_page=kept, seconds=1.0) for number in range(5)]
        for name, kept in (("plain-rag", False), ("balanced", True))
    }
    told = differences(rows)
    assert set(told) == {"evidence_page"}
    facts = {"questions": 5, "documents": 1, "chunks": 2, "chunking": "c", "version": "v", "machine": "m"}
    page = report({**facts, "strategies": {k: strategy_figures(v) for k, v in rows.items()}, "differences": told})
    assert "| `plain-rag` | `balanced` |" in page
    assert "1 higher with balanced" in page
    assert differences({"balanced": rows["balanced"]}) == {}
