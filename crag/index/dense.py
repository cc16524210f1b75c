"""All vectors of an index: the main file and what came after it."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from crag.index.chunk_index import Numbers, Vectors
from crag.index.ivf import IvfSegment
from crag.index.journal import Record
from crag.index.rows import FlatSegment, Rows

EXACT = 20_000
"""Up to so many vectors are searched exactly; from there on cells are faster."""
_TAIL_SHARE = 0.03
"""The share of the main file's rows that may come after it before it is made again."""
_DEAD_SHARE = 0.1


class Dense:
    """The main file, if there is one, and the exact rows after it. One thread at a time may change it."""

    def __init__(self, main: IvfSegment | None, dimension: int) -> None:
        self.main = main
        self._room = np.empty((1024, dimension), np.float32)
        """The vectors of the tail, with room for more."""
        self.tail = FlatSegment(Rows.none(), self._room[:0])

    @property
    def parts(self) -> list[Rows]:
        """The rows of both."""
        return [self.main.rows, self.tail.rows] if self.main else [self.tail.rows]

    @property
    def size(self) -> int:
        return sum(rows.size for rows in self.parts)

    def apply(self, records: Iterable[Record]) -> None:
        """Do what the journal says. A chunk that is added again replaces what was there."""
        done = [each for each in records if each]
        if not done:
            return
        last: dict[int, int] = {}
        """The row that each chunk was added as last, of all that are added here."""
        count = 0
        for each in done:
            for number in each.dropped.tolist():
                last.pop(number, None)
            last.update(zip(each.numbers.tolist(), range(count, count + len(each.numbers)), strict=True))
            count += len(each.numbers)
        rows = np.sort(np.fromiter(last.values(), np.int64, len(last)))
        changed = np.concatenate([part for each in done for part in (each.dropped, each.numbers)])
        names = ("numbers", "documents", "vectors")
        numbers, documents, vectors = (np.concatenate([getattr(each, name) for each in done])[rows] for name in names)
        added = Rows(numbers, documents, np.ones(len(rows), np.bool_))
        self.tail = FlatSegment(self.tail.rows.without(changed).joined(added), self._append(vectors))
        if self.main:
            self.main = self.main.without(changed)

    def _append(self, vectors: Vectors) -> Vectors:
        """The vectors of the tail and these. Views of earlier tails stay as they are."""
        start, stop = len(self.tail.vectors), len(self.tail.vectors) + len(vectors)
        if stop > len(self._room):
            self._room = np.empty((stop + stop // 2, vectors.shape[1]), np.float32)
            self._room[:start] = self.tail.vectors
        self._room[start:stop] = vectors
        return self._room[:stop]

    def numbers(self, documents: Numbers) -> Numbers:
        """The chunks of these documents."""
        return np.concatenate([rows.numbers[rows.of(documents)] for rows in self.parts])

    def holds(self, numbers: Numbers) -> Numbers:
        """Those of the numbers that are in it."""
        return numbers[np.logical_or.reduce([rows.at(numbers) >= 0 for rows in self.parts])]

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
