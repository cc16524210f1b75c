"""What library.db looks like, and how an older one becomes today's. A newer one is refused."""

from __future__ import annotations

import sqlite3
import threading
import uuid
from contextlib import closing, suppress
from functools import cache
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, create_mock_engine, insert

from crag.library.faults import another, newer
from crag.library.sqlite import driver
from crag.library.tables import meta, metadata, revision

VERSION = 8
"""The number of Alembic's head revision; SQLite's `user_version` is the same, by which older programs refuse it."""

_FIRST_STAMPED = 5
"""Files of earlier versions say theirs in `user_version` alone."""

_MIGRATIONS = Path(__file__).parent / "migrations"
_migrating = threading.Lock()
"""Alembic keeps what it works on in its own modules, so one thread at a time."""


def inspect(connection: sqlite3.Connection, path: Path) -> bool:
    """Look before anything is written: True for a file still empty, False for a library.

    Raises StorageError for a newer library, and for an SQLite file that is something else.
    """
    tables = int(connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0])
    version = _version(connection)
    if version > VERSION:
        raise newer(path.parent.name, str(version), VERSION)
    if version == 0 and tables:
        raise another(f"file {path.name}", path.parent.name)
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
    """Create or migrate the schema in one transaction; a current library is only read. Raises as `inspect` does."""
    file = driver(connection)
    if not inspect(file, path) and _version(file) == VERSION:
        return
    file.execute("BEGIN IMMEDIATE")
    with connection.begin():
        # Looked at again under the lock: another process may have done the work in between.
        if inspect(file, path):
            create(connection)
        elif (version := _version(file)) < VERSION:
            upgrade(connection, str(version) if version < _FIRST_STAMPED else "")
            with suppress(OSError):  # the index of earlier versions, which nothing reads any more
                path.with_suffix(".vectors").unlink()
        file.execute(f"PRAGMA user_version = {VERSION}")


def create(connection: Connection) -> None:
    """The tables of a new library, and what stands in them from the start."""
    for statement in _statements(connection.dialect.name):
        connection.exec_driver_sql(statement)
    connection.execute(insert(revision).values(version_num=str(VERSION)))
    values = {"library": uuid.uuid4().hex, "generation": "0", "model": "", "dimension": "0"}
    connection.execute(insert(meta), [{"key": key, "value": value} for key, value in values.items()])


def upgrade(connection: Connection, unstamped: str = "") -> None:
    """Bring older tables up to date within the transaction that is open; `unstamped`: what they are, if no stamp says.

    Alembic takes a third of a second to load, so only who needs it pays for it.
    """
    from alembic import command
    from alembic.config import Config

    config = Config(attributes={"connection": connection})
    config.set_main_option("script_location", str(_MIGRATIONS).replace("%", "%%"))
    with _migrating:
        if unstamped:
            command.stamp(config, unstamped)
        command.upgrade(config, "head")


@cache
def _statements(dialect: str) -> tuple[str, ...]:
    """What `create_all` says: worded once, for a visitor who only looks has a library too, in memory."""
    said: list[Any] = []
    engine = create_mock_engine(f"{dialect}://", lambda statement, *_: said.append(statement))
    metadata.create_all(engine, checkfirst=False)
    return tuple(str(each.compile(dialect=engine.dialect)) for each in said)


def _version(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA user_version").fetchone()[0])
