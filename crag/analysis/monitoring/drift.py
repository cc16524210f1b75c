"""Whether a week's runs are like those of the four weeks before: a test that may be looked at every day.

Each run of the week is ranked among all earlier ones of the same evaluator and strategy. While nothing has changed, its
rank is as good as drawn at random, whatever the scores are like: conformal p-values, independent and uniform (Vovk,
Gammerman and Shafer 2005). A stake of 1 is bet, before each run, on ranks that are low, high, in the middle or at the
ends, from each day of the week on, in equal parts. What it has grown to is the `evidence`. While nothing changes it
reaches 1/a at any time of the week with a probability of at most a (Ville 1939). So who looks every hour is not misled
more often than who looks once. `docs/decisions/evaluation.md` has what was measured.
"""

from __future__ import annotations

import hashlib
from bisect import bisect_left, bisect_right, insort
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import date, datetime, timedelta
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from crag.core.runfacts import RunFacts

What = Literal["scores", "actions", "web"]
Verdict = Literal["few", "none", "slight", "drift"]
Values = NDArray[np.float64]

ALPHA = 0.05
"""A quiet week shows drift with at most this probability, all three looked at together, however often one looks."""
NEEDED = 3 / ALPHA
"""So much evidence on one of the three is drift."""
FEWEST, FEWEST_BEFORE = 50, 100
"""Runs that a week, and the weeks before it, must have."""
FEWEST_ALIKE = 20
"""A run is ranked where at least this many earlier ones are of its kind."""
LEAST: Mapping[What, float] = {"scores": 0.1, "actions": 0.05, "web": 0.05}
"""A difference below this is slight, however sure it is."""
WEEKS = timedelta(days=28)
"""What is compared with."""
_ORDER = {"INCORRECT": 0.0, "AMBIGUOUS": 1.0, "CORRECT": 2.0}
_TILTS, _BENDS = (-0.9, -0.6, -0.3, 0.3, 0.6, 0.9), (-0.9, -0.45, 0.45, 0.9)
"""How much is bet on ranks being low or high, and in the middle or at the ends."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Drift:
    """What the test says of one week, of scores, actions or web searches.

    `evidence`: the most that the stake has grown to so far. `now` and `before` hold what was compared, kinds of runs
    weighted alike: the share of each action, the web's rate, or the median of scores. `effect`: of scores the largest
    distance between the two distributions (Kolmogorov–Smirnov's D), of others the largest change of a share, 0..1.
    `lower`: the share of pairs in which the week's score is the lower one; 0.5 where neither is.
    """

    what: What
    since: datetime
    runs: int
    runs_before: int
    verdict: Verdict
    evidence: float = 1.0
    effect: float = 0.0
    now: Mapping[str, float] = field(default_factory=dict)
    before: Mapping[str, float] = field(default_factory=dict)
    lower: float = 0.5


@dataclass(frozen=True, slots=True)
class _Seen:
    """What the test sees of a run: its kind, its value, the day of the week, and a number 0..1 that is its own."""

    kind: tuple[str, str]
    value: float
    day: int
    own: float


def drift(runs: Sequence[RunFacts], since: datetime, what: What) -> Drift:
    """The test of the week that begins at `since`, as far as it has gone; `runs` in the order of their beginning."""
    start, ends = (since - WEEKS).isoformat(), (since + timedelta(days=7)).isoformat()
    value = _VALUES[what]
    before: list[_Seen] = []
    week: list[_Seen] = []
    for each in runs:
        if start <= each.started_at < ends and (found := value(each)) is not None:
            late = each.started_at >= since.isoformat()
            kind = (each.evaluator if what == "scores" else "", each.strategy)
            seen = _Seen(kind, found, (_day(each.started_at) - since.date()).days, _own(each.run_id))
            (week if late else before).append(seen)
    alike = _alike(before)
    counted = [each for each in week if each.kind in alike]
    if len(counted) < FEWEST or len(before) < FEWEST_BEFORE:
        few = len(counted) if before else len(week)
        return Drift(what=what, since=since, runs=few, runs_before=len(before), verdict="few")
    evidence = evidence_of(
        [(each.kind, each.value) for each in before],
        [(each.kind, each.value) for each in week],
        [each.day for each in week],
        [each.own for each in week],
    )
    compared = _compare_weeks(alike, counted, what)
    verdict: Verdict = "none" if evidence < NEEDED else "slight" if compared.effect < LEAST[what] else "drift"
    judged = Drift(what=what, since=since, runs=len(counted), runs_before=len(before), verdict=verdict)
    return replace(judged, evidence=evidence, **asdict(compared))


def evidence_of(
    before: Sequence[tuple[object, float]],
    week: Sequence[tuple[object, float]],
    days: Sequence[int],
    own: Sequence[float],
) -> float:
    """The most that the stake has grown to over these runs, each (kind, value), in order.

    `days` 0..6 says on which day of the week each was, `own` a number 0..1 of its own that breaks ties.
    """
    earlier: defaultdict[object, list[float]] = defaultdict(list)
    for kind, value in before:
        earlier[kind].append(value)
    for values in earlier.values():
        values.sort()
    ranks, at = [], []
    for (kind, value), day, tie in zip(week, days, own, strict=True):
        values = earlier[kind]
        if len(values) >= FEWEST_ALIKE:
            low = bisect_left(values, value)
            same = bisect_right(values, value) - low + 1
            ranks.append((low + tie * same) / (len(values) + 1))
            at.append(day)
        insort(values, value)
    return _grown(np.array(ranks), np.array(at)) if ranks else 1.0


def _grown(ranks: Values, days: NDArray[np.int64]) -> float:
    """The highest that the mean stake has stood: over all ways to bet, and over all days to begin on."""
    far = 2 * ranks - 1
    ways = [1 + tilt * far for tilt in _TILTS] + [1 + bend * (3 * far**2 - 1) / 2 for bend in _BENDS]
    summed = np.concatenate([np.zeros((len(ways), 1)), np.cumsum(np.log(np.stack(ways)), axis=1)], axis=1)
    whole = np.zeros(len(ranks))
    for day in range(7):
        start = int(np.searchsorted(days, day))
        stake = np.ones((len(ways), len(ranks)))
        stake[:, start:] = np.exp(np.minimum(summed[:, start + 1 :] - summed[:, start : start + 1], 600))
        whole += stake.mean(axis=0) / 7
    return float(whole.max())


@dataclass(frozen=True, slots=True)
class _Compared:
    effect: float
    now: Mapping[str, float]
    before: Mapping[str, float]
    lower: float = 0.5


def _compare_weeks(alike: Mapping[tuple[str, str], list[float]], week: Sequence[_Seen], what: What) -> _Compared:
    """How large the difference is, each kind of run before weighted as it is in the week."""
    counts: defaultdict[tuple[str, str], int] = defaultdict(int)
    for each in week:
        counts[each.kind] += 1
    old = np.concatenate([alike[kind] for kind in counts])
    weights = np.concatenate([np.full(len(alike[kind]), count / len(alike[kind])) for kind, count in counts.items()])
    weights = weights / weights.sum()
    new = np.array([each.value for each in week])
    if what == "scores":
        return _of_scores(new, old, weights)
    names: Mapping[str, float] = _ORDER if what == "actions" else {"web": 1.0}
    now = {name: float((new == value).mean()) for name, value in names.items()}
    before = {name: float(weights[old == value].sum()) for name, value in names.items()}
    return _Compared(max(abs(now[name] - before[name]) for name in names), now, before)


def _of_scores(new: Values, old: Values, weights: Values) -> _Compared:
    order = np.argsort(old)
    old, weights = old[order], weights[order]
    grown = np.concatenate([[0.0], np.cumsum(weights)])
    points = np.unique(np.concatenate([new, old]))
    below_new = np.searchsorted(np.sort(new), points, side="right") / len(new)
    below_old = grown[np.searchsorted(old, points, side="right")]
    higher = 1 - grown[np.searchsorted(old, new, side="right")]
    equal = grown[np.searchsorted(old, new, side="right")] - grown[np.searchsorted(old, new, side="left")]
    middle = float(old[min(len(old) - 1, int(np.searchsorted(grown[1:], 0.5)))])
    return _Compared(
        float(np.abs(below_new - below_old).max()),
        {"median": float(np.median(new))},
        {"median": middle},
        float((higher + equal / 2).mean()),
    )


def _alike(before: Sequence[_Seen]) -> dict[tuple[str, str], list[float]]:
    """The values of the weeks before by kind, of kinds that are there often enough."""
    found: defaultdict[tuple[str, str], list[float]] = defaultdict(list)
    for each in before:
        found[each.kind].append(each.value)
    return {kind: values for kind, values in found.items() if len(values) >= FEWEST_ALIKE}


def _web(run: RunFacts) -> float | None:
    return float(run.web) if run.outcome not in ("failed", "stopped") else None


_VALUES: Mapping[What, Callable[[RunFacts], float | None]] = {
    "scores": lambda run: run.best,
    "actions": lambda run: _ORDER.get(run.action),
    "web": _web,
}


def _day(started_at: str) -> date:
    return datetime.fromisoformat(started_at).date()


def _own(id: str) -> float:
    """A number 0..1 that a run has for good, and that nothing about it tells."""
    return int.from_bytes(hashlib.blake2b(id.encode(), digest_size=7).digest(), "big") / 2**56
