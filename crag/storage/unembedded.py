"""The documents whose vectors are still to be made: until then they are found by their words alone."""

from __future__ import annotations

import threading
from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, delete, func, insert, literal, select, update

from crag.core.protocols import Embedder
from crag.core.types import Chunk
from crag.storage import store
from crag.storage.database import Database, Part
from crag.storage.tables import chunks, documents, unembedded, vectors

_MISSING = (
    select(chunks.c.number, chunks.c.document, chunks.c.ordinal)
    .select_from(
        unembedded.join(chunks, chunks.c.document == unembedded.c.document).outerjoin(
            vectors, vectors.c.chunk == chunks.c.number
        )
    )
    .where(vectors.c.chunk.is_(None))
    .subquery()
)
"""The chunks without a vector, of those documents alone that may have some."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """How far a document's vectors are: `done` of its `total` chunks have one. `why` says why no more are made."""

    done: int
    total: int
    why: str = ""


class Unembedded(Part):
    """A library's documents without all of their vectors. Thread-safe, across processes too."""

    def __init__(self, database: Database, embedder: Embedder) -> None:
        super().__init__(database)
        self._embedder = embedder
        self.turn = threading.Lock()
        """Who makes vectors holds it: two would make the same."""

    def count(self) -> int:
        """How many documents there are."""
        with self._database.read() as connection:
            return store.count(connection, unembedded)

    def forget_vectors(self) -> None:
        """Take away every vector, of whichever model; that in use makes all of them from now on.

        It makes one before, so that nothing is lost where it can't. Raises what it does.
        """
        self._embedder.embed(["Is it there?"])
        with self._database.write(grows=False) as connection:
            connection.execute(delete(vectors))
            connection.execute(delete(unembedded))
            connection.execute(update(documents).values(model=self._embedder.id))
            whole = select(chunks.c.document, literal("")).distinct()
            connection.execute(insert(unembedded).from_select(["document", "why"], whole))
            store.set_model(connection, self._embedder)
            store.bump(connection, "embedded")

    def missing(self) -> int:
        """How many of their chunks have no vector."""
        return int(self._scalar(select(func.count()).select_from(_MISSING)))

    def share(self) -> float:
        """The share of all chunks that have a vector, of 0 to 1."""
        if not (missing := self.missing()):
            return 1.0
        with self._database.read() as connection:
            return 1 - missing / max(missing, store.count(connection, chunks))

    def standing(self) -> dict[str, Standing]:
        """How far each of them is, by the document's id, in the order in which they were added."""
        listed = unembedded.join(documents).outerjoin(chunks, chunks.c.document == documents.c.number)
        counted = (
            select(documents.c.id, unembedded.c.why, func.count(chunks.c.number), func.count(vectors.c.chunk))
            .select_from(listed.outerjoin(vectors, vectors.c.chunk == chunks.c.number))
            .group_by(documents.c.number, documents.c.id, unembedded.c.why)
            .order_by(documents.c.number)
        )
        with self._database.read() as connection:
            rows = connection.execute(counted).all()
        return {id: Standing(done=done, total=total, why=why) for id, why, total, done in rows}

    def next(self, most: int) -> dict[int, Chunk]:
        """At most this many chunks without a vector, by their numbers: those of the oldest document first."""
        c = _MISSING.c
        with self._database.read() as connection:
            numbers = connection.scalars(select(c.number).order_by(c.document, c.ordinal).limit(most)).all()
            return store.chunks_numbered(connection, numbers)

    def fill(self, numbers: Sequence[int], rows: NDArray[np.float32]) -> None:
        """Store the vectors of these chunks, each of shape (dimension,); those of chunks that are gone are dropped.

        A document whose last vector this was is found by its meaning from now on. Raises ModelMismatchError.
        """
        with self._database.write(grows=False) as connection:
            store.check_model(connection, self._embedder)
            asked = select(chunks.c.number, chunks.c.document)
            there = {
                number: document for number, document in store.select_in(connection, asked, chunks.c.number, numbers)
            }
            made = store.packed(numbers, rows)
            store.put_vectors(connection, ((number, vector) for number, vector in made if number in there))
            _finish(connection, set(there.values()))

    def note(self, why: str) -> None:
        """Note why no vectors are made now; empty: they are made."""
        with self._database.write(grows=False) as connection:
            connection.execute(update(unembedded).values(why=why))


def _finish(connection: Connection, touched: Collection[int]) -> None:
    """Take those of these documents from the list that have all of their vectors."""
    listed, left, among = unembedded.c.document, _MISSING.c.document, sorted(touched)
    waiting = {number for (number,) in store.select_in(connection, select(listed), listed, among)}
    whole = waiting - {number for (number,) in store.select_in(connection, select(left).distinct(), left, among)}
    if whole:
        connection.execute(delete(unembedded).where(listed.in_(whole)))
        store.bump_all(connection, [("embedded", number) for number in sorted(whole)])
