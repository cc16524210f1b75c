"""What holds the records of one library, in a file or on a server: the protocol that all its parts are written to."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Protocol

from sqlalchemy import Connection

from crag.core.errors import StorageError

if TYPE_CHECKING:
    from crag.storage.postgres import Server


class Records(Protocol):
    """Many readers, one writer at a time, every use a transaction. Thread-safe, across processes too.

    What was never written to reads as an empty library, and is nowhere. What is deleted or replaced from outside while
    it is in use is told once, by StorageError; what comes after works with what is there then.
    """

    @property
    def made(self) -> bool:
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
