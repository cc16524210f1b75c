"""The conversations of a library: titled sequences of runs."""

from __future__ import annotations

import secrets
from dataclasses import dataclass

from sqlalchemy import Connection, delete, exists, insert, select, update

from crag.core.errors import NotFoundError
from crag.storage.database import Database
from crag.storage.tables import conversations, runs
from crag.text import memory
from crag.text.formats import iso_now


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversation:
    """A conversation of the library of this workspace. `created_at` is ISO 8601, UTC."""

    id: str
    title: str
    workspace: str
    created_at: str


class Conversations:
    """A library's conversations. Thread-safe, across processes too. Every method raises StorageError."""

    def __init__(self, database: Database, workspace: str) -> None:
        """`workspace` is the library's name, which no row repeats: a private one may be given another."""
        self._database, self._workspace = database, workspace

    def create(self, title: str) -> Conversation:
        """Begin a conversation; runs join it by `RunRequest.conversation`."""
        made = {"id": secrets.token_hex(8), "title": title, "created_at": iso_now()}
        with self._database.write(more=len(title)) as connection:
            connection.execute(insert(conversations).values(made))
        return Conversation(**made, workspace=self._workspace)

    def rename(self, id: str, title: str) -> None:
        """Give a conversation another title. Raises NotFoundError."""
        with self._database.write(more=len(title)) as connection:
            renamed = update(conversations).where(conversations.c.id == id).values(title=title)
            if not connection.execute(renamed).rowcount:
                raise _unknown(id)

    def all(self) -> list[Conversation]:
        """The latest first."""
        c = conversations.c
        listed = select(c.id, c.title, c.created_at).order_by(c.number.desc())
        with self._database.read() as connection:
            rows = connection.execute(listed).mappings()
            return [Conversation(**row, workspace=self._workspace) for row in rows]

    def runs(self, id: str) -> list[str]:
        """The ids of a conversation's runs, oldest first; none of one that there is not."""
        asked = select(runs.c.id).where(runs.c.conversation == id).order_by(runs.c.number)
        with self._database.read() as connection:
            return list(connection.scalars(asked))

    def delete(self, id: str) -> None:
        """Delete a conversation; its runs stay, and belong to none. Raises NotFoundError."""

        def removed(connection: Connection) -> None:
            connection.execute(update(runs).where(runs.c.conversation == id).values(conversation=None))
            if not connection.execute(delete(conversations).where(conversations.c.id == id)).rowcount:
                raise _unknown(id)

        self._database.free(removed)
        memory.forget([id])


def delete_empty(connection: Connection, id: str | None) -> None:
    """Delete a conversation that has no run any more, in its caller's transaction."""
    if id is not None:
        others = exists(select(runs.c.number).where(runs.c.conversation == id))
        connection.execute(delete(conversations).where(conversations.c.id == id, ~others))


def _unknown(id: str) -> NotFoundError:
    return NotFoundError(f"There is no conversation {id} in this library.")
