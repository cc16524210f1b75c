"""Whether a process can still serve, and is ready to: files to open, records, room on the disk, index, models."""

from __future__ import annotations

import os
import shutil
import socket
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from crag.core.errors import StorageError

if TYPE_CHECKING:
    from crag.core.config import AppConfig
    from crag.storage.postgres import Server

SPARE_FILES = 32
"""About how many a page, its library and its models open at once."""

SPARE_MB = 16
"""An index is written again before the old one goes."""

_KEPT = 1.0
"""Seconds that an answer is kept, so that asking often costs nothing."""
_PATIENCE = 1.0
"""Seconds in which a server of indexes must take a connection."""


class Health:
    """Looks at most once a second; writes nothing. A `server` of libraries is asked in place of the folder.

    `index` is the address of a Milvus server, empty where the index lies in files.
    """

    def __init__(
        self,
        data: Path,
        kept: float = _KEPT,
        free: Callable[[Path], int] | None = None,
        server: Server | None = None,
        index: str = "",
    ) -> None:
        self._data, self._kept, self._server, self._index = data, kept, server, index
        self._free = free or (lambda folder: shutil.disk_usage(folder).free)
        self._found: tuple[str, ...] = ()
        self._until = 0.0

    @classmethod
    def of(cls, config: AppConfig, server: Server | None) -> Health:
        """By what the process is given."""
        storage = config.storage
        far = storage.milvus_uri if storage.index == "milvus" and "://" in storage.milvus_uri else ""
        return cls(storage.data, server=server, index=far)

    def failing(self) -> bool:
        """Whether too many files are open, which only a new start cures."""
        return not _files_to_spare()

    def lacking(self, *, models: bool, closing: bool = False) -> tuple[str, ...]:
        """The names of what is not ready: closing, models, files, records, disk, index. None: it can be asked.

        `models`: they are loaded. `closing`: the process is about to end.
        """
        own = [name for name, so in (("closing", closing), ("models", not models)) if so]
        return (*own, *self._looked())

    def free_bytes(self) -> int | None:
        """Bytes that are free where libraries lie; None where that is a server's, or can't be known."""
        folder = self._folder()
        if self._server is not None or folder is None:
            return None
        try:
            return self._free(folder)
        except OSError:
            return None

    def _looked(self) -> tuple[str, ...]:
        if time.monotonic() >= self._until:
            files, index = ["files"] * self.failing(), ["index"] * (not self._index_answers())
            self._found = (*files, *self._stored(), *index)
            self._until = time.monotonic() + self._kept
        return self._found

    def _stored(self) -> tuple[str, ...]:
        if self._server is not None:
            try:
                self._server.reach()
            except StorageError:
                return ("records",)
            return ()
        folder, free = self._folder(), self.free_bytes()
        if free is None or folder is None or not folder.is_dir() or not os.access(folder, os.W_OK | os.X_OK):
            return ("records",)
        return () if free >= SPARE_MB * 2**20 else ("disk",)

    def _folder(self) -> Path | None:
        return next((each for each in (self._data, *self._data.absolute().parents) if each.exists()), None)

    def _index_answers(self) -> bool:
        if not self._index:
            return True
        try:
            parts = urlsplit(self._index)
            port = parts.port or (443 if parts.scheme == "https" else 19530)
            socket.create_connection((parts.hostname or "", port), _PATIENCE).close()
        except (OSError, ValueError):
            return False
        return True


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
