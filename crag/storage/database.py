"""Connections to one file of SQLite: many readers, one writer at a time, every use a transaction."""

from __future__ import annotations

import errno
import logging
import os
import shutil
import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from filelock import FileLock, Timeout
from sqlalchemy import Connection
from sqlalchemy.exc import DBAPIError

from crag.core.errors import IndexUnavailableError, StorageError
from crag.storage.layout import Layout
from crag.storage.sqlite import (
    Identity,
    Idle,
    connect,
    connect_read_only,
    damaged_error,
    driver,
    full,
    library_name,
    replaced_error,
    translate_errors,
    wait_for_others,
    writable,
    write_ahead,
)
from crag.storage.tables import LIBRARY

_log = logging.getLogger(__name__)
_TURN_SECONDS = 0.05
"""Between two tries to be the one that changes the index."""
_VACUUM_PAGES = 1024
"""Freed pages given back to the disk in one step: a step needs at most as much room while it works."""
_LOG_PAGES = 256
"""The write-ahead log is written back as soon as it has so many: a mebibyte."""
_LOG_BYTES = 4 * 1024 * 1024
"""What the log may keep on the disk after it was written back."""
_SPARE = 1024 * 1024
"""Bytes of the disk that a document leaves free."""
_STEP = 64 * 1024
"""Bytes of the reserve written at once."""


class Database:
    """A pool of connections to one file. Thread-safe; several processes may have one each on the same file.

    The file is made by the first write. Until then it reads as an empty library, and there is nothing on the disk.
    Where the file is deleted or replaced from outside, the next use raises StorageError once, and whatever comes after
    that works with what is there then.
    """

    def __init__(self, path: Path, may_grow: Callable[..., None] | None = None, layout: Layout = LIBRARY) -> None:
        """`may_grow(more, makes=…)` is asked before every write that may add, with the bytes that are to come where
        that is known, and whether the file would be made; it raises RoomError where that is too much.
        """
        self.path = path
        self._may_grow, self._layout = may_grow, layout
        self._idle = Idle()
        self._lock = threading.Lock()
        self._writing = threading.Lock()
        self._seen: Identity | None = None
        """The file that is used; None: an empty database in memory."""

    def check(self) -> None:
        """Raises StorageError where the file, or a folder for it, can't be used."""
        with translate_errors(self.path):
            if _identity(self.path) is None:
                _placeable(self.path.parent)
                return
            with self._borrowed():
                pass

    @property
    def exists(self) -> bool:
        """Whether anything was ever stored."""
        return self.path.exists()

    def damaged(self, detail: str) -> StorageError:
        """What is said where the parts of the library don't fit each other."""
        return damaged_error(self.path, detail)

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """A read transaction: all that is read in the block is of one moment."""
        with translate_errors(self.path), self._borrowed() as connection:
            driver(connection).execute("BEGIN")
            transaction = connection.begin()
            try:
                yield connection
            finally:
                transaction.rollback()

    @contextmanager
    def write(self, more: int = 0, *, grows: bool = True) -> Iterator[Connection]:
        """A write transaction: on disk when the block ends, or, if it raises, nothing of it happened.

        `more`: about how many bytes it adds. Raises RoomError where no more may be stored, unless it never `grows`.
        """
        with translate_errors(self.path), self._writing:
            makes = _identity(self.path) is None
            if self._may_grow is not None and (grows or makes):
                self._may_grow(more, makes=makes)
            self._make()
            self._check_disk(more)
            with self._transaction() as connection:
                yield connection

    def free(self, work: Callable[[Connection], object]) -> None:
        """A write transaction that only removes, and the space of what it removed given back to the disk.

        It works on a full disk too: the reserve makes room for it, and `work` is done again.
        """
        with translate_errors(self.path), self._writing:
            if _identity(self.path) is None:
                with self._borrowed() as connection:
                    work(connection)  # there is nothing to remove, which the work itself finds and says
                return
            try:
                self._remove(work)
            except (sqlite3.OperationalError, DBAPIError) as error:
                if not full(error):
                    raise
                held = self._make_room()
                self._remove(work)
                self._reclaim()
                self.reserve(held)
            else:
                self._reclaim()

    def reserve(self, size: int) -> None:
        """Keep so many bytes of the disk, so that something can be deleted when it is full; more, if more are kept.

        Nothing happens where there is no room: then there was none to keep.
        """
        file = self.path.with_suffix(".reserve")
        try:
            if file.exists() and file.stat().st_size >= size:
                return
            with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT, 0o600), "wb") as opened:
                for _ in range(0, size, _STEP):
                    opened.write(bytes(_STEP))
        except OSError:
            with suppress(OSError):
                file.unlink()

    @contextmanager
    def alone(self, stop: threading.Event) -> Iterator[bool]:
        """The right to change the chunk index, which one at a time has among all processes; a killed one loses it.

        Waits for it, until `stop`: then False. Raises IndexUnavailableError where the folder can't be written.
        """
        turn = FileLock(self.path.with_suffix(".turn"), timeout=0, mode=0o600, thread_local=False)
        while not _taken(turn):
            if stop.wait(_TURN_SECONDS):
                yield False
                return
        try:
            yield True
        finally:
            turn.release()

    def rest(self) -> None:
        """Close what is idle: no file stays open for a library that nobody uses. The next use opens it again."""
        self._idle.rest()

    def close(self) -> None:
        """Close what is idle now and the rest as it comes back. Closing twice does nothing."""
        self._idle.end()

    def _remove(self, work: Callable[[Connection], object]) -> None:
        with self._transaction() as connection:
            work(connection)

    def _reclaim(self) -> None:
        """Step by step: the log of one step must fit where the disk is nearly full."""
        with self._borrowed() as borrowed, suppress(sqlite3.OperationalError):  # it stays free within the file then
            connection = driver(borrowed)
            left = connection.execute("PRAGMA freelist_count").fetchone()[0]
            while left:
                # Not `execute`: it would stop after the first page.
                connection.executescript(f"PRAGMA incremental_vacuum({_VACUUM_PAGES})")
                _, log, written = connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
                before, left = left, connection.execute("PRAGMA freelist_count").fetchone()[0]
                if log != written or left >= before:
                    break  # somebody reads, and the log would grow; or the file was made without this way

    def _make_room(self) -> int:
        """Gives up what the disk can do without, and returns how large the reserve was."""
        held = self._give_up()
        # What is written back is in the log no more: that makes room, too.
        with self._borrowed() as connection, suppress(sqlite3.OperationalError):
            driver(connection).execute("PRAGMA wal_checkpoint(TRUNCATE)")
        return held

    def _give_up(self) -> int:
        """Removes the reserve, whose size it returns."""
        file = self.path.with_suffix(".reserve")
        with suppress(OSError):
            held = file.stat().st_size
            file.unlink()
            return held
        return 0

    def _check_disk(self, more: int) -> None:
        """Raises OSError where what is to come does not fit in, in the log and in the file, with something to spare.

        To find that out only when the disk is full would leave a log that can't be written back.
        """
        free = shutil.disk_usage(self.path.parent).free
        if more and free < 2 * more + _SPARE:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    @contextmanager
    def _transaction(self) -> Iterator[Connection]:
        with self._borrowed() as connection:
            driver(connection).execute("BEGIN IMMEDIATE")
            with connection.begin():
                yield connection

    @contextmanager
    def _borrowed(self) -> Iterator[Connection]:
        with self._lock:
            if self._idle.ended:
                raise StorageError(f"The library {self.path.parent.name} is closed.", "Open it again.")
            self._look()
            of = self._seen
        connection = self._idle.take(of) or self._connect(of)
        try:
            yield connection
        finally:
            self._idle.give_back(of, connection)

    def _look(self) -> None:
        """Whether the file is still the one that was opened. Raises StorageError, once, where it is not."""
        found = _identity(self.path)
        if found == self._seen:
            return
        before, self._seen = self._seen, found
        self._idle.rest()
        if before is not None:
            _log.info("the library %s was deleted or replaced while it was in use", self.path)
            raise replaced_error(library_name(self.path), "on the disk")

    def _make(self) -> None:
        """The file and its folder, readable by their owner alone, if they are not there."""
        if _identity(self.path) is None:
            with self._lock:
                self._look()  # says so where there was one
            own_folder(self.path.parent)
            os.close(os.open(self.path, os.O_RDWR | os.O_CREAT, 0o600))

    def _connect(self, of: Identity | None) -> Connection:
        """A connection to the file, brought up to date; where there is none, to an empty library in memory."""
        if of is None:
            return self._connected(":memory:")
        if not writable(self.path):
            return self._connected_read_only()
        try:
            return self._connected(self.path)
        except (sqlite3.OperationalError, DBAPIError):
            # Even reading takes a few pages of the disk, for what the connections share.
            if shutil.disk_usage(self.path.parent).free >= _SPARE or not self._give_up():
                raise
            return self._connected(self.path)

    def _connected_read_only(self) -> Connection:
        """Looking and asking go on where nothing can be written: a write fails, and says why."""
        connection = connect_read_only(self.path)
        try:
            wait_for_others(driver(connection))
            self._layout.inspect(driver(connection), self.path)
        except BaseException:
            connection.close()
            raise
        return connection

    def _connected(self, name: Path | str) -> Connection:
        connection = connect(name)
        try:
            file = driver(connection)
            wait_for_others(file)
            # Before anything that writes: a file that is not ours must stay as it is.
            if self._layout.inspect(file, self.path):
                file.execute("PRAGMA auto_vacuum = INCREMENTAL")
            write_ahead(file)
            file.execute(f"PRAGMA wal_autocheckpoint = {_LOG_PAGES}")
            file.execute(f"PRAGMA journal_size_limit = {_LOG_BYTES}")
            file.execute("PRAGMA synchronous = FULL")
            file.execute("PRAGMA foreign_keys = ON")
            file.execute("PRAGMA secure_delete = FAST")
            self._layout.prepare(connection, self.path)
        except BaseException:
            connection.close()
            raise
        return connection


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


def _identity(path: Path) -> Identity | None:
    try:
        found = path.stat()
    except FileNotFoundError:
        return None
    return found.st_dev, found.st_ino


def _placeable(folder: Path) -> None:
    """Raises OSError where no such folder could ever be made: a file stands in its place, or it may not be written."""
    while not folder.exists():
        folder = folder.parent
    if not folder.is_dir():
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(folder))
    if not os.access(folder, os.W_OK | os.X_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(folder))


def own_folder(folder: Path) -> None:
    """Makes the folder and what is missing above it, each for its owner alone."""
    if not folder.exists():
        own_folder(folder.parent)
        folder.mkdir(mode=0o700, exist_ok=True)
