"""Chunks in memory: which chunk and document each row of a matrix is, which rows count, and exact search in them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import faiss
import numpy as np
from numpy.typing import NDArray

from crag.index.chunk_index import Numbers, Scores, Vectors

Mask = NDArray[np.bool_]
_faiss: Any = faiss  # Its type stubs know nothing of plain functions.

_FEW = 0.25
"""Up to this share of the rows it is faster to pick them out than to multiply all."""


@dataclass(frozen=True, eq=False)
class Rows:
    """`numbers`, `documents` and `alive`, each of shape (n,). Of one number, only the last row may be alive.

    Never changed: what was handed to a search stays as it was.
    """

    numbers: Numbers
    documents: Numbers
    alive: Mask

    @classmethod
    def none(cls) -> Rows:
        return cls(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0, np.bool_))

    @cached_property
    def size(self) -> int:
        """How many are alive."""
        return int(np.count_nonzero(self.alive))

    @cached_property
    def _sorted(self) -> tuple[NDArray[np.int64] | None, Numbers]:
        """The order that sorts the numbers, None where they are sorted, and the sorted numbers."""
        if not len(self.numbers) or (self.numbers[1:] > self.numbers[:-1]).all():
            return None, self.numbers
        order = np.argsort(self.numbers, kind="stable")
        return order, self.numbers[order]

    def at(self, numbers: Numbers) -> NDArray[np.int64]:
        """The living row of each of the `numbers`; -1 where there is none."""
        if not len(self.numbers) or not len(numbers):
            return np.full(len(numbers), -1, np.int64)
        order, known = self._sorted
        place = np.searchsorted(known, numbers, side="right") - 1
        rows = place if order is None else order[place]
        found: NDArray[np.int64] = np.where((place >= 0) & (self.numbers[rows] == numbers) & self.alive[rows], rows, -1)
        return found

    def of(self, documents: Numbers) -> Mask:
        """The living rows that belong to one of these documents."""
        found: Mask = np.isin(self.documents, documents) & self.alive
        return found

    def without(self, numbers: Numbers) -> Rows:
        """The same with the rows of these numbers dead; unknown numbers are passed over."""
        rows = self.at(numbers)
        if not (rows >= 0).any():
            return self
        alive = self.alive.copy()
        alive[rows[rows >= 0]] = False
        again = replace(self, alive=alive)
        again.__dict__["_sorted"] = self._sorted  # The numbers are the same: a million need not be sorted again.
        return again

    def joined(self, later: Rows) -> Rows:
        """These rows, then later ones."""
        names = ("numbers", "documents", "alive")
        return Rows(*(np.concatenate([getattr(self, name), getattr(later, name)]) for name in names))


@dataclass(frozen=True, eq=False)
class FlatSegment:
    """`vectors` (n, dimension) and what their rows are. Never changed."""

    rows: Rows
    vectors: Vectors

    def best(self, vector: Vectors, k: int, mask: Mask) -> tuple[NDArray[np.int64], Scores]:
        """At most `k` rows within the mask nearest to `vector`, in no order, and their cosines."""
        rows = np.flatnonzero(mask)
        scores = self.cosines(vector, rows) if len(rows) <= _FEW * len(mask) else _products(vector, self.vectors)[rows]
        if len(rows) > k:
            kept = np.argpartition(scores, len(rows) - k)[len(rows) - k :]
            rows, scores = rows[kept], scores[kept]
        return rows, scores

    def cosines(self, vector: Vectors, rows: NDArray[np.int64]) -> Scores:
        """The cosine of `vector` with each of these rows."""
        return _products(vector, self.vectors[rows])


def _products(vector: Vectors, vectors: Vectors) -> Scores:
    """The product of `vector` with each row, in this thread.

    NumPy's would share so little work among all cores, and wait for each: on a busy machine 60 times as long.
    """
    one, many = np.ascontiguousarray(vector, np.float32), np.ascontiguousarray(vectors, np.float32)
    if one.shape != many.shape[1:]:
        raise ValueError(f"a vector of {one.shape} among {many.shape}")
    found: Scores = np.empty(len(many), np.float32)
    _faiss.fvec_inner_products_ny(*map(_faiss.swig_ptr, (found, one, many)), many.shape[1], len(many))
    return found
