"""How much may be stored: in one library, in all of them together, and how many libraries there may be."""

from __future__ import annotations

import os
import sqlite3
import threading
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from sqlalchemy import text
from sqlalchemy.exc import SQLAlchemyError

from crag.core.errors import RoomError
from crag.storage.sqlite import connect, driver

if TYPE_CHECKING:
    from crag.storage.postgres import Server

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


_MB = 1024 * 1024
_INTERVAL_STORAGE_QUOTA = 2.0
"""Seconds for which a library's size is believed where little is added: a run, some grades."""
_SHARE_STORAGE_QUOTA = 50
"""All libraries are listed again after so many times as long as that took, if that is longer than the interval."""


Library = Path | str
"""What tells a library from others where it lies: its folder, or its schema."""


def unlimited(more: int, *, makes: bool) -> None:
    """A library may grow as it likes."""


class StorageRoot(Protocol):
    """Where libraries lie, and how large they are."""

    def sizes(self) -> dict[Any, int]:
        """Bytes of each."""
        ...

    def size(self, library: Any) -> int:
        """Bytes of one; 0 where it is not there."""
        ...

    def holds(self, library: Any) -> bool:
        """Whether it counts among all that are here."""
        ...


class Folders:
    """The libraries below `root`, each in a folder of its own."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def sizes(self) -> dict[Path, int]:
        return {each: bytes_of(each) for each in _folders(self._root)}

    def size(self, library: Path) -> int:
        return bytes_of(library)

    def holds(self, library: Path) -> bool:
        return library.parent == self._root


@dataclass(kw_only=True)
class StorageQuota:
    """The limits for the libraries of a shelf. 0 stands for no limit. Thread-safe."""

    shelf: StorageRoot
    library_mb: int = 0
    all_mb: int = 0
    libraries: int = 0
    changed: Callable[[Library], tuple[float, float]] | None = None
    """Megabytes that a library and all of them may take, where that can change while the program runs."""
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)
    _sizes: dict[Library, int] = field(default_factory=dict, repr=False)
    """Bytes of each library, as it was looked at last."""
    _looked: dict[Library, float] = field(default_factory=dict, repr=False)
    """When each of them was looked at."""
    _total: int = field(default=0, repr=False)
    _next: float = field(default=0.0, repr=False)
    """When all are looked at again, on the clock of `time.monotonic`."""

    def check(self, library: Library, more: int = 0, *, makes: bool = False) -> None:
        """Whether `library` may take `more` bytes. Raises RoomError, which says which limit is reached.

        `makes`: the library is not there yet.
        """
        most, all_most = self.changed(library) if self.changed else (self.library_mb, self.all_mb)
        own, total, count = self._found(library, recount=more > 0, recount_all=makes)
        over, all_over = 0 < most * _MB < own + more, 0 < all_most * _MB < total + more
        if over or all_over:  # something may have been deleted since it was looked
            own, total, count = self._found(library, recount=True, recount_all=all_over)
            over, all_over = 0 < most * _MB < own + more, 0 < all_most * _MB < total + more
        if over:
            raise RoomError(
                f"This library may hold {most:,.0f} MB, and has {own / _MB:,.0f}"
                + (f"; {more / _MB:,.0f} more would be too much." if more > _MB else "."),
                "Delete what is no longer needed, or ask your administrator to raise CRAG_LIBRARY_MB.",
            )
        if all_over:
            raise RoomError(
                f"All libraries here together may hold {all_most:,.0f} MB, and no more fits in.",
                "Ask your administrator to make room, or to raise CRAG_ALL_MB.",
            )
        if makes and self.libraries and count >= self.libraries:
            raise RoomError(
                f"There are {count:,} libraries here, and there may be no more than {self.libraries:,}.",
                "Ask your administrator to remove old ones, or to raise CRAG_LIBRARIES.",
            )

    def taken(self, library: Library) -> tuple[float, float]:
        """Megabytes that a library takes, and all of them, as they were looked at last."""
        own, total, _ = self._found(library, recount=False, recount_all=False)
        return own / _MB, total / _MB

    def _found(self, library: Library, *, recount: bool, recount_all: bool) -> tuple[int, int, int]:
        """Bytes of this library and of all, and how many there are: looked at where asked for, else at intervals.

        What is added to this library is in the sum of all as soon as it is looked at.
        """
        with self._lock:
            now = time.monotonic()
            if recount_all or now >= self._next:
                self._sizes = self.shelf.sizes()
                done = time.monotonic()
                self._looked, self._total = dict.fromkeys(self._sizes, done), sum(self._sizes.values())
                self._next = done + max(_INTERVAL_STORAGE_QUOTA, _SHARE_STORAGE_QUOTA * (done - now))
            own = self._sizes.get(library, 0)
            if recount or now >= self._looked.get(library, 0.0) + _INTERVAL_STORAGE_QUOTA:
                before, own = own, self.shelf.size(library)
                if own and self.shelf.holds(library):
                    self._sizes[library], self._looked[library] = own, now
                    self._total += own - before
            return own, self._total, len(self._sizes)


def bytes_of(folder: Path) -> int:
    """The bytes of all files in a folder; none where it is not there. What vanishes meanwhile counts as nothing.

    The database's log is left out: it shrinks with the next write.
    """
    total = 0
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                if entry.name.endswith(("-wal", "-shm")):
                    continue
                try:
                    inside = entry.is_dir(follow_symlinks=False)
                    total += bytes_of(Path(entry.path)) if inside else entry.stat(follow_symlinks=False).st_size
                except OSError:
                    continue
    except OSError:
        return 0
    return total


def _folders(root: Path) -> list[Path]:
    try:
        with os.scandir(root) as entries:
            return [Path(entry.path) for entry in entries if entry.is_dir(follow_symlinks=False)]
    except OSError:
        return []
