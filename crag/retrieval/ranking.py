"""Ranking candidates for a question, the same whatever index found them. Pure.

Why these parts and these weights: docs/decisions/retrieval.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from crag.index.chunk_index import Candidates, Numbers, Scores

Mode = Literal["hybrid", "dense", "bm25"]

BM25_WEIGHT = 0.25
"""What the best BM25 match adds to its cosine; the others add in proportion."""
CARD_WEIGHT = 0.08
"""What one nat of rarity in the words that name a document adds to the cosines of its chunks."""
PAGE_DISCOUNT = 0.1
"""What a chunk gives away to other pages for every better chunk of its own page."""
_DISCOUNTED = 400


@dataclass(frozen=True, slots=True, kw_only=True)
class Rows:
    """Candidates and what the records say of them, m rows in order of `numbers`.

    `documents`, `pages` (m,) say where a chunk stands; `dense` (m,) is its cosine with the question; `lexical` (m,) its
    BM25, 0 where it is not among the best by words.
    """

    numbers: Numbers
    documents: Numbers
    pages: Numbers
    dense: Scores
    lexical: Scores


def join_candidates(*found: Candidates) -> Candidates:
    """Candidates of several searches, each chunk once, in order of number, with what any of them knows of it."""
    numbers = np.unique(np.concatenate([each.numbers for each in found]))
    dense = np.full(len(numbers), np.nan, np.float32)
    lexical = np.zeros(len(numbers), np.float32)
    for each in found:
        rows = np.searchsorted(numbers, each.numbers)
        dense[rows] = np.where(np.isnan(each.dense), dense[rows], each.dense)
        lexical[rows] = np.maximum(lexical[rows], each.lexical)
    return Candidates(numbers, dense, lexical)


def rank(
    rows: Rows, k: int, *, mode: Mode, named: Scores | None = None, decay: Scores | None = None
) -> tuple[NDArray[np.int64], Scores]:
    """The places in `rows` of at most `k` chunks, best first, and the score of every row.

    `named` (m,) says how far the question names a chunk's document, `decay` (m,) what is left of its similarity after
    the time that has passed, 0..1. With mode "bm25" only rows that have a word of the question count.
    """
    if mode == "dense":
        score = rows.dense
    elif mode == "bm25":
        score = np.where(rows.lexical > 0, rows.lexical, -np.inf).astype(np.float32)
    else:
        best = max(float(rows.lexical.max(initial=0.0)), 1e-9)
        score = rows.dense + np.float32(BM25_WEIGHT / best) * rows.lexical
        score = score if named is None else score + np.float32(CARD_WEIGHT) * named
    if decay is not None:
        # A negative score must not rise by shrinking.
        score = np.where(score > 0, score * decay, score)
    if mode == "hybrid":
        score = _discounted(rows, score, max(_DISCOUNTED, k))
    order = _best(score, k)
    return order[np.isfinite(score[order])], score


def _discounted(rows: Rows, score: Scores, count: int) -> Scores:
    """The `count` best scores, each less the discount for every better chunk of its page; the rest at minus infinity.

    Five chunks of one page tell less than five pages do.
    """
    seen: dict[tuple[int, int], int] = {}
    found = np.full_like(score, -np.inf)
    for row in _best(score, count):
        page = (int(rows.documents[row]), int(rows.pages[row]))
        found[row] = score[row] - PAGE_DISCOUNT * seen.get(page, 0)
        seen[page] = seen.get(page, 0) + 1
    return found


def _best(score: Scores, count: int) -> NDArray[np.int64]:
    """The rows of the `count` highest scores, best first, equal ones in order of addition."""
    return np.argsort(-score, kind="stable")[:count]
