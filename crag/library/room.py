"""How much may be stored: in one library, in all of them together, and how many libraries there may be."""

from __future__ import annotations

import os
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

from crag.core.errors import RoomError

__all__ = ["Room", "bytes_of"]

_MB = 1024 * 1024
_FRESH = 2.0
"""Seconds for which the size of all libraries is believed where little is added: a run, some grades."""


@dataclass(kw_only=True)
class Room:
    """The limits for the libraries below `root`, each in a folder of its own. 0 stands for no limit. Thread-safe."""

    root: Path
    library_mb: int = 0
    all_mb: int = 0
    libraries: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)
    _known: tuple[float, int, int] = field(default=(-_FRESH, 0, 0), repr=False)
    """When it was looked, and what was found: bytes in all, and how many libraries."""

    def check(self, folder: Path, more: int = 0, *, makes: bool = False) -> None:
        """Whether the library in `folder` may take `more` bytes. Raises RoomError, which says which limit is reached.

        `makes`: the library is not there yet.
        """
        own = bytes_of(folder)
        if self.library_mb and own + more > self.library_mb * _MB:
            raise RoomError(
                f"This library may hold {self.library_mb:,} MB, and has {own / _MB:,.0f}"
                + (f"; {more / _MB:,.0f} more would be too much." if more > _MB else "."),
                "Delete what is no longer needed, or ask who runs this program to raise CRAG_LIBRARY_MB.",
            )
        total, count = self._all(anew=more > 0 or makes)
        if self.all_mb and total + more > self.all_mb * _MB:
            raise RoomError(
                f"All libraries here together may hold {self.all_mb:,} MB, and no more fits in.",
                "Ask who runs this program to make room, or to raise CRAG_ALL_MB.",
            )
        if makes and self.libraries and count >= self.libraries:
            raise RoomError(
                f"There are {count:,} libraries here, and there may be no more than {self.libraries:,}.",
                "Ask who runs this program to remove old ones, or to raise CRAG_LIBRARIES.",
            )

    def _all(self, *, anew: bool) -> tuple[int, int]:
        """Bytes of all libraries, and how many there are."""
        with self._lock:
            at, total, count = self._known
            if anew or time.monotonic() - at >= _FRESH:
                folders = _folders(self.root)
                total, count = sum(bytes_of(each) for each in folders), len(folders)
                self._known = (time.monotonic(), total, count)
            return total, count


def bytes_of(folder: Path) -> int:
    """The bytes of the files in a folder; none where it is not there. What vanishes meanwhile counts as nothing.

    The database's log is left out: it shrinks with the next write.
    """
    total = 0
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                if entry.name.endswith(("-wal", "-shm")):
                    continue
                try:
                    total += entry.stat(follow_symlinks=False).st_size
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
