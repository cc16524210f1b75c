"""The recommendation: plain answers are found, and where the data can't carry one it says what is missing."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from crag.analysis.thresholds.recommend import (
    CROWDED,
    WIDEST,
    Alike,
    Crowding,
    Recommendation,
    Refusal,
    Settled,
    crowding_warning,
    recommend,
)
from crag.analysis.thresholds.sweep import Scored, Weights, gains
from crag.core.types import Action, Aggregation
from tests.support.sizes import sized

ANY = Aggregation.ANY


def parted(good: int = 30, bad: int = 30) -> list[Scored]:
    """Answerable questions score 0.60 to 0.89, the others 0.10 to 0.39."""
    high = [Scored(scores=(0.05, 0.6 + place % 30 / 100), answerable=True) for place in range(good)]
    low = [Scored(scores=(0.1 + place % 30 / 100, 0.01), answerable=False) for place in range(bad)]
    return high + low


def mixed(size: int, seed: int = 1) -> list[Scored]:
    """Questions whose best score is a calibrated chance that the documents hold the answer."""
    random = np.random.default_rng(seed)
    scores = random.random(size)
    return [Scored(scores=(float(score),), answerable=bool(random.random() < score)) for score in scores]


def recommended(*args: object, **named: object) -> Recommendation:
    found = recommend(*args, **named)  # type: ignore[arg-type]
    assert isinstance(found, Recommendation), found
    return found


def refused(*args: object, **named: object) -> Refusal:
    found = recommend(*args, **named)  # type: ignore[arg-type]
    assert isinstance(found, Refusal), found
    return found


def test_where_scores_part_the_questions_the_pair_lies_between() -> None:
    found = recommended(parted(), aggregation=ANY, current=(0.9, 0.2))
    assert found.upper == found.lower == pytest.approx(0.5, abs=0.1)
    assert found.utility == pytest.approx(0.95)  # All right; half of them search.
    assert found.current == (0.9, 0.2) and found.current_utility < found.utility
    assert (found.correct, found.incorrect, found.questions) == (Settled(30, 30), Settled(30, 0), 60)
    assert found.warnings == ()


def test_calibrated_scores_lead_to_the_band_that_the_costs_earn() -> None:
    """CORRECT is worth p, INCORRECT 0.9 - p, AMBIGUOUS 0.6: the band runs from 0.3 to 0.6."""
    found = recommended(mixed(5000), aggregation=ANY)
    assert found.upper == pytest.approx(0.6, abs=0.08)
    assert found.lower == pytest.approx(0.3, abs=0.08)
    for (low, high), best in zip(found.intervals, (found.upper, found.lower), strict=True):
        assert low <= best <= high


@settings(max_examples=sized(30, 10))
@given(st.integers(0, 1000), st.sampled_from([Aggregation.ANY, Aggregation.WORST, Aggregation.MEAN]))
def test_no_pair_of_the_grid_is_worth_more(seed: int, aggregation: Aggregation) -> None:
    questions = mixed(200, seed)
    found = recommend(questions, aggregation=aggregation)
    assume(isinstance(found, Recommendation))
    assert found.utility == pytest.approx(np.nanmax(gains(questions, aggregation=aggregation).utility()))
    for low, high in found.intervals:
        assert 0 <= low <= high <= 1


# Refusals


def test_too_few_labels_are_refused() -> None:
    assert refused(parted(15, 14), aggregation=ANY) == Refusal(labelled=29, answerable=15, ungraded=0)
    recommended(parted(15, 15), aggregation=ANY)


@pytest.mark.parametrize(("good", "bad"), [(40, 0), (0, 40), (4, 40), (40, 4)])
def test_too_few_labels_of_one_kind_are_refused(good: int, bad: int) -> None:
    assert refused(parted(good, bad), aggregation=ANY) == Refusal(labelled=good + bad, answerable=good, ungraded=0)


def test_failed_grades_and_missing_labels_do_not_count() -> None:
    unlabelled = [replace(question, answerable=None) for question in parted()]
    failed = [Scored(scores=(None, float("nan")), answerable=True) for _ in range(40)]
    found = refused([*parted(10, 10), *unlabelled, *failed], aggregation=ANY)
    assert found == Refusal(labelled=20, answerable=10, ungraded=40)
    with_more = recommended([*parted(), *unlabelled, *failed], aggregation=ANY)
    assert with_more == recommended(parted(), aggregation=ANY)


def test_an_interval_too_wide_is_refused_with_the_threshold_named() -> None:
    found = refused(mixed(40, seed=2), aggregation=ANY)
    assert found.labelled == 40 and all(each.high - each.low > WIDEST for each in found.open)
    assert {each.name for each in found.open} <= {"upper", "lower"} and found.open


# Warnings


def test_a_pair_that_leaves_most_ambiguous_is_warned_of() -> None:
    questions = mixed(2000)
    found = recommended(questions, aggregation=ANY, weights=Weights(ambiguous=0.95))
    (warning,) = found.warnings
    assert isinstance(warning, Crowding) and warning.share > CROWDED and warning.pair == (found.upper, found.lower)
    assert crowding_warning(questions, upper=found.upper, lower=found.lower, aggregation=ANY) is not None


def test_scores_that_are_all_alike_are_warned_of() -> None:
    questions = [Scored(scores=(0.5,), answerable=place % 2 == 0) for place in range(40)]
    found = recommended(questions, aggregation=ANY)
    assert found.warnings[0] == Alike(Action.AMBIGUOUS, pytest.approx(0.6))


def test_any_setting_can_be_checked_for_crowding() -> None:
    questions = [Scored(scores=(score,)) for score in (0.1, 0.2, 0.5, 0.6, 0.9)]
    assert crowding_warning(questions, upper=0.7, lower=0.3, aggregation=ANY) is None  # Just 40 %.
    warning = crowding_warning(questions, upper=0.7, lower=0.2, aggregation=ANY)
    assert warning == Crowding((0.7, 0.2), pytest.approx(0.6))
    assert crowding_warning([], upper=0.7, lower=0.3, aggregation=ANY) is None
