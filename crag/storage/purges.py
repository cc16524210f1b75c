"""Purges: documents are taken out of a library whole, kept for a day to be brought back, then deleted."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
from sqlalchemy import Connection, delete, insert, literal, select

from crag.core.errors import NotFoundError
from crag.core.metadata import MOST_FIELDS, fields_of, stored_fields
from crag.core.protocols import Embedder
from crag.core.purging import KEEP, Conditions, Due, Standing, due
from crag.core.trace import Track
from crag.core.types import Document
from crag.storage import store
from crag.storage.database import Database, Part
from crag.storage.documents import insert_content, number_of, read_content, remove
from crag.storage.tables import documents, files, purged
from crag.storage.tracks import of_documents
from crag.text import memory

_log = logging.getLogger(__name__)

UNDO_HOURS = 24
"""For so long a purge can be undone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Purged:
    """A document that a purge took out and that can still be brought back. `at` is ISO 8601, UTC."""

    id: str
    name: str
    at: str
    why: str


class Purges(Part):
    """What purges take out of a library. Thread-safe, across processes too.

    A document that was taken out is in no list, search or count, and its words and vectors leave the index.
    """

    def __init__(self, database: Database, embedder: Embedder, forget: Callable[[], None]) -> None:
        """`forget` is called after documents were taken out, so that the chunk index forgets the words, too."""
        super().__init__(database)
        self._embedder, self._forget = embedder, forget

    def due(self, conditions: Conditions, now: datetime | None = None) -> list[Due]:
        """The documents that a purge would take out now, oldest first. Raises FilterError."""
        with self._database.read() as connection:
            tracked = of_documents(connection)
            library = [
                Standing(document=document, fields=fields_of(document, given), track=tracked.get(document.id, Track()))
                for _, (document, given) in store.read_documents(connection)
            ]
        return due(conditions, library, now or datetime.now(UTC))

    def purge(self, conditions: Conditions, now: datetime | None = None) -> list[Due]:
        """Take these documents out, one after the other, each whole; and delete for good what can't be undone any more.

        A document that is deleted meanwhile is left out of what is returned. Raises FilterError.
        """
        now = now or datetime.now(UTC)
        found = self.due(conditions, now)
        self.expire(now)
        gone = [each for each in found if self._take_out(each, now)]
        if gone:
            self._forget()
            memory.forget([each.document.id for each in gone])
        return gone

    def undoable(self, now: datetime | None = None) -> list[Purged]:
        """What can be brought back, the latest first."""
        p = purged.c
        lately = select(p.id, p.name, p.at, p.reason.label("why")).where(p.at > _least(now))
        return self._records(Purged, lately.order_by(p.at.desc(), p.name))

    def undo(self, id: str, now: datetime | None = None) -> Document:
        """Bring a document back with its file, chunks, vectors, fields, labels and track record.

        It has the field `keep` then, which keeps it from every purge until it is taken away. Without all vectors of
        the model in use its words alone find it, until they are made. Raises NotFoundError after a day, InputError
        where the same content was added meanwhile, and ModelMismatchError.
        """
        with self._database.read() as connection:
            row = connection.execute(
                select(purged.c.content, purged.c.model, purged.c.vectors)
                .where(purged.c.id == id)
                .where(purged.c.at > _least(now))
            ).first()
        if row is None:
            raise NotFoundError(
                f"There is no document {id[:12]} that a purge could bring back.",
                f"What was purged is kept for {UNDO_HOURS} hours.",
            )
        content: dict[str, Any] = json.loads(row.content)
        kept, size = np.frombuffer(row.vectors, "<f4"), (len(content["chunks"]), self._embedder.dimension)
        whole = row.model == store.model_name(self._embedder) and kept.size == size[0] * size[1]

        def moved(connection: Connection) -> Document:
            store.ensure_model(connection, self._embedder)
            _bring_back(connection, id, self._embedder.id, content, kept.reshape(size) if whole else None)
            asked = select(documents.c.record, documents.c.model).where(documents.c.id == id)
            return store.document_of(*connection.execute(asked).one())

        return self._database.free(moved)

    def expire(self, now: datetime | None = None) -> int:
        """Delete for good what can't be brought back any more; how many documents that were."""
        over = purged.c.at <= _least(now)
        with self._database.read() as connection:
            found = store.count(connection, purged, over)
        if found:
            self._database.free(lambda connection: connection.execute(delete(purged).where(over)))
        return found

    def _take_out(self, each: Due, now: datetime) -> bool:
        """Whether the document was still there."""
        try:
            self._database.free(lambda connection: _move_out(connection, each, now))
        except NotFoundError:
            _log.info("a document was deleted while a purge went on")
            return False
        return True


def _move_out(connection: Connection, each: Due, now: datetime) -> None:
    """From the tables of documents to that of what was purged."""
    number = number_of(connection, each.document.id)
    content, its_vectors = read_content(connection, number)
    # The bytes of the file go from table to table, and never through this process.
    row = {
        "id": each.document.id,
        "name": content["document"]["name"],
        "at": now.isoformat(timespec="milliseconds"),
        "reason": each.why,
        "model": store.meta(connection).model,
        "content": json.dumps(content),
        "vectors": its_vectors,
    }
    connection.execute(delete(purged).where(purged.c.id == each.document.id))
    values = [literal(value, purged.c[name].type) for name, value in row.items()]
    whole = select(*values, files.c.bytes).where(files.c.document == number)
    connection.execute(insert(purged).from_select([*row, "bytes"], whole))
    remove(connection, number)
    store.bump(connection, "deleted", number)


def _bring_back(connection: Connection, id: str, model: str, content: dict[str, Any], kept: np.ndarray | None) -> None:
    """From the table of what was purged to those of documents, under new numbers."""
    given = stored_fields(content["document"]["meta"])
    if len(given) < MOST_FIELDS:
        given[KEEP] = True
    document = {**content["document"], "model": model, "meta": given}
    number = insert_content(connection, {**content, "document": document}, kept)
    file = select(literal(number), purged.c.bytes).where(purged.c.id == id)
    connection.execute(insert(files).from_select(["document", "bytes"], file))
    connection.execute(delete(purged).where(purged.c.id == id))
    store.bump(connection, "added", number)


def _least(now: datetime | None) -> str:
    """What was purged after this can be brought back."""
    return ((now or datetime.now(UTC)) - timedelta(hours=UNDO_HOURS)).isoformat(timespec="milliseconds")
