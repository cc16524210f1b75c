"""What libraries hold: documents and bytes of each and of all together, counted at intervals."""

from __future__ import annotations

import os
import sqlite3
import threading
import time
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from sqlalchemy import func, select
from sqlalchemy.exc import SQLAlchemyError

from crag.core.errors import StorageError
from crag.storage.sqlite import connect_read_only
from crag.storage.tables import documents

__all__ = ["FolderRoot", "StorageRoot", "StorageUse", "Stored", "bytes_of"]

_INTERVAL = 2.0
"""Seconds for which a count is used where little is added: a run, some grades."""
_SHARE = 50
"""All libraries are counted again after so many times as long as that took, if that is longer than the interval."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stored:
    """Documents, and bytes with the indexes, of one library or of several."""

    documents: int = 0
    bytes: int = 0


class StorageRoot(Protocol):
    """Where libraries lie. Every method raises StorageError."""

    def key(self, workspace: str) -> str:
        """What names a workspace's library there."""
        ...

    def stored(self) -> dict[str, Stored]:
        """What each library holds, by its key."""
        ...

    def stored_in(self, key: str) -> Stored:
        """What one library holds; nothing where it is not there."""
        ...


class FolderRoot:
    """The libraries below `root`, each in a folder of its own."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._counts: dict[Path, tuple[tuple[int, ...], int]] = {}
        """The documents of each library, and how its files were when they were counted."""

    def key(self, workspace: str) -> str:
        return workspace

    def stored(self) -> dict[str, Stored]:
        try:
            with os.scandir(self._root) as entries:
                found = {each.name for each in entries if each.is_dir(follow_symlinks=False)}
        except OSError:
            return {}
        self._counts = {file: count for file, count in self._counts.items() if file.parent.name in found}
        return {name: self.stored_in(name) for name in found}

    def stored_in(self, key: str) -> Stored:
        folder = self._root / key
        return Stored(documents=self._documents(folder / "library.db"), bytes=bytes_of(folder))

    def _documents(self, file: Path) -> int:
        """The documents of one library; 0 where it can't be read."""
        try:
            found = [each.stat() for each in (file, file.with_name(f"{file.name}-wal")) if each.exists()]
            state = tuple(number for each in found for number in (each.st_ino, each.st_size, each.st_mtime_ns))
            before, count = self._counts.get(file, ((), 0))
            if state != before:
                with closing(connect_read_only(file)) as connection:
                    count = connection.scalar(select(func.count()).select_from(documents)) or 0
                self._counts[file] = state, count
            return count
        except (sqlite3.Error, SQLAlchemyError, OSError):
            return 0


class StorageUse:
    """What the libraries of a root hold, as they were counted last. Thread-safe."""

    def __init__(self, root: StorageRoot) -> None:
        self._root = root
        self._lock = threading.Lock()
        self._each: dict[str, Stored] = {}
        self._counted: dict[str, float] = {}
        """When each library was counted, on the clock of `time.monotonic`."""
        self._next = 0.0
        """When all are counted again."""

    def of(self, workspace: str, *, fresh: bool = False, fresh_total: bool = False) -> tuple[Stored, Stored, int]:
        """What one library holds, what all hold together, and how many libraries there are. Raises StorageError.

        `fresh` counts this one now, `fresh_total` all of them. What this one gained is in the sum of all at once.
        """
        key = self._root.key(workspace)
        with self._lock:
            now = time.monotonic()
            if fresh_total or now >= self._next:
                self._count_all()
            own = self._each.get(key, Stored())
            if workspace and (fresh or now >= self._counted.get(key, 0.0) + _INTERVAL):
                own = self._root.stored_in(key)
                self._counted[key] = now
                self._each.pop(key, None)
                if own.bytes:
                    self._each[key] = own
            documents = sum(each.documents for each in self._each.values())
            total = Stored(documents=documents, bytes=sum(each.bytes for each in self._each.values()))
            return own, total, len(self._each)

    def total(self) -> tuple[Stored, int]:
        """What all libraries hold together, and how many there are. Raises StorageError."""
        _, total, count = self.of("")
        return total, count

    def _count_all(self) -> None:
        began = time.monotonic()
        try:
            self._each = self._root.stored()
        except StorageError:
            if not self._next:
                raise
        done = time.monotonic()
        self._counted = dict.fromkeys(self._each, done)
        self._next = done + max(_INTERVAL, _SHARE * (done - began))


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
