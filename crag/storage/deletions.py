"""Runs that are deleted, with the conversations that are left empty, and brought back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, Connection, RowMapping, delete, exists, insert, select

from crag.storage.tables import conversations, facts, reasons, runs, searches


@dataclass(frozen=True, slots=True, repr=False)
class DeletedRuns:
    """The rows of runs that were deleted, of their figures and of their conversations: all that `restore` needs.

    Nothing else holds them; whoever keeps them lets them go in time.
    """

    conversations: Sequence[RowMapping]
    runs: Sequence[RowMapping]
    facts: Sequence[RowMapping]

    @property
    def ids(self) -> list[str]:
        """Of the runs, oldest first."""
        return [row["id"] for row in self.runs]


def remove_runs(connection: Connection, where: ColumnElement[bool]) -> DeletedRuns:
    """Delete these runs in the caller's transaction, with all remembered web results and reasons of grades: they hold
    queries. A conversation goes with its last run.
    """

    def rows(statement: Any) -> Sequence[RowMapping]:
        return connection.execute(statement).mappings().all()

    numbers = select(runs.c.number).where(where)
    gone = DeletedRuns(
        rows(select(conversations).where(conversations.c.id.in_(select(runs.c.conversation).where(where)))),
        rows(select(runs).where(where).order_by(runs.c.number)),
        rows(select(facts).where(facts.c.run.in_(numbers))),
    )
    connection.execute(delete(runs).where(where))
    for each in gone.conversations:
        delete_empty(connection, each["id"])
    delete_wording(connection)
    return gone


def restore(connection: Connection, gone: DeletedRuns) -> None:
    """Bring back what was deleted, under its old numbers; what is there again stays as it is."""
    for table, key, rows in (
        (conversations, conversations.c.id, gone.conversations),
        (runs, runs.c.id, gone.runs),
        (facts, facts.c.run, gone.facts),
    ):
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
