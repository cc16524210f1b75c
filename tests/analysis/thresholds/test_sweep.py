"""Thresholds: they agree with the live trigger at every pair, and its worth with the sums by hand."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crag.analysis.thresholds.sweep import Effort, Scored, best_pair, gains, reach_matrices
from crag.core.policy import acted_on
from crag.core.settings import Settings
from crag.core.types import Action, Aggregation, Grade
from crag.evaluation.trigger import bounds, decide

C, A, I = Action.CORRECT, Action.AMBIGUOUS, Action.INCORRECT  # noqa: E741
NAN = float("nan")
STEPS = [step / 10 for step in range(11)]
# Scores on thresholds are the rule here, and free ones are in between.
SCORE = st.sampled_from(STEPS) | st.floats(0, 1) | st.sampled_from([None, NAN])
QUESTION = st.builds(
    Scored, scores=st.lists(SCORE, max_size=12).map(tuple), answerable=st.sampled_from([True, False, None])
)
LABELLED = st.builds(Scored, scores=st.lists(SCORE, max_size=4).map(tuple), answerable=st.booleans())


def live(question: Scored, upper: float, lower: float, aggregation: Aggregation, doubt: float = 0.0) -> Action:
    """The action by the functions that decide in the app."""
    failed = [score is None or math.isnan(score) for score in question.scores]
    grades = [
        Grade(passage_id=str(place), score=None if gone else score, error="failed" if gone else None)
        for place, (score, gone) in enumerate(zip(question.scores, failed, strict=True))
    ]
    decision = decide(grades, upper=upper, lower=lower, aggregation=aggregation)
    return acted_on(decision, Settings(ambiguity_margin=doubt)).action


@given(
    st.lists(QUESTION, min_size=1, max_size=4),
    st.sampled_from(Aggregation),
    st.lists(SCORE, max_size=3),
    st.sampled_from([0.0, 0.05, 0.3]),
)
def test_every_pair_is_what_the_trigger_decides(
    questions: list[Scored], aggregation: Aggregation, more: list[float | None], doubt: float
) -> None:
    # Thresholds on a question's own compared score, too, where one rounding error would show.
    own = [end for question in questions for end in bounds(question.scores, aggregation) if 0 <= end <= 1]
    grid = [*STEPS, *own, *(score for score in more if score is not None and not math.isnan(score))]
    ends = np.array(grid)
    correct, incorrect = (each.mean(axis=0) for each in reach_matrices(questions, aggregation, ends, ends, doubt))
    for row, upper in enumerate(grid):
        for column, lower in enumerate(grid):
            if lower > upper:
                continue
            shares = [correct[row], 1 - correct[row] - incorrect[column], incorrect[column]]
            actions = [live(question, upper, lower, aggregation, doubt) for question in questions]
            assert shares == pytest.approx([actions.count(action) / len(questions) for action in (C, A, I)])


@given(st.lists(LABELLED, min_size=1, max_size=8), st.data())
def test_a_resample_is_worth_what_its_questions_are(questions: list[Scored], data: st.DataObject) -> None:
    counts = data.draw(st.lists(st.integers(0, 3), min_size=len(questions), max_size=len(questions)).filter(any))
    drawn = [question for question, count in zip(questions, counts, strict=True) for _ in range(count)]
    whole = gains(questions, aggregation=Aggregation.WORST, uppers=STEPS, lowers=STEPS)
    again = gains(drawn, aggregation=Aggregation.WORST, uppers=STEPS, lowers=STEPS)
    np.testing.assert_allclose(whole.utility(np.array(counts, dtype=float)), again.utility(), atol=1e-9)


def test_without_labels_worth_is_unknown() -> None:
    found = gains([Scored(scores=(0.5,))], aggregation=Aggregation.ANY).utility()
    assert found.shape == (51, 51) and np.isnan(found).all()


def test_failed_grades_are_never_zero() -> None:
    pair, mean = (np.array([0.9]), np.array([0.9])), Aggregation.MEAN
    failed, nothing = (reach_matrices([Scored(scores=each)], mean, *pair, 0.0) for each in ((None, NAN), ()))
    assert not np.any(failed) and [each.all() for each in nothing] == [False, True]


# The best pair


def test_the_best_pair_has_the_narrowest_band_and_of_those_is_the_middle_one() -> None:
    grid = np.array([0.1, 0.2, 0.3, 0.4])
    worth = np.where(grid[None, :] <= grid[:, None], 1.0, np.nan)
    worth[0, 0] = 0.9
    assert best_pair(worth, grid, grid) == (0.3, 0.3)
    worth[3, 0] = 1.1
    assert best_pair(worth, grid, grid) == (0.4, 0.1)
    with pytest.raises(ValueError, match="no pair"):
        best_pair(np.full((2, 2), np.nan), grid[:2], grid[:2])


# Bad input


@pytest.mark.parametrize("grid", [[], [1.1], [-0.1], [NAN], [[0.5]]])
def test_what_is_no_threshold_is_refused(grid: list[float]) -> None:
    with pytest.raises(ValueError, match="thresholds"):
        gains([Scored(scores=(0.5,))], aggregation=Aggregation.ANY, uppers=grid)
    with pytest.raises(ValueError, match="above every upper"):
        gains([Scored(scores=(0.5,))], aggregation=Aggregation.ANY, uppers=[0.1], lowers=[0.2])


@pytest.mark.parametrize("score", [-0.01, 1.01, math.inf])
def test_what_is_no_score_is_refused(score: float) -> None:
    with pytest.raises(ValueError, match=r"0\.\.1"):
        Scored(scores=(0.5, score))


def test_effort_is_what_the_settings_lead_to() -> None:
    assert Effort.of(Settings()) == Effort()
    found = Effort.of(Settings(web_on=("CORRECT",)))
    assert (found.searches, found.calls) == ({C: 1, A: 0, I: 0}, {C: 1, A: 0, I: 0})
