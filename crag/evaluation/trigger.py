"""The action trigger: grades and thresholds to CORRECT, AMBIGUOUS or INCORRECT (paper §4.3). Pure."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import assert_never

from crag.core.types import SET, Action, Aggregation, Decision, Grade, GradedText, RetrievedChunk, SetGrade


def verdict(score: float, *, upper: float, lower: float) -> Action:
    """What one score alone leads to. Both thresholds are inclusive, as in the paper's released code."""
    if score >= upper:
        return Action.CORRECT
    return Action.AMBIGUOUS if score >= lower else Action.INCORRECT


def bounds(scores: Sequence[float | None], aggregation: Aggregation) -> tuple[float, float]:
    """The least and the most that the score compared with the thresholds can be, whatever failed grades would say.

    A failed grade is None or NaN. Infinite where failed grades could lead anywhere; both minus infinity where nothing
    was retrieved.
    """
    known = [score for score in scores if score is not None and not math.isnan(score)]
    unknown = len(scores) - len(known)
    if not known:
        return -math.inf, math.inf if scores else -math.inf
    match aggregation:
        case Aggregation.ANY | Aggregation.SET:
            return max(known), math.inf if unknown else max(known)
        case Aggregation.WORST:
            return -math.inf if unknown else min(known), min(known)
        case Aggregation.MEAN:
            # Python's own sum: NumPy adds in another order, and a tie with a threshold would fall otherwise.
            return sum(known) / len(scores), (sum(known) + unknown) / len(scores)
        case Aggregation.JOINT:
            return known[0], known[0]
        case _:
            assert_never(aggregation)


def aggregate_scores(scores: Sequence[float], aggregation: Aggregation) -> float | None:
    """The score that is compared with the thresholds, of those that are known; None where none is."""
    if not scores:
        return None
    match aggregation:
        case Aggregation.ANY | Aggregation.SET:
            return max(scores)
        case Aggregation.WORST:
            return min(scores)
        case Aggregation.MEAN:
            return sum(scores) / len(scores)
        case Aggregation.JOINT:
            return scores[0]
        case _:
            assert_never(aggregation)


def set_grades(grades: Sequence[Grade], together: SetGrade | None, aggregation: Aggregation) -> Sequence[Grade]:
    """The grades that `decide` looks at: of `set` the one of all texts, with the failed ones, which it does not know.

    Where there is no grade of the set, the chunks' own decide as under `any`.
    """
    if aggregation is not Aggregation.SET or together is None:
        return grades
    return [together.grade, *(grade for grade in grades if grade.failed)]


def graded_texts(chunks: Sequence[RetrievedChunk], grades: Mapping[str, Grade], limit: int) -> list[GradedText]:
    """What the grade of a set is made of: the scored chunks as they were graded; `limit` is `Settings.grade_chars`."""
    scored = [(found, grades[found.chunk.id].score) for found in chunks]
    return [
        GradedText(text=found.chunk.graded_text(limit), score=score) for found, score in scored if score is not None
    ]


def decide(grades: Sequence[Grade], *, upper: float, lower: float, aggregation: Aggregation) -> Decision:
    """The action for one retrieval, and the grade that decided it.

    `any`: the best score decides. `worst`: the worst one does. `mean`: the average does. `joint`: `grades` is the
    one grade over all chunks. `set`: `grades` are what `set_grades` gives.

    A failed grade is unknown. It never makes a retrieval CORRECT or INCORRECT: where the known scores alone
    would, but an unknown one could have led elsewhere, the action is AMBIGUOUS. No grades at all (nothing was
    retrieved) is INCORRECT. Ties go to the grade that stands first.
    """
    known = [grade for grade in grades if grade.score is not None]
    score = aggregate_scores([grade.score for grade in known if grade.score is not None], aggregation)
    least, most = bounds([grade.score for grade in grades], aggregation)
    one = aggregation in (Aggregation.ANY, Aggregation.WORST, Aggregation.SET)
    deciding = next((grade.passage_id for grade in known if one and grade.score == score), None)
    return Decision(
        action=Action.CORRECT if least >= upper else Action.INCORRECT if most < lower else Action.AMBIGUOUS,
        deciding_id=deciding if deciding != SET else None,
        score=score,
        upper=upper,
        lower=lower,
        aggregation=aggregation,
        graded=len(known),
        unknown=len(grades) - len(known),
    )
