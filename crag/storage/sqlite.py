"""Connections to SQLite through SQLAlchemy: one engine for all files, so that a statement is compiled once for all.

The layout of a database: its tables and their version, the same in a file of SQLite and on a PostgreSQL server.
"""

from __future__ import annotations

import errno
import logging
import os
import sqlite3
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, cast

from sqlalchemy import Connection, Engine, MetaData, NullPool, Select, Table, create_engine, create_mock_engine
from sqlalchemy.exc import DBAPIError

from crag.core.errors import StorageError

_next = threading.local()
"""What the thread is about to open: an engine's `creator` is given nothing."""
_BUSY_MS = 20_000
_AGAIN = 0.01
_IDLE = 4


def connect(name: Path | str, *, uri: bool = False) -> Connection:
    """A connection to a file, or to ":memory:". Who uses it says BEGIN to its driver: nothing else does."""
    _next.name, _next.uri = name, uri
    return _engine().connect()


def writable(path: Path) -> bool:
    """Whether a file and its folder can be written: SQLite needs both."""
    return os.access(path.parent, os.W_OK | os.X_OK) and os.access(path, os.W_OK)


def connect_read_only(path: Path) -> Connection:
    """A connection to a file that can't be written, for reading; it is not kept for reuse, since that may change.

    SQLite can't read a file in a folder that it can't write to unless the two files beside it are there, or it is
    promised that nobody writes: that holds where the write-ahead log is empty.
    """
    log = path.with_name(f"{path.name}-wal")
    still = "" if log.exists() and log.stat().st_size else "&immutable=1"
    connection = connect(f"{path.absolute().as_uri()}?mode=ro{still}", uri=True)
    connection.info["read only"] = True
    return connection


def driver(connection: Connection) -> sqlite3.Connection:
    """SQLite's own connection, for what is SQLite's alone: pragmas, transactions, bytes piece by piece."""
    return cast(sqlite3.Connection, connection.connection.driver_connection)


def wait_for_others(file: sqlite3.Connection) -> None:
    """From now on it waits for what another writes, twenty seconds at most."""
    file.execute(f"PRAGMA busy_timeout = {_BUSY_MS}")


def write_ahead(file: sqlite3.Connection) -> None:
    """Turns the write-ahead log on. Of several that do so at one moment SQLite refuses all but one, who never wait."""
    until = time.monotonic() + _BUSY_MS / 1000
    while True:
        try:
            file.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > until:
                raise
            time.sleep(_AGAIN)


class Idle:
    """Connections to one file that nobody uses, kept for reuse, at most four. Thread-safe.

    More are opened while more threads read at once.
    """

    def __init__(self) -> None:
        self._kept: list[Connection] = []
        self._ended = False
        self._lock = threading.Lock()

    def take(self) -> Connection | None:
        """One that is kept, if there is one."""
        with self._lock:
            return self._kept.pop() if self._kept else None

    def give_back(self, connection: Connection) -> None:
        """Keep a connection, or close it: where there are enough, after `end`, or where it is inside a transaction."""
        with self._lock:
            kept = not self._ended and len(self._kept) < _IDLE
            kept = kept and not driver(connection).in_transaction and "read only" not in connection.info
            if kept:
                self._kept.append(connection)
        if not kept:
            connection.close()

    def rest(self) -> None:
        """Close what is kept; the next use opens it again."""
        with self._lock:
            idle, self._kept = self._kept, []
        for connection in idle:
            connection.close()

    def end(self) -> None:
        """Close what is kept now, and the rest as it comes back."""
        with self._lock:
            self._ended = True
        self.rest()


@contextmanager
def read_transaction(connection: Connection) -> Iterator[Connection]:
    """All that is read in the block is of one moment; nothing that it changes is stored."""
    driver(connection).execute("BEGIN")
    transaction = connection.begin()
    try:
        yield connection
    finally:
        transaction.rollback()


def own_folder(folder: Path) -> None:
    """Create a folder and what is missing above it, each for its owner alone."""
    if not folder.exists():
        own_folder(folder.parent)
        folder.mkdir(mode=0o700, exist_ok=True)


@cache
def _engine() -> Engine:
    # Parameters are texts of documents and questions: they have no place in a message or a log.
    return create_engine("sqlite://", creator=_open_file, poolclass=NullPool, hide_parameters=True)


def _open_file() -> sqlite3.Connection:
    return sqlite3.connect(_next.name, uri=_next.uri, isolation_level=None, check_same_thread=False)


_log = logging.getLogger(__name__)
_FREE = "Free some disk space, then try again; everything already stored is intact."
_WRITABLE = "Make the folder and the files in it writable, or set CRAG_DATA to another folder."
_BUSY = "Wait for the other program to finish with this library, then try again."
_DAMAGED = (
    "It was left exactly as it is. Put a backup in its place, or move it out of the folder and add the documents again."
)
_UNKNOWN = "Check the disk and the folder's permissions, then try again."
_OPEN_FILES = "Wait until others are done, then try again; your administrator can allow it more (ulimit -n)."


def library_name(path: Path) -> str:
    """A library as a message names it: by its folder's own name. Where that lies on the server is for the log."""
    return path.parent.name or "here"


def other_version_error(what: str, version: str, known: int) -> StorageError:
    """The error for a database of another layout. It is never written to."""
    if version.isdecimal() and int(version) < known:
        return StorageError(
            f"{what} was written by an unreleased build (schema {version}; this one reads {known}).",
            "Choose another folder or database and add the documents again. Nothing was changed.",
        )
    return StorageError(
        f"{what} was written by a newer version of this program (schema {version}; this one knows {known}).",
        "Update the program, or choose another folder or database. Nothing was changed.",
    )


def foreign_database_error(what: str, where: str) -> StorageError:
    """What is said of what stands in a library's place and is none."""
    return StorageError(
        f"The {what} of {where} is a database of another program.",
        "Choose another folder or database. Nothing was changed.",
    )


def full(error: sqlite3.Error | DBAPIError) -> bool:
    """Whether SQLite failed because the disk, or what it may use of it, is full."""
    return _code(_sqlite_error(error)) == sqlite3.SQLITE_FULL


def damaged_error(path: Path, detail: str) -> StorageError:
    """What is said of a library file that can't be trusted; such a file is never written to."""
    _log.info("the library file %s is damaged: %s", path, detail)
    return StorageError(f"The file of the library {library_name(path)} is damaged ({detail}).", _DAMAGED)


@contextmanager
def translate_errors(path: Path) -> Iterator[None]:
    """Raises StorageError, with a remedy for each cause, in place of what SQLite or the system raised in the block."""
    try:
        yield
    except (sqlite3.Error, DBAPIError) as error:
        translated = _sqlite_error(error)
        _log.info("%s: %s", path, translated)
        raise _from_sqlite(path, translated) from error
    except OSError as error:
        _log.info("%s: %s", path, error)
        raise _from_system(path, error) from error


def _sqlite_error(error: sqlite3.Error | DBAPIError) -> BaseException:
    """What SQLite itself said, without the statement that SQLAlchemy puts around it."""
    return (error.orig or error) if isinstance(error, DBAPIError) else error


def _code(error: BaseException) -> int:
    """SQLite's primary code: the low byte. The rest only refines it."""
    return int(getattr(error, "sqlite_errorcode", 0)) & 0xFF


def _from_sqlite(path: Path, error: BaseException) -> StorageError:
    code = _code(error)
    if code == sqlite3.SQLITE_CANTOPEN and _exhausted():
        return _too_many_open()
    if code == sqlite3.SQLITE_FULL:
        return StorageError(f"There is no room left to store the library {library_name(path)}.", _FREE)
    if code in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM, sqlite3.SQLITE_AUTH):
        return StorageError(f"The library {library_name(path)} can't be written.", _WRITABLE)
    if code == sqlite3.SQLITE_CANTOPEN:
        return StorageError(f"The library {library_name(path)} can't be opened.", _WRITABLE)
    if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return StorageError(f"The library {library_name(path)} is locked by another program.", _BUSY)
    if code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
        return damaged_error(path, str(error))
    return StorageError(f"The library {library_name(path)} failed: {error}.", _UNKNOWN)


def _exhausted() -> bool:
    """Whether this process may open no more files, which SQLite does not tell from other reasons."""
    try:
        os.close(os.open(os.devnull, os.O_RDONLY))
    except OSError as error:
        return error.errno in (errno.EMFILE, errno.ENFILE)
    return False


def _too_many_open() -> StorageError:
    return StorageError("The program has too many files open to open the library.", _OPEN_FILES)


def _from_system(path: Path, error: OSError) -> StorageError:
    if error.errno in (errno.EMFILE, errno.ENFILE):
        return _too_many_open()
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return StorageError(f"There is no room left to store the library {library_name(path)}.", _FREE)
    if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        return StorageError(f"The library {library_name(path)} can't be written.", _WRITABLE)
    if error.errno in (errno.ENOTDIR, errno.EEXIST):
        return StorageError(
            f"The library {library_name(path)} can't be stored: a file stands where a folder should be.",
            "Move that file away, or choose another folder.",
        )
    return StorageError(f"The library {library_name(path)} failed: {error.strerror or error}.", _UNKNOWN)


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
