"""Where libraries are stored: folders, or the schemas of a database, and how large they are."""

from __future__ import annotations

import os
import re
import shutil
import threading
import time
from contextlib import suppress
from pathlib import Path

from sqlalchemy import text

from crag.core.errors import InputError, StorageError
from crag.storage.postgres import PostgresSchema, Server, schema_of
from crag.storage.sqlite import SqliteFile, translate_errors
from crag.storage.tables import LIBRARY
from crag.storage.values import KeyValueStore

WORKSPACE_NAME = re.compile(r"[a-z0-9-]{1,64}")
_SIZES = (
    "SELECT n.nspname, coalesce(sum(pg_total_relation_size(c.oid)), 0)::bigint"
    " FROM pg_namespace n LEFT JOIN pg_class c ON c.relnamespace = n.oid AND c.relkind = 'r' WHERE {}"
    " GROUP BY n.nspname"
)


class DataFolder:
    """The libraries of a data folder, each in a folder of its own. Every method raises StorageError."""

    def __init__(self, data: Path) -> None:
        self.data, self.values, self._root = data, KeyValueStore(data), data / "workspaces"

    def names(self) -> list[str]:
        """The workspaces that have a library here, in order."""
        return sorted(filter(WORKSPACE_NAME.fullmatch, (file.parent.name for file in self._root.glob("*/library.db"))))

    def folder(self, workspace: str) -> Path:
        """The folder of a workspace's library."""
        return self._root / workspace

    def store(self, workspace: str) -> SqliteFile:
        """The place of a workspace's library, whether it exists or not."""
        return SqliteFile(self._root / workspace / "library.db", LIBRARY)

    def key(self, workspace: str) -> str:
        """The key of a workspace's library in `sizes`: its name."""
        return workspace

    def sizes(self) -> dict[str, int]:
        """The bytes of each library, with its indexes, by its name."""
        return {each.name: _bytes_of(each) for each in self._root.glob("*/") if not each.is_symlink()}

    def size(self, workspace: str) -> int:
        """The bytes of one library; 0 where it does not exist."""
        return _bytes_of(self.folder(workspace))

    def remove(self, workspace: str) -> None:
        """Remove a library with all that it holds."""
        folder = self._root / workspace
        with translate_errors(folder):
            if folder.is_symlink():
                raise StorageError("The library is a link to elsewhere, and was left as it is.")
            if folder.is_dir():
                shutil.rmtree(folder)


class ServerLibraries:
    """The libraries of a PostgreSQL database, each in a schema of its own. Every method raises StorageError."""

    def __init__(self, server: Server) -> None:
        self._server = server

    def names(self) -> list[str]:
        """The workspaces that have a library here, in order."""
        found = (schema.removeprefix("w_") for schema in self.sizes() if schema.startswith("w_"))
        return sorted(filter(WORKSPACE_NAME.fullmatch, found))

    def store(self, workspace: str) -> PostgresSchema:
        """The place of a workspace's library, whether it exists or not."""
        return PostgresSchema(self._server, workspace, LIBRARY)

    def key(self, workspace: str) -> str:
        """The key of a workspace's library in `sizes`: its schema."""
        return schema_of(workspace)

    def sizes(self) -> dict[str, int]:
        """The bytes of each library, by its schema."""
        return self._measure("n.nspname ~ '^[wh]_'")

    def size(self, workspace: str) -> int:
        """The bytes of one library; 0 where it does not exist."""
        return self._measure("n.nspname = :schema", schema=schema_of(workspace)).get(schema_of(workspace), 0)

    def remove(self, workspace: str) -> None:
        """Remove a library's schema, if it is there."""
        store = self.store(workspace)
        with store.translated(), store.transaction(write=True) as (connection, found):
            if found is not None:
                connection.exec_driver_sql(f'DROP SCHEMA "{store.schema}" CASCADE')

    def _measure(self, which: str, **names: str) -> dict[str, int]:
        with self._server.translated(), self._server.readers.connect() as connection:
            return dict(map(tuple, connection.execute(text(_SIZES.format(which)), names)))


Libraries = DataFolder | ServerLibraries


def check_workspace_name(workspace: str) -> str:
    """The name of a workspace, as it was given. Raises InputError for what can be none."""
    if not WORKSPACE_NAME.fullmatch(workspace):
        raise InputError(
            f"{workspace!r} is no name for a workspace.", "Use 1 to 64 of the characters a to z, 0 to 9 and -."
        )
    return workspace


def _bytes_of(folder: Path) -> int:
    """The bytes of all files in a folder; 0 where there is none. A file that vanishes meanwhile counts as nothing.

    The database's log is left out: it shrinks with the next write.
    """
    total = 0
    for place, _, names in os.walk(folder):
        for name in names:
            if not name.endswith(("-wal", "-shm")):
                with suppress(OSError):
                    total += os.lstat(os.path.join(place, name)).st_size
    return total


_INTERVAL = 2.0
"""Seconds for which the count of all libraries is used."""
_SHARE = 50
"""They are counted again after this many times as long as the count took, if that exceeds the interval."""


class StorageUse:
    """Counts the bytes of each library of a root, all of them at intervals. Thread-safe."""

    def __init__(self, root: Libraries) -> None:
        self._root = root
        self._lock = threading.Lock()
        self._each: dict[str, int] = {}
        self._next = 0.0
        """When all are counted again, on the clock of `time.monotonic`."""

    def total(self, workspace: str = "", *, fresh: bool = False) -> tuple[int, int]:
        """The bytes of all libraries together, and how many there are. Raises StorageError.

        The library of the workspace is counted now, with `fresh` all of them are. The sum has what that one gained.
        """
        with self._lock:
            if fresh or time.monotonic() >= self._next:
                self._count_all()
            if workspace:
                key = self._root.key(workspace)
                self._each.pop(key, None)
                if own := self._root.size(workspace):
                    self._each[key] = own
            return sum(self._each.values()), len(self._each)

    def _count_all(self) -> None:
        start = time.monotonic()
        try:
            self._each = self._root.sizes()
        except StorageError:
            if not self._next:
                raise
        done = time.monotonic()
        self._next = done + max(_INTERVAL, _SHARE * (done - start))
