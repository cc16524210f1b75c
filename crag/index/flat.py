"""The chunks whose vectors are in memory: searched one by one, so that what is found is exact."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import faiss
import numpy as np
from numpy.typing import NDArray

from crag.index.chunk_index import Numbers, Scores, Vectors
from crag.index.journal import Added
from crag.index.rows import Mask, Rows

_faiss: Any = faiss  # Its type stubs know nothing of plain functions.

_FEW = 0.25
"""Up to this share of the rows it is faster to pick them out than to multiply all."""


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


class Tail:
    """The exact rows as they grow. What `exact` gave is not changed by what is added later."""

    def __init__(self, dimension: int) -> None:
        self._vectors: Vectors = np.empty((1024, dimension), np.float32)
        self._numbers: Numbers = np.empty(1024, np.int64)
        self._documents: Numbers = np.empty(1024, np.int64)
        self._rows = Rows.none()

    @property
    def rows(self) -> Rows:
        return self._rows

    def exact(self) -> FlatSegment:
        """What it holds now."""
        return FlatSegment(self._rows, self._vectors[: len(self._rows.numbers)])

    def add(self, added: Added) -> None:
        """Append rows; a number that is added again is dropped first."""
        start = len(self._rows.numbers)
        stop = start + len(added.numbers)
        self._vectors = _room(self._vectors, stop)
        self._numbers = _room(self._numbers, stop)
        self._documents = _room(self._documents, stop)
        # Rows behind `start` are in nobody's view yet.
        self._vectors[start:stop] = added.vectors
        self._numbers[start:stop] = added.numbers
        self._documents[start:stop] = added.documents
        alive = np.concatenate([self._rows.alive, np.ones(len(added.numbers), np.bool_)])
        self._rows = Rows(self._numbers[:stop], self._documents[:stop], alive)

    def drop(self, numbers: Numbers) -> None:
        """Forget the rows of these numbers; unknown ones are passed over."""
        rows = self._rows.at(numbers)
        if (rows >= 0).any():
            self._rows = self._rows.without(rows[rows >= 0])


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


def _room(held: NDArray[Any], count: int) -> NDArray[Any]:
    """The array itself, or a longer copy where it has fewer than `count` rows."""
    if count <= len(held):
        return held
    longer = np.empty((max(count, len(held) + len(held) // 2), *held.shape[1:]), held.dtype)
    longer[: len(held)] = held
    return longer
