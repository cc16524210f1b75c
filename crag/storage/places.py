"""Where libraries are stored (folders, or the schemas of a database), and how much they hold.

Private libraries: keys that this program alone gives out, and libraries that are named by a hash of them.

Anyone who has the key has the library, so the key is written nowhere: not in a name, a record, an export or a log.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import logging
import os
import re
import secrets
import shutil
import sqlite3
import threading
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from sqlalchemy import Connection, exists, func, or_, select
from sqlalchemy.exc import SQLAlchemyError

from crag.core.errors import InputError, StorageError
from crag.storage.database import Database
from crag.storage.records import SIGNED_WITH, KeyValueStore, Records
from crag.storage.sqlite import connect, connect_read_only, driver, translate_errors
from crag.storage.tables import documents, labels, purged, question_sets, runs

if TYPE_CHECKING:
    from crag.storage.postgres import Server

WORKSPACE = re.compile(r"[a-z0-9-]{1,64}")
_CONTENT = documents, purged, runs, question_sets, labels


@dataclass(frozen=True, slots=True, kw_only=True)
class Stored:
    """Documents, and bytes with the indexes, of one library or of several."""

    documents: int = 0
    bytes: int = 0


@dataclass(frozen=True, slots=True)
class Place:
    """The place of one library, whether it exists or not.

    `records` opens the library's records; the caller closes them. `folder` is its own folder, None in a database.
    """

    name: str
    records: Callable[[], Records]
    folder: Path | None = None

    @classmethod
    def at(cls, folder: Path) -> Place:
        """The place of a library in a folder of its own."""
        return cls(folder.absolute().name, lambda: Database(folder / "library.db"), folder)


class LibraryRoot(Protocol):
    """A place of many libraries, and of the values that belong to none. Every method raises StorageError."""

    @property
    def values(self) -> KeyValueStore:
        """What belongs to no library."""
        ...

    def names(self) -> list[str]:
        """The workspaces that have a library here, in order."""
        ...

    def unnamed(self) -> int:
        """How many libraries here have a name that no workspace can have."""
        ...

    def place(self, workspace: str) -> Place:
        """The place of a workspace's library."""
        ...

    def key(self, workspace: str) -> str:
        """The key of a workspace's library in `stored`."""
        ...

    def stored(self) -> dict[str, Stored]:
        """What each library holds, by its key."""
        ...

    def stored_in(self, key: str) -> Stored:
        """What one library holds; nothing where it does not exist."""
        ...

    def remove(self, workspace: str, *, if_unused: bool = False) -> bool:
        """Remove a library with all that it holds. `if_unused`: only if it is empty and nobody has it open.

        Returns whether it is gone.
        """
        ...


class DataFolder:
    """The libraries of a data folder, each in a folder of its own."""

    def __init__(self, data: Path) -> None:
        self.data, self.values, self._root = data, KeyValueStore(data), data / "workspaces"
        self._counts: dict[Path, tuple[tuple[int, ...], int]] = {}
        """The documents of each library, and the state of its files at the count."""

    def names(self) -> list[str]:
        return sorted(filter(WORKSPACE.fullmatch, self._all()))

    def unnamed(self) -> int:
        return len(self._all()) - len(self.names())

    def folder(self, workspace: str) -> Path:
        """The folder of a workspace's library."""
        return self._root / workspace

    def place(self, workspace: str) -> Place:
        return Place.at(self._root / workspace)

    def key(self, workspace: str) -> str:
        return workspace

    def stored(self) -> dict[str, Stored]:
        found = {each.name for each in self._root.glob("*/") if not each.is_symlink()}
        self._counts = {file: count for file, count in self._counts.items() if file.parent.name in found}
        return {name: self.stored_in(name) for name in found}

    def stored_in(self, key: str) -> Stored:
        folder = self._root / key
        return Stored(documents=self._documents(folder / "library.db"), bytes=_bytes_of(folder))

    def remove(self, workspace: str, *, if_unused: bool = False) -> bool:
        folder = self._root / workspace
        with translate_errors(folder):
            if folder.is_symlink():
                raise StorageError("The library is a link to elsewhere, and was left as it is.")
            if if_unused and _is_open_elsewhere(folder / "library.db"):
                return False
            if folder.is_dir():
                shutil.rmtree(folder)
        return True

    def _all(self) -> list[str]:
        return [file.parent.name for file in self._root.glob("*/library.db")]

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


def holds_nothing(connection: Connection) -> bool:
    """Whether a library holds no document, run, question set or label, nor anything that can be brought back."""
    return not connection.scalar(select(or_(*(exists(select(table)) for table in _CONTENT))))


def check_workspace_name(workspace: str) -> str:
    """The name of a workspace, as it was given. Raises InputError for what can be none."""
    if not WORKSPACE.fullmatch(workspace):
        raise InputError(
            f"{workspace!r} is no name for a workspace.", "Use 1 to 64 of the characters a to z, 0 to 9 and -."
        )
    return workspace


def _is_open_elsewhere(file: Path) -> bool:
    """Whether a process has the library open: SQLite keeps two files beside it until the last one closes it.

    Opening and closing the file here removes those that a killed process left.
    """
    beside = [file.with_name(f"{file.name}{end}") for end in ("-wal", "-shm")]
    if file.is_file() and any(each.exists() for each in beside):
        with closing(connect(file)) as connection:
            driver(connection).execute("SELECT count(*) FROM sqlite_master").fetchone()
    return any(each.exists() for each in beside)


def _bytes_of(folder: Path) -> int:
    """The bytes of all files in a folder; 0 where there is none. A file that vanishes meanwhile counts as nothing.

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
                    total += _bytes_of(Path(entry.path)) if inside else entry.stat(follow_symlinks=False).st_size
                except OSError:
                    continue
    except OSError:
        return 0
    return total


_INTERVAL = 2.0
"""Seconds for which a count is used where little is added: a run, some grades."""
_SHARE = 50
"""All libraries are counted again after this many times as long as the count took, if that exceeds the interval."""


class StorageUse:
    """Counts the documents and bytes of each library of a root at intervals. Thread-safe."""

    def __init__(self, root: LibraryRoot) -> None:
        self._root = root
        self._lock = threading.Lock()
        self._each: dict[str, Stored] = {}
        self._counted: dict[str, float] = {}
        """When each library was counted, on the clock of `time.monotonic`."""
        self._next = 0.0
        """When all are counted again."""

    def of(self, workspace: str, *, fresh: bool = False, fresh_total: bool = False) -> tuple[Stored, Stored, int]:
        """What one library holds, what all hold together, and how many libraries there are. Raises StorageError.

        `fresh` counts this one now, `fresh_total` all of them. The sum has what this one gained.
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
        start = time.monotonic()
        try:
            self._each = self._root.stored()
        except StorageError:
            if not self._next:
                raise
        done = time.monotonic()
        self._counted = dict.fromkeys(self._each, done)
        self._next = done + max(_INTERVAL, _SHARE * (done - start))


_log = logging.getLogger(__name__)

_EMPTY = "empty.json"
"""The empty private libraries, each with the time since when it is known to be empty."""
_SECRET = 32
"""Bytes of what keys are signed with."""
_RANDOM, _SIGN = 32, 16
"""Hexadecimal digits of a key: what is random, and the sign that this program puts behind it."""
_KEY = re.compile(rf"[0-9a-f]{{{_RANDOM + _SIGN}}}")
_NAME = re.compile(r"p-[0-9a-f]{40}")
_DAY = 24 * 3600.0


def name_of(key: str) -> str:
    """The name of a key's library: it tells nothing of the key."""
    return "p-" + hashlib.sha256(f"crag library {key}".encode()).hexdigest()[:40]


class PrivateLibraries:
    """The private libraries of one data folder or database. Thread-safe; several processes may serve the same one."""

    def __init__(self, data: Path, server: Server | None = None) -> None:
        """With a `server` they are there, and so is what their keys are signed with."""
        self._data = data
        self.libraries: LibraryRoot = server or DataFolder(data)
        """All libraries, named ones too."""
        self.root = data / "workspaces"
        """Holds a folder for each library: its index at least."""

    def issue(self) -> str:
        """A new key. Nothing is stored for it. Raises StorageError where the data folder can't be used."""
        random = secrets.token_hex(_RANDOM // 2)
        return random + self._sign(random)

    def known(self, key: str) -> bool:
        """Whether this program gave the key out."""
        return bool(_KEY.fullmatch(key)) and hmac.compare_digest(self._sign(key[:_RANDOM]), key[_RANDOM:])

    def holds(self, name: str) -> bool:
        """Whether there is a library of this name, empty or not. Raises StorageError."""
        with closing(self.libraries.place(name).records()) as records:
            return records.exists

    def remove(self, name: str, *, if_unused: bool = False) -> bool:
        """Remove a library, which must be closed here, with all that it holds. Raises as `LibraryRoot.remove` does."""
        gone = self.libraries.remove(name, if_unused=if_unused)
        if gone:
            shutil.rmtree(self.root / name, ignore_errors=True)  # the index of a library in a database
        return gone

    def settle(self, days: int = 1) -> None:
        """Once at the start, make everything readable by its owner alone and remove libraries empty for `days`.

        What fails is logged and left as it is: one broken library must not keep the program from starting.
        """
        for place in (self._data, self.root, *self.root.glob("*"), *self.root.glob("*/*")):
            try:
                if not any(each.is_symlink() for each in (place, place.parent)) and place.stat().st_mode & 0o077:
                    place.chmod(0o700 if place.is_dir() else 0o600)
            except OSError as error:
                _log.warning("the rights to %s were left as they are: %s", place.name, error.strerror)
        for name in self.forgotten(days):
            self.drop_empty(name)

    def forgotten(self, days: int = 1) -> list[str]:
        """The private libraries that were found empty more than `days` ago and are still. Failures are logged."""
        now, values = time.time(), self.libraries.values
        try:
            before: dict[str, float] = json.loads(values.read(_EMPTY) or b"{}")
            empty = {
                name: before.get(name, now)
                for name in filter(_NAME.fullmatch, self.libraries.names())
                if self._is_empty(name)
            }
            if empty != before:
                values.put(_EMPTY, json.dumps(empty).encode())
        except (StorageError, ValueError) as error:
            _log.warning("empty libraries were left as they are: %s", error)
            return []
        return [name for name, since in empty.items() if now - since > days * _DAY]

    def drop_empty(self, name: str) -> None:
        """Remove a library that `forgotten` named and that is closed here, unless somebody uses it after all."""
        try:
            if self.remove(name, if_unused=True):
                _log.info("an empty library was removed: %s", name)
        except StorageError as error:
            _log.warning("an empty library was left as it is: %s", error.message)

    def _is_empty(self, name: str) -> bool:
        try:
            with closing(self.libraries.place(name).records()) as records, records.read() as connection:
                return holds_nothing(connection)
        except StorageError as error:
            _log.warning("a library was left as it is: %s", error.message)
            return False

    def _sign(self, random: str) -> str:
        return hmac.new(self._secret, random.encode(), hashlib.sha256).hexdigest()[:_SIGN]

    @cached_property
    def _secret(self) -> bytes:
        """What keys are signed with: made once, and kept beside the libraries."""
        return self.libraries.values.first(SIGNED_WITH, secrets.token_bytes(_SECRET))
