"""Actions at every pair of thresholds, and what they are worth."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from benchmarks.thresholds_cases import Case
from crag.core.types import Action, Aggregation, Grade
from crag.evaluator.trigger import decide

__all__ = ["COLLAPSE", "COSTS", "LIKELY", "PAIRS", "Counts", "Pair", "best_pair", "counted", "sound_pairs", "utility"]

Pair = tuple[float, float]
"""Upper and lower threshold."""

STEPS = 40
"""Thresholds lie on a grid of 0.025."""
PAIRS: tuple[Pair, ...] = tuple(
    (upper / STEPS, lower / STEPS) for upper in range(2, STEPS - 1) for lower in range(upper + 1)
)
"""Upper from 0.05 to 0.95, lower from 0 to upper."""
LIKELY, COLLAPSE = 0.4, 0.4
"""Of defaults: the least score that is called CORRECT, and the share of AMBIGUOUS questions no set may reach."""
COSTS = {Action.CORRECT: 0.0, Action.AMBIGUOUS: 0.15, Action.INCORRECT: 0.1}
"""What a web search costs, where a right action is worth 1: AMBIGUOUS also reads what it may not need."""


@dataclass(frozen=True, slots=True)
class Counts:
    """How often each action follows, of questions that the retrieved texts answer and of those they don't."""

    answerable: Mapping[Action, int]
    unanswerable: Mapping[Action, int]

    @property
    def total(self) -> int:
        return sum(self.answerable.values()) + sum(self.unanswerable.values())

    @property
    def ambiguous(self) -> float:
        """The share of all questions."""
        return (self.answerable[Action.AMBIGUOUS] + self.unanswerable[Action.AMBIGUOUS]) / self.total


def counted(cases: Sequence[Case], grades: Sequence[Sequence[Grade]], pair: Pair, aggregation: Aggregation) -> Counts:
    """The actions of one set at one pair of thresholds, by the function that decides in the app."""
    found = {True: dict.fromkeys(Action, 0), False: dict.fromkeys(Action, 0)}
    for case, its in zip(cases, grades, strict=True):
        action = decide(its, upper=pair[0], lower=pair[1], aggregation=aggregation).action
        found[case.answerable][action] += 1
    return Counts(found[True], found[False])


def utility(counts: Counts, ambiguous: float) -> float:
    """Mean worth of the actions: 1 for the right one, `ambiguous` for AMBIGUOUS, 0 for a wrong one, less its cost."""
    right = counts.answerable[Action.CORRECT] + counts.unanswerable[Action.INCORRECT]
    taken = {action: counts.answerable[action] + counts.unanswerable[action] for action in Action}
    cost = sum(count * COSTS[action] for action, count in taken.items())
    return (right + ambiguous * taken[Action.AMBIGUOUS] - cost) / counts.total


def sound_pairs(tables: Sequence[Mapping[Pair, Counts]]) -> Sequence[Pair]:
    """Pairs fit for defaults: within the bounds LIKELY and COLLAPSE."""
    return [pair for pair in PAIRS if pair[0] >= LIKELY and max(t[pair].ambiguous for t in tables) < COLLAPSE]


def best_pair(tables: Sequence[Mapping[Pair, Counts]], ambiguous: float, pairs: Sequence[Pair] = PAIRS) -> Pair:
    """Of `pairs`, the one whose mean utility over the sets is highest; of equal ones that with the narrowest band."""

    def worth(pair: Pair) -> tuple[float, float]:
        mean = sum(utility(table[pair], ambiguous) for table in tables) / len(tables)
        return round(mean, 9), pair[1] - pair[0]

    return max(pairs, key=worth)
