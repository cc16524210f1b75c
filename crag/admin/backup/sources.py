"""What a backup is taken from: a data folder or a database, each of one moment, while others go on writing to it."""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path
from typing import Literal, Protocol

from sqlalchemy import Connection, func, select
from sqlalchemy import inspect as inspected

from crag.admin.backup.archive import Stored, Watch, check_cancelled
from crag.admin.copying import copied_teams
from crag.admin.store import FILE, Store
from crag.admin.tables import VERSION as TEAMS
from crag.core.errors import NotFoundError, StorageError
from crag.runtime.listening import room_for_files
from crag.storage import store
from crag.storage.copying import copy_library
from crag.storage.key_value_store import KeyValueStore
from crag.storage.places import DatabaseHome, DataFolder, FolderPlace
from crag.storage.schema import inspect
from crag.storage.schemas import Workshop
from crag.storage.sqlite import connect, driver, wait_for_others
from crag.storage.sqlite_errors import damaged_error, translate_errors
from crag.storage.tables import chunks, documents, runs

__all__ = ["DatabaseSource", "FolderSource", "Source", "source_of"]

_PAGES = 2_048
"""Pages of SQLite that are copied in one step: about 8 MB."""


class Source(Protocol):
    """Where the libraries lie that are backed up. Nothing there is changed by it."""

    kind: Literal["files", "database"]
    data: Path
    """The data folder that the program works with; of its model files the names are told."""
    kept: KeyValueStore
    teams: Store

    def names(self) -> list[str]:
        """The workspaces that have a library there."""
        ...

    def unnamed(self) -> int:
        """How many libraries lie under what is no workspace's name."""
        ...

    def sizes(self, names: Sequence[str]) -> list[int]:
        """About how many bytes each of these has."""
        ...

    @contextmanager
    def moment(self, names: Sequence[str], *, whole: bool) -> Iterator[None]:
        """From here to the end of the block all is as it was at the beginning of it. Raises StorageError."""
        ...

    def library(self, name: str, folder: Path, watch: Watch, cancel: threading.Event | None) -> Stored | None:
        """Write a library, as it is in this moment, to `library.db` in a new folder; None where there is none any more.

        Raises CragError for one that can't be read whole.
        """
        ...

    def people(self, file: Path) -> int:
        """Write people and workspaces to a new file; of which version they are, 0 where there are none."""
        ...


def source_of(home: DataFolder | DatabaseHome, data: Path) -> Source:
    """What a backup of this place is taken from; `data`: the data folder that the program works with."""
    return DatabaseSource(home, data) if isinstance(home, DatabaseHome) else FolderSource(home)


class FolderSource:
    """A data folder. Each library is read in a transaction that begins when the moment does."""

    kind: Literal["files", "database"] = "files"

    def __init__(self, home: DataFolder) -> None:
        self._home, self.data, self.kept = home, home.data, home.kept
        self.teams = Store(home.data)
        self._file = home.data / FILE
        self._held: dict[str, Connection] = {}
        self._faults: dict[str, StorageError] = {}
        self._people: Connection | None = None

    def names(self) -> list[str]:
        return self._home.names()

    def unnamed(self) -> int:
        return self._home.unnamed()

    def sizes(self, names: Sequence[str]) -> list[int]:
        found = []
        for name in names:
            file = self._path(name)
            with suppress(FileNotFoundError):
                found.append(file.stat().st_size + _size(file.with_name("library.db-wal")))
        return found

    @contextmanager
    def moment(self, names: Sequence[str], *, whole: bool) -> Iterator[None]:
        room_for_files()
        with ExitStack() as stack:
            with ExitStack() as writing:
                if whole and self._file.exists():
                    # Nobody becomes a member, or is one no more, while the moments of the libraries are taken.
                    with translate_errors(self._file):
                        held = writing.enter_context(closing(connect(self._file)))
                        wait_for_others(driver(held))
                        driver(held).execute("BEGIN IMMEDIATE")
                        self._people = stack.enter_context(closing(_reading(self._file)))
                for name in names:
                    self._hold(name, stack)
            try:
                yield
            finally:
                self._held.clear()
                self._people = None

    def library(self, name: str, folder: Path, watch: Watch, cancel: threading.Event | None) -> Stored | None:
        if name in self._faults:
            raise self._faults[name]
        held = self._held.pop(name, None)
        if held is None:
            return None
        folder.mkdir(mode=0o700, parents=True)
        file = folder / "library.db"
        with translate_errors(self._path(name)):
            version = int(driver(held).execute("PRAGMA user_version").fetchone()[0])
            _copy_image(held, file, lambda done, of: watch(name, done, of), cancel)
            held.close()  # else its log could not be written back for as long as the backup takes
            with closing(connect(file)) as connection:
                if problem := store.first_problem(connection):
                    raise damaged_error(self._path(name), problem)
                return _describe_file(connection, name, version, file)

    def people(self, file: Path) -> int:
        if self._people is None:
            return 0
        with translate_errors(self._file):
            _copy_image(self._people, file, lambda done, of: None, None)
            return int(driver(self._people).execute("PRAGMA user_version").fetchone()[0])

    def _hold(self, name: str, stack: ExitStack) -> None:
        """Begin to read a library. What can't be read is told when its turn comes."""
        file = self._path(name)
        try:
            with translate_errors(file):
                try:
                    connection = _reading(file)
                except sqlite3.OperationalError:
                    if file.exists():
                        raise
                    return  # it was removed since it was listed
                stack.callback(connection.close)
                if not inspect(driver(connection), file):  # an empty file is a library that is being made
                    self._held[name] = connection
        except StorageError as error:
            self._faults[name] = error

    def _path(self, name: str) -> Path:
        return self._home.place(name).folder / "library.db"


class DatabaseSource:
    """A database. All is read in one snapshot of it."""

    kind: Literal["files", "database"] = "database"

    def __init__(self, home: DatabaseHome, data: Path) -> None:
        assert isinstance(home.server, Workshop)
        self._home, self.data, self.kept, self._server = home, data, home.kept, home.server
        self.teams = Store(data, home.server)

    def names(self) -> list[str]:
        return self._home.names()

    def unnamed(self) -> int:
        return self._home.unnamed()

    def sizes(self, names: Sequence[str]) -> list[int]:
        found = self._server.sizes()
        return [found.get(f"w_{name}", 0) for name in names]

    @contextmanager
    def moment(self, names: Sequence[str], *, whole: bool) -> Iterator[None]:
        for name in names:
            # An older one is brought up to date first: nobody could read that within the snapshot.
            with closing(self._home.place(name).records()) as records, suppress(StorageError), records.read():
                pass
        with self._server.snapshot():
            yield

    def library(self, name: str, folder: Path, watch: Watch, cancel: threading.Event | None) -> Stored | None:
        try:
            copy_library(
                self._home.place(name),
                FolderPlace(folder),
                watch=lambda table, done, of: watch(f"{name}: {table}", done, of),
                cancel=cancel,
            )
        except NotFoundError:
            return None
        file = folder / "library.db"
        with translate_errors(file), closing(connect(file)) as connection:
            driver(connection).execute("PRAGMA journal_mode = DELETE")
            version = int(driver(connection).execute("PRAGMA user_version").fetchone()[0])
            return _describe_file(connection, name, version, file)

    def people(self, file: Path) -> int:
        if not self.teams.made:
            return 0
        with closing(Store(file.parent)) as into:
            copied_teams(self.teams, into)
        with translate_errors(file), closing(connect(file)) as connection:
            driver(connection).execute("PRAGMA journal_mode = DELETE")
        return TEAMS


def _reading(file: Path) -> Connection:
    """A connection to a file that is there, in a transaction that sees this moment."""
    connection = connect(f"{file.absolute().as_uri()}?mode=rw", uri=True)
    try:
        opened = driver(connection)
        wait_for_others(opened)
        opened.execute("BEGIN")
        opened.execute("SELECT count(*) FROM sqlite_master").fetchone()
    except BaseException:
        connection.close()
        raise
    return connection


def _copy_image(
    held: Connection, file: Path, watch: Callable[[int, int], object], cancel: threading.Event | None
) -> None:
    """Copy what a connection sees, page by page, to a new file that nothing lies beside."""

    def step(status: int, left: int, of: int) -> None:
        check_cancelled(cancel)
        watch(of - left, of)

    os.close(os.open(file, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
    with closing(connect(file)) as connection:
        into = driver(connection)
        into.execute("PRAGMA synchronous = OFF")  # a kill leaves nothing of it that counts
        driver(held).backup(into, pages=_PAGES, progress=step)
        into.execute("PRAGMA journal_mode = DELETE")


def _describe_file(connection: Connection, name: str, version: int, file: Path) -> Stored:
    there = set(inspected(connection).get_table_names())
    numbers = {
        table.name: connection.scalar(select(func.count()).select_from(table)) or 0 if table.name in there else 0
        for table in (documents, chunks, runs)
    }
    return Stored(workspace=name, version=version, size=file.stat().st_size, **numbers)


def _size(file: Path) -> int:
    try:
        return file.stat().st_size
    except FileNotFoundError:
        return 0
