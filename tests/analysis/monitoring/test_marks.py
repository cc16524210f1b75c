"""What the Monitor counts: every mark stands for just the runs that its figure counts, and what is said of them."""

import hashlib
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from crag.analysis.intervals import mean, quantile, share
from crag.analysis.monitoring import figures
from crag.analysis.monitoring.figures import MEASURES, Choice, behind, choose_runs, mark
from crag.core.runfacts import RunFacts
from crag.messages.monitoring import compose_sentences
from tests.support.made import spent
from ui.monitor.stored import Seen, board

NOW = datetime(2026, 11, 22, 15, 30, tzinfo=UTC)
ACTIONS = ("CORRECT", "AMBIGUOUS", "INCORRECT")


def made(number: int, at: datetime, random: np.random.Generator, *, low: float = 0.0) -> RunFacts:
    """A run whose best score is high, or low with that probability; its action and its web go by the score."""
    best = float(random.beta(8, 2) if random.random() >= low else random.beta(2, 6))
    action = ACTIONS[0 if best > 0.6 else 1 if best > 0.3 else 2]
    return RunFacts(
        run_id=hashlib.sha256(f"{number}".encode()).hexdigest()[:32],
        workspace="default",
        started_at=at.isoformat(timespec="milliseconds"),
        strategy="balanced",
        via="app",
        action=action,
        outcome="answered",
        evaluator="local-1",
        best=best,
        searches=int(action != "CORRECT"),
    )


def month(count: int = 400, **more: float) -> list[RunFacts]:
    """Runs of the last 45 days with failures, calls, rewrites and steps."""
    random = np.random.default_rng(2)
    runs = []
    for number, days in enumerate(np.sort(random.uniform(0, 45, count))[::-1]):
        run = made(number, NOW - timedelta(days=float(days)), random, **more)
        used = spent("tavily", day=run.started_at[:10], failed=int(number % 9 == 0))
        runs.append(
            replace(
                run,
                rewrites=run.searches,
                seconds=float(random.gamma(2, 0.2)),
                steps={"retrieve": 0.01, "evaluate": float(random.gamma(2, 0.1))},
                used=(used,) if run.web else (),
                refused={"tavily: unreachable": 1} if run.web and number % 9 == 0 else {},
                failures={"search: unreachable": 1} if run.web and number % 9 == 0 else {},
                faithfulness=0.9 if number % 3 else None,
                scope="reports" if number % 5 == 0 else "",
                via="http" if number % 4 == 0 else "app",
                dollars=0.01 if run.web else 0.0,
            )
        )
    return runs


@pytest.mark.parametrize("span", ["day", "week", "month", "all"])
def test_every_mark_stands_for_the_runs_that_its_figure_counts(span) -> None:
    found = choose_runs(month(), Choice(span=span), NOW)
    whole = len(found.span.runs)
    assert whole > 0
    for kind in ("time", "strategy", "evaluator", "scope", "via", "score"):
        assert sum(len(group.runs) for group in found.groups[kind].values()) == whole, "each run lies in one group"
    for kind, groups in found.groups.items():
        for name, group in groups.items():
            for measure, rule in MEASURES.items():
                runs, estimate = behind(mark(kind, measure, name), found), group[measure]
                values = [rule.value(run) for run in runs]
                assert set(map(id, runs)) <= set(map(id, group.runs)) and None not in values
                match rule.fold:
                    case "share":
                        assert len(runs) == round((estimate.value or 0) * estimate.known)
                    case "total":
                        assert sum(values) == estimate.value
                    case "median" | "p95":
                        assert min(values, default=None) == estimate.value
                assert values == sorted(values, reverse=not rule.lowest)
    assert sum(len(found.span.behind(action)) for action in figures.ACTIONS) == whole
    assert all(name in run.refused for name, group in found.groups["failure"].items() for run in group.runs)


@pytest.mark.parametrize("mark", ["", "run_id|x|y", "strategy|runs|x", "span|__class__|", "span|runs|x", "|||", "time"])
def test_a_mark_of_nothing_stands_for_no_run(mark) -> None:
    assert behind(mark, choose_runs(month(), Choice(), NOW)) == []


def test_a_name_may_hold_the_sign_that_parts_a_mark() -> None:
    runs = [replace(run, scope="a|b|c") for run in month(40)]
    found = choose_runs(runs, Choice(span="all"), NOW)
    assert len(behind(mark("scope", "runs", "a|b|c"), found)) == 40


def test_the_last_seven_days_stand_beside_the_four_weeks_before_whatever_the_span() -> None:
    week, earlier = (NOW - timedelta(days=days) for days in (7, 35))
    runs = month()
    runs.append(
        replace(runs[-1], run_id="since the last full hour", started_at=(NOW + timedelta(minutes=5)).isoformat())
    )
    now, before = choose_runs(runs, Choice(span="day"), NOW).groups["week"].values()
    assert len(now.runs) == sum(run.started_at >= week.isoformat() for run in runs)
    assert len(before.runs) == sum(earlier.isoformat() <= run.started_at < week.isoformat() for run in runs)
    moved = [replace(run, searches=3) if run.started_at >= week.isoformat() else run for run in runs]
    now, before = choose_runs(moved, Choice(), NOW).groups["week"].values()
    assert now["web"].value == 1 and now["web"].low > before["web"].high


def test_filters_let_through_what_they_name_and_leave_evaluations_out_until_they_are_wanted() -> None:
    runs = month()
    evaluated = [replace(run, run_id=f"{'a' * 16}-{place}-x") for place, run in enumerate(runs[:50])]
    runs[:50] = evaluated
    assert len(choose_runs(runs, Choice(span="all"), NOW).span.runs) == 350
    assert len(choose_runs(runs, Choice(span="all", evaluations="with"), NOW).span.runs) == 400
    assert len(choose_runs(runs, Choice(span="all", evaluations="only"), NOW).span.runs) == 50
    for field, value, expected in (("via", "http", "http"), ("scope", "*", ""), ("scope", "reports", "reports")):
        some = choose_runs(runs, Choice(span="all", **{field: value}), NOW).span.runs
        assert some and {getattr(run, field) for run in some} == {expected}


def test_the_intervals_are_those_of_the_books() -> None:
    wilson = share(10, 100)
    assert (wilson.low, wilson.high) == (pytest.approx(0.0552, abs=1e-4), pytest.approx(0.1744, abs=1e-4))
    assert (
        share(0, 20).low == 0.0 and share(0, 20).high == pytest.approx(0.1611, abs=1e-4) and share(0, 0).value is None
    )
    around = mean([1.0, 2.0, 3.0, 4.0, 5.0])
    assert (around.value, around.low) == (3.0, pytest.approx(1.614, abs=1e-3))
    half = quantile([float(value) for value in range(1, 101)], 0.5)
    assert (half.value, half.low, half.high) == (50.0, 40.0, 61.0)
    assert quantile([1.0, 2.0], 0.95).low is None


def test_what_matters_is_said_first() -> None:
    runs = month(1500)
    late = NOW - timedelta(days=7)
    moved = [
        replace(run, searches=3, rewrites=2, action="INCORRECT", scope="") if run.started_at > late.isoformat() else run
        for run in runs
    ]
    made_of = board(Seen(moved, ("moved",)), Choice(span="week"), NOW)
    warned = [each.mark for each in made_of.sentences if each.warns]
    assert [each.mark for each in made_of.sentences[: len(warned)]] == warned
    assert {mark("span", "web"), mark("span", "rewrites")} <= set(warned)
    for each in made_of.sentences:
        assert not each.mark or behind(each.mark, made_of.found), each
    quiet = board(Seen(runs, ("quiet",)), Choice(span="week"), NOW)
    assert mark("span", "web") in {each.mark for each in quiet.sentences if not each.warns}
    assert [each.mark for each in compose_sentences(choose_runs([], Choice(), NOW))] == [""]
