"""All vectors of an index: the main file and what came after it."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from crag.index.chunk_index import Numbers
from crag.index.flat import Tail
from crag.index.ivf import IvfSegment
from crag.index.journal import Added, Record

EXACT = 20_000
"""Up to so many vectors are searched exactly; from there on cells are faster."""
_TAIL_SHARE = 0.03
"""The share of the main file's rows that may come after it before it is made again."""
_DEAD_SHARE = 0.1


class Dense:
    """The main file, if there is one, and the exact rows after it. One thread at a time may change it."""

    def __init__(self, main: IvfSegment | None, dimension: int) -> None:
        self.main = main
        self.tail = Tail(dimension)

    @property
    def size(self) -> int:
        return (self.main.rows.size if self.main else 0) + self.tail.rows.size

    def apply(self, records: Iterable[Record]) -> None:
        """Do what the journal says."""
        for record in records:
            self._drop(record.numbers)
            if isinstance(record, Added):
                self.tail.add(record)

    def numbers(self, documents: Numbers) -> Numbers:
        """The chunks of these documents."""
        parts = [self.main.rows] if self.main else []
        return np.concatenate([rows.numbers[rows.of(documents)] for rows in (*parts, self.tail.rows)])

    def holds(self, numbers: Numbers) -> Numbers:
        """Those of the numbers that are in it."""
        found = self.tail.rows.at(numbers) >= 0
        if self.main:
            found |= self.main.rows.at(numbers) >= 0
        return numbers[found]

    @property
    def limit(self) -> int:
        """How many exact rows are fine."""
        return max(EXACT, int(_TAIL_SHARE * len(self.main.rows.numbers))) if self.main else EXACT

    @property
    def is_due(self) -> bool:
        """Whether it would gain by being rebuilt: too many rows after the main file, or too many dead."""
        rows = self.main.rows if self.main else None
        dead = len(rows.numbers) - rows.size if rows else 0
        return len(self.tail.rows.numbers) > self.limit or dead > _DEAD_SHARE * max(self.size, EXACT)

    def _drop(self, numbers: Numbers) -> None:
        self.tail.drop(numbers)
        if self.main:
            rows = self.main.rows.at(numbers)
            if (rows >= 0).any():
                self.main = self.main.without(rows[rows >= 0])
