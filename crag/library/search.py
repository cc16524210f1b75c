"""Ranking chunks for a question. Why these parts and these weights: docs/decisions/retrieval.md."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, select

from crag.core.types import RetrievedChunk
from crag.library import store
from crag.library.accounts import line_items
from crag.library.snapshot import Snapshot
from crag.library.tables import documents
from crag.library.terms import match_expression
from crag.library.vectors import Vectors

Mode = Literal["hybrid", "dense", "bm25"]
Scores = NDArray[np.float32]

BM25_WEIGHT = 0.25
"""What the best BM25 match adds to its cosine; the others add in proportion."""
CARD_WEIGHT = 0.08
"""What one nat of rarity in the words that name a document adds to the cosines of its chunks."""
CONTEXT_WEIGHT = 2.0
"""What a word counts in a chunk's context (title, heading, table header), where one in its text counts 1."""
PAGE_DISCOUNT = 0.1
"""What a chunk gives away to other pages for every better chunk of its own page."""
_BM25_CANDIDATES = 400
_DISCOUNTED = 400


def rank(
    connection: Connection,
    snapshot: Snapshot,
    query: str,
    query_vector: NDArray[np.float32],
    k: int,
    *,
    mode: Mode,
    min_confidence: float,
    half_life_days: float,
) -> list[RetrievedChunk]:
    """At most `k` chunks, best first; `similarity` never rises from one to the next."""
    vectors = snapshot.vectors
    dense = vectors.similarities(query_vector)
    bm25 = np.zeros_like(dense) if mode == "dense" else _bm25(connection, vectors, query)
    if mode == "dense":
        score = dense
    elif mode == "bm25":
        score = np.where(bm25 > 0, bm25, -np.inf)
    else:
        items = line_items(query)
        words = bm25 + _bm25(connection, vectors, items) if items else bm25
        named = snapshot.cards.scores(query)[np.searchsorted(snapshot.cards.numbers, vectors.documents)]
        score = dense + BM25_WEIGHT * words / max(float(words.max()), 1e-9) + CARD_WEIGHT * named
    score = _weighted(connection, vectors, score, min_confidence, half_life_days)
    if mode == "hybrid":
        score = _discounted(vectors, score, max(_DISCOUNTED, k))
    order = _best(score, k)
    order = order[np.isfinite(score[order])]
    chunks = store.chunks_numbered(connection, vectors.numbers[order])
    return [
        RetrievedChunk(
            chunk=chunks[int(vectors.numbers[row])],
            rank=place,
            similarity=float(score[row]),
            dense=float(dense[row]),
            bm25=float(bm25[row]) or None,
        )
        for place, row in enumerate(order, start=1)
    ]


def _bm25(connection: Connection, vectors: Vectors, query: str) -> Scores:
    """BM25 of the best candidates, higher is better; 0 where a chunk is none of them."""
    found = np.zeros(len(vectors.numbers), dtype=np.float32)
    # A server has no full-text index of a library: ranking by meaning and by cards is all there is of it.
    if connection.dialect.name == "sqlite" and (expression := match_expression(query)):
        rows = connection.exec_driver_sql(
            "SELECT rowid, -rank FROM chunk_search WHERE chunk_search MATCH ? AND rank MATCH ? ORDER BY rank LIMIT ?",
            (expression, f"bm25({CONTEXT_WEIGHT}, 1.0)", _BM25_CANDIDATES),
        ).all()
        numbers = np.array([row[0] for row in rows], dtype=np.int64)
        found[np.searchsorted(vectors.numbers, numbers)] = [row[1] for row in rows]
    return found


def _best(score: Scores, count: int) -> NDArray[np.int64]:
    """The rows of the `count` highest scores, best first, equal ones in order of addition."""
    if count >= len(score):
        return np.argsort(-score, kind="stable")
    # At least the best `count`: those equal to the last of them too, or chance would pick among equals.
    floor = np.partition(score, len(score) - count)[len(score) - count]
    rows = np.flatnonzero(score >= floor)
    return rows[np.argsort(-score[rows], kind="stable")][:count]


def _discounted(vectors: Vectors, score: Scores, count: int) -> Scores:
    """The `count` best scores, each less the discount for every better chunk of its page; the rest at minus infinity.

    Five chunks of one page tell less than five pages do.
    """
    best = _best(score, count)
    seen: dict[tuple[int, int], int] = {}
    found = np.full_like(score, -np.inf)
    for row in best:
        page = (int(vectors.documents[row]), int(vectors.pages[row]))
        found[row] = score[row] - PAGE_DISCOUNT * seen.get(page, 0)
        seen[page] = seen.get(page, 0) + 1
    return found


def _weighted(
    connection: Connection, vectors: Vectors, score: Scores, min_confidence: float, half_life_days: float
) -> Scores:
    """The scores with time decay applied and documents of too little confidence at minus infinity."""
    if min_confidence <= 0 and half_life_days <= 0:
        return score
    trusted = select(documents.c.number, documents.c.confidence, documents.c.added_at).order_by(documents.c.number)
    rows = connection.execute(trusted).all()
    where = np.searchsorted(np.array([row[0] for row in rows], dtype=np.int64), vectors.documents)
    if half_life_days > 0:
        now = datetime.now(UTC)
        decay = np.array([0.5 ** (_age_days(row[2], now) / half_life_days) for row in rows], dtype=np.float32)
        # A negative score must not rise by shrinking.
        score = np.where(score > 0, score * decay[where], score)
    passes = np.array([row[1] >= min_confidence for row in rows])[where]
    return np.where(passes, score, -np.inf).astype(np.float32) if passes.any() else score


def _age_days(added_at: str, now: datetime) -> float:
    added = datetime.fromisoformat(added_at)
    if added.tzinfo is None:
        added = added.replace(tzinfo=UTC)
    return max(0.0, (now - added).total_seconds() / 86_400)
