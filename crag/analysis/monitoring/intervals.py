"""How sure a share, a mean or a median is: 95 % intervals in closed form, at once for any number of runs. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, floor, sqrt

__all__ = ["Estimate", "mean", "quantile", "share"]

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
