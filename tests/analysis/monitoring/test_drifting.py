"""The drift test: what it finds, what it does not, and that looking often makes no difference."""

import hashlib
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from crag.analysis.monitoring.drift import ALPHA, FEWEST, FEWEST_BEFORE, NEEDED, drift, evidence_of
from crag.core.runfacts import RunFacts

MONDAY = datetime(2026, 11, 16, tzinfo=UTC)
ACTIONS = ("CORRECT", "AMBIGUOUS", "INCORRECT")


def made(number: int, at: datetime, random: np.random.Generator, *, strategy: str = "balanced", low: float = 0.0):
    """A run whose best score is high, or low with that probability; its action and its web go by the score."""
    best = float(random.beta(8, 2) if random.random() >= low else random.beta(2, 6))
    if strategy == "paper":
        best /= 2
    action = ACTIONS[0 if best > 0.6 else 1 if best > 0.3 else 2]
    return RunFacts(
        run_id=hashlib.sha256(f"{number}".encode()).hexdigest()[:32],
        workspace="default",
        started_at=at.isoformat(timespec="milliseconds"),
        strategy=strategy,
        via="app",
        action=action,
        outcome="answered",
        evaluator="local-1",
        best=best,
        searches=int(action != "CORRECT"),
    )


def weeks(per_week: int, *, low: float = 0.0, paper: float = 0.0, seed: int = 0, length: int = 5):
    """Runs of some weeks up to that of MONDAY; in the last one some have low scores, or another strategy."""
    random = np.random.default_rng(seed)
    runs = []
    for week in range(length):
        start = MONDAY - timedelta(days=7 * (length - 1 - week))
        for hours in np.sort(random.uniform(0, 7 * 24, per_week)):
            last = week == length - 1
            strategy = "paper" if random.random() < (paper if last else 0.2) else "balanced"
            at = start + timedelta(hours=float(hours))
            runs.append(made(len(runs), at, random, strategy=strategy, low=low if last else 0.0))
    return runs


@pytest.mark.parametrize("what", ["scores", "actions", "web"])
def test_a_week_like_those_before_is_no_drift_and_a_drifted_one_is(what) -> None:
    quiet = drift(weeks(200, paper=0.2), MONDAY, what)
    assert quiet.verdict == "none" and quiet.evidence < NEEDED and quiet.runs == 200 and quiet.runs_before == 800
    found = drift(weeks(200, paper=0.2, low=0.4), MONDAY, what)
    assert found.verdict == "drift" and found.evidence > NEEDED and found.effect > 0.2


def test_another_mix_of_strategies_is_no_drift() -> None:
    """Runs under `paper` have half the scores here: thrown together, they would look like drift."""
    shifted = weeks(300, paper=0.8)
    for what in ("scores", "actions", "web"):
        found = drift(shifted, MONDAY, what)
        assert found.verdict == "none", what
    before, now = (
        [run.best for run in shifted if (run.started_at >= MONDAY.isoformat()) is late] for late in (False, True)
    )
    assert np.median(now) < np.median(before) - 0.2


def test_too_few_runs_are_said_to_be_too_few() -> None:
    runs = weeks(200, low=1.0)
    cut = [run for run in runs if run.started_at < (MONDAY + timedelta(hours=20)).isoformat()]
    found = drift(cut, MONDAY, "scores")
    assert found.verdict == "few" and 0 < found.runs < FEWEST
    before = drift(weeks(60, length=1), MONDAY, "web")
    assert before.verdict == "few" and before.runs >= FEWEST and before.runs_before < FEWEST_BEFORE


def test_a_sure_but_small_difference_is_slight() -> None:
    found = drift(weeks(4000, low=0.06, seed=3), MONDAY, "scores")
    assert found.evidence > NEEDED and found.verdict == "slight" and found.effect < 0.1


def test_quiet_weeks_rarely_reach_the_level_whatever_the_values_are_like() -> None:
    """At most ALPHA / 3 of them, by Ville's inequality; scores full of ties, and actions, are no exception."""
    random = np.random.default_rng(1)
    hits = 0
    for _ in range(150):
        values = random.choice([0.0, 0.5, 0.5, 1.0], 450)
        days = np.sort(random.integers(0, 7, 150)).tolist()
        pairs = [("k", float(value)) for value in values]
        hits += evidence_of(pairs[:300], pairs[300:], days, random.random(150).tolist()) >= NEEDED
    assert hits <= 150 * ALPHA / 3 + 3
