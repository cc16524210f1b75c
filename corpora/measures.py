"""Figures of scores against labels, and the logistic layer that gives such scores."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def auc(labels: NDArray[Any], scores: Floats) -> float:
    """The chance that a positive is scored above a negative; ties count half. NaN where one of them is missing."""
    positive, negative = np.sort(scores[labels == 1]), np.sort(scores[labels == 0])
    below = np.searchsorted(negative, positive, "left") + np.searchsorted(negative, positive, "right")
    pairs = len(positive) * len(negative)
    return float(below.sum()) / 2 / pairs if pairs else float("nan")


def calibration_error(labels: NDArray[Any], scores: Floats) -> float:
    """Expected calibration error in ten equal bins, 0..1."""
    bins = np.minimum((scores * 10).astype(int), 9)
    return float(sum(abs((scores - labels)[bins == number].sum()) for number in range(10)) / len(labels))


def fit_logistic(rows: Floats, labels: Floats, penalty: float, shares: Floats | float = 1.0) -> Floats:
    """Weights of the columns, the last of which is the bias's, by Newton's method.

    `penalty`: on the squares of all weights but the bias. `shares`: how much each row counts, 1 on average.
    """
    found, penalties = np.zeros(rows.shape[1]), np.full(rows.shape[1], penalty)
    penalties[-1] = 0.0
    for _ in range(50):
        chance = 1 / (1 + np.exp(-(rows @ found)))
        slope = rows.T @ (shares * (labels - chance)) - penalties * found
        bend = (rows * (shares * chance * (1 - chance))[:, None]).T @ rows + np.diag(penalties)
        step = np.linalg.solve(bend, slope)
        found += step
        if np.abs(step).max() < 1e-8:
            break
    return found


class Adam:
    """Steps down a slope, each weight at a pace of its own (Kingma and Ba 2015, arXiv 1412.6980)."""

    def __init__(self, shape: tuple[int, ...]) -> None:
        self._mean, self._square, self._steps = np.zeros(shape, np.float32), np.zeros(shape, np.float32), 0

    def step(self, slopes: NDArray[Any], rate: float) -> NDArray[np.float32]:
        """What to take off the weights, of the shape that was given. `rate`: how far a weight goes at most, about."""
        self._steps += 1
        self._mean = 0.9 * self._mean + 0.1 * slopes
        self._square = 0.999 * self._square + 0.001 * slopes**2
        mean, square = self._mean / (1 - 0.9**self._steps), self._square / (1 - 0.999**self._steps)
        return np.asarray(rate * mean / (np.sqrt(square) + 1e-8), np.float32)
