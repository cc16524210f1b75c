"""How far relevance scores can be trusted: ROC, precision-recall and reliability from scores and labels. Pure.

A score of None or NaN is a failed grade: unknown, so left out and counted, never taken for 0. A label of None is no
label: left out as well. Thresholds are inclusive (score >= threshold is called relevant), as in the action trigger.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from crag.core.errors import InputError

__all__ = ["Bin", "PrecisionRecall", "Reliability", "Roc", "precision_recall", "reliability", "roc"]

Floats = NDArray[np.float64]
Scores = Sequence[float | None] | Floats
"""One score a case, 0..1; None or NaN where grading failed."""
Labels = Sequence[bool | None] | NDArray[np.bool_]
"""One label a case: whether it is relevant; None where nobody said."""

BOTH = "Label at least one that holds the answer and one that does not."


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Roc:
    """The ROC curve. `false_positive` and `true_positive` are rates 0..1, non-decreasing from 0 to 1.

    `thresholds` has the same shape (points,): falling, first infinity (nothing is called relevant), then each distinct
    score. `auc`: the chance, 0..1, that a relevant case scores above an irrelevant one, a tie counting half.
    `unknown`: labelled cases left out because their grades failed.
    """

    false_positive: Floats
    true_positive: Floats
    thresholds: Floats
    auc: float
    positives: int
    negatives: int
    unknown: int


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PrecisionRecall:
    """The precision-recall curve: one point for each distinct score, thresholds falling, recall rising to 1.

    `precision`, `recall` (0..1) and `thresholds` have the shape (points,). `average_precision`: the sum over points of
    the gain in recall times precision, with nothing interpolated.
    """

    precision: Floats
    recall: Floats
    thresholds: Floats
    average_precision: float
    positives: int
    negatives: int
    unknown: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Bin:
    """The cases with scores from `low` to `high`: their mean `score`, and the `share` that is relevant, 0..1."""

    low: float
    high: float
    count: int
    score: float
    share: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Reliability:
    """The reliability diagram, bins that hold cases only, in rising order.

    `error`: expected calibration error, the mean over cases of the distance between their bin's `score` and `share`
    (Guo et al. 2017, On Calibration of Modern Neural Networks, equation 3). `worst`: the largest distance (equation 5).
    Both 0..1, 0 being calibrated. `brier`: the mean squared distance of score and label.
    """

    bins: tuple[Bin, ...]
    error: float
    worst: float
    brier: float
    count: int
    unknown: int


def roc(scores: Scores, labels: Labels) -> Roc:
    """The ROC curve and the area under it.

    Raises InputError where the labels of known scores are not of both classes: there is no such curve.
    """
    known, relevant, unknown = _known(scores, labels)
    positives, negatives = int(relevant.sum()), int((~relevant).sum())
    if not positives or not negatives:
        raise InputError(f"No ROC curve: {_lacking(positives, negatives, unknown)}.", BOTH)
    thresholds, hits, alarms = _cumulated(known, relevant)
    true = np.concatenate(([0.0], hits / positives))
    false = np.concatenate(([0.0], alarms / negatives))
    return Roc(
        false_positive=false,
        true_positive=true,
        thresholds=np.concatenate(([np.inf], thresholds)),
        auc=float(np.sum(np.diff(false) * (true[1:] + true[:-1]) / 2)),
        positives=positives,
        negatives=negatives,
        unknown=unknown,
    )


def precision_recall(scores: Scores, labels: Labels) -> PrecisionRecall:
    """The precision-recall curve and its average precision.

    Raises InputError where no case with a known score is relevant: recall is then undefined.
    """
    known, relevant, unknown = _known(scores, labels)
    positives, negatives = int(relevant.sum()), int((~relevant).sum())
    if not positives:
        raise InputError(f"No precision-recall curve: {_lacking(positives, negatives, unknown)}.", BOTH)
    thresholds, hits, alarms = _cumulated(known, relevant)
    precision, recall = hits / (hits + alarms), hits / positives
    return PrecisionRecall(
        precision=precision,
        recall=recall,
        thresholds=thresholds,
        average_precision=float(np.sum(np.diff(recall, prepend=0.0) * precision)),
        positives=positives,
        negatives=negatives,
        unknown=unknown,
    )


def reliability(
    scores: Scores, labels: Labels, *, bins: int = 10, binning: Literal["width", "mass"] = "width"
) -> Reliability:
    """Scores against the share that is relevant, in at most `bins` bins.

    `width`: bins of equal width over 0..1, each with its lower edge, the last with both. `mass`: bins of about as
    many cases each, whose `low` and `high` are scores; equal scores are never parted, so there may be fewer.

    Raises InputError where no case has both a score and a label, ValueError for fewer than one bin.
    """
    if bins < 1:
        raise ValueError("at least one bin")
    known, relevant, unknown = _known(scores, labels)
    if not known.size:
        raise InputError(f"No reliability diagram: {_lacking(0, 0, unknown)}.", "Label some chunks or questions first.")
    edges = np.arange(bins + 1) / bins
    if binning == "width":
        places = np.minimum(np.searchsorted(edges, known, side="right") - 1, bins - 1)
    else:
        places = np.searchsorted(np.sort(known), known, side="left") * bins // known.size
    found = tuple(
        _bin(
            known[places == place], relevant[places == place], edges[place : place + 2] if binning == "width" else None
        )
        for place in np.unique(places)
    )
    gaps = np.array([abs(each.score - each.share) for each in found])
    return Reliability(
        bins=found,
        error=float(gaps @ np.array([each.count for each in found]) / known.size),
        worst=float(gaps.max()),
        brier=float(np.mean((known - relevant) ** 2)),
        count=int(known.size),
        unknown=unknown,
    )


def _bin(scores: Floats, relevant: NDArray[np.bool_], edges: Floats | None) -> Bin:
    """One bin of at least one case; without `edges` it reaches from its least score to its greatest."""
    low, high = (scores.min(), scores.max()) if edges is None else edges
    return Bin(
        low=float(low),
        high=float(high),
        count=int(scores.size),
        score=float(scores.mean()),
        share=float(relevant.mean()),
    )


def _known(scores: Scores, labels: Labels) -> tuple[Floats, NDArray[np.bool_], int]:
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


def _cumulated(scores: Floats, relevant: NDArray[np.bool_]) -> tuple[Floats, Floats, Floats]:
    """The distinct scores, falling, with how many relevant and irrelevant cases score at least that."""
    order = np.argsort(-scores, kind="stable")
    scores, relevant = scores[order], relevant[order]
    last = np.append(np.flatnonzero(np.diff(scores)), scores.size - 1)
    hits = np.cumsum(relevant, dtype=np.float64)[last]
    return scores[last], hits, last + 1.0 - hits


def _lacking(positives: int, negatives: int, unknown: int) -> str:
    """What stands in the way, in words."""
    if not positives and not negatives:
        return "every labelled grade failed" if unknown else "nothing is labelled"
    graded = "with a score " if unknown else ""
    return f"every label {graded}says {'relevant' if positives else 'not relevant'}"
