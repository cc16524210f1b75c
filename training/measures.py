"""Figures of scores against labels."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def auc(labels: NDArray[np.int64], scores: NDArray[np.float64]) -> float:
    """The chance that a positive is scored above a negative; ties count half."""
    positive, negative = np.sort(scores[labels == 1]), np.sort(scores[labels == 0])
    below = np.searchsorted(negative, positive, "left") + np.searchsorted(negative, positive, "right")
    return float(below.sum() / 2 / len(positive) / len(negative))


def calibration_error(labels: NDArray[np.float64], scores: NDArray[np.float64]) -> float:
    """Expected calibration error in ten equal bins, 0..1."""
    bins = np.minimum((scores * 10).astype(int), 9)
    return float(sum(abs((scores - labels)[bins == number].sum()) for number in range(10)) / len(labels))
