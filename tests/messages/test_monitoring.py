"""Sentences about many runs: what is compared, how much it changed, and what warns."""

from dataclasses import replace
from datetime import timedelta

from crag.analysis.monitoring.figures import Choice, choose_runs, mark, read_mark
from crag.core.runfacts import RunFacts
from crag.messages.monitoring import Said, compose_sentences
from tests.analysis.monitoring.test_marks import NOW, month


def week_of(runs: list[RunFacts]) -> list[Said]:
    return compose_sentences(choose_runs(runs, Choice(span="week"), NOW))


def test_each_sentence_says_the_figure_and_what_it_is_compared_with() -> None:
    since = (NOW - timedelta(days=7)).isoformat()
    moved = [
        replace(run, searches=3, rewrites=2, action="INCORRECT", faithfulness=0.5) if run.started_at > since else run
        for run in month(1500)
    ]
    said = {read_mark(each.mark)[1]: each for each in week_of(moved) if each.mark.startswith("span")}
    assert said["runs"].text.endswith(": 0% CORRECT, 0% AMBIGUOUS, 100% INCORRECT.")
    assert said["web"].text.startswith("Web rate 100%; in the weeks before, ")
    assert said["rewrites"].text == (
        "2.00 rewrites per question, more than 0.5: your documents may not cover these questions."
    )
    assert said["faithfulness"].text == "50% of checked sentences supported; in the weeks before, 89%."
    assert said["web"].warns and said["rewrites"].warns and not said["runs"].warns


def test_numbers_of_one_are_singular() -> None:
    (said,) = [each.text for each in week_of(month()[-1:]) if each.mark == mark("span", "runs")]
    assert said.startswith("1 run: ")


def test_without_runs_one_sentence_says_what_to_do() -> None:
    assert week_of([]) == [Said("No runs in this period. Choose a longer period or fewer filters.")]
