"""How sure a mean is: seeded bootstrap intervals of many measures over the same questions. Pure."""

from __future__ import annotations

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
