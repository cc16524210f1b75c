"""Where libraries are stored: folders, or the schemas of a database, and how much they hold."""

from __future__ import annotations

import os
import re
import shutil
import sqlite3
import threading
import time
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import Connection, exists, func, literal, or_, select, table, text, union_all
from sqlalchemy.exc import SQLAlchemyError

from crag.core.errors import InputError, StorageError
from crag.storage.postgres import PostgresSchema, Server, schema_of
from crag.storage.sqlite import SqliteFile, connect, translate_errors
from crag.storage.tables import LIBRARY, documents, labels, purged, question_sets, runs
from crag.storage.values import KeyValueStore

WORKSPACE = re.compile(r"[a-z0-9-]{1,64}")
_CONTENT = documents, purged, runs, question_sets, labels
_SIZES = (
    "SELECT n.nspname, coalesce(sum(pg_total_relation_size(c.oid)), 0)::bigint, bool_or(c.relname = 'documents')"
    " FROM pg_namespace n LEFT JOIN pg_class c ON c.relnamespace = n.oid AND c.relkind = 'r' WHERE {}"
    " GROUP BY n.nspname"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Stored:
    """Documents, and bytes with the indexes, of one library or of several."""

    documents: int = 0
    bytes: int = 0


class DataFolder:
    """The libraries of a data folder, each in a folder of its own. Every method raises StorageError."""

    def __init__(self, data: Path) -> None:
        self.data, self.values, self._root = data, KeyValueStore(data), data / "workspaces"
        self._counts: dict[Path, tuple[tuple[int, ...], int]] = {}
        """The documents of each library, and the state of its files at the count."""

    def names(self) -> list[str]:
        """The workspaces that have a library here, in order."""
        return sorted(filter(WORKSPACE.fullmatch, self._all()))

    def unnamed(self) -> int:
        """How many libraries here have a name that no workspace can have."""
        return len(self._all()) - len(self.names())

    def folder(self, workspace: str) -> Path:
        """The folder of a workspace's library."""
        return self._root / workspace

    def store(self, workspace: str) -> SqliteFile:
        """The place of a workspace's library, whether it exists or not."""
        return SqliteFile(self._root / workspace / "library.db", LIBRARY)

    def key(self, workspace: str) -> str:
        """The key of a workspace's library in `stored`: its name."""
        return workspace

    def stored(self) -> dict[str, Stored]:
        """What each library holds, by its name."""
        found = {each.name for each in self._root.glob("*/") if not each.is_symlink()}
        self._counts = {file: count for file, count in self._counts.items() if file.parent.name in found}
        return {name: self.stored_in(name) for name in found}

    def stored_in(self, key: str) -> Stored:
        """What one library holds; nothing where it does not exist."""
        folder = self._root / key
        return Stored(documents=self._documents(folder / "library.db"), bytes=_bytes_of(folder))

    def remove(self, workspace: str, *, if_unused: bool = False) -> bool:
        """Remove a library with all that it holds. `if_unused`: only if nobody has it open.

        Returns whether it is gone.
        """
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
                with closing(connect(file, "ro")) as connection:
                    count = connection.scalar(select(func.count()).select_from(documents)) or 0
                self._counts[file] = state, count
            return count
        except (sqlite3.Error, SQLAlchemyError, OSError):
            return 0


class ServerLibraries:
    """The libraries of a PostgreSQL database, each in a schema of its own. Every method raises StorageError."""

    def __init__(self, server: Server) -> None:
        self._server = server

    def names(self) -> list[str]:
        """The workspaces that have a library here, in order."""
        found = (schema.removeprefix("w_") for schema in self.stored() if schema.startswith("w_"))
        return sorted(filter(WORKSPACE.fullmatch, found))

    def store(self, workspace: str) -> PostgresSchema:
        """The place of a workspace's library, whether it exists or not."""
        return PostgresSchema(self._server, workspace, LIBRARY)

    def key(self, workspace: str) -> str:
        """The key of a workspace's library in `stored`: its schema."""
        return schema_of(workspace)

    def stored(self) -> dict[str, Stored]:
        """What each library holds, by its schema."""
        return self._count("n.nspname ~ '^[wh]_'")

    def stored_in(self, key: str) -> Stored:
        """What one library holds, by its schema; nothing where it does not exist."""
        return self._count("n.nspname = :schema", schema=key).get(key, Stored())

    def remove(self, workspace: str, *, if_unused: bool = False) -> bool:
        """Remove a library's schema, if it is there; with `if_unused` only an empty one. Whether it is gone."""
        store = self.store(workspace)
        with store.translated(), store.transaction(write=True) as (connection, found):
            if if_unused and not holds_nothing(connection):
                return False
            if found is not None:
                connection.exec_driver_sql(f'DROP SCHEMA "{store.schema}" CASCADE')
        return True

    def _count(self, which: str, **names: str) -> dict[str, Stored]:
        with self._server.translated(), self._server.readers.connect() as connection:
            found = connection.execute(text(_SIZES.format(which)), names).all()
            asked = [
                select(literal(schema), func.count()).select_from(table("documents", schema=schema))
                for schema, _, holds_documents in found
                if holds_documents
            ]
            counts = dict(map(tuple, connection.execute(union_all(*asked)))) if asked else {}
            return {schema: Stored(documents=counts.get(schema, 0), bytes=size) for schema, size, _ in found}


Libraries = DataFolder | ServerLibraries


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
            connection.exec_driver_sql("SELECT count(*) FROM sqlite_master")
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

    def __init__(self, root: Libraries) -> None:
        self._root = root
        self._lock = threading.Lock()
        self._each: dict[str, Stored] = {}
        self._counted: dict[str, float] = {}
        """When each library was counted, on the clock of `time.monotonic`."""
        self._next = 0.0
        """When all are counted again."""

    def total(self, workspace: str = "", *, fresh: bool = False, fresh_total: bool = False) -> tuple[Stored, int]:
        """What all libraries hold together, and how many there are. Raises StorageError.

        `fresh` counts the library of the workspace now, `fresh_total` all of them. The sum has what that one gained.
        """
        with self._lock:
            now = time.monotonic()
            if fresh_total or now >= self._next:
                self._count_all()
            key = self._root.key(workspace)
            if workspace and (fresh or now >= self._counted.get(key, 0.0) + _INTERVAL):
                own = self._root.stored_in(key)
                self._counted[key] = now
                self._each.pop(key, None)
                if own.bytes:
                    self._each[key] = own
            documents = sum(each.documents for each in self._each.values())
            return Stored(documents=documents, bytes=sum(each.bytes for each in self._each.values())), len(self._each)

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
