"""Calibration: curves worked out by hand, held against their definitions, and what has no curve refused in words."""

import math
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crag.analysis.metrics.calibration import curves, reliability
from crag.core.errors import InputError

NAN = float("nan")
# Few distinct values, so that ties are the rule.
CASES = st.lists(st.tuples(st.sampled_from([0.0, 0.1, 0.3, 0.5, 0.7, 1.0]), st.booleans()), min_size=1, max_size=30)
BOTH_KINDS = CASES.filter(lambda cases: len({label for _, label in cases}) == 2)


def split(cases: list[tuple[float, bool]]) -> tuple[list[float], list[bool]]:
    return [score for score, _ in cases], [label for _, label in cases]


def test_average_precision_by_hand() -> None:
    """Recall rises to 1/2 at precision 1, and to 1 at 0.4 with two of four: 0.5 * 1 + 0.5 * 0.5."""
    found = curves([0.9, 0.6, 0.4, 0.4, 0.1], [True, False, True, False, False])
    assert found.thresholds.tolist() == [math.inf, 0.9, 0.6, 0.4, 0.1]
    assert found.recall.tolist() == [0, 0.5, 0.5, 1, 1]
    assert found.precision[1:].tolist() == [1, 0.5, 0.5, 0.4] and math.isnan(found.precision[0])
    assert found.average_precision == pytest.approx(0.75)
    assert found.relevant == 0.4


@given(BOTH_KINDS)
def test_each_point_is_what_its_threshold_gives(cases: list[tuple[float, bool]]) -> None:
    found = curves(*split(cases))
    assert found.thresholds[1:].tolist() == sorted({s for s, _ in cases}, reverse=True)
    positives = sum(label for _, label in cases)
    for place, threshold in enumerate(found.thresholds):
        called = [label for score, label in cases if score >= threshold]
        if called:
            assert found.precision[place] == pytest.approx(sum(called) / len(called))
        assert found.recall[place] == pytest.approx(sum(called) / positives)


@given(BOTH_KINDS, st.lists(st.tuples(st.sampled_from([None, NAN]), st.booleans()), max_size=5), st.randoms())
def test_failed_grades_and_missing_labels_are_left_out(
    cases: list[tuple[float, bool]], failed: list[tuple[float | None, bool]], random: object
) -> None:
    more = [*cases, *failed, (0.0, None), (None, None)]
    random.shuffle(more)  # type: ignore[attr-defined]
    scores, labels = [score for score, _ in more], [label for _, label in more]
    found, plain = curves(scores, labels), curves(*split(cases))
    assert (found.average_precision, found.relevant) == (pytest.approx(plain.average_precision), plain.relevant)
    diagram = reliability(scores, labels)
    assert diagram.error == pytest.approx(reliability(*split(cases)).error)
    assert sum(each.count for each in diagram.bins) == len(cases)


# Reliability


def test_reliability_by_hand() -> None:
    """Three bins of width 0.1: 0.11 and 0.13 with one relevant, 0.55 without, 0.95 and 1.0 with both."""
    diagram = reliability([0.11, 0.13, 0.55, 0.95, 1.0], [False, True, False, True, True])
    low, middle, high = diagram.bins
    assert (low.count, low.score, low.share) == (2, pytest.approx(0.12), 0.5)
    assert (middle.count, middle.score, middle.share) == (1, 0.55, 0)
    assert (high.count, high.score, high.share) == (2, pytest.approx(0.975), 1)
    assert diagram.error == pytest.approx((2 * 0.38 + 0.55 + 2 * 0.025) / 5)
    assert diagram.worst == pytest.approx(0.55)


def test_a_score_on_an_edge_falls_into_the_bin_above_it() -> None:
    edges = [place / 10 for place in range(10)]
    diagram = reliability([*edges, 1.0], [True] * 11)
    assert [each.count for each in diagram.bins] == [1] * 9 + [2]
    assert [each.score for each in diagram.bins] == [*edges[:-1], 0.95]


# What has no curve


@pytest.mark.parametrize("measure", [curves, reliability])
@pytest.mark.parametrize(
    ("scores", "labels", "reason"),
    [
        ([], [], "nothing is labelled"),
        ([0.5], [None], "nothing is labelled"),
        ([None, NAN], [True, False], "every labelled grade failed"),
    ],
)
def test_nothing_to_measure_is_said(
    measure: Callable[[object, object], object], scores: object, labels: object, reason: str
) -> None:
    with pytest.raises(InputError, match=reason):
        measure(scores, labels)


def test_labels_of_one_kind_are_said() -> None:
    with pytest.raises(InputError, match="every label says relevant"):
        curves([0.1, 0.9], [True, True])
    with pytest.raises(InputError, match="every label with a score says not relevant"):
        curves([0.1, None], [False, True])
    assert reliability([0.2, 0.2], [False, False]).error == pytest.approx(0.2)


@pytest.mark.parametrize(
    ("scores", "labels", "said"),
    [([1.5], [True], "0..1"), ([-0.1], [True], "0..1"), ([math.inf], [True], "0..1"), ([0.5], [], "but 0 labels")],
)
def test_what_is_no_score_is_refused(scores: list[float], labels: list[bool], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        reliability(scores, labels)


def test_bad_labels_are_refused() -> None:
    with pytest.raises(ValueError, match="a label is true, false or None"):
        curves([0.5, 0.6], [2, True])  # type: ignore[list-item]
