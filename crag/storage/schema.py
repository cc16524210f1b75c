"""The layout of library.db. A file of another layout is refused and left as it is."""

from __future__ import annotations

import sqlite3
import uuid
from contextlib import closing
from functools import cache
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, create_mock_engine, insert

from crag.storage.sqlite import driver
from crag.storage.sqlite_errors import foreign_database_error, other_version_error
from crag.storage.tables import meta, metadata, revision

VERSION = 8
"""The number of the layout, in SQLite's `user_version` and in the table `alembic_version`."""


def inspect(connection: sqlite3.Connection, path: Path) -> bool:
    """Look before anything is written: True for a file still empty, False for a library.

    Raises StorageError for a library of another layout, and for an SQLite file that is something else.
    """
    tables = int(connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0])
    version = _version(connection)
    if version == 0 and tables:
        raise foreign_database_error(f"file {path.name}", path.parent.name)
    if version not in (0, VERSION):
        raise other_version_error(path.parent.name, str(version), VERSION)
    return version == 0


def current(path: Path) -> bool:
    """Whether a file is a library of this version; a damaged one counts as one, so that whoever opens it is told.

    SQLite itself is asked: were the file opened and closed beside it, this process would lose its locks on it, and
    another one could take away the log that this one goes on writing to.
    """
    if not path.is_file():
        return False
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as connection:
            return _version(connection) == VERSION
    except sqlite3.Error as error:
        return error.sqlite_errorcode & 0xFF == sqlite3.SQLITE_CORRUPT


def prepare(connection: Connection, path: Path) -> None:
    """Create the tables in one transaction where the file is empty. Raises as `inspect` does."""
    file = driver(connection)
    if not inspect(file, path):
        return
    file.execute("BEGIN IMMEDIATE")
    with connection.begin():
        # Looked at again under the lock: another process may have done the work in between.
        if inspect(file, path):
            create(connection)
            file.execute(f"PRAGMA user_version = {VERSION}")


def create(connection: Connection) -> None:
    """The tables of a new library, and what stands in them from the start."""
    for statement in _statements(connection.dialect.name):
        connection.exec_driver_sql(statement)
    connection.execute(insert(revision).values(version_num=str(VERSION)))
    values = {"library": uuid.uuid4().hex, "generation": "0", "model": "", "dimension": "0"}
    connection.execute(insert(meta), [{"key": key, "value": value} for key, value in values.items()])


@cache
def _statements(dialect: str) -> tuple[str, ...]:
    """What `create_all` says: worded once, for a visitor who only looks has a library too, in memory."""
    said: list[Any] = []
    engine = create_mock_engine(f"{dialect}://", lambda statement, *_: said.append(statement))
    metadata.create_all(engine, checkfirst=False)
    return tuple(str(each.compile(dialect=engine.dialect)) for each in said)


def _version(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA user_version").fetchone()[0])
