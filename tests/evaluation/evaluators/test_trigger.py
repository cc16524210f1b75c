"""The action trigger against the paper's rule, its aggregations, and what a failed grade may do."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crag.core.types import SET, Action, Aggregation, Grade, SetGrade, SetReadings
from crag.evaluation.trigger import decide, set_grades, verdict

C, A, I = Action.CORRECT, Action.AMBIGUOUS, Action.INCORRECT  # noqa: E741
ANY, WORST, MEAN, JOINT = Aggregation.ANY, Aggregation.WORST, Aggregation.MEAN, Aggregation.JOINT


def grades(*scores: float | None) -> list[Grade]:
    return [
        Grade(passage_id=str(place), score=score, error="failed" if score is None else None)
        for place, score in enumerate(scores)
    ]


@pytest.mark.parametrize(("score", "expected"), [(1.0, C), (0.7, C), (0.6999, A), (0.3, A), (0.2999, I), (0.0, I)])
def test_both_thresholds_are_inclusive(score: float, expected: Action) -> None:
    assert verdict(score, upper=0.7, lower=0.3) is expected


@pytest.mark.parametrize(
    ("aggregation", "scores", "action", "deciding"),
    [
        (ANY, (0.1, 0.9, 0.2), C, "1"),
        (ANY, (0.1, 0.5, 0.2), A, "1"),
        (WORST, (0.9, 0.8, 0.1), I, "2"),
        (WORST, (0.9, 0.5), A, "1"),
        (MEAN, (0.9, 0.7), C, None),
        (MEAN, (0.1, 0.1), I, None),
        (JOINT, (0.8,), C, None),
        (JOINT, (None,), A, None),
    ],
)
def test_aggregations(
    aggregation: Aggregation, scores: tuple[float | None, ...], action: Action, deciding: str | None
) -> None:
    decision = decide(grades(*scores), upper=0.7, lower=0.3, aggregation=aggregation)
    assert (decision.action, decision.deciding_id) == (action, deciding)
    assert decision.unknown == scores.count(None)


def together(score: float) -> SetGrade:
    readings = SetReadings(
        best=0.9, agreeing=0, covered=1.0, absent=(), years=(), years_asked=0, keywords=1.0, closeness=0.0, words=1
    )
    return SetGrade(score=score, readings=readings, evaluator="local")


@pytest.mark.parametrize(
    ("scores", "as_set", "action", "deciding"),
    [
        ((0.9, 0.2), 0.2, I, None),
        ((0.9, 0.2), 0.5, A, None),
        ((0.1, 0.2), 0.8, C, None),
        ((0.1, None), 0.2, A, None),  # a failed grade might have changed it
        ((0.1, None), 0.8, C, None),
        ((0.9, 0.2), None, C, "0"),  # without a grade of the set the best chunk decides
        ((None,), None, A, None),
        ((), None, I, None),
    ],
)
def test_a_set_is_decided_by_the_grade_of_all_its_texts(
    scores: tuple[float | None, ...], as_set: float | None, action: Action, deciding: str | None
) -> None:
    own = set_grades(grades(*scores), None if as_set is None else together(as_set), Aggregation.SET)
    decision = decide(own, upper=0.7, lower=0.3, aggregation=Aggregation.SET)
    assert (decision.action, decision.deciding_id) == (action, deciding)
    assert decision.score == (as_set if as_set is not None else max((s for s in scores if s is not None), default=None))
    assert decision.unknown == scores.count(None)


@pytest.mark.parametrize("aggregation", [ANY, WORST, MEAN, JOINT])
def test_other_rules_do_not_look_at_the_set(aggregation: Aggregation) -> None:
    assert set_grades(grades(0.9, 0.2), together(0.1), aggregation) == grades(0.9, 0.2)
    assert SET not in {grade.passage_id for grade in grades(0.9, 0.2)}


scores_with_failures = st.lists(st.one_of(st.none(), st.floats(0, 1)), max_size=8)


@given(scores_with_failures, st.sampled_from([ANY, WORST, MEAN]), st.floats(0, 1), st.floats(0, 1), st.data())
def test_a_failed_grade_never_settles_the_action(
    scores: list[float | None], aggregation: Aggregation, one: float, other: float, data: st.DataObject
) -> None:
    """Whatever a failed grade might have been, a settled action stays what it was."""
    upper, lower = max(one, other), min(one, other)
    decision = decide(grades(*scores), upper=upper, lower=lower, aggregation=aggregation)
    if decision.action is A or not scores:
        return
    filled = [data.draw(st.floats(0, 1)) if score is None else score for score in scores]
    assert decide(grades(*filled), upper=upper, lower=lower, aggregation=aggregation).action is decision.action
