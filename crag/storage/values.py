"""Values that belong to no library: what private keys are signed with, the choices of Settings, and the like."""

from __future__ import annotations

import os
import tempfile
from contextlib import suppress
from pathlib import Path

from crag.index.stamp import sync
from crag.storage.files import own_folder
from crag.storage.postgres import Server
from crag.storage.sqlite import translate_errors

SIGNED_WITH = "keys.secret"
"""What the keys of private libraries are signed with."""
CHOSEN = "settings.json"
"""The choices of the Settings page."""
IN_USE = "people.json"
"""What the app that runs goes by for people: see `crag.admin.people`."""


class KeyValueStore:
    """Values by name, in a folder or on a server. Thread-safe; several processes may share them.

    Every method raises StorageError.
    """

    def __init__(self, data: Path, server: Server | None = None) -> None:
        self._data, self._server = data, server

    def read(self, name: str) -> bytes | None:
        """The value under a name; None where there is none."""
        if self._server is not None:
            return self._server.kept(name)
        with translate_errors(self._data / name), suppress(FileNotFoundError):
            return (self._data / name).read_bytes()
        return None

    def put(self, name: str, value: bytes) -> None:
        """Keep a value, in place of an earlier one."""
        if self._server is not None:
            self._server.keep(name, value, replace=True)
            return
        with translate_errors(self._data / name):
            self._draft(name, value).replace(self._data / name)
            sync(self._data)

    def first(self, name: str, value: bytes) -> bytes:
        """Keep a value where there is none; the value that is kept then: the first one counts for all."""
        found = self.read(name)
        if found is not None:
            return found
        if self._server is not None:
            return self._server.keep(name, value, replace=False)
        with translate_errors(self._data / name):
            draft = self._draft(name, value)
            try:
                with suppress(FileExistsError):  # another process was first
                    os.link(draft, self._data / name)
            finally:
                draft.unlink()
            return (self._data / name).read_bytes()

    def _draft(self, name: str, value: bytes) -> Path:
        """A file of the value, whole and for its owner alone, that is to take the name."""
        own_folder(self._data)
        with tempfile.NamedTemporaryFile(dir=self._data, prefix=f"{name}.", delete=False) as draft:
            try:
                draft.write(value)
                draft.flush()
                os.fsync(draft.fileno())
            except BaseException:
                os.unlink(draft.name)
                raise
        return Path(draft.name)
