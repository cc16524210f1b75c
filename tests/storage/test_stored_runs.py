"""Stored runs and a stored library: they say what they said then, and can be decided again."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from crag.analysis.evaluate import evaluations, rows
from crag.analysis.metrics.metrics import measure_run
from crag.analysis.questions.sets import Question
from crag.analysis.whatif.entries import Entry
from crag.analysis.whatif.replay_plan import StoredDecisions
from crag.analysis.whatif.whatif import redecide
from crag.core.settings import Settings
from crag.core.strategies import STRATEGIES
from crag.core.trace import Trace
from crag.messages.providers import cost_sentence
from crag.messages.wording import outcome_sentence
from crag.models.embedders import MiniLM
from crag.providers.prices import PRICES, plain_rag
from crag.storage.library import Library
from tests.support.stored import RUNS, stored_library, stored_run


def test_a_stored_library_opens_with_all_it_holds(tmp_path: Path) -> None:
    with Library.open(stored_library(tmp_path / "old"), MiniLM()) as library:
        library.verify()
        library.check_model()
        [document] = library.documents.all()
        assert (document.name, document.pages, library.size) == ("report.pdf", 2, (1, 2))
        assert [(run.question[:8], run.strategy, run.action) for run in library.runs.latest(9, every=True)] == [
            ("How many", "balanced", "CORRECT"),
            ("How long", "balanced", "AMBIGUOUS"),
            ("How many", "balanced", "CORRECT"),
            ("How long", "balanced", "AMBIGUOUS"),
            ("How many", "balanced", "CORRECT"),
        ]
        for run in library.runs.latest(9, every=True):
            told = Trace.from_events(library.runs.events(run.run_id))
            untimed = tuple(replace(failure, at=0.0) for failure in told.failures)
            assert library.runs.trace(run.run_id) == replace(told, failures=untimed), "when it failed is in the events"
        [label] = library.labels.all()
        assert label.label == "relevant"
        assert sum(each.calls for each in library.runs.spending(days=36_500)) == 11
        [evaluation] = evaluations(library)
        [row] = rows(library, evaluation.id)
        assert (evaluation.done, evaluation.settings, row.problem) == (1, Settings(), "")
        found = library.search("How many days did hiring take?", 2)
        assert "eighty days" in found[0].chunk.text


@pytest.mark.parametrize("name", RUNS)
def test_a_stored_run_is_decided_anew_measured_and_counted(name: str) -> None:
    trace = Trace.from_events(stored_run(name))
    assert outcome_sentence(trace) or name == "fatal"
    assert cost_sentence(trace, PRICES)
    plain_rag(trace, PRICES)
    measure_run(trace, Question(id="1", question=trace.question))
    for each in STRATEGIES.values():
        redecide(trace, each.settings)
    if name != "fatal":
        assert not redecide(trace, Settings.checked(trace.settings)).changes_action
    outcome = StoredDecisions([Entry.of(trace)]).redecide(Settings(lower=0.99, upper=0.995, loop_on=(), max_rewrites=0))
    assert len(outcome.rows) == 1
