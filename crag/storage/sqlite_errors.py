"""The one place where errors of SQLite and of the disk become ours, each with its cure."""

from __future__ import annotations

import errno
import logging
import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sqlalchemy.exc import DBAPIError

from crag.core.errors import StorageError

_log = logging.getLogger(__name__)
_FREE = "Free some disk space, then try again; everything already stored is intact."
_WRITABLE = "Make the folder and the files in it writable, or set CRAG_DATA to another folder."
_BUSY = "Wait for the other program to finish with this library, then try again."
_DAMAGED = (
    "It was left exactly as it is. Put a backup in its place, or move it out of the folder and add the documents again."
)
_UNKNOWN = "Check the disk and the folder's permissions, then try again."
_OPEN_FILES = "Wait until others are done, then try again; whoever runs the program can allow it more (ulimit -n)."
_ANEW = (
    "It goes on with what is there now, which may be nothing: add the documents again, or put a backup in its place."
)


def library_name(path: Path) -> str:
    """A library as a message names it: by its folder's own name. Where that lies on the server is for the log."""
    return path.parent.name or "here"


def replaced_error(name: str, where: str) -> StorageError:
    """What is said, once, where a library was deleted or replaced from outside while it was in use."""
    return StorageError(f"The library {name} was deleted or replaced {where} while it was in use.", _ANEW)


def other_version_error(name: str, version: str, known: int) -> StorageError:
    """The error for a library of another layout. It is never written to."""
    if version.isdecimal() and int(version) < known:
        return StorageError(
            f"The library {name} was written by an unreleased build (schema {version}; this one reads {known}).",
            "Choose another folder or database and add the documents again. Nothing was changed.",
        )
    return StorageError(
        f"The library {name} was written by a newer version of this program "
        f"(schema {version}; this one knows {known}).",
        "Update the program, or choose another folder or database. Nothing was changed.",
    )


def foreign_database_error(what: str, where: str) -> StorageError:
    """What is said of what stands in a library's place and is none."""
    return StorageError(
        f"The {what} of {where} is a database of another program.",
        "Choose another folder or database. Nothing was changed.",
    )


def full(error: sqlite3.Error | DBAPIError) -> bool:
    """Whether SQLite failed because the disk, or what it may use of it, is full."""
    return _code(_sqlite_error(error)) == sqlite3.SQLITE_FULL


def damaged_error(path: Path, detail: str) -> StorageError:
    """What is said of a library file that can't be trusted; such a file is never written to."""
    _log.info("the library file %s is damaged: %s", path, detail)
    return StorageError(f"The file of the library {library_name(path)} is damaged ({detail}).", _DAMAGED)


@contextmanager
def translate_errors(path: Path) -> Iterator[None]:
    """Raises StorageError, with a remedy for each cause, in place of what SQLite or the system raised in the block."""
    try:
        yield
    except (sqlite3.Error, DBAPIError) as error:
        told = _sqlite_error(error)
        _log.info("%s: %s", path, told)
        raise _from_sqlite(path, told) from error
    except OSError as error:
        _log.info("%s: %s", path, error)
        raise _from_system(path, error) from error


def _sqlite_error(error: sqlite3.Error | DBAPIError) -> BaseException:
    """What SQLite itself said, without the statement that SQLAlchemy puts around it."""
    return (error.orig or error) if isinstance(error, DBAPIError) else error


def _code(error: BaseException) -> int:
    """SQLite's primary code: the low byte. The rest only refines it."""
    return int(getattr(error, "sqlite_errorcode", 0)) & 0xFF


def _from_sqlite(path: Path, error: BaseException) -> StorageError:
    code = _code(error)
    if code == sqlite3.SQLITE_CANTOPEN and _exhausted():
        return _too_many_open()
    if code == sqlite3.SQLITE_FULL:
        return StorageError(f"There is no room left to store the library {library_name(path)}.", _FREE)
    if code in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM, sqlite3.SQLITE_AUTH):
        return StorageError(f"The library {library_name(path)} can't be written.", _WRITABLE)
    if code == sqlite3.SQLITE_CANTOPEN:
        return StorageError(f"The library {library_name(path)} can't be opened.", _WRITABLE)
    if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return StorageError(f"The library {library_name(path)} is locked by another program.", _BUSY)
    if code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
        return damaged_error(path, str(error))
    return StorageError(f"The library {library_name(path)} failed: {error}.", _UNKNOWN)


def _exhausted() -> bool:
    """Whether this process may open no more files, which SQLite does not tell from other reasons."""
    try:
        os.close(os.open(os.devnull, os.O_RDONLY))
    except OSError as error:
        return error.errno in (errno.EMFILE, errno.ENFILE)
    return False


def _too_many_open() -> StorageError:
    return StorageError("The program has too many files open to open the library.", _OPEN_FILES)


def _from_system(path: Path, error: OSError) -> StorageError:
    if error.errno in (errno.EMFILE, errno.ENFILE):
        return _too_many_open()
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return StorageError(f"There is no room left to store the library {library_name(path)}.", _FREE)
    if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        return StorageError(f"The library {library_name(path)} can't be written.", _WRITABLE)
    if error.errno in (errno.ENOTDIR, errno.EEXIST):
        return StorageError(
            f"The library {library_name(path)} can't be stored: a file stands where a folder should be.",
            "Move that file away, or choose another folder.",
        )
    return StorageError(f"The library {library_name(path)} failed: {error.strerror or error}.", _UNKNOWN)
