"""Which chunk and which document each row of a matrix is, and which rows still count."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from crag.index.chunk_index import Numbers

Mask = NDArray[np.bool_]


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

    def without(self, rows: NDArray[np.int64]) -> Rows:
        """The same with these rows dead."""
        alive = self.alive.copy()
        alive[rows] = False
        again = replace(self, alive=alive)
        if "_sorted" in self.__dict__:
            again.__dict__["_sorted"] = self._sorted  # The numbers are the same: a million need not be sorted again.
        return again
