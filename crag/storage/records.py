"""The records of one library, in a file or on a server, and the values that belong to no library."""

from __future__ import annotations

import logging
import os
import secrets
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from sqlalchemy import Connection

from crag.core.errors import StorageError
from crag.index.stamp import sync
from crag.storage.sqlite import Layout, own_folder, translate_errors

if TYPE_CHECKING:
    from crag.storage.postgres import Server


_log = logging.getLogger(__name__)
_OPEN_AGAIN = (
    "It goes on with what is there now, which may be nothing: add the documents again, or put a backup in its place."
)


class Records(ABC):
    """Many readers, one writer at a time, every use a transaction. Thread-safe, across processes too.

    What was never written to reads as an empty library, and is nowhere. What is deleted or replaced from outside while
    it is in use is reported once, by StorageError; after that the library works with what is there then.
    """

    def __init__(self, name: str, where: str, layout: Layout, may_grow: Callable[..., None] | None) -> None:
        """`name` is the library's in messages, `where` says where it is stored.

        `may_grow(more, makes=…)` is asked before every write that may add, with the bytes that are to come where that
        is known, and whether the library would be created; it raises RoomError where that is too much.
        """
        self.name, self._where, self._layout, self._may_grow = name, where, layout, may_grow
        self._lock, self._writing = threading.Lock(), threading.Lock()
        self._closed = False
        self._seen: Hashable = None
        """What identifies the tables that were used last; None: none were there."""

    @property
    @abstractmethod
    def exists(self) -> bool:
        """Whether anything was ever stored."""

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """A read transaction: all that is read in the block is of one moment."""
        self._check_open()
        with self._translated(), self._reading() as connection:
            if connection is not None:
                yield connection
                return
            with self._layout.empty() as empty:
                yield empty

    @contextmanager
    def write(self, more: int = 0, *, grows: bool = True, synced: bool = True) -> Iterator[Connection]:
        """A write transaction: lasting when the block ends, or, if it raises, nothing of it happened.

        `more`: about how many bytes it adds. Raises RoomError where no more may be stored, unless it never `grows`.
        What is not `synced` outlives the program, but maybe not a power cut: caches, and notes of what is under way.
        """
        self._check_open()
        with self._translated(), self._writing:
            makes = not self.exists
            if self._may_grow is not None and (grows or makes):
                self._may_grow(more, makes=makes)
            with self._changing(more, synced=synced) as connection:
                yield connection

    def free(self, work: Callable[[Connection], object]) -> None:
        """A write transaction that only removes, and the space of what it removed given back.

        Where there is no room for it, `work` may be done twice.
        """
        self._check_open()
        with self._translated(), self._writing:
            if not self._free(work):
                with self._layout.empty() as empty:
                    work(empty)  # there is nothing to remove, which the work itself finds and says

    @abstractmethod
    def _translated(self) -> AbstractContextManager[None]:
        """Errors of the database in the block become StorageError."""

    @abstractmethod
    def _reading(self) -> AbstractContextManager[Connection | None]:
        """A read transaction; None where nothing is stored."""

    @abstractmethod
    def _changing(self, more: int, *, synced: bool) -> AbstractContextManager[Connection]:
        """A write transaction; creates the tables where there are none."""

    @abstractmethod
    def _free(self, work: Callable[[Connection], object]) -> bool:
        """Does `free`; False where nothing is stored."""

    def reserve(self, size: int) -> None:  # noqa: B027 - a server's administrator sees to its disk
        """Keep `size` bytes of room, so that something can be deleted where there is none left."""

    @abstractmethod
    def alone(self, stop: threading.Event) -> AbstractContextManager[bool]:
        """The right to change the chunk index, which one at a time has among all processes; a killed one loses it.

        Waits for it, until `stop`: then False. Raises IndexUnavailableError where nobody can have it.
        """

    def rest(self) -> None:  # noqa: B027 - connections to a server belong to the server
        """Keep nothing open until the next use."""

    @abstractmethod
    def damaged(self, detail: str) -> StorageError:
        """The error where the parts of the library don't fit each other."""

    def close(self) -> None:
        """Close what is idle now and the rest as it comes back. Closing twice does nothing."""
        self._closed = True
        self.rest()

    def _check_open(self) -> None:
        if self._closed:
            raise StorageError(f"The library {self.name} is closed.", "Open it again.")

    def _follow(self, found: Hashable) -> None:
        """Take what is there now as the library. Raises StorageError, once, where another one was there before."""
        before, self._seen = self._seen, found
        if before not in (None, found):
            _log.info("the library %s was deleted or replaced while it was in use", self.name)
            raise StorageError(
                f"The library {self.name} was deleted or replaced {self._where} while it was in use.", _OPEN_AGAIN
            )


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
            sync(self._data)

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
                opened.flush()
                os.fsync(opened.fileno())
        except BaseException:
            draft.unlink()
            raise
        return draft
