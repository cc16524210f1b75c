"""Connections to SQLite through SQLAlchemy: one engine for all files, so that a statement is compiled once for all."""

from __future__ import annotations

import os
import sqlite3
import threading
import time
from functools import cache
from pathlib import Path
from typing import cast

from sqlalchemy import Connection, Engine, NullPool, create_engine

__all__ = ["Identity", "Idle", "connect", "connect_read_only", "driver", "wait_for_others", "writable", "write_ahead"]

Identity = tuple[int, int]
"""Device and number of a file: another file under the same name has another one."""
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
    """Connections that nobody uses, kept for reuse, at most four; those to a file that was replaced go. Thread-safe.

    More are opened while more threads read at once.
    """

    def __init__(self) -> None:
        self._kept: list[Connection] = []
        self._of: Identity | None = None
        self.ended = False
        self._lock = threading.Lock()

    def take(self, of: Identity | None) -> Connection | None:
        """One to this file, if there is one; None for `of` is a file that is not there, read as an empty one."""
        with self._lock:
            stale: list[Connection] = []
            if of != self._of:
                stale, self._kept, self._of = self._kept, [], of
            found = self._kept.pop() if self._kept else None
        for each in stale:
            each.close()
        return found

    def give_back(self, of: Identity | None, connection: Connection) -> None:
        """Kept, or closed: where there are enough, after `end`, and where it was left in the middle of something."""
        with self._lock:
            kept = not self.ended and of == self._of and len(self._kept) < _IDLE
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
            self.ended = True
        self.rest()


@cache
def _engine() -> Engine:
    # Parameters are texts of documents and questions: they have no place in a message or a log.
    return create_engine("sqlite://", creator=_open_file, poolclass=NullPool, hide_parameters=True)


def _open_file() -> sqlite3.Connection:
    return sqlite3.connect(_next.name, uri=_next.uri, isolation_level=None, check_same_thread=False)
