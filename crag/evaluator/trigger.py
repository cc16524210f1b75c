"""The action trigger: grades and thresholds to CORRECT, AMBIGUOUS or INCORRECT (paper §4.3). Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import assert_never

from crag.core.types import Action, Aggregation, Decision, Grade

__all__ = ["decide", "verdict"]


def verdict(score: float, *, upper: float, lower: float) -> Action:
    """What one score alone leads to. Both thresholds are inclusive, as in the paper's released code."""
    if score >= upper:
        return Action.CORRECT
    return Action.AMBIGUOUS if score >= lower else Action.INCORRECT


def decide(grades: Sequence[Grade], *, upper: float, lower: float, aggregation: Aggregation) -> Decision:
    """The action for one retrieval, and the grade that decided it.

    `any`: the best score decides. `worst`: the worst one does. `mean`: the average does. `joint`: `grades` is the
    one grade over all chunks.

    A failed grade is unknown. It never makes a retrieval CORRECT or INCORRECT: where the known scores alone
    would, but an unknown one could have led elsewhere, the action is AMBIGUOUS. No grades at all (nothing was
    retrieved) is INCORRECT. Ties go to the grade that stands first.
    """
    known = [grade for grade in grades if grade.score is not None]
    unknown = len(grades) - len(known)
    scores = [grade.score for grade in known if grade.score is not None]

    def made(action: Action, deciding: Grade | None, score: float | None) -> Decision:
        return Decision(
            action=action,
            deciding_id=deciding.passage_id if deciding else None,
            score=score,
            upper=upper,
            lower=lower,
            aggregation=aggregation,
            graded=len(known),
            unknown=unknown,
        )

    if not grades:
        return made(Action.INCORRECT, None, None)
    if not known:
        return made(Action.AMBIGUOUS, None, None)
    match aggregation:
        case Aggregation.ANY:
            score = max(scores)
            action = verdict(score, upper=upper, lower=lower)
            if unknown and action is Action.INCORRECT:
                action = Action.AMBIGUOUS
            return made(action, known[scores.index(score)], score)
        case Aggregation.WORST:
            score = min(scores)
            action = verdict(score, upper=upper, lower=lower)
            if unknown and action is Action.CORRECT:
                action = Action.AMBIGUOUS
            return made(action, known[scores.index(score)], score)
        case Aggregation.MEAN:
            least = sum(scores) / len(grades)
            most = (sum(scores) + unknown) / len(grades)
            possible = {verdict(least, upper=upper, lower=lower), verdict(most, upper=upper, lower=lower)}
            action = possible.pop() if len(possible) == 1 else Action.AMBIGUOUS
            return made(action, None, sum(scores) / len(scores))
        case Aggregation.JOINT:
            return made(verdict(scores[0], upper=upper, lower=lower), None, scores[0])
        case _:
            assert_never(aggregation)
