"""Connections to one file of SQLite: many readers, one writer at a time, every use a transaction."""

from __future__ import annotations

import errno
import os
import shutil
import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path

from filelock import FileLock, Timeout
from sqlalchemy import Connection
from sqlalchemy.exc import DBAPIError

from crag.core.errors import IndexUnavailableError, StorageError
from crag.storage.records import Records
from crag.storage.sqlite import (
    Idle,
    Layout,
    connect,
    connect_read_only,
    damaged_error,
    driver,
    full,
    library_name,
    own_folder,
    read_transaction,
    translate_errors,
    wait_for_others,
    writable,
    write_ahead,
)
from crag.storage.tables import LIBRARY

_TURN_SECONDS = 0.05
"""Between two tries to be the one that changes the index."""
_VACUUM_PAGES = 1024
"""Freed pages given back to the disk in one step: a step needs at most as much room while it works."""
_LOG_PAGES = 256
"""Pages of the write-ahead log after which it is written back: a mebibyte."""
_LOG_BYTES = 4 * 1024 * 1024
"""What the log may keep on the disk after it was written back."""
_SPARE = 1024 * 1024
"""Bytes of the disk that a document leaves free."""


class Database(Records):
    """A pool of connections to one file. Several processes may have one each on the same file.

    The file is created by the first write. Until then it reads as an empty library, and there is nothing on the disk.
    """

    def __init__(self, path: Path, may_grow: Callable[..., None] | None = None, layout: Layout = LIBRARY) -> None:
        super().__init__(library_name(path), "on the disk", layout, may_grow)
        self.path = path
        self._idle = Idle()

    def check(self) -> None:
        """Raises StorageError where the file, or a folder for it, can't be used."""
        with translate_errors(self.path):
            if not self.exists:
                _placeable(self.path.parent)
                return
            with self._borrowed():
                pass

    @property
    def exists(self) -> bool:
        return self.path.exists()

    def damaged(self, detail: str) -> StorageError:
        return damaged_error(self.path, detail)

    def _translated(self) -> AbstractContextManager[None]:
        return translate_errors(self.path)

    @contextmanager
    def _reading(self) -> Iterator[Connection | None]:
        with self._lock:
            exists = self._look()
        if not exists:
            yield None
            return
        with self._borrowed() as connection, read_transaction(connection):
            yield connection

    @contextmanager
    def _changing(self, more: int, *, synced: bool) -> Iterator[Connection]:
        if not self.exists:
            with self._lock:
                self._look()  # says so where there was one
            own_folder(self.path.parent)
            os.close(os.open(self.path, os.O_RDWR | os.O_CREAT, 0o600))
        self._check_disk(more)
        with self._transaction(synced=synced) as connection:
            yield connection

    def _free(self, work: Callable[[Connection], object]) -> bool:
        """It works on a full disk too: the reserve makes room for it, and `work` is done again."""
        if not self.exists:
            return False
        held = 0
        try:
            with self._transaction() as connection:
                work(connection)
        except (sqlite3.OperationalError, DBAPIError) as error:
            if not full(error):
                raise
            held = self._give_up()
            # What is written back is in the log no more: that makes room, too.
            with self._borrowed() as connection, suppress(sqlite3.OperationalError):
                driver(connection).execute("PRAGMA wal_checkpoint(TRUNCATE)")
            with self._transaction() as connection:
                work(connection)
        self._reclaim()
        if held:
            self.reserve(held)
        return True

    def reserve(self, size: int) -> None:
        """Keep `size` bytes of the disk, so that something can be deleted when it is full; more, if more are kept.

        Nothing happens where there is no room: then there was none to keep.
        """
        file = self.path.with_suffix(".reserve")
        try:
            if file.exists() and file.stat().st_size >= size:
                return
            with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT, 0o600), "wb") as opened:
                opened.write(bytes(size))
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
        self._idle.rest()

    def close(self) -> None:
        self._closed = True
        self._idle.end()

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
    def _transaction(self, *, synced: bool = True) -> Iterator[Connection]:
        with self._borrowed() as connection:
            file = driver(connection)
            # NORMAL: the log is not synced by itself, but by the next transaction that is.
            file.execute(f"PRAGMA synchronous = {'FULL' if synced else 'NORMAL'}")
            file.execute("BEGIN IMMEDIATE")
            with connection.begin():
                yield connection

    @contextmanager
    def _borrowed(self) -> Iterator[Connection]:
        with self._lock:
            self._check_open()
            if not self._look():
                raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))
            idle = self._idle
        connection = idle.take() or self._connect()
        try:
            yield connection
        finally:
            idle.give_back(connection)

    def _look(self) -> bool:
        """Whether there is a file. Raises StorageError, once, where it is not the one that was opened."""
        try:
            found = self.path.stat()
            identity = found.st_dev, found.st_ino
        except FileNotFoundError:
            identity = None
        if identity != self._seen:
            self._idle.end()
            self._idle = Idle()
            self._follow(identity)
        return identity is not None

    def _connect(self) -> Connection:
        """A connection to the file, which is brought up to date."""
        if not writable(self.path):
            return self._connected_read_only()
        try:
            return self._connected()
        except (sqlite3.OperationalError, DBAPIError):
            # Even reading takes a few pages of the disk, for what the connections share.
            if shutil.disk_usage(self.path.parent).free >= _SPARE or not self._give_up():
                raise
            return self._connected()

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

    def _connected(self) -> Connection:
        connection = connect(self.path)
        try:
            file = driver(connection)
            wait_for_others(file)
            # Before anything that writes: a file that is not ours must stay as it is.
            if self._layout.inspect(file, self.path):
                file.execute("PRAGMA auto_vacuum = INCREMENTAL")
            write_ahead(file)
            file.execute(f"PRAGMA wal_autocheckpoint = {_LOG_PAGES}")
            file.execute(f"PRAGMA journal_size_limit = {_LOG_BYTES}")
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


def _placeable(folder: Path) -> None:
    """Raises OSError where no such folder could ever be made: a file stands in its place, or it may not be written."""
    while not folder.exists():
        folder = folder.parent
    if not folder.is_dir():
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(folder))
    if not os.access(folder, os.W_OK | os.X_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(folder))
