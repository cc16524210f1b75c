"""Stored runs and a stored library: they say what they said then, and can be decided again."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from crag.analysis.evaluate import evaluations, rows
from crag.core.settings import Settings
from crag.core.trace import Trace
from crag.models.embedders import MiniLM
from crag.storage.library import Library
from tests.support.stored import stored_library


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
