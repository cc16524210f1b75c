"""What the Monitor counts: every mark stands for just the runs that its figure counts, and what is said of them."""

import hashlib
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from crag.analysis.intervals import mean, quantile, share
from crag.analysis.monitoring import figures
from crag.analysis.monitoring.figures import Choice, behind, choose_runs
from crag.core.runfacts import DaySpending, RunFacts
from crag.messages.monitoring import compose_sentences
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
        used = DaySpending(
            day=run.started_at[:10],
            provider="tavily",
            model="",
            calls=1,
            failed=int(number % 9 == 0),
            uncounted=0,
            seconds=0.4,
            input_tokens=0,
            output_tokens=0,
        )
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
    assert sum(len(runs) for runs in found.by_bucket().values()) == len(found.runs) > 0
    assert list(found.by_bucket()) == list(found.buckets), "no run lies outside the buckets"
    for bucket, counts in figures.actions(found).items():
        for action, count in counts.items():
            assert len(behind(f"action|{bucket}|{action}", found)) == count
        assert len(behind(f"runs|{bucket}", found)) == sum(counts.values())
    for bucket, rate in figures.over_time(found, figures.web_rate).items():
        assert len(behind(f"web|{bucket}", found)) == round((rate.value or 0) * rate.of)
    for when, runs in (("now", found.runs), ("before", found.before)):
        for place, count in enumerate(figures.distribution(runs)):
            assert len(behind(f"score|{place}|{when}", found)) == count
    for who, reasons in figures.failures(found.runs).items():
        for reason, count in reasons.items():
            assert len(behind(f"failed|{who}|{reason}", found)) == count
    for by in ("strategy", "evaluator", "scope", "via"):
        for group in figures.groups(found.runs, by):
            assert len(behind(f"group|{by}|{group.name}", found)) == group.runs
    for week in figures.weeks(found):
        assert len(behind(f"group|week|{week.name}", found)) == week.runs
    for step in figures.latency(found):
        slow = behind(f"step|{step.step}|p95", found)
        took = [run.seconds if step.step == "run" else run.steps[step.step] for run in slow]
        assert min(took) == step.p95.value and took == sorted(took, reverse=True)
    assert len(behind("gaps|", found)) == figures.gaps(found.runs)
    assert behind("run_id|x|y", found) == [] and behind("group|__class__|x", found) == [] and behind("", found) == []


def test_the_last_seven_days_stand_beside_the_four_weeks_before_whatever_the_span() -> None:
    week, earlier = (NOW - timedelta(days=days) for days in (7, 35))
    runs = month()
    runs.append(
        replace(runs[-1], run_id="since the last full hour", started_at=(NOW + timedelta(minutes=5)).isoformat())
    )
    now, before = figures.weeks(choose_runs(runs, Choice(span="day"), NOW))
    assert now.runs == sum(run.started_at >= week.isoformat() for run in runs)
    assert before.runs == sum(earlier.isoformat() <= run.started_at < week.isoformat() for run in runs)
    moved = [replace(run, searches=3) if run.started_at >= week.isoformat() else run for run in runs]
    now, before = figures.weeks(choose_runs(moved, Choice(), NOW))
    assert now.web.value == 1 and now.web.low > before.web.high


def test_filters_let_through_what_they_name_and_leave_evaluations_out_until_they_are_wanted() -> None:
    runs = month()
    evaluated = [replace(run, run_id=f"{'a' * 16}-{place}-x") for place, run in enumerate(runs[:50])]
    runs[:50] = evaluated
    assert len(choose_runs(runs, Choice(span="all"), NOW).runs) == 350
    assert len(choose_runs(runs, Choice(span="all", evaluations="with"), NOW).runs) == 400
    assert len(choose_runs(runs, Choice(span="all", evaluations="only"), NOW).runs) == 50
    for field, value, expected in (("via", "http", "http"), ("scope", "*", ""), ("scope", "reports", "reports")):
        some = choose_runs(runs, Choice(span="all", **{field: value}), NOW).runs
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
    made_of = board(Seen(moved, ("moved",)), Choice(span="week"), (), NOW)
    warned = [each.mark for each in made_of.sentences if each.warns]
    assert [each.mark for each in made_of.sentences[: len(warned)]] == warned
    assert {"web", "rewrites"} <= set(warned)
    for each in made_of.sentences:
        assert not each.mark or behind(each.mark, made_of.found), each
    quiet = board(Seen(runs, ("quiet",)), Choice(span="week"), (), NOW)
    assert "web" in {each.mark for each in quiet.sentences if not each.warns}
    assert [each.mark for each in compose_sentences(choose_runs([], Choice(), NOW))] == [""]


def test_what_was_used_for_the_first_time_is_a_change() -> None:
    runs = [replace(run, lower=0.2, upper=0.4) for run in month(40)]
    runs[20:] = [replace(run, upper=0.6, evaluator="llm:x") for run in runs[20:]]
    added = [(runs[30].started_at, "a.pdf"), (runs[30].started_at, "b.pdf"), ("2020-01-01T00:00:00+00:00", "old.pdf")]
    found = figures.changes(runs, added)
    assert [(each.kind, each.what) for each in found if each.kind != "model"] == [
        ("evaluator", "llm:x"),
        ("thresholds", "balanced 0.20 0.60"),
        ("documents", "2"),
    ]
