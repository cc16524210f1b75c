"""Moves libraries between folders and databases: which go where by a person's words, and each copy with its index.

A copy is a library of its own, with its own id: a chunk index on a server distinguishes libraries by their ids, and two
of one id would overwrite the other's chunks there. All other numbers and ids stay. Everything is copied and compared
in one transaction, so an app sees the whole copy or an empty library.
"""

from __future__ import annotations

import hashlib
import json
import os
import threading
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection, Select, Table, exists, func, or_, select, text

from crag.core.config import AppConfig
from crag.core.errors import CancelledError, CragError, InputError, NotFoundError, SettingsError, StorageError
from crag.index.embedded import opened
from crag.providers.registry import given_keys
from crag.storage import store
from crag.storage.documents import reserved
from crag.storage.index_sync import Differences, IndexSync, OpenIndex
from crag.storage.labels import VOTE
from crag.storage.places import DataFolder, LibraryRoot, Place, check_workspace_name
from crag.storage.records import CHOSEN, SIGNED_WITH, KeyValueStore, Records, server_at
from crag.storage.tables import chunks, metadata, revision
from crag.storage.tables import meta as about

if TYPE_CHECKING:
    from crag.storage.postgres import Server

TABLES = tuple(table for table in metadata.sorted_tables if table not in (about, revision))
"""What is copied, each after those that it refers to."""
_CARRIED = "generation", "model", "dimension"
"""What a copy has of what the library is itself, besides votes."""
_NOTE = "copied from"

Watch = Callable[[str, int, int], object]
"""Called with a table, how many of its rows are copied, and how many there are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """One table in both places: how many rows, and whether every one of them is the same."""

    table: str
    source: int
    target: int
    same: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Copy:
    """What came of copying a library. `tables` were compared row by row. `found`: it existed, and was compared."""

    tables: tuple[Compared, ...]
    found: bool = False

    @property
    def whole(self) -> bool:
        return all(each.same for each in self.tables)


def copy_library(
    source: Place,
    target: Place,
    *,
    watch: Watch = lambda table, done, of: None,
    cancel: threading.Event | None = None,
) -> Copy:
    """Copy a library as it is at this moment. A copy that differs from its source is not stored.

    A copy that exists already is compared again. Raises NotFoundError where there is nothing to copy, StorageError
    where the target holds something else, and CancelledError.
    """
    with closing(source.records()) as records, closing(target.records()) as there:
        if not records.exists:
            raise NotFoundError(f"There is no library {source.name} to copy.", "Look at the place that is copied from.")
        with records.read() as connection:
            if problem := store.first_problem(connection):
                raise records.damaged(problem)
            if (found := _compare_earlier(connection, there, target.name, cancel)) is not None:
                return found
            try:
                with there.write() as into:
                    if not _is_fresh(into):
                        raise _taken_error(target.name)
                    copy = _copy_records(connection, into, watch, cancel)
                    if not copy.whole:
                        raise _NotWholeError(copy)
            except _NotWholeError as error:
                return error.copy
            there.reserve(reserved(_largest(connection)))
            return copy


class _NotWholeError(Exception):
    """Ends the transaction of a copy that differs from its source."""

    def __init__(self, copy: Copy) -> None:
        self.copy = copy


def fill_index(place: Place, open_index: OpenIndex) -> Differences:
    """Fill the index of a library from its records, and compare the two. Raises IndexUnavailableError."""
    with closing(place.records()) as records:
        upkeep = IndexSync(records, open_index)
        try:
            return upkeep.compare()
        finally:
            upkeep.forget()


def kept_copied(source: KeyValueStore, target: KeyValueStore) -> dict[str, str]:
    """Copy what belongs to no library; by name: "copied", "there" already, or "other", which was left as it was.

    Raises StorageError, before anything is copied, where the target signs the keys of private libraries with another
    secret: nobody's address would open their library there.
    """
    signed = source.read(SIGNED_WITH)
    if signed is not None and target.read(SIGNED_WITH) not in (None, signed):
        raise StorageError(
            "Private libraries at the target have keys of their own, so none of the source's would open its library.",
            "Copy into a place that no app was started with, or copy named libraries one by one.",
        )
    said: dict[str, str] = {}
    for name in (SIGNED_WITH, CHOSEN):
        value = source.read(name)
        if value is not None:
            before = target.read(name)
            now = target.first(name, value)
            said[name] = "copied" if before is None else "there" if now == value else "other"
    return said


def _compare_earlier(source: Connection, there: Records, name: str, cancel: threading.Event | None) -> Copy | None:
    """An earlier copy of the source, compared with it; None where there is none. Raises StorageError."""
    with there.read() as connection:
        if _is_fresh(connection):
            return None
        if connection.scalar(select(about.c.value).where(about.c.key == _NOTE)) != store.meta(source, "library"):
            raise _taken_error(name)
        return Copy(tables=_compare_tables(source, connection, cancel), found=True)


def _is_fresh(connection: Connection) -> bool:
    """Whether a library has never held anything but empty tables."""
    return not connection.scalar(select(or_(*(exists(select(table)) for table in TABLES))))


def _copy_records(source: Connection, into: Connection, watch: Watch, cancel: threading.Event | None) -> Copy:
    for table in TABLES:
        of = store.count(source, table)
        for done in store.copy_table(source, into, table):
            _check(cancel)
            watch(table.name, done, of)
        if "number" in table.c:
            count_on(into, table, highest_number(source, table))
    values = {_NOTE: store.meta(source, "library"), "library": uuid.uuid4().hex}
    values |= {row.key: row.value for row in source.execute(_rows(about))}
    store.put(into, about, [{"key": key, "value": value} for key, value in values.items()])
    return Copy(tables=_compare_tables(source, into, cancel))


def _taken_error(name: str) -> StorageError:
    return StorageError(
        f"There is a library {name} already, which is no copy of this one.",
        "Nothing was changed. Choose another place, or remove that library first.",
    )


def _check(cancel: threading.Event | None) -> None:
    if cancel is not None and cancel.is_set():
        raise CancelledError("Copying was stopped.", "Give the same command again.")


def _rows(table: Table) -> Select[Any]:
    carried = or_(about.c.key.in_(_CARRIED), about.c.key.startswith(VOTE))
    return select(table).where(carried) if table is about else select(table)


def _compare_tables(source: Connection, target: Connection, cancel: threading.Event | None) -> tuple[Compared, ...]:
    found = []
    for table in (*TABLES, about):
        one, other = (_sum_hashes(each, table, cancel) for each in (source, target))
        found.append(Compared(table=table.name, source=one[0], target=other[0], same=one == other))
    return tuple(found)


def _sum_hashes(connection: Connection, table: Table, cancel: threading.Event | None) -> tuple[int, int]:
    """How many rows there are, and the sum of their hashes, which does not depend on their order."""
    count, total = 0, 0
    for part in store.in_parts(connection, _rows(table), store.rows_at_once(table)):
        _check(cancel)
        count += len(part)
        total += sum(map(_hash, part))
    return count, total % 2**128


def _hash(row: Sequence[Any]) -> int:
    """128 bits of all values of a row, the same wherever it is stored."""
    made = hashlib.blake2b(digest_size=16)
    for value in row:
        data = _plain(value)
        made.update(b"%d " % len(data))
        made.update(data)
    return int.from_bytes(made.digest(), "big")


def _plain(value: Any) -> bytes:
    match value:
        case bytes():
            return value
        case str():
            return value.replace("\0", "\ufffd").encode()  # as PostgreSQL stores it
        case dict():
            return json.dumps(value).encode()
        case _:
            return repr(value).encode()


def highest_number(connection: Connection, table: Table) -> int:
    """The highest number that a table ever gave out."""
    if connection.dialect.name == "sqlite":
        found = connection.execute(text("SELECT seq FROM sqlite_sequence WHERE name = :name"), {"name": table.name})
    else:
        found = connection.execute(
            text("SELECT pg_sequence_last_value(pg_get_serial_sequence(:name, 'number')::regclass)"),
            {"name": table.name},
        )
    highest = connection.scalar(select(func.max(table.c.number)))
    return max(found.scalar() or 0, highest or 0)


def count_on(connection: Connection, table: Table, highest: int) -> None:
    """Have a table give out numbers above this one."""
    given = {"name": table.name, "highest": highest}
    if connection.dialect.name == "sqlite":
        connection.execute(text("DELETE FROM sqlite_sequence WHERE name = :name"), {"name": table.name})
        connection.execute(text("INSERT INTO sqlite_sequence (name, seq) VALUES (:name, :highest)"), given)
    elif highest:
        connection.execute(text("SELECT setval(pg_get_serial_sequence(:name, 'number')::regclass, :highest)"), given)


def _largest(connection: Connection) -> int:
    """The chunks of the document that has the most."""
    counts = select(func.count()).select_from(chunks).group_by(chunks.c.document)
    return connection.scalar(counts.order_by(func.count().desc()).limit(1)) or 0


_DEFAULT = "default"


@dataclass(frozen=True, slots=True, kw_only=True)
class Moved:
    """What came of one library: its copy or an error, and how the copy's index differs from its records.

    `index` is None where the copy is not whole, and where each app server makes an index of its own when it is first
    asked: that of a library on a database server, unless it is in Milvus.
    """

    workspace: str
    copy: Copy | None = None
    index: Differences | None = None
    error: CragError | None = None

    @property
    def whole(self) -> bool:
        return self.copy is not None and self.copy.whole and not self.index and self.error is None


class Move:
    """Libraries on their way from one place to another; a context manager, which closes what it opened.

    A place is a library's own folder; a data folder, which holds `workspaces`; `database`, which CRAG_DATABASE_URL
    names; `env:NAME`, the database whose address another variable holds; or such an address itself.
    """

    def __init__(
        self, source: str, target: str, config: AppConfig, *, workspace: str | None = None, every: bool = False
    ) -> None:
        """One library, by default that of the workspace "default", or with `every` all of them.

        Nothing is read or made yet. Raises NotFoundError and InputError for words that name no such place.
        """
        self._config, self._stack = config, ExitStack()
        self._workspace, self._every = workspace, every
        with ExitStack() as stack:
            self._source = self._database(source, stack) or _there(source)
            self._target = self._database(target, stack) or _parse_place(target, every)
            self._stack = stack.pop_all()

    def __enter__(self) -> Move:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    def kept(self) -> dict[str, str]:
        """Copy what belongs to no library, where all are copied: see `crag.admin.moving.kept_copied`."""
        return kept_copied(_root(self._source).values, _root(self._target).values) if self._every else {}

    def left_out(self) -> int:
        """How many libraries are not copied, because no workspace can have their name."""
        return _root(self._source).unnamed() if self._every else 0

    def libraries(
        self,
        *,
        watch: Callable[[str, str, int, int], object] = lambda workspace, table, done, of: None,
        cancel: threading.Event | None = None,
    ) -> Iterator[Moved]:
        """Copy one after another and fill their indexes; one that fails keeps no other from its turn.

        `watch(workspace, table, done, of)` is called as rows are copied. Raises CancelledError, and InputError for what
        can't be a workspace's name.
        """
        for name, source, target in self._pairs():
            copy = None
            try:
                copy = copy_library(source, target, watch=partial(watch, name), cancel=cancel)
                yield Moved(workspace=name, copy=copy, index=self._filled(name, target) if copy.whole else None)
            except CancelledError:
                raise
            except CragError as error:
                yield Moved(workspace=name, copy=copy, error=error)

    def _pairs(self) -> list[tuple[str, Place, Place]]:
        source, target = self._source, self._target
        if self._every:
            return [(name, _place(source, name), _place(target, name)) for name in _root(source).names()]
        name = self._workspace or (source.name if isinstance(source, Place) else _DEFAULT)
        return [(name, _place(source, name), _place(target, name))]

    def _filled(self, workspace: str, target: Place) -> Differences | None:
        if self._config.storage.index == "embedded" and target.folder is None:
            return None
        beside = target.folder or self._config.storage.data / "workspaces" / workspace
        return fill_index(target, partial(opened, self._config, given_keys(), beside))

    def _database(self, said: str, stack: ExitStack) -> Server | None:
        """The database that is named so, closed with the stack; None for a folder."""
        server = server_at(database_named(said, self._config))
        if server is not None:
            stack.callback(server.close)
        return server


def database_named(said: str, config: AppConfig) -> str:
    """The address of the database that is named so; nothing where a folder is named. Raises SettingsError."""
    if said == "database":
        variable, url = "CRAG_DATABASE_URL", config.storage.database_url
    elif said.startswith("env:"):
        variable = said.removeprefix("env:")
        url = os.environ.get(variable, "")
    else:
        return said if "://" in said else ""
    if not url:
        raise SettingsError(f"{variable} holds no address of a database.", "Set it, or name a folder.")
    return url


def _there(said: str) -> Place | LibraryRoot:
    folder = Path(said)
    if (folder / "library.db").is_file():
        return Place.at(folder)
    if (folder / "workspaces").is_dir():
        return DataFolder(folder)
    raise NotFoundError(f"There is no library in {said}, and no folder workspaces.", "Name another folder.")


def _parse_place(said: str, every: bool) -> Place | LibraryRoot:
    folder = Path(said)
    if (folder / "workspaces").is_dir() or (every and not (folder / "library.db").exists()):
        return DataFolder(folder)
    return Place.at(folder)


def _place(place: Place | LibraryRoot, workspace: str) -> Place:
    """The place of one library. Raises InputError where it needs the name of a workspace, and this can be none."""
    return place if isinstance(place, Place) else place.place(check_workspace_name(workspace))


def _root(place: Place | LibraryRoot) -> LibraryRoot:
    """A place of many libraries. Raises InputError for the place of one."""
    if isinstance(place, Place):
        raise InputError("All libraries can't be copied from or to the folder of one.", "Leave --all out.")
    return place
