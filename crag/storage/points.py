"""A library's chunks as points: what the map takes from the records."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import func, select

from crag.core.errors import StorageError
from crag.index.chunk_index import Contents, Numbers, Vectors
from crag.storage import search_rows, store
from crag.storage.database import Part
from crag.storage.tables import chunks, documents, unembedded, vectors

_AT_ONCE = 4_000


@dataclass(frozen=True, slots=True, eq=False)
class Spans:
    """Which chunks the m documents that have any are made of, in the order in which they were added.

    `ids` are the documents'. `first`, `last`, `counts` (m,): the numbers of a document's first and last chunk,
    ascending, and how many it has. No other document's lie between them.
    """

    ids: Sequence[str]
    first: Numbers
    last: Numbers
    counts: Numbers

    def find(self, numbers: Numbers) -> tuple[NDArray[np.bool_], NDArray[np.int64]]:
        """Which of n chunks (n,) are of these documents, and the places of their documents in `ids`."""
        if not len(self.ids):
            return np.zeros(len(numbers), bool), np.zeros(0, np.int64)
        places = np.searchsorted(self.first, numbers, side="right") - 1
        there = (places >= 0) & (numbers <= self.last[places])
        return there, places[there]


class Points(Part):
    """A library's chunks as points. Thread-safe, across processes too. Every method raises StorageError."""

    def standing(self) -> tuple[Contents, int]:
        """What made the vectors, and the generation of the records."""
        with self._database.read() as connection:
            known = store.meta(connection)
        return search_rows.contents_of(known), known.generation

    def spans(self) -> Spans:
        """The documents' chunks, read from an index: no text is passed over."""
        c, d = chunks.c, documents.c
        number = c.number
        of = select(
            c.document, func.min(number).label("first"), func.max(number).label("last"), func.count().label("n")
        )
        each = of.group_by(c.document).subquery()
        asked = select(d.id, each.c.first, each.c.last, each.c.n).join(each, d.number == each.c.document)
        with self._database.read() as connection:
            rows = connection.execute(asked.order_by(each.c.first)).all()
        found = np.array([tuple(row)[1:] for row in rows], np.int64).reshape(-1, 3)
        return Spans([row.id for row in rows], found[:, 0], found[:, 1], found[:, 2])

    def numbers(self) -> Numbers:
        """The numbers (n,) of all chunks that have a vector, ascending."""
        with self._database.read() as connection:
            if store.count(connection, unembedded):
                embedded = select(vectors.c.chunk).order_by(vectors.c.chunk)
                return np.array(connection.scalars(embedded).all(), np.int64)
        spans = self.spans()
        if (spans.last - spans.first + 1 == spans.counts).all():
            starts = np.repeat(spans.first - np.cumsum(spans.counts) + spans.counts, spans.counts)
            return starts + np.arange(len(starts), dtype=np.int64)
        with self._database.read() as connection:
            return np.array(store.chunk_numbers(connection), np.int64)

    def vectors(self, numbers: Numbers) -> Vectors:
        """The vectors (n, dimension) of these chunks; `numbers` ascending. StorageError where one has none."""
        found: list[NDArray[np.float32]] = []
        asked = select(vectors.c.chunk, vectors.c.vector).order_by(vectors.c.chunk)
        if len(numbers):
            asked = asked.where(vectors.c.chunk.between(int(numbers[0]), int(numbers[-1])))
        with self._database.read() as connection:
            dimension = store.meta(connection).dimension
            wanted = set(numbers.tolist())
            for part in store.in_parts(connection, asked, _AT_ONCE):
                rows = [vector for number, vector in part if number in wanted]
                found.append(np.frombuffer(b"".join(rows), "<f4").reshape(len(rows), dimension))
        stacked = np.concatenate([np.zeros((0, dimension), np.float32), *found])
        if len(stacked) != len(numbers):
            raise StorageError("Chunks were added or deleted while the map was made.", "Open the map again.")
        return stacked

    def pages(self, numbers: Sequence[int]) -> dict[int, int]:
        """The pages, from 1, of these chunks by their numbers; unknown numbers are absent."""
        asked = select(chunks.c.number, chunks.c.page)
        return dict(map(tuple, self._among(asked, chunks.c.number, numbers)))

    def texts(self, numbers: Sequence[int]) -> dict[int, str]:
        """The texts of these chunks by their numbers; unknown numbers are absent."""
        asked = select(chunks.c.number, chunks.c.text)
        return dict(map(tuple, self._among(asked, chunks.c.number, numbers)))
