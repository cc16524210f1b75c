"""Whether the process can still serve: files to be opened, and a data folder with room on its disk, or a database."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from crag.core.errors import StorageError

if TYPE_CHECKING:
    from crag.library.postgres import Server

SPARE_FILES = 32
"""A page, its library and its models open about so many at once."""

SPARE_MB = 16
"""An index is written anew before the old one goes."""

_KEPT = 1.0
"""Seconds that an answer is kept, so that asking often costs nothing."""


class Health:
    """Looks at most once a second; writes nothing. A `server` of libraries is asked in place of the folder."""

    def __init__(
        self,
        data: Path,
        kept: float = _KEPT,
        free: Callable[[Path], int] | None = None,
        server: Server | None = None,
    ) -> None:
        self._data, self._kept, self._server = data, kept, server
        self._free = free or (lambda folder: shutil.disk_usage(folder).free)
        self._said, self._until = "", 0.0

    def problem(self) -> str:
        """What is the matter, in a line that names no place of this machine; "" where nothing is."""
        if time.monotonic() >= self._until:
            self._said = self._look()
            self._until = time.monotonic() + self._kept
        return self._said

    def _look(self) -> str:
        if not _files_to_spare():
            return "Too many open files: the next page or question would fail."
        if self._server is not None:
            try:
                self._server.reach()
            except StorageError:
                return "The database can't be reached."
            return ""
        folder = next((each for each in (self._data, *self._data.absolute().parents) if each.exists()), None)
        if folder is None or not folder.is_dir() or not os.access(folder, os.W_OK | os.X_OK):
            return "The data folder can't be written."
        try:
            free = self._free(folder)
        except OSError:
            return "The data folder can't be read."
        return "" if free >= SPARE_MB * 2**20 else "The disk of the data folder is full."


def _files_to_spare() -> bool:
    held: list[int] = []
    try:
        held.append(os.open(os.devnull, os.O_RDONLY))
        held.extend(os.dup(held[0]) for _ in range(SPARE_FILES - 1))
    except OSError:
        return False
    finally:
        for each in held:
            os.close(each)
    return True
