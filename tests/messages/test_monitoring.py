"""Sentences about many runs: what is compared, how much it changed, and what warns."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from crag.analysis.monitoring.drift import Drift
from crag.analysis.monitoring.figures import Choice, choose_runs
from crag.core.runfacts import RunFacts
from crag.messages.monitoring import Said, change_sentence, compose_sentences, drift_sentence, drift_word
from tests.analysis.monitoring.test_marks import NOW, month

MONDAY = datetime(2026, 11, 16, tzinfo=UTC)


def week_of(runs: list[RunFacts]) -> list[Said]:
    return compose_sentences(choose_runs(runs, Choice(span="week"), NOW), [])


def drifted(**values: object) -> Drift:
    known = {"what": "web", "since": MONDAY, "runs": 80, "runs_before": 300, "verdict": "drift", "effect": 0.2}
    return Drift(**{**known, "now": {"web": 0.4}, "before": {"web": 0.2}, **values})  # type: ignore[arg-type]


def test_each_sentence_says_the_figure_and_what_it_is_compared_with() -> None:
    since = (NOW - timedelta(days=7)).isoformat()
    moved = [
        replace(run, searches=3, rewrites=2, action="INCORRECT", faithfulness=0.5) if run.started_at > since else run
        for run in month(1500)
    ]
    said = {each.mark: each for each in week_of(moved)}
    assert said["runs"].text.endswith(": 0% CORRECT, 0% AMBIGUOUS, 100% INCORRECT.")
    assert said["web"].text.startswith("Web rate 100%, ") and "points above the weeks before (" in said["web"].text
    assert said["rewrites"].text == (
        "2.00 rewrites per question, more than 0.5: your documents may not cover these questions."
    )
    assert said["faithful"].text == (
        "50% of the sentences in checked answers are supported by their sources; in the weeks before, 89%."
    )
    assert said["web"].warns and said["rewrites"].warns and not said["runs"].warns


def test_numbers_of_one_are_singular() -> None:
    (said,) = [each.text for each in week_of(month()[-1:]) if each.mark == "runs"]
    assert said.startswith("1 run: ")
    assert change_sentence("documents", "1") == "1 document added"
    assert change_sentence("documents", "1200") == "1,200 documents added"


def test_without_runs_one_sentence_says_what_to_do() -> None:
    assert week_of([]) == [Said("No runs in this period. Choose a longer period or fewer filters.")]


@pytest.mark.parametrize(
    ("found", "sentence", "word"),
    [
        (drifted(), "The web rate changed in the week of 16 Nov: 40%, 20% in the four weeks before.", "20 points"),
        (
            drifted(verdict="slight", what="actions", now={"CORRECT": 0.5}, before={"CORRECT": 0.54}, effect=0.04),
            "The mix of actions changed slightly in the week of 16 Nov: CORRECT 50% of the runs, "
            "54% in the four weeks before.",
            "slight, 4 points",
        ),
        (
            drifted(what="scores", now={"median": 0.3}, before={"median": 0.6}, lower=0.75, effect=0.5),
            "The chunks' scores changed in the week of 16 Nov: the median was 0.60 and is 0.30; "
            "this week's score is lower in 75% of pairs.",
            "50 points",
        ),
        (drifted(verdict="none"), "The web rate: no drift, 80 runs against 300.", "no change"),
        (
            drifted(verdict="few", runs=12),
            "Too few runs to test for drift: 12 of 50 in the week of 16 Nov.",
            "too few runs",
        ),
        (
            drifted(verdict="few", runs_before=60),
            "Too few runs to test for drift: 60 of 100 in the four weeks before.",
            "too few runs",
        ),
    ],
)
def test_drift_is_said_with_its_size(found: Drift, sentence: str, word: str) -> None:
    assert (drift_sentence(found), drift_word(found)) == (sentence, word)
