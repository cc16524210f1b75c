"""How many libraries there are, what they hold and take: counted at times, for who watches over the program."""

from __future__ import annotations

import sqlite3
import threading
import time
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from sqlalchemy import text
from sqlalchemy.exc import SQLAlchemyError

from crag.storage.sqlite import connect, driver
from crag.storage.storage_quota import Folders

if TYPE_CHECKING:
    from crag.storage.postgres import Server

__all__ = ["Census", "Counted"]

_INTERVAL = 60.0
"""Seconds for which a count is believed."""
_SHARE = 100
"""It is counted again after so many times as long as that took, if that is longer."""

_HOLDING = text(
    "SELECT n.nspname FROM pg_namespace n JOIN pg_class c ON c.relnamespace = n.oid"
    " WHERE n.nspname ~ '^[wh]_' AND c.relname = 'documents' AND c.relkind = 'r'"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Counted:
    """Libraries, their documents, and the bytes of all, indexes included."""

    libraries: int
    documents: int
    bytes: int


class Census:
    """Counts the libraries below `root`, or those of a `server`. Thread-safe; one at a time counts."""

    def __init__(self, root: Path, server: Server | None = None) -> None:
        self._root, self._server = root, server
        self._lock = threading.Lock()
        self._last: Counted | None = None
        self._next = 0.0

    def counted(self) -> Counted:
        """As it was counted last, at most a minute ago, or a hundred times as long as counting takes.

        Raises StorageError where a server does not answer.
        """
        with self._lock:
            began = time.monotonic()
            if self._last is None or began >= self._next:
                self._last = self._count()
                done = time.monotonic()
                self._next = done + max(_INTERVAL, _SHARE * (done - began))
            return self._last

    def _count(self) -> Counted:
        if self._server is not None:
            sizes = self._server.sizes()
            return Counted(libraries=len(sizes), documents=_on(self._server), bytes=sum(sizes.values()))
        folders = Folders(self._root).sizes()
        documents = sum(map(_documents, folders))
        return Counted(libraries=len(folders), documents=documents, bytes=sum(folders.values()))


def _documents(folder: Path) -> int:
    """Documents of one library; 0 where it can't be read."""
    file = folder / "library.db"
    if not file.is_file():
        return 0
    try:
        with closing(connect(f"{file.absolute().as_uri()}?mode=ro", uri=True)) as connection:
            return int(driver(connection).execute("SELECT count(*) FROM documents").fetchone()[0])
    except (sqlite3.Error, SQLAlchemyError, OSError):
        return 0


def _on(server: Server) -> int:
    """Documents of all libraries of a server. One that vanishes meanwhile raises StorageError, and is not asked for
    the next time.
    """
    with server.translated(), server.reading() as connection:
        counts = [f'SELECT count(*) AS n FROM "{schema}".documents' for (schema,) in connection.execute(_HOLDING)]
        if not counts:
            return 0
        return int(connection.execute(text(f"SELECT sum(n) FROM ({' UNION ALL '.join(counts)}) AS each")).scalar_one())
