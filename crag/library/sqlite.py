"""Connections to SQLite through SQLAlchemy: one engine for all files, so that a statement is compiled once for all."""

from __future__ import annotations

import sqlite3
import threading
from functools import cache
from pathlib import Path
from typing import cast

from sqlalchemy import Connection, Engine, NullPool, create_engine

_next = threading.local()
"""What the thread is about to open: an engine's `creator` is given nothing."""


def connect(name: Path | str, *, uri: bool = False) -> Connection:
    """A connection to a file, or to ":memory:". Who uses it says BEGIN to its driver: nothing else does."""
    _next.name, _next.uri = name, uri
    return _engine().connect()


def driver(connection: Connection) -> sqlite3.Connection:
    """SQLite's own connection, for what is SQLite's alone: pragmas, transactions, bytes piece by piece."""
    return cast(sqlite3.Connection, connection.connection.driver_connection)


@cache
def _engine() -> Engine:
    # Parameters are texts of documents and questions: they have no place in a message or a log.
    return create_engine("sqlite://", creator=_opened, poolclass=NullPool, hide_parameters=True)


def _opened() -> sqlite3.Connection:
    return sqlite3.connect(_next.name, uri=_next.uri, isolation_level=None, check_same_thread=False)
