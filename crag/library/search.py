"""Ranking chunks for a question: cosine, BM25, and their combination."""

from __future__ import annotations

import re
import sqlite3
from datetime import UTC, datetime
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from crag.core.types import RetrievedChunk
from crag.library import store
from crag.library.vectors import Vectors

__all__ = ["Mode", "match_expression", "rank"]

Mode = Literal["hybrid", "dense", "bm25"]

_BM25_WEIGHT = 0.1
_CANDIDATES = 400
_MOST_TERMS = 64
_WORD = re.compile(r"[^\W_]+")


def match_expression(query: str) -> str:
    """Any text as a full-text query that is always valid: its words, quoted, joined by OR. Empty if it has none."""
    words = dict.fromkeys(_WORD.findall(query.lower()))
    return " OR ".join(f'"{word}"' for word in list(words)[:_MOST_TERMS])


def rank(
    connection: sqlite3.Connection,
    vectors: Vectors,
    query: str,
    query_vector: NDArray[np.float32],
    k: int,
    *,
    mode: Mode,
    min_confidence: float,
    half_life_days: float,
) -> list[RetrievedChunk]:
    """At most `k` chunks, best first."""
    dense = vectors.similarities(query_vector)
    bm25 = _bm25(connection, vectors, query) if mode != "dense" else np.full(len(dense), np.nan, dtype=np.float32)
    if mode == "dense":
        score = dense.copy()
    elif mode == "bm25":
        score = np.where(np.isnan(bm25), -np.inf, bm25)
    else:
        best = np.nanmax(bm25) if not np.isnan(bm25).all() else 1.0
        score = dense + _BM25_WEIGHT * np.nan_to_num(bm25 / best)
    score = _weighted(connection, vectors, score, min_confidence, half_life_days)
    order = np.argsort(-score, kind="stable")[:k]
    order = order[np.isfinite(score[order])]
    chunks = store.chunks_numbered(connection, vectors.numbers[order])
    return [
        RetrievedChunk(
            chunk=chunks[int(vectors.numbers[row])],
            rank=place,
            similarity=float(score[row]),
            dense=float(dense[row]),
            bm25=None if np.isnan(bm25[row]) else float(bm25[row]),
        )
        for place, row in enumerate(order, start=1)
    ]


def _bm25(connection: sqlite3.Connection, vectors: Vectors, query: str) -> NDArray[np.float32]:
    """BM25 of the best candidates, higher is better; NaN where a chunk is none of them."""
    found = np.full(len(vectors.numbers), np.nan, dtype=np.float32)
    expression = match_expression(query)
    if expression:
        rows = connection.execute(
            "SELECT rowid, -rank FROM chunk_search WHERE chunk_search MATCH ? ORDER BY rank LIMIT ?",
            (expression, _CANDIDATES),
        ).fetchall()
        for number, score in rows:
            found[np.searchsorted(vectors.numbers, number)] = score
    return found


def _weighted(
    connection: sqlite3.Connection,
    vectors: Vectors,
    score: NDArray[np.float32],
    min_confidence: float,
    half_life_days: float,
) -> NDArray[np.float32]:
    """The scores with time decay applied and documents of too little confidence at minus infinity."""
    if min_confidence <= 0 and half_life_days <= 0:
        return score
    rows = connection.execute("SELECT number, confidence, added_at FROM documents ORDER BY number").fetchall()
    numbers = np.array([row[0] for row in rows], dtype=np.int64)
    where = np.searchsorted(numbers, vectors.documents)
    if half_life_days > 0:
        now = datetime.now(UTC)
        decay = np.array([0.5 ** (_age_days(row[2], now) / half_life_days) for row in rows], dtype=np.float32)
        # Decay moves towards "least similar", whatever the sign: a negative score must not rise by shrinking.
        score = np.where(score > 0, score * decay[where], score)
    passes = np.array([row[1] >= min_confidence for row in rows])[where]
    return np.where(passes, score, -np.inf) if passes.any() else score


def _age_days(added_at: str, now: datetime) -> float:
    added = datetime.fromisoformat(added_at)
    if added.tzinfo is None:
        added = added.replace(tzinfo=UTC)
    return max(0.0, (now - added).total_seconds() / 86_400)
