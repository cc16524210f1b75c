"""People's words on chunks: whether one answers a question."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal

from sqlalchemy import ColumnElement, and_, delete, insert, select

from crag.core.errors import NotFoundError
from crag.storage.records import Records
from crag.storage.tables import chunks, labels


@dataclass(frozen=True, slots=True, kw_only=True)
class Label:
    """A person's word on one chunk for one question. `at` is ISO 8601, UTC."""

    question: str
    chunk_id: str
    label: Literal["relevant", "irrelevant"]
    at: str


class Labels:
    """A library's labels. Thread-safe, across processes too."""

    def __init__(self, database: Records) -> None:
        self._database = database

    def save(self, question: str, chunk_id: str, label: Literal["relevant", "irrelevant"]) -> None:
        """Store a label, in place of an earlier one on the same chunk and question. Raises NotFoundError."""
        at = datetime.now(UTC).isoformat(timespec="seconds")
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
        kept = select(labels.c.question, labels.c.chunk, labels.c.label, labels.c.at)
        with self._database.read() as connection:
            rows = connection.execute(kept.order_by(labels.c.at, labels.c.chunk)).all()
        return [Label(question=question, chunk_id=chunk, label=label, at=at) for question, chunk, label, at in rows]


def _on(question: str, chunk_id: str) -> ColumnElement[bool]:
    return and_(labels.c.chunk == chunk_id, labels.c.question == question)
