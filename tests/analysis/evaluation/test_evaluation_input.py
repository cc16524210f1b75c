"""Question sets as people have them, stored and told whole: mixed encodings, equal ids, formulas, 50,000 rows."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from crag.analysis.evaluate import add_set, evaluate, evaluations, spending
from crag.analysis.questions.sets import read_set
from crag.core.request import RunRequest
from crag.core.trace import Trace
from crag.core.types import Call
from crag.engine import Engine
from crag.messages.providers import cost_text
from crag.providers.prices import table
from tests.support.evaluation_makers import filled_engine


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    made = filled_engine(tmp_path)
    yield made
    made.close()


def test_what_an_evaluation_spent_is_known_when_its_runs_are_gone(engine: Engine) -> None:
    id = add_set(engine.library(), read_set("s.csv", b"question\nWhy?\nHow?\n"))
    list(evaluate(engine, id, RunRequest("", "plain-rag")))
    (made,) = evaluations(engine.library())
    library, prices = engine.library(), table()
    assert cost_text(spending(library, made.id, prices)) == "$0"
    for run, tokens in ((f"{made.id}-1", 1_000_000), (f"{made.id}-2", 500_000), ("another", 9_000_000)):
        call = Call(step="answer", provider="openai", model="gpt-4o", seconds=1.0, input_tokens=tokens, output_tokens=0)
        library.runs.save(Trace(run_id=run, started_at="2026-01-01", calls=(call,), finished=True), [])
    library.runs.delete(f"{made.id}-1")
    found = spending(library, made.id, prices)
    assert (found.calls, found.input_tokens, cost_text(found)) == (2, 1_500_000, "$3.75")
