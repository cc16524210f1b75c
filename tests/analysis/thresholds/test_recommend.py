"""The recommendation: plain answers are found, and where the data can't carry one it says what is missing."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crag.analysis.thresholds.recommend import Recommendation, Refusal, Resampling, crowding_warning, recommend
from crag.analysis.thresholds.sweep import Scored, Weights, sweep
from crag.core.types import Aggregation
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
    worth = re.search(r"0.90 / 0.20, set now, is worth (\d\.\d+)", found.sentence)
    assert worth is not None and float(worth[1]) < found.utility
    assert found.sentence.startswith(f"{found.upper:.2f} / {found.lower:.2f}: ")
    assert "30 questions become CORRECT (documents hold the answer to 30)" in found.sentence
    assert "30 questions become INCORRECT (documents hold the answer to 0)" in found.sentence
    assert found.warnings == ()


def test_a_pair_that_is_set_already_is_said_to_be() -> None:
    found = recommended(parted(), aggregation=ANY)
    again = recommended(parted(), aggregation=ANY, current=(found.upper, found.lower))
    assert again.utility == found.utility
    assert "it is what is set now" in again.sentence


def test_calibrated_scores_lead_to_the_band_that_the_costs_earn() -> None:
    """CORRECT is worth p, INCORRECT 0.9 - p, AMBIGUOUS 0.6: the band runs from 0.3 to 0.6."""
    found = recommended(mixed(5000), aggregation=ANY, resampling=Resampling(rounds=100))
    assert found.upper == pytest.approx(0.6, abs=0.08)
    assert found.lower == pytest.approx(0.3, abs=0.08)
    assert found.upper_interval[0] <= found.upper <= found.upper_interval[1]
    assert found.lower_interval[0] <= found.lower <= found.lower_interval[1]


def test_more_questions_make_the_interval_narrower() -> None:
    widths = [
        sum(high - low for low, high in (found.upper_interval, found.lower_interval))
        for found in (
            recommended(mixed(size), aggregation=ANY, resampling=Resampling(widest=1.0, rounds=200))
            for size in (40, 4000)
        )
    ]
    assert widths[1] < widths[0] / 2


def test_where_ambiguous_is_worth_little_the_thresholds_meet() -> None:
    found = recommended(mixed(3000), aggregation=ANY, weights=Weights(ambiguous=0.5), resampling=Resampling(rounds=50))
    assert found.upper == found.lower


def test_the_same_seed_gives_the_same_and_another_one_may_not() -> None:
    def once(seed: int) -> Recommendation:
        return recommended(mixed(60), aggregation=ANY, resampling=Resampling(widest=1.0, rounds=20, seed=seed))

    assert once(3) == once(3)
    assert len({(once(seed).upper_interval, once(seed).lower_interval) for seed in range(5)}) > 1


@settings(max_examples=sized(30, 10))
@given(st.integers(0, 1000), st.sampled_from([Aggregation.ANY, Aggregation.WORST, Aggregation.MEAN]))
def test_no_pair_of_the_grid_is_worth_more(seed: int, aggregation: Aggregation) -> None:
    questions = mixed(40, seed)
    found = recommend(questions, aggregation=aggregation, resampling=Resampling(widest=1.0, rounds=5))
    assert isinstance(found, Recommendation), found
    assert found.utility == pytest.approx(np.nanmax(sweep(questions, aggregation=aggregation).utility))
    for low, high in (found.upper_interval, found.lower_interval):
        assert 0 <= low <= high <= 1


# Refusals


def test_no_questions_at_all() -> None:
    found = refused([], aggregation=ANY)
    assert found.reason == "No question has both a label and a score."
    assert found.missing[0] == "30 more labelled questions"


def test_too_few_labels_say_how_many_more() -> None:
    found = refused(parted(15, 14), aggregation=ANY)
    assert found.reason == "Only 29 labelled questions; 30 are needed."
    assert found.missing == ("1 more labelled question",)
    recommended(parted(15, 15), aggregation=ANY)


@pytest.mark.parametrize(
    ("good", "bad", "reason", "missing"),
    [
        (40, 0, "All 40 labels are of one kind", "5 more questions whose documents do not hold the answer"),
        (0, 40, "All 40 labels are of one kind", "5 more questions whose documents hold the answer"),
        (4, 40, "Only 4 questions whose documents hold", "1 more question whose documents hold the answer"),
    ],
)
def test_labels_of_one_kind_say_what_is_missing(good: int, bad: int, reason: str, missing: str) -> None:
    found = refused(parted(good, bad), aggregation=ANY)
    assert found.reason.startswith(reason)
    assert found.missing == (missing,)


def test_failed_grades_and_missing_labels_do_not_count() -> None:
    unlabelled = [replace(question, answerable=None) for question in parted()]
    failed = [Scored(scores=(None, float("nan")), answerable=True) for _ in range(40)]
    found = refused([*parted(10, 10), *unlabelled, *failed], aggregation=ANY)
    assert found.reason == (
        "Only 20 labelled questions; 30 are needed (40 labelled questions left out: no chunk of theirs has a score)."
    )
    with_more = recommended([*parted(), *unlabelled, *failed], aggregation=ANY)
    assert with_more == recommended(parted(), aggregation=ANY)


def test_an_interval_too_wide_is_refused_with_the_threshold_named() -> None:
    found = refused(mixed(40), aggregation=ANY, resampling=Resampling(widest=0.1))
    assert "40 labelled questions leave it open" in found.reason
    assert "threshold could be anything from" in found.reason
    assert found.missing


# Warnings


def test_a_pair_that_leaves_most_ambiguous_is_warned_of_with_one_that_does_not() -> None:
    questions = mixed(2000)
    found = recommended(questions, aggregation=ANY, weights=Weights(ambiguous=0.95), resampling=Resampling(rounds=50))
    (warning,) = found.warnings
    assert "of the questions to AMBIGUOUS, more than 40%" in warning
    assert crowding_warning(questions, upper=found.upper, lower=found.lower, aggregation=ANY) is not None
    named = re.search(r"([\d.]+) / ([\d.]+) stays within and is worth", warning)
    assert named
    assert crowding_warning(questions, upper=float(named[1]), lower=float(named[2]), aggregation=ANY) is None


def test_scores_that_are_all_alike_are_warned_of() -> None:
    questions = [Scored(scores=(0.5,), answerable=place % 2 == 0) for place in range(40)]
    found = recommended(questions, aggregation=ANY)
    assert found.warnings[0] == (
        "The scores hardly tell these questions apart: AMBIGUOUS for every one, whatever its scores, is worth 0.60."
    )


@pytest.mark.parametrize(("share", "action", "worth"), [(0.9, "CORRECT", "0.90"), (0.1, "INCORRECT", "0.80")])
def test_scores_that_beat_no_single_action_are_warned_of(share: float, action: str, worth: str) -> None:
    """INCORRECT for all: 0.9 right actions, each less a search."""
    questions = [Scored(scores=(place % 7 / 10,), answerable=place < 700 * share) for place in range(700)]
    found = recommended(questions, aggregation=ANY, resampling=Resampling(rounds=20, widest=1.0))
    assert f"{action} for every one, whatever its scores, is worth {worth}" in found.warnings[0]


def test_any_setting_can_be_checked_for_crowding() -> None:
    questions = [Scored(scores=(score,)) for score in (0.1, 0.2, 0.5, 0.6, 0.9)]
    assert crowding_warning(questions, upper=0.7, lower=0.3, aggregation=ANY) is None  # Just 40 %.
    warning = crowding_warning(questions, upper=0.7, lower=0.2, aggregation=ANY)
    assert warning is not None
    assert warning.startswith("0.70 / 0.20 sends 60% of the questions to AMBIGUOUS")
    assert crowding_warning([], upper=0.7, lower=0.3, aggregation=ANY) is None
