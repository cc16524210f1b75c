"""Confidence intervals: bootstrap of means, Wilson of shares, order statistics, exact binomial; blind votes counted."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil, floor, log, log1p, sqrt

import numpy as np
import numpy.typing as npt

from crag.analysis.metrics.metrics import ResultRow

SEED = 20_240_129
"""Of all resampling: the same rows give the same interval."""
RESAMPLES = 2_000
LEVEL = 95
"""Per cent of the resampled means that an interval holds."""
_AT_ONCE = 2_000_000
"""Random draws held in memory together."""

Values = npt.NDArray[np.float64]


def intervals(table: Values) -> list[tuple[float | None, float | None]]:
    """The percentile bootstrap (Efron 1979) of each column's mean over what is known; none of fewer than two values.

    Questions are drawn, the same ones for every column, so that a resample may know more or less than the table.
    """
    size, columns = table.shape
    known = ~np.isnan(table)
    values = np.where(known, table, 0.0)
    random, most = np.random.default_rng(SEED), max(1, _AT_ONCE // max(size, 1))
    means = np.empty((RESAMPLES, columns))
    for start in range(0, RESAMPLES if size else 0, most):
        count = min(most, RESAMPLES - start)
        drawn = random.integers(0, size, (count, size)) + size * np.arange(count)[:, None]
        often = np.bincount(drawn.ravel(), minlength=count * size).reshape(count, size).astype(np.float64)
        with np.errstate(invalid="ignore"):
            means[start : start + count] = (often @ values) / (often @ known)
    return [_interval(table[known[:, column], column], means[:, column]) for column in range(columns)]


def _interval(values: Values, means: Values) -> tuple[float | None, float | None]:
    if len(values) < 2:
        return None, None
    if (values == values[0]).all():
        return float(values[0]), float(values[0])
    tail = (100 - LEVEL) / 2
    low, high = np.nanpercentile(means, [tail, 100 - tail]).clip(values.min(), values.max())
    return float(low), float(high)


_Z = 1.959963984540054


@dataclass(frozen=True, slots=True)
class Estimate:
    """A value of `of` runs with its interval; all None where no run tells."""

    value: float | None = None
    low: float | None = None
    high: float | None = None
    of: int = 0


def share(hits: int, of: int) -> Estimate:
    """How often, by Wilson's interval (1927), which holds for few runs and for 0 and 1 too."""
    if not of:
        return Estimate()
    at, weight = hits / of, _Z**2 / of
    middle = (at + weight / 2) / (1 + weight)
    half = _Z * sqrt(at * (1 - at) / of + weight / (4 * of)) / (1 + weight)
    return Estimate(at, max(0.0, middle - half), min(1.0, middle + half), of)


def mean(values: Sequence[float]) -> Estimate:
    """The mean, by the normal approximation; without an interval below five values."""
    count = len(values)
    if not count:
        return Estimate()
    middle = sum(values) / count
    if count < 5:
        return Estimate(middle, of=count)
    half = _Z * sqrt(sum((each - middle) ** 2 for each in values) / (count - 1) / count)
    return Estimate(middle, max(min(values), middle - half), min(max(values), middle + half), count)


def quantile(values: Sequence[float], part: float) -> Estimate:
    """The smallest value that this part of all does not exceed, with an interval of order statistics.

    Without one where there are too few values for it.
    """
    ranked, count = sorted(values), len(values)
    if not count:
        return Estimate()
    at = ranked[max(0, ceil(part * count) - 1)]
    half = _Z * sqrt(count * part * (1 - part))
    low, high = floor(count * part - half), ceil(count * part + half) + 1
    if low < 1 or high > count:
        return Estimate(at, of=count)
    return Estimate(at, ranked[low - 1], ranked[high - 1], count)


def binomial_tail(hits: int, of: int, chance: float) -> float:
    """The exact chance of at most `hits` hits in `of` independent draws, each one with `chance` (within 0..1)."""
    if hits >= of:
        return 1.0
    step = np.arange(hits, dtype=np.float64)
    logs = np.log((of - step) / (step + 1)) + log(chance) - log1p(-chance)
    return min(1.0, float(np.exp(of * log1p(-chance) + np.concatenate(([0.0], np.cumsum(logs)))).sum()))


def upper_bound(hits: int, of: int, error: float) -> float:
    """The exact one-sided upper bound of a share (Clopper and Pearson 1934), exceeded with a chance of `error` at most.

    1 where every draw is a hit, or there is none.
    """
    low, high = 0.0, 1.0
    while hits < of and high - low > 1e-6:
        middle = (low + high) / 2
        low, high = (middle, high) if binomial_tail(hits, of, middle) > error else (low, middle)
    return high


_MARKS = re.compile(r"(?<!\s)\s*+\[\d{1,3}\]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Tally:
    """How many prefer the first's answer, the second's, both and neither.

    `preferred`: the second's share of the votes that decide between the two, with Wilson's interval.
    """

    first: int
    second: int
    both: int
    neither: int
    preferred: Estimate

    @property
    def votes(self) -> int:
        return self.first + self.second + self.both + self.neither


def same_answer(one: ResultRow, other: ResultRow) -> bool:
    """Whether both give the same answer, but for the numbers of citations."""
    said = [(" ".join(_MARKS.sub("", row.answer).split()), row.short_answer, row.abstained) for row in (one, other)]
    return bool(said[0][0]) and said[0] == said[1]


def vote_pairs(first: Sequence[ResultRow], second: Sequence[ResultRow]) -> list[tuple[ResultRow, ResultRow]]:
    """The questions that both ended with answers that differ, in the first's order."""
    theirs = {row.question_id: row for row in second}
    pairs = [(row, theirs[row.question_id]) for row in first if row.question_id in theirs]
    return [(one, other) for one, other in pairs if not (one.problem or other.problem) and not same_answer(one, other)]


def left_of(pair: tuple[str, str], question_id: str) -> str:
    """The evaluation whose answer stands left: drawn by a hash, so a reload and another person see the same."""
    ids = sorted(pair)
    drawn = hashlib.sha256("\n".join((*ids, question_id)).encode()).digest()[0]
    return ids[drawn % 2]


def tally(pair: tuple[str, str], votes: Mapping[str, str]) -> Tally:
    """Count votes, which are ids of the pair, "both" or "neither", by question id."""
    counts = Counter(votes.values())
    first, second = counts[pair[0]], counts[pair[1]]
    return Tally(
        first=first,
        second=second,
        both=counts["both"],
        neither=counts["neither"],
        preferred=share(second, first + second),
    )
