"""The FinanceBench benchmark: what counts as a page hit, which seconds count, what the page says."""

from __future__ import annotations

import pytest

from benchmarks.financebench_report import strategy_figures
from crag.analysis.metrics.metrics import Ranked, ResultRow, rank_expected
from crag.core.types import Action


def ranking(rank: int | None) -> Ranked | None:
    return rank_expected(["page" if place == rank else "other" for place in range(1, 11)], ["page"])


def row(id: str = "1", *, rank: int | None = 1, strategy: str = "balanced", **values: object) -> ResultRow:
    found = {"first_by_page": ranking(1), "acted_by_page": ranking(rank), "acted_holds": rank is not None, **values}
    return ResultRow(question_id=id, question="?", strategy=strategy, **found)  # type: ignore[arg-type]


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
