"""Connections to one library.db: many readers, one writer at a time, every use a transaction."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from crag.core.errors import StorageError
from crag.library.faults import translated
from crag.library.schema import inspect, prepare

__all__ = ["Database"]

_BUSY_MS = 20_000
_IDLE = 8
"""Connections kept for reuse; more are opened while more threads read at once."""


class Database:
    """A pool of connections to one file. Thread-safe; several processes may have one each on the same file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._idle: list[sqlite3.Connection] = []
        self._lock = threading.Lock()
        self._writing = threading.Lock()
        self._closed = False
        with translated(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            connection = self._connect()
            try:
                prepare(connection, path)
            except BaseException:
                connection.close()
                raise
        self._idle.append(connection)

    @contextmanager
    def read(self) -> Iterator[sqlite3.Connection]:
        """A read transaction: all that is read in the block is of one moment."""
        with translated(self.path), self._borrowed() as connection:
            connection.execute("BEGIN")
            try:
                yield connection
            finally:
                if connection.in_transaction:  # SQLite ends it by itself after some failures
                    connection.execute("ROLLBACK")

    @contextmanager
    def write(self) -> Iterator[sqlite3.Connection]:
        """A write transaction: on disk when the block ends, or, if it raises, nothing of it happened."""
        with translated(self.path), self._writing, self._borrowed() as connection:
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield connection
                connection.execute("COMMIT")
            except BaseException:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                raise

    def reclaim(self) -> None:
        """Give the space of what was deleted back to the disk."""
        with translated(self.path), self._writing, self._borrowed() as connection:
            # Not `execute`: it would stop after the first page.
            connection.executescript("PRAGMA incremental_vacuum")

    def close(self) -> None:
        """Close what is idle now and the rest as it comes back. Closing twice does nothing."""
        with self._lock:
            self._closed = True
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()

    @contextmanager
    def _borrowed(self) -> Iterator[sqlite3.Connection]:
        with self._lock:
            if self._closed:
                raise StorageError(f"The library {self.path} is closed.", "Open it again.")
            connection = self._idle.pop() if self._idle else None
        if connection is None:
            connection = self._connect()
        try:
            yield connection
        finally:
            with self._lock:
                kept = not self._closed and len(self._idle) < _IDLE and not connection.in_transaction
                if kept:
                    self._idle.append(connection)
            if not kept:
                connection.close()

    def _connect(self) -> sqlite3.Connection:
        connection = sqlite3.connect(self.path, isolation_level=None, check_same_thread=False)
        try:
            connection.execute(f"PRAGMA busy_timeout = {_BUSY_MS}")
            # Before anything that writes: a file that is not ours must stay as it is.
            if inspect(connection, self.path):
                connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = FULL")
            connection.execute("PRAGMA foreign_keys = ON")
            connection.execute("PRAGMA secure_delete = FAST")
        except BaseException:
            connection.close()
            raise
        return connection
