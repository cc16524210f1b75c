"""What a map takes from the records: each chunk's vector, place, first words, and how often it was used."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import select

from crag.core.errors import StorageError
from crag.index.chunk_index import Contents, Numbers, Vectors
from crag.storage import feed, store
from crag.storage.records import Records
from crag.storage.tables import chunks, documents, runs, tracks, vectors

_AT_ONCE = 4_000


@dataclass(frozen=True, slots=True, eq=False)
class Places:
    """Where n chunks stand: `numbers` (n,) ascending; `documents` (n,), places in `ids`; `pages` (n,) from 1."""

    numbers: Numbers
    documents: NDArray[np.int64]
    ids: Sequence[str]
    pages: NDArray[np.int64]


class Points:
    """A library's chunks as points. Thread-safe, across processes too. Every method raises StorageError."""

    def __init__(self, database: Records) -> None:
        self._database = database

    def standing(self) -> tuple[Contents, int]:
        """What made the vectors, and the generation of the records."""
        with self._database.read() as connection:
            return feed.contents(connection), feed.generation(connection)

    def numbers(self) -> Numbers:
        """All chunks' numbers (n,), ascending."""
        with self._database.read() as connection:
            return np.array(store.chunk_numbers(connection), np.int64)

    def vectors(self, numbers: Numbers) -> Vectors:
        """The vectors (n, dimension) of these chunks; `numbers` ascending. StorageError where one has none."""
        found: list[NDArray[np.float32]] = []
        asked = select(vectors.c.chunk, vectors.c.vector).order_by(vectors.c.chunk)
        if len(numbers):
            asked = asked.where(vectors.c.chunk.between(int(numbers[0]), int(numbers[-1])))
        with self._database.read() as connection:
            dimension = int(store.meta(connection, "dimension"))
            wanted = set(numbers.tolist())
            for part in connection.execute(asked, execution_options={"yield_per": _AT_ONCE}).partitions():
                rows = [vector for number, vector in part if number in wanted]
                found.append(np.frombuffer(b"".join(rows), "<f4").reshape(len(rows), dimension))
        stacked = np.concatenate([np.zeros((0, dimension), np.float32), *found])
        if len(stacked) != len(numbers):
            raise StorageError("Chunks were added or deleted while the map was made.", "Open the map again.")
        return stacked

    def places(self) -> Places:
        """Where all chunks stand, and all documents in the order in which they were added."""
        c, d = chunks.c, documents.c
        with self._database.read() as connection:
            added = connection.execute(select(d.number, d.id).order_by(d.number)).all()
            rows = connection.execute(select(c.number, c.document, c.page).order_by(c.number)).all()
        found = np.array([tuple(row) for row in rows], np.int64).reshape(-1, 3)
        order = np.searchsorted(np.array([row.number for row in added], np.int64), found[:, 1])
        return Places(found[:, 0], order, [row.id for row in added], found[:, 2])

    def texts(self, numbers: Sequence[int]) -> dict[int, str]:
        """The texts of these chunks by their numbers; unknown numbers are absent."""
        asked = select(chunks.c.number, chunks.c.text)
        with self._database.read() as connection:
            return dict(map(tuple, store.select_in(connection, asked, chunks.c.number, numbers)))

    def numbered(self, ids: Sequence[str]) -> dict[str, int]:
        """The numbers of chunks by their ids; ids of no chunk are absent."""
        asked = select(chunks.c.id, chunks.c.number)
        with self._database.read() as connection:
            return dict(map(tuple, store.select_in(connection, asked, chunks.c.id, ids)))

    def used(self) -> dict[int, int]:
        """How many runs used each chunk, by its number; those that none used are absent."""
        with self._database.read() as connection:
            asked = select(tracks.c.chunk, tracks.c.used).where(tracks.c.used > 0)
            return dict(map(tuple, connection.execute(asked)))

    def disagreeing(self, ids: Sequence[str]) -> list[str]:
        """Those of these runs whose answers name a disagreement of sources."""
        asked = select(runs.c.id).where(runs.c.trace.contains('"disagreements":[{'))
        with self._database.read() as connection:
            return [row.id for row in store.select_in(connection, asked, runs.c.id, ids)]
