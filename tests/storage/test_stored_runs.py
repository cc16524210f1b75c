"""Stored runs and a stored library: they say what they said then, and can be decided again."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from crag.analysis.evaluate import evaluations, rows
from crag.core.settings import Settings
from crag.core.trace import Trace
from crag.models.embedders import MiniLM
from crag.storage.library import Library
from tests.support.stored import RUNS, stored_library, stored_run

SAID = {
    # action, strategy, who wrote, citations, rounds, webs searched, failed steps, calls
    "ambiguous": ("AMBIGUOUS", "balanced", "extractive", 3, 1, ["folder"], [], 0),
    "answer-broke-off": ("AMBIGUOUS", "balanced", "extractive", 1, 1, [], ["answer"], 4),
    "approved": ("AMBIGUOUS", "balanced", "openai-compatible:tester", 2, 1, ["tavily"], [], 8),
    "cancelled": ("INCORRECT", "balanced", "", 0, 1, [], [], 0),
    "correct": ("CORRECT", "balanced", "extractive", 1, 1, [], [], 0),
    "fatal": (None, "balanced", "", 0, 0, [], ["retrieve"], 0),
    "incorrect": ("INCORRECT", "balanced", "extractive", 2, 2, ["folder"], [], 0),
    "joint-forced": ("INCORRECT", "joint", "extractive", 0, 1, ["folder"], [], 0),
    "plain-rag": (None, "plain-rag", "extractive", 1, 1, [], [], 0),
    "refused": ("AMBIGUOUS", "balanced", "openai-compatible:tester", 0, 1, [], ["search"], 1),
    "stood-in": ("INCORRECT", "balanced", "openai-compatible:tester", 0, 2, [], ["evaluate", "search"], 12),
}


@pytest.mark.parametrize("name", RUNS)
def test_a_stored_run_says_what_it_said(name: str) -> None:
    trace = Trace.from_events(stored_run(name))
    action, strategy, by, citations, rounds, webs, failed, calls = SAID[name]
    assert (trace.action, trace.strategy, len(trace.rounds), len(trace.calls)) == (action, strategy, rounds, calls)
    assert (trace.answer.by if trace.answer else "").startswith(by) and bool(trace.answer) == bool(by)
    assert trace.answer is None or len(trace.answer.citations) == citations
    assert [search.provider for search in trace.searches] == webs
    assert [failure.step for failure in trace.failures] == failed
    assert (trace.failure is not None, trace.cancelled, trace.finished) == (name == "fatal", name == "cancelled", True)


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
