"""The layout of a database: its tables and their version, the same in a file of SQLite and on a PostgreSQL server."""

from __future__ import annotations

import sqlite3
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, MetaData, Select, Table, create_mock_engine

from crag.storage.sqlite import (
    Idle,
    connect,
    driver,
    foreign_database_error,
    other_version_error,
    read_transaction,
)


@dataclass(frozen=True, eq=False, kw_only=True)
class Layout:
    """What a database of one kind holds.

    `version` is in SQLite's `user_version`, and in `version_table`, where `stored_version` finds it. `what` names such
    a database in a message, with {} for its own name. `fill` writes the rows of a new one. `shares_schema`: on a
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
        for statement in _statements(self.metadata, connection.dialect.name):
            connection.exec_driver_sql(statement)
        self.fill(connection)

    def inspect(self, file: sqlite3.Connection, path: Path) -> bool:
        """Look before anything is written: True for an empty file, False for one of this layout.

        Raises StorageError for another version, and for a file of another program.
        """
        tables = int(file.execute("SELECT count(*) FROM sqlite_master").fetchone()[0])
        version = _version(file)
        if version == 0 and tables:
            raise foreign_database_error(f"file {path.name}", path.parent.name)
        if version not in (0, self.version):
            raise other_version_error(self.what.format(path.parent.name), str(version), self.version)
        return version == 0

    def prepare(self, connection: Connection, path: Path) -> None:
        """Create the tables in one transaction where the file is empty. Raises as `inspect` does."""
        file = driver(connection)
        if not self.inspect(file, path):
            return
        file.execute("BEGIN IMMEDIATE")
        with connection.begin():
            # Look again under the lock: another process may have created them meanwhile.
            if self.inspect(file, path):
                self.create(connection)
                file.execute(f"PRAGMA user_version = {self.version}")

    @contextmanager
    def empty(self) -> Iterator[Connection]:
        """An empty database in memory, to be read in place of one that was never written to."""
        connection = _empty[self].take()
        if connection is None:
            connection = connect(":memory:")
            self.prepare(connection, Path())
        try:
            with read_transaction(connection):
                yield connection
        finally:
            _empty[self].give_back(connection)

    def check(self, connection: Connection, name: str) -> None:
        """Raises StorageError where the tables of a server are of another version."""
        version = str(connection.scalars(self.stored_version).one())
        if version != str(self.version):
            raise other_version_error(self.what.format(name), version, self.version)


_empty: defaultdict[Layout, Idle] = defaultdict(Idle)


@cache
def _statements(metadata: MetaData, dialect: str) -> tuple[str, ...]:
    """The statements of `create_all`, compiled once: a visitor who only looks has a library too, in memory."""
    found: list[Any] = []
    engine = create_mock_engine(f"{dialect}://", lambda statement, *_: found.append(statement))
    metadata.create_all(engine, checkfirst=False)
    return tuple(str(each.compile(dialect=engine.dialect)) for each in found)


def _version(file: sqlite3.Connection) -> int:
    return int(file.execute("PRAGMA user_version").fetchone()[0])
