"""The one place where errors of SQLite and of the disk become ours, each with its cure."""

from __future__ import annotations

import errno
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from crag.core.errors import StorageError

__all__ = ["damaged", "translated"]

_FREE = "Free some disk space, then try again; everything already stored is intact."
_WRITABLE = "Make the folder and the files in it writable, or set CRAG_DATA to another folder."
_BUSY = "Wait for the other program to finish with this library, then try again."
_DAMAGED = (
    "It was left exactly as it is. Put a backup in its place, or move it out of the folder and add the documents again."
)
_UNKNOWN = "Check the disk and the folder's permissions, then try again."


def damaged(path: Path, detail: str) -> StorageError:
    """What is said of a library file that can't be trusted; such a file is never written to."""
    return StorageError(f"The library file {path} is damaged ({detail}).", _DAMAGED)


@contextmanager
def translated(path: Path) -> Iterator[None]:
    """Raises StorageError, with a remedy for each cause, in place of what SQLite or the system raised in the block."""
    try:
        yield
    except sqlite3.Error as error:
        raise _from_sqlite(path, error) from error
    except OSError as error:
        raise _from_system(path, error) from error


def _from_sqlite(path: Path, error: sqlite3.Error) -> StorageError:
    # The low byte is the primary code; the rest only refines it.
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    if code == sqlite3.SQLITE_FULL:
        return StorageError(f"There is no room left to store the library {path}.", _FREE)
    if code in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM, sqlite3.SQLITE_AUTH):
        return StorageError(f"The library {path} can't be written.", _WRITABLE)
    if code == sqlite3.SQLITE_CANTOPEN:
        return StorageError(f"The library {path} can't be opened.", _WRITABLE)
    if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return StorageError(f"The library {path} is locked by another program.", _BUSY)
    if code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
        return damaged(path, str(error))
    return StorageError(f"The library {path} failed: {error}.", _UNKNOWN)


def _from_system(path: Path, error: OSError) -> StorageError:
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return StorageError(f"There is no room left to store the library {path}.", _FREE)
    if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        return StorageError(f"The library {path} can't be written.", _WRITABLE)
    if error.errno in (errno.ENOTDIR, errno.EEXIST):
        return StorageError(
            f"The library can't be stored at {path}: a file stands where a folder should be.",
            "Move that file away, or choose another folder.",
        )
    return StorageError(f"The library {path} failed: {error.strerror or error}.", _UNKNOWN)
