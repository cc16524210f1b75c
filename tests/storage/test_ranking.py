"""Ranking: the weights do what they say, equal ones stay in order, and what is joined keeps what each search knew."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crag.index.chunk_index import Candidates
from crag.retrieval.ranking import BM25_WEIGHT, CARD_WEIGHT, PAGE_DISCOUNT, Rows, join_candidates, rank


def rows(dense: list[float], lexical: list[float] | None = None, pages: list[int] | None = None) -> Rows:
    count = len(dense)
    return Rows(
        numbers=np.arange(1, count + 1),
        documents=np.ones(count, np.int64),
        pages=np.array(pages or range(count)),
        dense=np.array(dense, np.float32),
        lexical=np.array(lexical or [0.0] * count, np.float32),
    )


def test_the_best_match_by_words_adds_its_weight_and_the_others_in_proportion() -> None:
    order, score = rank(rows([0.5, 0.5, 0.5], [0, 4, 2]), 3, mode="hybrid")
    assert order.tolist() == [1, 2, 0]
    assert score == pytest.approx([0.5, 0.5 + BM25_WEIGHT, 0.5 + BM25_WEIGHT / 2])


def test_the_named_document_gains_by_the_rarity_of_its_name() -> None:
    order, score = rank(rows([0.5, 0.45]), 2, mode="hybrid", named=np.array([0, 2], np.float32))
    assert order.tolist() == [1, 0]
    assert score[1] == pytest.approx(0.45 + 2 * CARD_WEIGHT)


def test_a_page_gives_way_to_others_with_every_chunk_of_its_own() -> None:
    order, score = rank(rows([0.9, 0.89, 0.88, 0.85], pages=[1, 1, 1, 2]), 4, mode="hybrid")
    assert order.tolist() == [0, 3, 1, 2]
    assert score[2] == pytest.approx(0.88 - 2 * PAGE_DISCOUNT)


def test_each_mode_goes_by_its_own() -> None:
    both = rows([0.9, 0.1, 0.5], [0, 3, 1])
    assert rank(both, 3, mode="dense")[0].tolist() == [0, 2, 1]
    assert rank(both, 3, mode="bm25")[0].tolist() == [1, 2], "a chunk without a word of the question is none"


def test_decay_lowers_what_is_old_and_never_lifts_what_is_below_zero() -> None:
    decay = np.array([0.5, 1.0, 0.1], np.float32)
    _, score = rank(rows([0.8, 0.5, -0.2]), 3, mode="dense", decay=decay)
    assert score == pytest.approx([0.4, 0.5, -0.2])


@given(st.lists(st.integers(0, 3), min_size=1, max_size=30), st.integers(1, 40))
def test_equal_ones_stand_in_the_order_they_were_added(levels: list[int], k: int) -> None:
    order = rank(rows([level / 4 for level in levels]), k, mode="dense")[0].tolist()
    assert order == sorted(range(len(levels)), key=lambda row: (-levels[row], row))[:k]


def test_nothing_ranks_nothing() -> None:
    assert not len(rank(rows([]), 5, mode="hybrid")[0])


def test_joined_searches_keep_what_each_of_them_knew() -> None:
    nan = np.nan
    first = Candidates(np.array([7, 3]), np.array([nan, 0.5], np.float32), np.array([2, 0], np.float32))
    second = Candidates(np.array([3, 9, 7]), np.array([nan, 0.1, 0.4], np.float32), np.array([1, 0, 0], np.float32))
    both = join_candidates(first, second)
    assert both.numbers.tolist() == [3, 7, 9]
    assert both.dense == pytest.approx([0.5, 0.4, 0.1])
    assert both.lexical.tolist() == [1, 2, 0]
