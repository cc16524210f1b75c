"""Labels that people gave to chunks, and what one document gives to another in its place."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from sqlalchemy import ColumnElement, Connection, and_, delete, insert, select, update

from crag.core.errors import NotFoundError
from crag.storage import store
from crag.storage.database import Part
from crag.storage.tables import chunks, documents, labels, tracks
from crag.text.formats import iso_now


@dataclass(frozen=True, slots=True, kw_only=True)
class Label:
    """A person's word on one chunk for one question. `at` is ISO 8601, UTC."""

    question: str
    chunk_id: str
    label: Literal["relevant", "irrelevant"]
    at: str


class Labels(Part):
    """A library's labels. Thread-safe, across processes too."""

    def save(self, question: str, chunk_id: str, label: Literal["relevant", "irrelevant"]) -> None:
        """Store a label, in place of an earlier one on the same chunk and question. Raises NotFoundError."""
        at = iso_now()
        row = {"chunk": chunk_id, "question": question, "label": label, "at": at}
        with self._database.write() as connection:
            if connection.execute(select(chunks.c.number).where(chunks.c.id == chunk_id)).first() is None:
                raise NotFoundError(f"There is no chunk {chunk_id} in this library.")
            connection.execute(delete(labels).where(_on(question, chunk_id)))
            connection.execute(insert(labels).values(row))

    def delete(self, question: str, chunk_id: str) -> None:
        """Take a label back, if there is one."""
        statement = delete(labels).where(_on(question, chunk_id))
        self._database.free(lambda connection: connection.execute(statement))

    def all(self) -> list[Label]:
        """Oldest first."""
        c = labels.c
        kept = select(c.question, c.chunk.label("chunk_id"), c.label, c.at).order_by(c.at, c.chunk)
        return self._records(Label, kept)


def _on(question: str, chunk_id: str) -> ColumnElement[bool]:
    return and_(labels.c.chunk == chunk_id, labels.c.question == question)


@dataclass(frozen=True, slots=True, kw_only=True)
class Lost:
    """How many labels, and track records of chunks, had no chunk to go to; whether the words before were `verified`."""

    labels: int
    records: int
    verified: bool


def take_over(connection: Connection, old: int, new: int, its: Iterable[tuple[str, str, int]]) -> Lost:
    """Give the document `new` what the one `old` was given, both by number, in its caller's transaction.

    Fields, but that it is verified: a person said that of other words. Labels and records go to the chunk that says
    the same; of several, the first to the first. `its`: text, id and number of the new one's chunks, in order.
    """
    meta = connection.scalars(select(documents.c.meta).where(documents.c.number == old)).one()
    given = {name: value for name, value in meta.items() if name != "verified"}
    connection.execute(update(documents).where(documents.c.number == new).values(meta=given))
    same: dict[str, list[tuple[str, int]]] = defaultdict(list)
    for text, id, number in its:
        same[text].append((id, number))
    c = chunks.c
    before = connection.execute(select(c.text, c.id, c.number).where(c.document == old).order_by(c.ordinal)).all()
    lost_labels = lost_records = 0
    for text, id, number in before:
        if same[text]:
            new_id, new_number = same[text].pop(0)
            connection.execute(update(labels).where(labels.c.chunk == id).values(chunk=new_id))
            connection.execute(update(tracks).where(tracks.c.chunk == number).values(chunk=new_number))
        else:
            lost_labels += store.count(connection, labels, labels.c.chunk == id)
            lost_records += store.count(connection, tracks, tracks.c.chunk == number)
    return Lost(labels=lost_labels, records=lost_records, verified=meta.get("verified") is True)
