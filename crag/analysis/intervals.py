"""Confidence intervals: bootstrap of means, Wilson of shares, order statistics."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, floor, sqrt

import numpy as np
import numpy.typing as npt

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Mean:
    """A value over all that know it, `known` of them, with its interval. None of none; some have no interval."""

    value: float | None = None
    known: int = 0
    low: float | None = None
    high: float | None = None


def share(hits: int, of: int) -> Mean:
    """How often, by Wilson's interval (1927), which holds for few runs and for 0 and 1 too."""
    if not of:
        return Mean()
    at, weight = hits / of, _Z**2 / of
    middle = (at + weight / 2) / (1 + weight)
    half = _Z * sqrt(at * (1 - at) / of + weight / (4 * of)) / (1 + weight)
    return Mean(value=at, known=of, low=max(0.0, middle - half), high=min(1.0, middle + half))


def mean(values: Sequence[float]) -> Mean:
    """The mean, by the normal approximation; without an interval below five values."""
    count = len(values)
    if not count:
        return Mean()
    middle = sum(values) / count
    if count < 5:
        return Mean(value=middle, known=count)
    half = _Z * sqrt(sum((each - middle) ** 2 for each in values) / (count - 1) / count)
    return Mean(value=middle, known=count, low=max(min(values), middle - half), high=min(max(values), middle + half))


def quantile(values: Sequence[float], part: float) -> Mean:
    """The smallest value that this part of all does not exceed, with an interval of order statistics.

    Without one where there are too few values for it.
    """
    ranked, count = sorted(values), len(values)
    if not count:
        return Mean()
    at = ranked[max(0, ceil(part * count) - 1)]
    half = _Z * sqrt(count * part * (1 - part))
    low, high = floor(count * part - half), ceil(count * part + half) + 1
    if low < 1 or high > count:
        return Mean(value=at, known=count)
    return Mean(value=at, known=count, low=ranked[low - 1], high=ranked[high - 1])
