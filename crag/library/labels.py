"""People's words on chunks: whether one answers a question."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal

from crag.core.errors import NotFoundError
from crag.library.database import Database


@dataclass(frozen=True, slots=True, kw_only=True)
class Label:
    """A person's word on one chunk for one question. `at` is ISO 8601, UTC."""

    question: str
    chunk_id: str
    label: Literal["relevant", "irrelevant"]
    at: str


class Labels:
    """A library's labels. Thread-safe, across processes too."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def save(self, question: str, chunk_id: str, label: Literal["relevant", "irrelevant"]) -> None:
        """Store a label, in place of an earlier one on the same chunk and question. Raises NotFoundError."""
        at = datetime.now(UTC).isoformat(timespec="seconds")
        with self._database.write() as connection:
            if not connection.execute("SELECT 1 FROM chunks WHERE id = ?", (chunk_id,)).fetchone():
                raise NotFoundError(f"There is no chunk {chunk_id} in this library.")
            connection.execute("INSERT OR REPLACE INTO labels VALUES (?, ?, ?, ?)", (chunk_id, question, label, at))

    def delete(self, question: str, chunk_id: str) -> None:
        """Take a label back, if there is one."""
        statement = "DELETE FROM labels WHERE chunk = ? AND question = ?"
        self._database.free(lambda connection: connection.execute(statement, (chunk_id, question)))

    def all(self) -> list[Label]:
        """Oldest first."""
        with self._database.read() as connection:
            rows = connection.execute("SELECT question, chunk, label, at FROM labels ORDER BY at, chunk").fetchall()
        return [Label(question=question, chunk_id=chunk, label=label, at=at) for question, chunk, label, at in rows]
