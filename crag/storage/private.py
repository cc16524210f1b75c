"""Private libraries: keys that this program alone gives out, and folders that are named by a hash of them.

Who has the key has the library, so the key is written nowhere: not in a folder's name, a record, an export or a log.
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
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from sqlalchemy import exists, or_, select
from sqlalchemy import inspect as inspected
from sqlalchemy.exc import SQLAlchemyError

from crag.core.errors import StorageError
from crag.storage.records import SIGNED_WITH, KeyValueStore
from crag.storage.sqlite import connect, translate_errors
from crag.storage.storage_use import bytes_of
from crag.storage.tables import LIBRARY, documents, labels, purged, question_sets, runs

if TYPE_CHECKING:
    from crag.storage.postgres import Server

_log = logging.getLogger(__name__)

_SETTLED = "settled"
"""An empty file whose time says when the libraries were gone through last; on a server, which were empty since when."""
_SECRET = 32
"""Bytes of what keys are signed with."""
_RANDOM, _SIGN = 32, 16
"""Hexadecimal digits of a key: what is random, and the sign that this program puts behind it."""
_KEY = re.compile(rf"[0-9a-f]{{{_RANDOM + _SIGN}}}")
_NAME = re.compile(r"p-[0-9a-f]{40}")
_PRIVATE_SCHEMA = re.compile(r"w_p-[0-9a-f]{40}")
_DAY = 24 * 3600.0
_EMPTY_BYTES = 1024 * 1024
"""An empty library's file is smaller; larger ones are not looked into."""
_TABLES = {table.name: table for table in (documents, purged, runs, question_sets, labels)}


def name_of(key: str) -> str:
    """The name of a key's library: it tells nothing of the key."""
    return "p-" + hashlib.sha256(f"crag library {key}".encode()).hexdigest()[:40]


class PrivateLibraries:
    """The private libraries of one data folder. Thread-safe; several processes may serve the same folder."""

    def __init__(self, data: Path, server: Server | None = None) -> None:
        """With a `server` they are there, and so is what their keys are signed with."""
        self._data, self._server = data, server
        self._kept = KeyValueStore(data, server)
        self.root = data / "workspaces"
        """Holds a folder for each named library."""

    def issue(self) -> str:
        """A new key. Nothing is stored for it. Raises StorageError where the data folder can't be used."""
        random = secrets.token_hex(_RANDOM // 2)
        return random + self._sign(random)

    def known(self, key: str) -> bool:
        """Whether this program gave the key out."""
        return bool(_KEY.fullmatch(key)) and hmac.compare_digest(self._sign(key[:_RANDOM]), key[_RANDOM:])

    def stored(self) -> list[str]:
        """The names of all libraries that hold anything, others than private ones too, in no order.

        Without those of another build, which are left as they are. Raises StorageError.
        """
        if self._server is not None:
            return [schema.removeprefix("w_") for schema in self._server.sizes() if schema.startswith("w_")]
        files = list(self.root.glob("*/library.db"))
        return [file.parent.name for file in files if not file.parent.is_symlink() and LIBRARY.fits(file)]

    def holds(self, name: str) -> bool:
        """Whether there is a library of this name, empty or not. Raises StorageError."""
        if self._server is None:
            return (self.root / name).is_dir()
        from crag.storage.postgres import schema_of  # only who has a server needs it

        return self._server.size(schema_of(name)) > 0

    def sizes(self) -> dict[str, int]:
        """Bytes of each library, by name. Raises StorageError."""
        if self._server is not None:
            prefix = "w_"
            sizes = self._server.sizes().items()
            return {name.removeprefix(prefix): size for name, size in sizes if name.startswith(prefix)}
        return {each.name: bytes_of(each) for each in self.root.glob("*/") if not each.is_symlink()}

    def remove(self, name: str) -> None:
        """Removes a library, which must be closed here, with all that it holds. Raises StorageError."""
        if self._server is not None:
            from crag.storage.postgres import schema_of  # only who has a server needs it

            self._server.drop(schema_of(name))
        folder = self.root / name  # with records on a server, its index lies there all the same
        with translate_errors(folder):
            if folder.is_symlink():
                raise StorageError("The library is a link to elsewhere, and was left as it is.")
            if folder.is_dir():
                shutil.rmtree(folder)

    def settle(self, days: int = 1) -> None:
        """Once at the start, make everything readable by its owner alone and remove libraries empty for `days`.

        What fails is logged and left as it is: one broken library must not keep the program from starting.
        """
        if self._server is None and self.root.is_dir():
            for place in (self._data, self.root):
                _for_the_owner(place, 0o700)
            for folder in sorted(self.root.iterdir()):
                if folder.is_symlink() or not folder.is_dir():
                    continue
                with _left_as_it_is():
                    _for_the_owner(folder, 0o700)
                    for each in folder.iterdir():
                        _for_the_owner(each, 0o700 if each.is_dir() else 0o600)
        for name in self.forgotten(days):
            self.drop_empty(name)

    def forgotten(self, days: int = 1) -> list[str]:
        """The private libraries that have held nothing for so many days, of those that became so since it was asked
        last. What can't be read is logged and left out."""
        if self._server is not None:
            return self._forgotten_on(self._server, days * _DAY)
        if not self.root.is_dir():
            return []
        marker, began = self._data / _SETTLED, time.time()
        looked = marker.stat().st_mtime if marker.exists() else 0.0
        found = []
        for folder in sorted(self.root.iterdir()):
            if folder.is_symlink() or not folder.is_dir() or not _NAME.fullmatch(folder.name):
                continue
            with _left_as_it_is():
                if _forgotten(folder, looked, days * _DAY):
                    found.append(folder.name)
        with suppress(OSError):
            marker.touch(mode=0o600)
            os.utime(marker, (began, began))
        return found

    def drop_empty(self, name: str) -> None:
        """Removes a library that `forgotten` named and that is closed here, unless somebody uses it after all."""
        folder = self.root / name
        with _left_as_it_is():
            if self._server is not None:
                from crag.storage.postgres import schema_of  # only who has a server needs it

                gone = self._server.empty(schema_of(name), _TABLES, remove=True)
            else:
                gone = not _open_elsewhere(folder)
                if gone:
                    shutil.rmtree(folder)
            if gone:
                _log.info("an empty library was removed: %s", name)

    def _forgotten_on(self, server: Server, stale: float) -> list[str]:
        """A server does not say when a library was written to last: it counts as empty since it was first seen so."""
        now, found = time.time(), []
        try:
            before: dict[str, float] = json.loads(self._kept.read(_SETTLED) or b"{}")
            empty: dict[str, float] = {}
            for schema, size in server.sizes().items():
                if size > _EMPTY_BYTES or not _PRIVATE_SCHEMA.fullmatch(schema) or not server.empty(schema, _TABLES):
                    continue
                since = before.get(schema, now)
                if now - since <= stale:
                    empty[schema] = since
                else:
                    found.append(schema.removeprefix("w_"))
            self._kept.put(_SETTLED, json.dumps(empty).encode())
        except (StorageError, ValueError) as error:
            _log.warning("the libraries were left as they are: %s", error)
        return found

    def _sign(self, random: str) -> str:
        return hmac.new(self._secret, random.encode(), hashlib.sha256).hexdigest()[:_SIGN]

    @cached_property
    def _secret(self) -> bytes:
        """What keys are signed with: made once, and kept beside the libraries."""
        return self._kept.first(SIGNED_WITH, secrets.token_bytes(_SECRET))


@contextmanager
def _left_as_it_is() -> Iterator[None]:
    """What fails with one library is logged, and the next one goes on."""
    try:
        yield
    except (OSError, sqlite3.Error, SQLAlchemyError, StorageError) as error:
        _log.warning("a library was left as it is: %s", type(error).__name__)


def _forgotten(folder: Path, looked: float, stale: float) -> bool:
    """Whether a library holds nothing at all, and nobody has written to it for `stale` seconds.

    `looked`: when that was asked last, in seconds since the epoch. What was as old then was found to hold something.
    """
    files = list(folder.iterdir())
    stale_from = max(file.stat().st_mtime for file in [*files, folder]) + stale
    if not looked <= stale_from <= time.time():
        return False
    file = folder / "library.db"
    if not file.is_file():
        return not files
    if file.stat().st_size > _EMPTY_BYTES:
        return False
    # Nobody writes to it, so it is read as it lies there: without the two files that SQLite puts beside it otherwise.
    still = "" if any(each.name.endswith("-wal") for each in files) else "&immutable=1"
    with closing(connect(f"{file.absolute().as_uri()}?mode=ro{still}", uri=True)) as connection:
        known = inspected(connection).get_table_names()
        tables = [_TABLES[name] for name in known if name in _TABLES]
        if not tables:
            return not known
        return not connection.scalar(select(or_(*(exists(select(table)) for table in tables))))


def _open_elsewhere(folder: Path) -> bool:
    """Whether any process has the library open: SQLite keeps two files beside it until the last one closes it.

    Those that a killed process left go when the file is opened and closed here.
    """
    file = folder / "library.db"
    beside = [file.with_name(f"{file.name}{end}") for end in ("-wal", "-shm")]
    if file.is_file() and any(each.exists() for each in beside):
        with closing(connect(file)) as connection:
            inspected(connection).get_table_names()
    return any(each.exists() for each in beside)


def _for_the_owner(place: Path, mode: int) -> None:
    """Takes the group's and everybody's rights away, where there are any."""
    if not place.is_symlink() and place.stat().st_mode & 0o077:
        place.chmod(mode)
