"""Figures of scores against labels: how well they order, how well a threshold parts them, how well they are calibrated.

Labels are 0 or 1, one a score. A figure that the labels cannot give (only one kind of them) is None.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Labels = NDArray[np.int64]
Scores = NDArray[np.float64]
Counts = Labels | np.int64
Span = tuple[int, int]

BINS = 10


def finite(figure: float) -> float | None:
    """None in place of infinity and of what is no number: JSON has neither."""
    return figure if math.isfinite(figure) else None


def accuracy(labels: Labels, scores: Scores, threshold: float) -> float:
    """The share judged rightly if a score of at least `threshold` says yes."""
    return float(((scores >= threshold) == (labels == 1)).mean())


def best_accuracy(labels: Labels, scores: Scores) -> tuple[float, float]:
    """The highest accuracy that any threshold gives, and the lowest such threshold; infinity says no to all."""
    cuts, right, wrong = _cuts(labels, scores)
    shares = (right + (labels == 0).sum() - wrong) / len(labels)
    best = len(shares) - 1 - int(shares[::-1].argmax())
    return float(shares[best]), float(cuts[best])


def majority(labels: Labels) -> float:
    """The accuracy of saying always the same."""
    return float(max(labels.mean(), 1 - labels.mean()))


def macro_f1(labels: Labels, scores: Scores, threshold: float) -> float:
    """The mean of the F1 of yes and that of no, if a score of at least `threshold` says yes."""
    said, meant = scores >= threshold, labels == 1
    return float(_macro_f1((said & meant).sum(), (said & ~meant).sum(), meant.sum(), (~meant).sum()))


def best_macro_f1(labels: Labels, scores: Scores) -> tuple[float, float]:
    """The highest macro-F1 that any threshold gives, and the lowest such threshold."""
    cuts, right, wrong = _cuts(labels, scores)
    found = _macro_f1(right, wrong, (labels == 1).sum(), (labels == 0).sum())
    best = len(found) - 1 - int(found[::-1].argmax())
    return float(found[best]), float(cuts[best])


def calibration_bins(labels: Labels, scores: Scores) -> list[tuple[int, float, float]]:
    """Of each of ten equal bins of the scores that is not empty: how many, their mean, their share of yes."""
    places = np.clip((scores * BINS).astype(int), 0, BINS - 1)
    inside = [places == number for number in range(BINS)]
    return [
        (int(chosen.sum()), float(scores[chosen].mean()), float(labels[chosen].mean()))
        for chosen in inside
        if chosen.any()
    ]


@dataclass(frozen=True, slots=True)
class Ranking:
    """Mean average precision and mean reciprocal rank, 0..1, over so many questions."""

    questions: int
    map: float
    mrr: float


def ranking(groups: Iterable[tuple[Labels, Scores]], *, both: bool = False) -> Ranking | None:
    """Over the groups with at least one positive; `both`: and at least one negative. None where there is none.

    Of equal scores the positives come last.
    """
    precisions, reciprocals = [], []
    for labels, scores in groups:
        if not labels.any() or (both and labels.all()):
            continue
        ranks = np.flatnonzero(labels[np.lexsort((labels, -scores))]) + 1
        precisions.append(float((np.arange(1, len(ranks) + 1) / ranks).mean()))
        reciprocals.append(1 / float(ranks[0]))
    if not precisions:
        return None
    return Ranking(len(precisions), float(np.mean(precisions)), float(np.mean(reciprocals)))


def overlap(kept: Sequence[Span], gold: Sequence[Span], words: Sequence[Span]) -> tuple[float, float, float]:
    """Precision, recall and F1, 0..1, of the words inside the kept spans against those inside the gold spans."""
    chosen = {word for word in words if any(start <= word[0] and word[1] <= end for start, end in kept)}
    wanted = {word for word in words if any(start <= word[0] and word[1] <= end for start, end in gold)}
    met = len(chosen & wanted)
    precision, recall = met / len(chosen) if chosen else 0.0, met / len(wanted) if wanted else 0.0
    return precision, recall, 2 * precision * recall / (precision + recall) if met else 0.0


def _cuts(labels: Labels, scores: Scores) -> tuple[Scores, Labels, Labels]:
    """Every threshold that changes anything, from infinity down, and the positives and negatives at or above each."""
    order = np.argsort(-scores, kind="stable")
    sorted_scores, sorted_labels = scores[order], labels[order]
    last = np.append(sorted_scores[1:] != sorted_scores[:-1], True)
    right, wrong = np.cumsum(sorted_labels)[last], np.cumsum(1 - sorted_labels)[last]
    return np.append(np.inf, sorted_scores[last]), np.append(0, right), np.append(0, wrong)


def _macro_f1(right: Counts, wrong: Counts, positives: np.int64, negatives: np.int64) -> Scores:
    """From the positives and negatives that are said yes to."""
    yes = 2 * right / np.maximum(right + wrong + positives, 1)
    no = 2 * (negatives - wrong) / np.maximum(positives - right + negatives - wrong + negatives, 1)
    return np.asarray((yes + no) / 2, np.float64)
