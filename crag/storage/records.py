"""What holds the records of one library, in a file or on a server: the protocol that all its parts are written to."""

from __future__ import annotations

import os
import secrets
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from sqlalchemy import Connection

from crag.core.errors import StorageError
from crag.storage.database import own_folder
from crag.storage.sqlite import translate_errors

if TYPE_CHECKING:
    from crag.storage.postgres import Server


class Records(Protocol):
    """Many readers, one writer at a time, every use a transaction. Thread-safe, across processes too.

    What was never written to reads as an empty library, and is nowhere. What is deleted or replaced from outside while
    it is in use is reported once, by StorageError; what comes after works with what is there then.
    """

    @property
    def exists(self) -> bool:
        """Whether anything was ever stored."""
        ...

    def read(self) -> AbstractContextManager[Connection]:
        """A read transaction: all that is read in the block is of one moment."""
        ...

    def write(self, more: int = 0, *, grows: bool = True) -> AbstractContextManager[Connection]:
        """A write transaction: lasting when the block ends, or, if it raises, nothing of it happened.

        `more`: about how many bytes it adds. Raises RoomError where no more may be stored, unless it never `grows`.
        """
        ...

    def free(self, work: Callable[[Connection], object]) -> None:
        """A write transaction that only removes, and the space of what it removed given back.

        Where there is no room for it, `work` may be done twice.
        """
        ...

    def reserve(self, size: int) -> None:
        """Keep so many bytes of room, so that something can be deleted where there is none left."""
        ...

    def alone(self, stop: threading.Event) -> AbstractContextManager[bool]:
        """The right to change the chunk index, which one at a time has among all processes; a killed one loses it.

        Waits for it, until `stop`: then False. Raises IndexUnavailableError where nobody can have it.
        """
        ...

    def rest(self) -> None:
        """Keep nothing open until the next use."""
        ...

    def close(self) -> None:
        """Close what is idle now and the rest as it comes back. Closing twice does nothing."""
        ...

    def damaged(self, detail: str) -> StorageError:
        """What is said where the parts of the library don't fit each other."""
        ...


def server_at(url: str) -> Server | None:
    """The server of a database that holds libraries; None where there is no address. Raises InputError."""
    if not url:
        return None
    from crag.storage.postgres import Server  # only who has one needs it

    return Server(url)


SIGNED_WITH = "keys.secret"
"""What the keys of private libraries are signed with."""
CHOSEN = "settings.json"
"""The choices of the Settings page."""
IN_USE = "people.json"
"""What the app that runs goes by for people: see `crag.admin.people`."""


class KeyValueStore:
    """Values by name. Thread-safe; several processes may share them. Every method raises StorageError."""

    def __init__(self, data: Path, server: Server | None = None) -> None:
        self._data, self._server = data, server

    def read(self, name: str) -> bytes | None:
        """What is kept under a name; None where nothing is."""
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

    def first(self, name: str, value: bytes) -> bytes:
        """Keep a value where there is none, and return what is kept: the first value counts for all."""
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
        draft = self._data / f"{name}.{secrets.token_hex(4)}"
        handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            with os.fdopen(handle, "wb") as opened:
                opened.write(value)
        except BaseException:
            draft.unlink()
            raise
        return draft
