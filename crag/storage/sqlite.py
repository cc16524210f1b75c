"""A database in a file of SQLite: connections to it, its locks, and its room on the disk."""

from __future__ import annotations

import errno
import logging
import os
import shutil
import sqlite3
import threading
from collections.abc import Callable, Collection, Hashable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager, suppress
from pathlib import Path
from typing import Any, cast

from filelock import FileLock, Timeout
from sqlalchemy import Connection, Engine, NullPool, QueuePool, create_engine, event
from sqlalchemy.exc import DBAPIError
from sqlalchemy.pool import ConnectionPoolEntry

from crag.core.errors import IndexUnavailableError, StorageError
from crag.index.stamp import sync
from crag.runtime.jobs import explain_os_error
from crag.storage.files import own_folder, writable
from crag.storage.layout import Layout, foreign_database_error
from crag.text.memory import on_deletion

_log = logging.getLogger(__name__)
_BUSY_MS = 20_000
"""Milliseconds for which a connection waits for others."""
_KEPT = 4
"""Connections kept for reuse; more are opened while more threads read at once."""
_PRAGMAS = (
    "PRAGMA wal_autocheckpoint = 256",
    f"PRAGMA journal_size_limit = {4 * 1024 * 1024}",
    "PRAGMA foreign_keys = ON",
    "PRAGMA secure_delete = FAST",
)
_TURN_SECONDS = 0.05
"""Between two tries to be the one that changes the index."""
_VACUUM_PAGES = 1024
"""Freed pages given back to the disk in one step: a step needs at most as much room while it works."""
_SPARE = 1024 * 1024
"""Bytes of the disk that a document leaves free."""


def connect(path: Path, mode: str = "rw") -> Connection:
    """A connection of its own to a file that is there. `mode` as SQLite's addresses have it."""
    return _engine(lambda: _opened(path, mode), poolclass=NullPool).connect()


def driver(connection: Connection) -> sqlite3.Connection:
    """SQLite's own connection, for what is SQLite's alone: backups, and bytes piece by piece."""
    return cast(sqlite3.Connection, connection.connection.driver_connection)


def _opened(path: Path, mode: str) -> sqlite3.Connection:
    address = f"{path.absolute().as_uri()}?mode={mode}"
    return sqlite3.connect(address, uri=True, timeout=_BUSY_MS / 1000, isolation_level=None, check_same_thread=False)


def _engine(opened: Callable[[], sqlite3.Connection], **pool: Any) -> Engine:
    # Parameters are texts of documents and questions: they have no place in a message or a log.
    engine = create_engine("sqlite://", creator=opened, hide_parameters=True, **pool)
    event.listen(engine, "begin", _begin)
    return engine


def _begin(connection: Connection) -> None:
    """The driver begins no transaction by itself: its own way would let readers see two moments in one."""
    for statement in connection.get_execution_options().get("begin", ("BEGIN",)):
        connection.exec_driver_sql(statement)


class SqliteFile:
    """A file with the tables of one layout. Thread-safe, across processes too. Nothing is there before `create`."""

    where = "on the disk"

    def __init__(self, path: Path, layout: Layout) -> None:
        self.path, self.layout, self.name = path, layout, library_name(path)
        pool = {"poolclass": QueuePool, "pool_size": _KEPT, "max_overflow": -1, "pool_use_lifo": True}
        self._engine = _engine(self._open, **pool)
        event.listen(self._engine, "checkin", self._returned)
        on_deletion(self._forget)

    def translated(self) -> AbstractContextManager[None]:
        """Errors of SQLite and of the system become StorageError."""
        return translate_errors(self.path)

    def damaged(self, detail: str) -> StorageError:
        """The error where the parts of the library don't fit each other."""
        return damaged_error(self.path, detail)

    def identity(self) -> Hashable:
        """Another value for another file in the same place; None where there is no file."""
        try:
            found = self.path.stat()
        except FileNotFoundError:
            return None
        return found.st_dev, found.st_ino

    def check(self) -> None:
        """Raises an error where the file, or a folder for it, can't be used."""
        if self.identity() is None:
            _check_placeable(self.path.parent)
        else:
            self._engine.connect().close()

    def create(self) -> None:
        """Make the file with its tables. It gets its name when it is whole, so an empty one is never a new library."""
        own_folder(self.path.parent)
        draft = self.path.with_name(f".{self.path.name}.new")
        with FileLock(self._turn, timeout=_BUSY_MS / 1000, mode=0o600, thread_local=False):
            if self.path.exists():
                return  # another process was first
            for left in self.path.parent.glob(f"{draft.name}*"):
                left.unlink()
            os.close(os.open(draft, os.O_RDWR | os.O_CREAT, 0o600))
            with closing(connect(draft)) as connection:
                driver(connection).execute("PRAGMA auto_vacuum = INCREMENTAL")
                driver(connection).execute("PRAGMA journal_mode = WAL")
                with connection.begin():
                    self.layout.create(connection)
            draft.rename(self.path)
            sync(self.path.parent)

    @contextmanager
    def transaction(
        self, *, write: bool = False, more: int = 0, synced: bool = True
    ) -> Iterator[tuple[Connection, Hashable]]:
        """A transaction and the identity of the file; an empty database and None where there is none.

        `more`: about how many bytes it adds. What is not `synced` is lasting with the next transaction that is.
        """
        found = self.identity()
        if found is None:
            with self.layout.empty() as connection:
                yield connection, None
        elif not write:
            with self._engine.connect() as connection:
                yield connection, found
        else:
            self._check_disk(more)
            begin = f"PRAGMA synchronous = {'FULL' if synced else 'NORMAL'}", "BEGIN IMMEDIATE"
            with self._engine.connect().execution_options(begin=begin) as connection, connection.begin():
                yield connection, found

    def rest(self) -> None:
        """Keep no connection open until the next use."""
        self._engine.dispose()

    def _forget(self, gone: Collection[str]) -> None:
        """A compiled statement keeps the values that it was first given."""
        self._engine.clear_compiled_cache()

    @contextmanager
    def alone(self, stop: threading.Event) -> Iterator[bool]:
        """The right to change the chunk index, which one at a time has among all processes; a killed one loses it.

        Waits for it, until `stop`: then False. Raises IndexUnavailableError where the folder can't be written.
        """
        turn = FileLock(self._turn, timeout=0, mode=0o600, thread_local=False)
        while not _taken(turn):
            if stop.wait(_TURN_SECONDS):
                yield False
                return
        try:
            yield True
        finally:
            turn.release()

    # Room on the disk

    def reserve(self, size: int) -> None:
        """Keep `size` bytes of the disk, so that something can be deleted when it is full; more, if more are kept.

        Nothing happens where there is no room: then there was none to keep.
        """
        try:
            if self._reserve.exists() and self._reserve.stat().st_size >= size:
                return
            with os.fdopen(os.open(self._reserve, os.O_WRONLY | os.O_CREAT, 0o600), "wb") as opened:
                opened.write(bytes(size))
        except OSError:
            with suppress(OSError):
                self._reserve.unlink()

    def make_room(self, error: DBAPIError) -> int:
        """Give up the reserve where the disk was full; the bytes that were kept, 0 where that helps nothing."""
        if _code(_sqlite_error(error)) != sqlite3.SQLITE_FULL:
            return 0
        held = self._give_up()
        # What is written back is in the log no more: that makes room, too.
        with self._engine.connect() as connection, suppress(sqlite3.OperationalError):
            driver(connection).execute("PRAGMA wal_checkpoint(TRUNCATE)")
        return held or 1

    def reclaim(self) -> None:
        """Give freed pages back to the disk, in steps: the log of one must fit where the disk is nearly full.

        The log is emptied, which else holds the deleted text until it is written over; a reader is not waited for.
        """
        # What is not given back stays free within the file.
        with self._engine.connect() as borrowed, suppress(sqlite3.OperationalError):
            connection = driver(borrowed)
            left = connection.execute("PRAGMA freelist_count").fetchone()[0]
            while left:
                # Not `execute`: it would stop after the first page.
                connection.executescript(f"PRAGMA incremental_vacuum({_VACUUM_PAGES})")
                _, log, written = connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
                before, left = left, connection.execute("PRAGMA freelist_count").fetchone()[0]
                if log != written or left >= before:
                    break  # somebody reads, and the log would grow; or the file was made without this way
            emptied = f"PRAGMA busy_timeout = 0; PRAGMA wal_checkpoint(TRUNCATE); PRAGMA busy_timeout = {_BUSY_MS}"
            connection.executescript(emptied)

    def _give_up(self) -> int:
        """Remove the reserve, whose size is returned."""
        with suppress(OSError):
            held = self._reserve.stat().st_size
            self._reserve.unlink()
            return held
        return 0

    def _check_disk(self, more: int) -> None:
        """Raises OSError where what is to come does not fit in, in the log and in the file, with something to spare.

        To find that out only when the disk is full would leave a log that can't be written back.
        """
        if more and shutil.disk_usage(self.path.parent).free < 2 * more + _SPARE:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    @property
    def _reserve(self) -> Path:
        return self.path.with_suffix(".reserve")

    @property
    def _turn(self) -> Path:
        return self.path.with_suffix(".turn")

    # Connections

    def _returned(self, connection: object, record: ConnectionPoolEntry) -> None:
        """What can't be written is opened again each time: somebody else may write it, or the rights may change."""
        if connection is not None and not writable(self.path):
            record.invalidate()

    def _open(self) -> sqlite3.Connection:
        if not writable(self.path):
            # SQLite can't read a file in a folder that it can't write to unless the two files beside it are there, or
            # it is promised that nobody writes: that holds where the write-ahead log is empty.
            log = self.path.with_name(f"{self.path.name}-wal")
            return self._checked("ro" if log.exists() and log.stat().st_size else "ro&immutable=1")
        try:
            return self._checked("rw")
        except sqlite3.OperationalError:
            # Even reading takes a few pages of the disk, for what the connections share.
            if shutil.disk_usage(self.path.parent).free >= _SPARE or not self._give_up():
                raise
            return self._checked("rw")

    def _checked(self, mode: str) -> sqlite3.Connection:
        """A connection to a file that is of this layout. Raises StorageError for others, which stay as they are."""
        if not self.path.stat().st_size:
            raise self.damaged("it is empty")
        file = _opened(self.path, mode)
        try:
            self.inspect(file)
            if mode == "rw":
                for pragma in _PRAGMAS:
                    file.execute(pragma)
                with suppress(sqlite3.OperationalError):  # another turns it on at this moment, or nobody can
                    file.execute("PRAGMA journal_mode = WAL")
        except BaseException:
            file.close()
            raise
        return file

    def inspect(self, file: sqlite3.Connection) -> None:
        """Raises StorageError for a file that is damaged, of another version, or of another program."""
        tables = {name for (name,) in file.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        if self.layout.version_table.name not in tables:
            if tables:
                raise foreign_database_error(f"file {self.path.name}", self.path.parent.name)
            raise self.damaged("it holds nothing")
        asked = self.layout.stored_version.compile(compile_kwargs={"literal_binds": True})
        stored = file.execute(str(asked)).fetchone()
        noted = file.execute("PRAGMA user_version").fetchone()
        if stored is None or stored[0] != str(noted[0]):
            raise self.damaged("it names two versions of its tables")
        self.layout.check(stored[0], self.name)


def _taken(turn: FileLock) -> bool:
    try:
        turn.acquire()
    except Timeout:
        return False
    except OSError as error:
        raise IndexUnavailableError(
            f"The library's folder can't be written: {error.strerror}.",
            "Free disk space, or check the folder's permissions; everything stored is intact.",
        ) from error
    return True


def _check_placeable(folder: Path) -> None:
    """Raises OSError where no such folder could ever be made: a file stands in its place, or it may not be written."""
    while not folder.exists():
        folder = folder.parent
    if not folder.is_dir():
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(folder))
    if not os.access(folder, os.W_OK | os.X_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(folder))


# Errors

_FREE = "Free some disk space, then try again; everything already stored is intact."
_WRITABLE = "Make the folder and the files in it writable, or set CRAG_DATA to another folder."
_BUSY = "Wait for the other program to finish with this library, then try again."
_DAMAGED = (
    "It was left exactly as it is. Put a backup in its place, or move it out of the folder and add the documents again."
)
_UNKNOWN = "Check the disk and the folder's permissions, then try again."

_OF_DAMAGE = "Could not decode to UTF-8", "unsupported file format"
"""What is said of flipped bytes for which there is no code."""
_SQLITE = {
    sqlite3.SQLITE_FULL: ("There is no room left to store the library {}.", _FREE),
    sqlite3.SQLITE_READONLY: ("The library {} can't be written.", _WRITABLE),
    sqlite3.SQLITE_PERM: ("The library {} can't be written.", _WRITABLE),
    sqlite3.SQLITE_AUTH: ("The library {} can't be written.", _WRITABLE),
    sqlite3.SQLITE_CANTOPEN: ("The library {} can't be opened.", _WRITABLE),
    sqlite3.SQLITE_BUSY: ("The library {} is locked by another program.", _BUSY),
    sqlite3.SQLITE_LOCKED: ("The library {} is locked by another program.", _BUSY),
}
"""What is said of a library for each of SQLite's primary codes, and what to do."""
_SYSTEM = {
    errno.ENOSPC: _SQLITE[sqlite3.SQLITE_FULL],
    errno.EDQUOT: _SQLITE[sqlite3.SQLITE_FULL],
    errno.EACCES: _SQLITE[sqlite3.SQLITE_READONLY],
    errno.EPERM: _SQLITE[sqlite3.SQLITE_READONLY],
    errno.EROFS: _SQLITE[sqlite3.SQLITE_READONLY],
    errno.ENOTDIR: (
        "The library {} can't be stored: a file stands where a folder should be.",
        "Move that file away, or choose another folder.",
    ),
}
_SYSTEM[errno.EEXIST] = _SYSTEM[errno.ENOTDIR]


def library_name(path: Path) -> str:
    """A library as a message names it: by its folder's own name. Where that lies on the server is for the log."""
    return path.parent.name or "here"


def damaged_error(path: Path, detail: str) -> StorageError:
    """The error for a library file that can't be trusted; such a file is never written to."""
    _log.info("the library file %s is damaged: %s", path, detail)
    return StorageError(f"The file of the library {library_name(path)} is damaged ({detail}).", _DAMAGED)


@contextmanager
def translate_errors(path: Path) -> Iterator[None]:
    """Raises StorageError, with a remedy for each cause, in place of what SQLite or the system raised in the block."""
    try:
        yield
    except (sqlite3.Error, DBAPIError) as error:
        raised = _sqlite_error(error)
        _log.info("%s: %s", path, raised)
        raise _from_sqlite(path, raised) from error
    except OSError as error:
        _log.info("%s: %s", path, error)
        known = _SYSTEM.get(error.errno or 0)
        exhausted = None if known else explain_os_error(error)
        raise exhausted or _failure(path, known, error.strerror or str(error)) from error


def _sqlite_error(error: sqlite3.Error | DBAPIError) -> BaseException:
    """What SQLite itself said, without the statement that SQLAlchemy puts around it."""
    return (error.orig or error) if isinstance(error, DBAPIError) else error


def _code(error: BaseException) -> int:
    """SQLite's primary code: the low byte. The rest only refines it."""
    return int(getattr(error, "sqlite_errorcode", 0)) & 0xFF


def _from_sqlite(path: Path, error: BaseException) -> StorageError:
    code = _code(error)
    if code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB) or any(said in str(error) for said in _OF_DAMAGE):
        return damaged_error(path, str(error))
    if code == sqlite3.SQLITE_CANTOPEN and (exhausted := _exhausted()):
        return exhausted
    return _failure(path, _SQLITE.get(code), str(error))


def _failure(path: Path, known: tuple[str, str] | None, said: str) -> StorageError:
    if known is None:
        return StorageError(f"The library {library_name(path)} failed: {said}.", _UNKNOWN)
    return StorageError(known[0].format(library_name(path)), known[1])


def _exhausted() -> StorageError | None:
    """The error where this process may open no more files, which SQLite does not tell from other reasons."""
    try:
        os.close(os.open(os.devnull, os.O_RDONLY))
    except OSError as error:
        return explain_os_error(error)
    return None
