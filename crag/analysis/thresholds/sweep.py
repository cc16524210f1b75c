"""What every pair of thresholds would make of a set of questions, and what that is worth. Pure.

A question's scores come down to two numbers under an aggregation: the least and the most that the compared score can
be, the failed grades being unknown. It is CORRECT where the least reaches the upper threshold, INCORRECT where the
most stays under the lower one, else AMBIGUOUS, just as `crag.evaluation.trigger.decide` says; and what lies under the
lower one by no more than a margin of doubt counts as AMBIGUOUS, as it is acted on (`crag.core.policy.acted_on`). So
CORRECT hangs on the upper threshold alone and INCORRECT on the lower one alone, and a whole grid costs little more than
its two edges.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from crag.core.policy import searches_web, uses_documents
from crag.core.settings import Settings
from crag.core.types import Action, Aggregation
from crag.evaluation.trigger import aggregate_scores, bounds

Floats = NDArray[np.float64]
Pair = tuple[float, float]
"""Upper and lower threshold."""

GRID: tuple[float, ...] = tuple(step / 50 for step in range(51))
"""Thresholds from 0 to 1 in steps of 0.02."""

_C, _A, _I = Action.CORRECT, Action.AMBIGUOUS, Action.INCORRECT


@dataclass(frozen=True, slots=True, kw_only=True)
class Scored:
    """One question: the scores of its chunks in order of retrieval (of `joint` grading, the one), 0..1.

    None or NaN is a failed grade. `answerable`: whether the retrieved texts hold the answer; None where nobody said.
    Raises ValueError for a score out of its range.
    """

    scores: tuple[float | None, ...]
    answerable: bool | None = None
    known: tuple[float, ...] = field(init=False, repr=False, compare=False)
    """The scores of the grades that did not fail."""

    def __post_init__(self) -> None:
        known = tuple(score for score in self.scores if score is not None and not math.isnan(score))
        object.__setattr__(self, "known", known)
        if any(not 0 <= score <= 1 for score in self.known):
            raise ValueError("a score lies in 0..1")


@dataclass(frozen=True, slots=True, kw_only=True)
class Weights:
    """What a right action is worth, and what a model call and a web search cost, in one unit.

    CORRECT is right where the retrieved texts hold the answer, INCORRECT where they do not. AMBIGUOUS counts as the
    part `ambiguous` (0..1) of a right action: it reads both sources, so the answer is seldom lost. The defaults are
    those of docs/decisions/thresholds.md.
    """

    right: float = 1.0
    ambiguous: float = 0.75
    call: float = 0.05
    search: float = 0.1


@dataclass(frozen=True, slots=True, kw_only=True)
class Effort:
    """Model calls and web searches that each action leads to, beyond what every question takes.

    By default those of the usual settings: a search on AMBIGUOUS and INCORRECT, and a call on AMBIGUOUS, which also
    reads what it may not need.
    """

    calls: Mapping[Action, float] = field(default_factory=lambda: {_C: 0.0, _A: 1.0, _I: 0.0})
    searches: Mapping[Action, float] = field(default_factory=lambda: {_C: 0.0, _A: 1.0, _I: 1.0})

    @classmethod
    def of(cls, settings: Settings) -> Effort:
        """What follows under these settings: a search where the web is wanted, a call where documents are read too."""
        searches = {action: float(searches_web(action, settings)) for action in Action}
        calls = {action: searches[action] * uses_documents(action, settings) for action in Action}
        return cls(calls=calls, searches=searches)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Gains:
    """The utility of labelled questions, taken apart so that any pair and any resample is a sum.

    `base` (questions,): what each is worth as AMBIGUOUS. `correct` (questions, uppers) and `incorrect` (questions,
    lowers): what it gains by being CORRECT or INCORRECT at that threshold, 0 where it is not. `alike`: the mean worth
    of one action for all of them, whatever their scores; NaN without questions.
    """

    uppers: Floats
    lowers: Floats
    base: Floats
    correct: Floats
    incorrect: Floats
    alike: Mapping[Action, float]

    def utility(self, counts: Floats | None = None) -> Floats:
        """Mean worth, shape (uppers, lowers), NaN where lower is above upper; `counts`: how often each question."""
        taken = np.ones(self.base.size) if counts is None else counts
        if not taken.sum():
            return np.full((self.uppers.size, self.lowers.size), np.nan)
        correct, incorrect = taken @ self.correct, taken @ self.incorrect
        total = taken @ self.base + correct[:, None] + incorrect[None, :]
        return np.where(_valid_pairs(self.uppers, self.lowers), total / taken.sum(), np.nan)


def gains(
    questions: Sequence[Scored],
    *,
    aggregation: Aggregation,
    uppers: Sequence[float] | Floats = GRID,
    lowers: Sequence[float] | Floats = GRID,
    weights: Weights | None = None,
    effort: Effort | None = None,
    doubt: float = 0.0,
) -> Gains:
    """What each labelled question is worth at each threshold; those without a label are left out.

    `doubt`: how far below the lower threshold a score still counts as AMBIGUOUS (`Settings.ambiguity_margin`).

    Raises ValueError for thresholds out of 0..1, none at all, or no pair with lower at most upper.
    """
    weights, effort = weights or Weights(), effort or Effort()
    labelled = [question for question in questions if question.answerable is not None]
    highs, lows = _thresholds(uppers), _thresholds(lowers)
    if not _valid_pairs(highs, lows).any():
        raise ValueError("every lower threshold is above every upper one")
    correct, incorrect = reach_matrices(labelled, aggregation, highs, lows, doubt)
    answerable = np.array([question.answerable for question in labelled], dtype=np.bool_)
    cost = {action: weights.call * effort.calls[action] + weights.search * effort.searches[action] for action in Action}
    base = np.full(len(labelled), weights.right * weights.ambiguous - cost[_A])
    as_correct = weights.right * answerable - cost[_C] - base
    as_incorrect = weights.right * ~answerable - cost[_I] - base
    return Gains(
        uppers=highs,
        lowers=lows,
        base=base,
        correct=correct * as_correct[:, None],
        incorrect=incorrect * as_incorrect[:, None],
        alike={
            action: float(np.mean(base + gain)) if labelled else math.nan
            for action, gain in ((_C, as_correct), (_A, np.zeros_like(base)), (_I, as_incorrect))
        },
    )


def best_pair(utility: Floats, uppers: Floats, lowers: Floats) -> Pair:
    """The pair worth most; of equal ones that with the narrowest band, and of those again the middle one.

    `utility` has the shape (uppers, lowers); NaN is no candidate. Raises ValueError where all is NaN.
    """
    if np.isnan(utility).all():
        raise ValueError("no pair of thresholds has a utility")
    rounded = np.round(utility, 9)
    rows, columns = np.nonzero(rounded == np.nanmax(rounded))
    widths = np.round(uppers[rows] - lowers[columns], 9)
    narrowest = np.flatnonzero(widths == widths.min())
    middle = narrowest[(narrowest.size - 1) // 2]
    return float(uppers[rows[middle]]), float(lowers[columns[middle]])


def reach_matrices(
    questions: Sequence[Scored], aggregation: Aggregation, uppers: Floats, lowers: Floats, doubt: float
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Who is CORRECT at each upper (questions, uppers) and INCORRECT at each lower threshold (questions, lowers)."""
    ends = np.array([bounds(question.scores, aggregation) for question in questions], dtype=np.float64).reshape(-1, 2)
    incorrect = ends[:, 1:] < lowers[None, :]
    if doubt > 0:
        scores = [aggregate_scores(question.known, aggregation) for question in questions]
        known = np.array([-math.inf if score is None else score for score in scores], dtype=np.float64)
        incorrect &= ~(known[:, None] >= lowers[None, :] - doubt)
    return ends[:, :1] >= uppers[None, :], incorrect


def _valid_pairs(uppers: Floats, lowers: Floats) -> NDArray[np.bool_]:
    """Which pairs are pairs, shape (uppers, lowers): the lower threshold is not above the upper one."""
    return lowers[None, :] <= uppers[:, None]


def _thresholds(values: Sequence[float] | Floats) -> Floats:
    """The thresholds as an array (thresholds,)."""
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 1 or not array.size or not np.all((array >= 0) & (array <= 1)):
        raise ValueError("thresholds are a row of numbers in 0..1")
    return array
