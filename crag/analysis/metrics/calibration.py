"""How far relevance scores can be trusted: precision, recall and reliability from scores and labels. Pure.

A score of None or NaN is a failed grade: unknown, so left out and counted, never taken for 0. A label of None is no
label: left out as well. Thresholds are inclusive (score >= threshold is called relevant), as in the action trigger.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from crag.core.errors import InputError

Floats = NDArray[np.float64]
Scores = Sequence[float | None] | Floats
"""One score a case, 0..1; None or NaN where grading failed."""
Labels = Sequence[bool | None] | NDArray[np.bool_]
"""One label a case: whether it is relevant; None where nobody said."""

BINS = 10
BOTH = "Label at least one that holds the answer and one that does not."


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Curves:
    """Precision and recall where all that scores at least a threshold is called relevant.

    The arrays have the shape (points,). `thresholds` fall: first infinity (nothing is called relevant), then each
    distinct score. `recall` rises from 0 to 1; `precision`, 0..1, is NaN at infinity.
    `average_precision`: the sum over points of the gain in recall times precision, with nothing interpolated.
    `relevant`: the share of all cases, which guessing would reach.
    """

    thresholds: Floats
    recall: Floats
    precision: Floats
    average_precision: float
    relevant: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Bin:
    """Cases of about one score: how many, their mean `score`, and the `share` that is relevant, 0..1."""

    count: int
    score: float
    share: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Reliability:
    """The reliability diagram: ten bins of equal width over 0..1, those that hold cases, in rising order.

    A bin holds its lower edge, the last one both. `error`: expected calibration error, the mean over cases of the
    distance between their bin's `score` and `share` (Guo et al. 2017, On Calibration of Modern Neural Networks,
    equation 3). `worst`: the largest distance (equation 5). Both 0..1, 0 being calibrated.
    """

    bins: tuple[Bin, ...]
    error: float
    worst: float


def curves(scores: Scores, labels: Labels) -> Curves:
    """The curves over all thresholds, and the area under precision.

    Raises InputError where the labels of known scores are not of both classes: there are no such curves.
    """
    known, relevant, unknown = _labelled_scores(scores, labels)
    positives, negatives = int(relevant.sum()), int((~relevant).sum())
    if not positives or not negatives:
        raise InputError(f"No curve: {_lacking(positives, negatives, unknown)}.", BOTH)
    order = np.argsort(-known, kind="stable")
    known, relevant = known[order], relevant[order]
    last = np.append(np.flatnonzero(np.diff(known)), known.size - 1)
    called, hits = last + 1.0, np.cumsum(relevant, dtype=np.float64)[last]
    recall = np.concatenate(([0.0], hits / positives))
    return Curves(
        thresholds=np.concatenate(([np.inf], known[last])),
        recall=recall,
        precision=np.concatenate(([np.nan], hits / called)),
        average_precision=float(np.sum(np.diff(recall) * hits / called)),
        relevant=positives / known.size,
    )


def reliability(scores: Scores, labels: Labels) -> Reliability:
    """Scores against the share that is relevant.

    Raises InputError where no case has both a score and a label.
    """
    known, relevant, unknown = _labelled_scores(scores, labels)
    if not known.size:
        raise InputError(f"No reliability diagram: {_lacking(0, 0, unknown)}.", "Label some chunks or questions first.")
    places = np.minimum(np.searchsorted(np.arange(BINS + 1) / BINS, known, side="right") - 1, BINS - 1)
    within = [places == place for place in np.unique(places)]
    found = tuple(
        Bin(count=int(own.sum()), score=float(known[own].mean()), share=float(relevant[own].mean())) for own in within
    )
    gaps = np.array([abs(each.score - each.share) for each in found])
    return Reliability(
        bins=found,
        error=float(gaps @ np.array([each.count for each in found]) / known.size),
        worst=float(gaps.max()),
    )


def _labelled_scores(scores: Scores, labels: Labels) -> tuple[Floats, NDArray[np.bool_], int]:
    """Scores and labels of the cases that have both, and how many labelled cases have no score.

    Raises ValueError for a score out of 0..1, a label that is neither true nor false, or unequal lengths.
    """
    if len(scores) != len(labels):
        raise ValueError(f"{len(scores)} scores, but {len(labels)} labels")
    pairs = [(score, label) for score, label in zip(scores, labels, strict=True) if label is not None]
    if any(label not in (0, 1) for _, label in pairs):
        raise ValueError("a label is true, false or None")
    known = np.array([np.nan if score is None else score for score, _ in pairs], dtype=np.float64)
    there = ~np.isnan(known)
    relevant = np.array([label for _, label in pairs], dtype=np.bool_)[there]
    if np.any((known[there] < 0) | (known[there] > 1)):
        raise ValueError("a score lies in 0..1")
    return known[there], relevant, int((~there).sum())


def _lacking(positives: int, negatives: int, unknown: int) -> str:
    """What stands in the way, in words."""
    if not positives and not negatives:
        return "every labelled grade failed" if unknown else "nothing is labelled"
    graded = "with a score " if unknown else ""
    return f"every label {graded}says {'relevant' if positives else 'not relevant'}"
