"""The layout of a database: its tables and their version, the same in a file of SQLite and on a PostgreSQL server."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Any

from sqlalchemy import Connection, Engine, MetaData, QueuePool, Select, Table, create_engine

from crag.core.errors import StorageError


@dataclass(frozen=True, eq=False, kw_only=True)
class Layout:
    """What a database of one kind holds.

    `version` is in `version_table`, where `stored_version` finds it, and in SQLite's `user_version` too. `what` names
    such a database in a message, with {} for its own name. `fill` writes the rows of a new one. `shares_schema`: on a
    server, its schema may hold other tables, too.
    """

    metadata: MetaData
    version: int
    version_table: Table
    stored_version: Select[Any]
    what: str
    fill: Callable[[Connection], object]
    shares_schema: bool = False

    def create(self, connection: Connection) -> None:
        """Create the tables, with the rows of a new database."""
        self.metadata.create_all(connection, checkfirst=False)
        self.fill(connection)
        if connection.dialect.name == "sqlite":
            connection.exec_driver_sql(f"PRAGMA user_version = {self.version}")

    def version_of(self, connection: Connection) -> str:
        """The version that a database is of."""
        return str(connection.scalars(self.stored_version).one())

    def check(self, version: str, name: str) -> None:
        """Raises StorageError for a database of another version, which is never written to."""
        what = self.what.format(name)
        if version.isdecimal() and int(version) < self.version:
            raise StorageError(
                f"{what} was written by an unreleased build (schema {version}; this one reads {self.version}).",
                "Choose another folder or database and add the documents again. Nothing was changed.",
            )
        if version != str(self.version):
            raise StorageError(
                f"{what} was written by a newer version of this program (schema {version}; this one knows"
                f" {self.version}).",
                "Update the program, or choose another folder or database. Nothing was changed.",
            )

    @contextmanager
    def empty(self) -> Iterator[Connection]:
        """An empty database in memory, to be read in place of one that was never written to."""
        with _memory(self).connect() as connection:
            if "made" not in connection.info:
                self.create(connection)
                connection.commit()
                connection.info["made"] = True
            yield connection


@cache
def _memory(layout: Layout) -> Engine:
    """Each connection of the pool is a database of its own."""
    return create_engine(
        "sqlite://",
        poolclass=QueuePool,
        pool_size=4,
        max_overflow=-1,
        connect_args={"check_same_thread": False},
        hide_parameters=True,
    )


def foreign_database_error(what: str, where: str) -> StorageError:
    """The error for a database of another program in a library's place."""
    return StorageError(
        f"The {what} of {where} is a database of another program.",
        "Choose another folder or database. Nothing was changed.",
    )
