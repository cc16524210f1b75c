"""Where people, workspaces, limits and the audit log are stored: a file of the data folder, or the database."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from sqlalchemy import Connection, insert, select, text
from sqlalchemy import inspect as inspected

from crag.admin.tables import VERSION, meta, metadata
from crag.core.errors import StorageError
from crag.storage.database import own_folder
from crag.storage.sqlite import Idle, connect, connect_read_only, driver, wait_for_others, writable, write_ahead
from crag.storage.sqlite_errors import translate_errors

if TYPE_CHECKING:
    from crag.storage.postgres import Server

__all__ = ["Store"]

FILE = "teams.db"
SCHEMA = "crag"
_LOCK = text("SELECT pg_advisory_xact_lock(hashtextextended('crag teams', 0))")
_PATH = text(f"SELECT set_config('search_path', '{SCHEMA}', true)")


class Store:
    """Read and write transactions on the teams' tables. Thread-safe; several processes may share them.

    Nothing is made before the first write; until then all tables read as empty. Every method raises StorageError.
    """

    def __init__(self, data: Path, server: Server | None = None) -> None:
        self._file, self._server = data / FILE, server
        self._idle = Idle()
        self._ready = False

    @property
    def made(self) -> bool:
        """Whether anything was ever stored."""
        if self._server is None:
            return self._file.exists()
        with self._server.translated(), self._server.reading() as connection:
            return inspected(connection).has_table(meta.name, schema=SCHEMA)

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """A read transaction: all that is read in the block is of one moment."""
        if self._server is not None:
            if not self._ready and not self.made:
                with _nothing() as empty:
                    yield empty
                return
            with self._server.translated(), self._server.reading() as connection:
                connection.execute(_PATH)
                self._check(connection)
                yield connection
            return
        if not self._file.exists():
            with _nothing() as empty:
                yield empty
            return
        with translate_errors(self._file), self._borrowed() as connection:
            driver(connection).execute("BEGIN")
            transaction = connection.begin()
            try:
                yield connection
            finally:
                transaction.rollback()

    @contextmanager
    def write(self) -> Iterator[Connection]:
        """A write transaction, one at a time: lasting when the block ends; if it raises, nothing of it happened."""
        if self._server is not None:
            with self._server.translated(), self._server.writing() as connection, connection.begin():
                connection.execute(_LOCK)
                if not self._ready:
                    connection.exec_driver_sql(f"CREATE SCHEMA IF NOT EXISTS {SCHEMA}")
                connection.execute(_PATH)
                if not self._ready:
                    _create(connection)
                self._check(connection)
                yield connection
            return
        with translate_errors(self._file):
            if not self._file.exists():
                own_folder(self._file.parent)
                os.close(os.open(self._file, os.O_RDWR | os.O_CREAT, 0o600))
            with self._borrowed() as connection:
                driver(connection).execute("BEGIN IMMEDIATE")
                with connection.begin():
                    yield connection

    def close(self) -> None:
        """Close what is idle; the next use opens it again."""
        self._idle.rest()

    @contextmanager
    def _borrowed(self) -> Iterator[Connection]:
        found = self._file.stat()
        identity = (found.st_dev, found.st_ino)
        connection = self._idle.take(identity) or self._connected()
        try:
            yield connection
        finally:
            self._idle.give_back(identity, connection)

    def _connected(self) -> Connection:
        readable_only = not writable(self._file)
        connection = connect_read_only(self._file) if readable_only else connect(self._file)
        try:
            file = driver(connection)
            wait_for_others(file)
            if readable_only:
                return connection
            write_ahead(file)
            file.execute("PRAGMA synchronous = FULL")
            version = int(file.execute("PRAGMA user_version").fetchone()[0])
            if version > VERSION:
                raise _newer(str(version))
            if version < VERSION:
                file.execute("BEGIN IMMEDIATE")
                with connection.begin():
                    _create(connection)
                    file.execute(f"PRAGMA user_version = {VERSION}")
        except BaseException:
            connection.close()
            raise
        return connection

    def _check(self, connection: Connection) -> None:
        if self._ready:
            return
        version = str(connection.scalars(select(meta.c.value).where(meta.c.key == "version")).one())
        if not version.isdecimal() or int(version) > VERSION:
            raise _newer(version)
        self._ready = True


def _create(connection: Connection) -> None:
    """Tables that are not there yet; those that are stay as they are."""
    metadata.create_all(connection)
    if connection.scalar(select(meta.c.value).where(meta.c.key == "version")) is None:
        connection.execute(insert(meta).values(key="version", value=str(VERSION)))


@contextmanager
def _nothing() -> Iterator[Connection]:
    """Empty tables in memory, to be read where nothing was stored yet."""
    connection = connect(":memory:")
    try:
        driver(connection).deserialize(_empty())
        yield connection
    finally:
        connection.rollback()
        connection.close()


@cache
def _empty() -> bytes:
    """A file of empty tables: making them anew at every read took a tenth of a page's time."""
    connection = connect(":memory:")
    try:
        metadata.create_all(connection)
        connection.commit()
        return driver(connection).serialize()
    finally:
        connection.close()


def _newer(version: str) -> StorageError:
    return StorageError(
        f"People and workspaces were stored by a newer version of this program (version {version}; this one knows "
        f"{VERSION}).",
        "Update the program, or choose another data folder or database. Nothing was changed.",
    )
