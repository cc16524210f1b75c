"""The middleware's benchmark asks every way the same, and looks at the history turn by turn."""

from __future__ import annotations

import pytest

pytest.importorskip("langchain", reason="pip install -r requirements/langchain.txt")

from benchmarks.middleware import WAYS, history, measure, report
from benchmarks.overhead import PATHS


def test_every_way_is_measured_and_the_history_stays_clean() -> None:
    turns = measure(PATHS["CORRECT"], runs=2, warm_up=1)
    assert [set(each.seconds) for each in turns] == [set(WAYS)] * 2
    kept = history(PATHS["CORRECT"], turns=3)
    assert (kept["equal"], kept["held"], kept["runs"]) == (True, 0, 3)
    page = report({"CORRECT": turns}, kept, (0.0, 0.0), 1)
    assert "equal but for the agent's own messages" in page and "| CORRECT | *added* | **" in page
