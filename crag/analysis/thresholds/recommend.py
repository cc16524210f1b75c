"""Which pair of thresholds labelled questions speak for, how surely, and why; or why they can't say. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from crag.analysis.thresholds.sweep import (
    Effort,
    Gains,
    Pair,
    Scored,
    Weights,
    best_pair,
    gains,
    reach_matrices,
)
from crag.core.types import Action, Aggregation

Floats = NDArray[np.float64]
Interval = tuple[float, float]
"""From and to, both inclusive."""

CROWDED = 0.4
"""Of AMBIGUOUS questions: the share above which a setting is warned of (docs/decisions/thresholds.md)."""
HARDLY = 0.02
"""Of mean worth: a pair that gains less over one action for all questions gains nothing one could rely on."""
QUESTIONS, EACH = 30, 5
"""What a recommendation needs: labelled questions with a known score, and of these answerable and unanswerable ones."""
WIDEST = 0.4
"""How wide the interval of either threshold may be."""
LEVEL = 0.9
"""The share of resamples within the interval."""
ROUNDS = 500
"""Resamples."""


@dataclass(frozen=True, slots=True)
class Settled:
    """How many questions get an action by a pair, and how many of these the documents answer."""

    questions: int
    answerable: int


@dataclass(frozen=True, slots=True)
class Alike:
    """A warning: one action for all questions, whatever their scores, is worth nearly as much as the pair."""

    action: Action
    worth: float


@dataclass(frozen=True, slots=True)
class Crowding:
    """A warning: a pair sends this share of the questions, more than CROWDED, to AMBIGUOUS."""

    pair: Pair
    share: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Recommendation:
    """The pair worth most to the labelled questions, and how far it moves when they are drawn again.

    `intervals` of upper and lower: percentile bootstrap over questions (Efron and Tibshirani 1993, chapter 13).
    `utility`: mean worth of the pair to the same questions, so a little more than new ones will show. `correct`,
    `incorrect` and the share `ambiguous`: what the pair makes of the `questions`. `current`: the pair in use.
    """

    upper: float
    lower: float
    intervals: tuple[Interval, Interval]
    utility: float
    questions: int
    correct: Settled
    incorrect: Settled
    ambiguous: float
    current: Pair | None
    current_utility: float
    warnings: tuple[Alike | Crowding, ...]


@dataclass(frozen=True, slots=True)
class Open:
    """A threshold whose interval is too wide."""

    name: Literal["upper", "lower"]
    low: float
    high: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """No recommendation: too few labelled questions with a score, or of one kind, or thresholds that stay `open`.

    `answerable`: of the `labelled`, those whose documents hold the answer. `ungraded`: labelled ones without a score.
    """

    labelled: int
    answerable: int
    ungraded: int
    open: tuple[Open, ...] = ()


def recommend(
    questions: Sequence[Scored],
    *,
    aggregation: Aggregation,
    current: Pair | None = None,
    weights: Weights | None = None,
    effort: Effort | None = None,
    doubt: float = 0.0,
) -> Recommendation | Refusal:
    """The pair of thresholds with the highest utility, or why the data can't carry one.

    `current`: the pair in use, to compare with. The same questions give the same result. Questions
    without a label, or without a single known score, are left out. `doubt`: as of `gains`.
    """
    usable = [question for question in questions if question.answerable is not None and question.known]
    answerable = sum(question.answerable is True for question in usable)
    ungraded = sum(question.answerable is not None and not question.known for question in questions)
    refusal = Refusal(labelled=len(usable), answerable=answerable, ungraded=ungraded)
    if len(usable) < QUESTIONS or min(answerable, len(usable) - answerable) < EACH:
        return refusal
    valued = partial(gains, usable, aggregation=aggregation, weights=weights, effort=effort, doubt=doubt)
    worth = valued()
    intervals = _intervals(worth)
    ends = Open("upper", *intervals[0]), Open("lower", *intervals[1])
    if wide := tuple(each for each in ends if each.high - each.low > WIDEST):
        return replace(refusal, open=wide)
    utility = worth.utility()
    upper, lower = best_pair(utility, worth.uppers, worth.lowers)
    reached = reach_matrices(usable, aggregation, np.array([upper]), np.array([lower]), doubt)
    correct, incorrect = (_settle(usable, each[:, 0]) for each in reached)
    best, action = float(np.nanmax(utility)), max(worth.alike, key=lambda each: worth.alike[each])
    alike = Alike(action, worth.alike[action]) if best - worth.alike[action] < HARDLY else None
    crowded = crowding_warning(usable, upper=upper, lower=lower, aggregation=aggregation, doubt=doubt)
    in_use = valued(uppers=current[:1], lowers=current[1:]).utility()[0, 0] if current else 0.0
    return Recommendation(
        upper=upper,
        lower=lower,
        intervals=intervals,
        utility=best,
        questions=len(usable),
        correct=correct,
        incorrect=incorrect,
        ambiguous=1 - (correct.questions + incorrect.questions) / len(usable),
        current=current,
        current_utility=float(in_use),
        warnings=tuple(filter(None, (alike, crowded))),
    )


def _settle(questions: Sequence[Scored], reached: NDArray[np.bool_]) -> Settled:
    """How many questions get an action, and how many of them the documents answer."""
    held = [question.answerable for question, is_so in zip(questions, reached, strict=True) if is_so]
    return Settled(len(held), sum(map(bool, held)))


def crowding_warning(
    questions: Sequence[Scored], *, upper: float, lower: float, aggregation: Aggregation, doubt: float = 0.0
) -> Crowding | None:
    """A warning where this pair sends more than CROWDED of all questions, labelled or not, to AMBIGUOUS; else None."""
    if not questions:
        return None
    correct, incorrect = reach_matrices(questions, aggregation, np.array([upper]), np.array([lower]), doubt)
    share = (len(questions) - int(correct.sum()) - int(incorrect.sum())) / len(questions)
    return Crowding((upper, lower), share) if share > CROWDED else None


def _intervals(worth: Gains) -> tuple[Interval, Interval]:
    """Where the best upper and lower thresholds lie when the questions are drawn again, with replacement."""
    # Questions that behave alike at every threshold are drawn as one group: the same draw, with fewer to add up.
    rows = np.column_stack((worth.base, worth.correct, worth.incorrect))
    _, first, sizes = np.unique(rows, axis=0, return_index=True, return_counts=True)
    groups = replace(worth, base=worth.base[first], correct=worth.correct[first], incorrect=worth.incorrect[first])
    total = worth.base.size
    draws = np.random.default_rng(0).multinomial(total, sizes / total, size=ROUNDS).astype(np.float64)
    pairs = np.array([best_pair(groups.utility(counts), worth.uppers, worth.lowers) for counts in draws])
    tail = (1 - LEVEL) / 2
    low = np.quantile(pairs, tail, axis=0, method="lower")
    high = np.quantile(pairs, 1 - tail, axis=0, method="higher")
    return (float(low[0]), float(high[0])), (float(low[1]), float(high[1]))
