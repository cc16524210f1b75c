"""Runs that are deleted, with the conversations that are left empty, and brought back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy import ColumnElement, Connection, RowMapping, Table, delete, exists, insert, select

from crag.core.errors import NotFoundError
from crag.storage.database import Database
from crag.storage.tables import conversations, facts, reasons, runs, searches
from crag.text import memory


@dataclass(frozen=True, slots=True, repr=False)
class DeletedRuns:
    """The rows of runs that were deleted, of their figures and of their conversations: all that `restore` needs.

    Nothing else holds them; whoever keeps them lets them go in time.
    """

    rows: Mapping[Table, Sequence[RowMapping]]

    @property
    def ids(self) -> list[str]:
        """Of the runs, oldest first."""
        return [row["id"] for row in self.rows[runs]]


def delete_runs(database: Database, where: ColumnElement[bool], unknown: NotFoundError) -> DeletedRuns:
    """Delete these runs, with all remembered web results and reasons of grades: they hold queries. A conversation goes
    with its last run. Raises `unknown` where there are none.
    """
    gone = database.free(lambda connection: _remove(connection, where, unknown))
    memory.forget([*gone.ids, *(row["id"] for row in gone.rows[conversations])])
    return gone


def _remove(connection: Connection, where: ColumnElement[bool], unknown: NotFoundError) -> DeletedRuns:
    talks = conversations.c.id.in_(select(runs.c.conversation).where(where))
    its_own = facts.c.run.in_(select(runs.c.number).where(where))
    found = {
        table: connection.execute(select(table).where(which).order_by(*table.primary_key)).mappings().all()
        for table, which in ((conversations, talks), (runs, where), (facts, its_own))
    }
    if not found[runs]:
        raise unknown
    connection.execute(delete(runs).where(where))
    for each in found[conversations]:
        delete_empty(connection, each["id"])
    delete_wording(connection)
    return DeletedRuns(found)


def restore(connection: Connection, gone: DeletedRuns) -> None:
    """Bring back what was deleted, under its old numbers; what is there again stays as it is."""
    for table, rows in gone.rows.items():
        [key] = table.primary_key
        for row in rows:
            if connection.scalar(select(key).where(key == row[key.name])) is None:
                connection.execute(insert(table).values(row))


def delete_empty(connection: Connection, id: str) -> None:
    """Delete a conversation that has no run any more, in its caller's transaction."""
    others = exists(select(runs.c.number).where(runs.c.conversation == id))
    connection.execute(delete(conversations).where(conversations.c.id == id, ~others))


def delete_wording(connection: Connection) -> None:
    """All remembered web results and reasons of grades go, in the caller's transaction: no row names its run."""
    connection.execute(delete(searches))
    connection.execute(delete(reasons))
