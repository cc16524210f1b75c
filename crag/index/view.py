"""An index as it was at one commit: what a search looks at, whatever is written meanwhile."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crag.index import lexical
from crag.index.chunk_index import Candidates, Numbers, Scores, Vectors
from crag.index.lexical import Searcher
from crag.index.manifest import translate_corruption
from crag.index.vectors import FlatSegment, IvfSegment, Mask

_FEW = 4096


@dataclass(frozen=True, slots=True, eq=False)
class _Chosen:
    """Which rows a search may find. `count` is how many of them the main file has, `selector` tells FAISS which.

    `few` are those rows where they are few.
    """

    documents: Numbers | None
    count: int
    few: NDArray[np.int64] | None
    selector: Any
    tail: Mask
    only: Any


class View:
    """Never changed, save that the last choice of documents is remembered: the same one comes again and again."""

    def __init__(self, generation: int, main: IvfSegment | None, tail: FlatSegment, words: Searcher | None) -> None:
        self.generation = generation
        self._main = main
        self._tail = tail
        self._words = words
        self._chosen = self._all = self._among(
            None, main.rows.alive if main else np.zeros(0, np.bool_), tail.rows.alive
        )

    @property
    def size(self) -> int:
        return self._all.count + self._tail.rows.size

    def numbers(self) -> Numbers:
        """All chunks, ascending."""
        parts = [self._main.rows] if self._main else []
        return np.sort(np.concatenate([rows.numbers[rows.alive] for rows in (*parts, self._tail.rows)]))

    def top(
        self, vector: Vectors, words: Sequence[Sequence[str]], k: int, documents: Numbers | None = None
    ) -> Candidates:
        """What `ChunkIndex.top` says. Raises IndexCorruptError where FAISS or tantivy fail over their files."""
        chosen = self._choice(documents)
        if not chosen.count and not chosen.tail.any():
            return Candidates.none()
        near, cosines = self._nearest(vector, k, chosen)
        with translate_corruption("the words can't be searched"):
            hits = [self._words.best(group, k, chosen.only) for group in words] if self._words else []
        numbers, where = np.unique(np.concatenate([near, *(found for found, _ in hits)]), return_inverse=True)
        dense = np.full(len(numbers), np.nan, np.float32)
        dense[where[: len(near)]] = cosines
        scores = np.zeros(len(numbers), np.float32)
        np.add.at(scores, where[len(near) :], np.concatenate([np.zeros(0, np.float32), *(each for _, each in hits)]))
        return self._living(vector, numbers, dense, scores)

    def _nearest(self, vector: Vectors, k: int, chosen: _Chosen) -> tuple[Numbers, Scores]:
        """The nearest chunks, and their cosines where they are known exactly."""
        rows, near = self._tail.best(vector, k, chosen.tail)
        numbers, cosines = self._tail.rows.numbers[rows], near
        if self._main and chosen.few is not None and len(chosen.few) <= k:
            # All of them, rather than a look into every cell for each.
            numbers = np.concatenate([numbers, self._main.rows.numbers[chosen.few]])
            return numbers, np.concatenate([near, np.full(len(chosen.few), np.nan, np.float32)])
        if self._main:
            with translate_corruption("the main file can't be searched"):
                rows, about = self._main.best(vector, k, chosen.count, chosen.selector)
            numbers = np.concatenate([numbers, self._main.rows.numbers[rows]])
            cosines = np.concatenate([near, np.full(len(rows), np.nan, np.float32)])
            near = np.concatenate([near, about])
        if len(numbers) > k:
            kept = np.argpartition(near, len(near) - k)[len(near) - k :]
            numbers, cosines = numbers[kept], cosines[kept]
        return numbers, cosines

    def _living(self, vector: Vectors, numbers: Numbers, dense: Scores, scores: Scores) -> Candidates:
        """Without chunks that only the words still know, and with the cosines of those that are in memory."""
        rows = self._tail.rows.at(numbers)
        unknown = np.flatnonzero((rows >= 0) & np.isnan(dense))
        dense[unknown] = self._tail.cosines(vector, rows[unknown])
        known: NDArray[np.bool_] = rows >= 0
        if self._main:
            known |= self._main.rows.at(numbers) >= 0
        return Candidates(numbers[known], dense[known], scores[known])

    def _choice(self, documents: Numbers | None) -> _Chosen:
        if documents is None:
            return self._all
        chosen = self._chosen
        if chosen.documents is None or not np.array_equal(chosen.documents, documents):
            mask = self._main.rows.of(documents) if self._main else np.zeros(0, np.bool_)
            chosen = self._chosen = self._among(documents.copy(), mask, self._tail.rows.of(documents))
        return chosen

    def _among(self, documents: Numbers | None, main: Mask, tail: Mask) -> _Chosen:
        count = int(np.count_nonzero(main))
        return _Chosen(
            documents,
            count,
            np.flatnonzero(main) if count <= _FEW else None,
            self._main.selector(main) if self._main else None,
            tail,
            None if documents is None else lexical.only(documents),
        )
