"""Every pair of thresholds over several sets of questions, each of equal weight, by the functions that Tune uses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from benchmarks.thresholds_cases import Case
from crag.analysis.thresholds.sweep import GRID, Floats, Pair, Scored, Weights, best_pair, gains, reach_matrices
from crag.core.policy import acted_on
from crag.core.settings import Settings
from crag.core.types import Action, Grade
from crag.evaluation.trigger import decide

LIKELY, COLLAPSE = 0.4, 0.4
"""Of defaults: the least score that is called CORRECT, and the share of AMBIGUOUS questions no set may reach."""


@dataclass(frozen=True, slots=True)
class Counts:
    """How often each action follows, of questions that the retrieved texts answer and of those they don't."""

    answerable: Mapping[Action, int]
    unanswerable: Mapping[Action, int]

    @property
    def ambiguous(self) -> float:
        """The share of all questions."""
        both = (self.answerable, self.unanswerable)
        return sum(each[Action.AMBIGUOUS] for each in both) / sum(sum(each.values()) for each in both)


def counted(cases: Sequence[Case], grades: Sequence[Sequence[Grade]], pair: Pair, settings: Settings) -> Counts:
    """What is acted on at one pair of thresholds, by the functions that decide in the app."""
    found = {True: dict.fromkeys(Action, 0), False: dict.fromkeys(Action, 0)}
    for case, its in zip(cases, grades, strict=True):
        decision = decide(its, upper=pair[0], lower=pair[1], aggregation=settings.aggregation)
        found[case.answerable][acted_on(decision, settings).action] += 1
    return Counts(found[True], found[False])


class Sets:
    """The sets that take part in the choice, and what every pair of thresholds is worth to them."""

    def __init__(self, sets: Sequence[tuple[Sequence[Case], Sequence[Sequence[Grade]]]], settings: Settings) -> None:
        self._settings = settings
        self._sets = [
            [
                Scored(scores=tuple(grade.score for grade in its), answerable=case.answerable)
                for case, its in zip(cases, grades, strict=True)
            ]
            for cases, grades in sets
        ]

    def utility(self, ambiguous: float, uppers: Sequence[float] = GRID, lowers: Sequence[float] = GRID) -> Floats:
        """Mean worth over questions, then over sets, shape (uppers, lowers); NaN where lower is above upper."""
        valued = partial(gains, aggregation=self._settings.aggregation, doubt=self._settings.ambiguity_margin)
        weights = Weights(ambiguous=ambiguous)
        worth = [valued(each, uppers=uppers, lowers=lowers, weights=weights).utility() for each in self._sets]
        return np.asarray(np.mean(worth, axis=0))

    def most(self, uppers: Sequence[float] = GRID, lowers: Sequence[float] = GRID) -> Floats:
        """The largest share of AMBIGUOUS questions that a set has, as `utility`."""
        by, doubt = self._settings.aggregation, self._settings.ambiguity_margin
        reached = [reach_matrices(each, by, np.array(uppers), np.array(lowers), doubt) for each in self._sets]
        return np.asarray(np.max([1 - c.mean(axis=0)[:, None] - i.mean(axis=0) for c, i in reached], axis=0))

    def worth(self, pair: Pair, ambiguous: float) -> float:
        return float(self.utility(ambiguous, pair[:1], pair[1:])[0, 0])

    def most_ambiguous(self, pair: Pair) -> float:
        return float(self.most(pair[:1], pair[1:])[0, 0])

    def best(self, ambiguous: float) -> Pair:
        """Of equal pairs that with the narrowest band."""
        return best_pair(self.utility(ambiguous), np.array(GRID), np.array(GRID))

    def best_sound(self, ambiguous: float) -> Pair | None:
        """The best of the pairs fit for defaults, within the bounds LIKELY and COLLAPSE; None where there is none."""
        utility = self.utility(ambiguous)
        utility[self.most() >= COLLAPSE] = np.nan
        utility[np.array(GRID) < LIKELY] = np.nan
        return None if np.isnan(utility).all() else best_pair(utility, np.array(GRID), np.array(GRID))
