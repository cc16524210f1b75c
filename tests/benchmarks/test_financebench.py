"""The FinanceBench benchmark: what counts as a page hit, which seconds count, what the page says."""

from __future__ import annotations

import pytest

from benchmarks.financebench import differences
from benchmarks.financebench_report import report, seconds_to_answer, strategy_figures
from crag.analysis.metrics.metrics import Ranked, ResultRow, rank_expected
from crag.core.types import Action


def ranking(rank: int | None) -> Ranked | None:
    return rank_expected(["page" if place == rank else "other" for place in range(1, 11)], ["page"])


def row(id: str = "1", *, rank: int | None = 1, strategy: str = "balanced", **values: object) -> ResultRow:
    found = {"first_by_page": ranking(1), "acted_by_page": ranking(rank), "acted_holds": rank is not None, **values}
    return ResultRow(question_id=id, question="?", strategy=strategy, **found)  # type: ignore[arg-type]


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
    assert (found["first_page_hit_5"]["value"], found["first_page_hit"]["value"]) == (1.0, 1.0)
    assert (found["acted_page_hit"]["value"], found["acted_page_hit"]["known"]) == (pytest.approx(2 / 3), 3)
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
    facts = {
        "whole": True,
        "questions": 5,
        "documents": 1,
        "chunks": 2,
        "chunking": "c",
        "version": "v",
        "machine": "m",
    }
    strategies = {name: strategy_figures(each) for name, each in rows.items()}
    tried = {"balanced lower=0.1": strategies["balanced"]}
    page = report({**facts, "strategies": strategies, "differences": told, "tried": tried})
    assert "| `plain-rag` | `balanced` |" in page
    assert "`balanced lower=0.1`" in page
    assert "1 higher with balanced" in page
    assert differences({"balanced": rows["balanced"]}) == {}
