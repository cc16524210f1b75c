"""The figures of the evaluator benchmark, on inputs small enough to count by hand."""

import math

import numpy as np
import pytest
from numpy.typing import NDArray

from benchmarks.evaluator_graders import bm25
from benchmarks.evaluator_measures import accuracy, best_accuracy, best_macro_f1, macro_f1, ranking
from benchmarks.evaluator_row import Row
from corpora.measures import auc


def labels(*values: int) -> NDArray[np.int64]:
    return np.array(values, np.int64)


def scores(*values: float) -> NDArray[np.float64]:
    return np.array(values, np.float64)


def test_auc_counts_pairs_in_order_and_ties_half() -> None:
    assert auc(labels(1, 1, 0, 0), scores(0.9, 0.4, 0.5, 0.1)) == 3 / 4
    assert auc(labels(1, 0), scores(0.5, 0.5)) == 1 / 2
    assert math.isnan(auc(labels(1, 1), scores(0.1, 0.2)))


def test_the_best_threshold_beats_any_other() -> None:
    marked, values = labels(0, 1, 0, 1, 1), scores(0.1, 0.3, 0.6, 0.7, 0.9)
    best, threshold = best_accuracy(marked, values)
    assert (best, threshold) == (4 / 5, 0.3)
    assert accuracy(marked, values, threshold) == best
    assert best == max(accuracy(marked, values, cut) for cut in np.linspace(0, 1, 101))


def test_macro_f1_weighs_yes_and_no_alike() -> None:
    marked, values = labels(1, 1, 0, 0), scores(0.9, 0.2, 0.6, 0.1)
    # yes: one right, one wrong, one missed: 1/2. no: the same.
    assert macro_f1(marked, values, 0.5) == pytest.approx(1 / 2)
    assert macro_f1(labels(1, 0), scores(0.9, 0.8), 0.5) == pytest.approx((2 / 3 + 0) / 2)
    best, threshold = best_macro_f1(marked, values)
    assert best == pytest.approx(macro_f1(marked, values, threshold))
    assert best == pytest.approx(max(macro_f1(marked, values, cut) for cut in np.linspace(0, 1, 101)))


def test_ranking_is_over_questions_with_a_positive() -> None:
    groups = [
        (labels(0, 1, 0, 1), scores(0.9, 0.8, 0.7, 0.6)),  # ranks 2 and 4: (1/2 + 2/4) / 2, first 1/2
        (labels(1, 0), scores(0.5, 0.1)),
        (labels(0, 0), scores(0.5, 0.1)),
        (labels(1, 1), scores(0.5, 0.1)),
    ]
    found, both = ranking(groups), ranking(groups, both=True)
    assert found is not None and both is not None
    assert (found.questions, found.map, found.mrr) == (3, pytest.approx(2.5 / 3), pytest.approx(2.5 / 3))
    assert (both.questions, both.map, both.mrr) == (2, pytest.approx(0.75), pytest.approx(0.75))
    assert ranking([(labels(0), scores(0.5))]) is None


def test_bm25_prefers_rare_words_and_short_texts() -> None:
    texts = ["the cat sat", "the dog sat", "the cat sat on a very long mat by the door", "the bird flew"]
    found = bm25([Row("q", "Where is the cat?", text, 0) for text in texts])
    assert found[0] > found[2] > found[1] > 0
    assert found[1] == pytest.approx(found[3])
