"""Copies a library's records from one place to another, between folders and databases, and compares the two.

The copy is a library of its own, with an id of its own: a chunk index on a server tells libraries by their ids, and two
of one id would write over each other's chunks there. All else keeps its number and id.

It is made as a draft, which no app sees, batch by batch, each batch with a note of how far it goes in one transaction.
So a copy that was cut short goes on where it was. Only when every row was compared does the draft become the library.
"""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Connection,
    RowMapping,
    Select,
    Table,
    delete,
    func,
    insert,
    select,
    text,
    tuple_,
    update,
)

from crag.core.errors import CancelledError, NotFoundError, StorageError
from crag.storage import store
from crag.storage.documents import reserved
from crag.storage.index_sync import Differences, IndexSync, OpenIndex
from crag.storage.key_value_store import CHOSEN, SIGNED_WITH, KeyValueStore
from crag.storage.places import Place, taken_error
from crag.storage.records import Records
from crag.storage.tables import chunks, metadata, revision
from crag.storage.tables import meta as about

TABLES = tuple(table for table in metadata.sorted_tables if table not in (about, revision))
"""What is copied, each after those that it refers to."""
_CARRIED = "generation", "model", "dimension"
"""What a copy has of what the library is itself."""
_NOTE = "copied from"
ROWS: Mapping[str, int] = {"files": 1, "purged": 1, "question_sets": 1, "runs": 20, "searches": 100, "results": 200}
"""How many rows are in memory at once, where they are large."""
_ROWS = 1_000

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
    """What came of copying a library. `tables` were compared row by row.

    `found`: it was there, whole, and was only compared. `resumed`: one that was cut short was gone on with. `changed`
    names the tables that were begun anew then, for what was copied of them had changed in the source meanwhile.
    """

    tables: tuple[Compared, ...]
    found: bool = False
    resumed: bool = False
    changed: tuple[str, ...] = ()

    @property
    def whole(self) -> bool:
        return all(each.same for each in self.tables)


def copy_library(
    source: Place,
    target: Place,
    *,
    anew: bool = False,
    watch: Watch = lambda table, done, of: None,
    cancel: threading.Event | None = None,
    rows: Mapping[str, int] = ROWS,
) -> Copy:
    """Copy a library as it is at this moment, or go on with a copy; one that differs from its source is not published.

    With `anew` a draft that is there is thrown away, a library never. A copy that is whole is compared once more.
    `rows`: how many of a table's are copied in one transaction. Raises NotFoundError where there is nothing to copy,
    StorageError where the target holds something else, and CancelledError, after which it can go on.
    """
    with closing(source.records()) as records:
        if not records.made:
            raise NotFoundError(f"There is no library {source.name} to copy.", "Look at the place that is copied from.")
        with records.read() as connection:
            if problem := store.first_problem(connection):
                raise records.damaged(problem)
            return _copy_tables(connection, target, anew, _Manner(watch=watch, cancel=cancel, rows=rows))


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


@dataclass(frozen=True, slots=True, kw_only=True)
class _Manner:
    """How a copy is made: who watches, what stops it, and in what steps."""

    watch: Watch
    cancel: threading.Event | None
    rows: Mapping[str, int]

    def check(self) -> None:
        if self.cancel is not None and self.cancel.is_set():
            raise CancelledError("Copying was stopped.", "Give the same command again: it goes on from here.")


@dataclass(slots=True)
class _Note:
    """What a copy knows of how it is made: the source's id, and the key of the last row copied, by table.

    The key is that in the source, where a character may stand that the target can't hold. A table without a key is
    copied in one transaction, and its name alone says that it was.
    """

    origin: str
    after: dict[str, list[Any]] = field(default_factory=dict)

    @classmethod
    def read(cls, connection: Connection) -> _Note | None:
        said = connection.scalar(select(about.c.value).where(about.c.key == _NOTE))
        return None if said is None else cls(**json.loads(said))

    def write(self, connection: Connection) -> None:
        said = json.dumps({"origin": self.origin, "after": self.after})
        store.put(connection, about, [{"key": _NOTE, "value": said}])


def _copy_tables(source: Connection, target: Place, anew: bool, manner: _Manner) -> Copy:
    origin = store.meta(source, "library")
    with closing(target.records()) as there:
        if there.made:
            with there.read() as connection:
                note = _Note.read(connection)
                if note is None or note.origin != origin:
                    raise taken_error(target.name)
                found = Copy(tables=_compare_tables(source, connection, manner), found=True)
            target.discard()
            return found
    if anew:
        target.discard()
    with closing(target.draft()) as draft:
        work = _Work(source, draft, origin, manner)
        resumed = work.begin(target.name)
        changed = work.forget_stale() if resumed else ()
        work.copy()
        with draft.read() as connection:
            tables = _compare_tables(source, connection, manner)
    copy = Copy(tables=tables, resumed=resumed, changed=changed)
    if copy.whole:
        target.publish()
        with closing(target.records()) as there:
            there.reserve(reserved(_largest(source)))
    return copy


class _Work:
    """One copy that is being made from what `source` sees into `draft`."""

    def __init__(self, source: Connection, draft: Records, origin: str, manner: _Manner) -> None:
        self._source, self._draft, self._manner = source, draft, manner
        self._note = _Note(origin)

    def begin(self, name: str) -> bool:
        """Whether a copy is gone on with. Raises StorageError for one of another library."""
        with self._draft.write() as into:
            found = _Note.read(into)
            if found is None:
                self._note.write(into)
                return False
            if found.origin != self._note.origin:
                raise StorageError(
                    f"At {name} a copy of another library was begun.", "Go on with that one, or add --anew."
                )
            self._note = found
            return True

    def forget_stale(self) -> tuple[str, ...]:
        """Empty the tables of which the source no longer has all that was copied, and those that refer to them."""
        stale: list[Table] = []
        with self._draft.read() as there:
            for table in TABLES:
                after = self._note.after.get(table.name)
                if any(key.column.table in stale for key in table.foreign_keys) or (
                    after is not None
                    and _sum_hashes(self._source, _rows(table).where(*_until(table, after)), table, self._manner)
                    != _sum_hashes(there, _rows(table), table, self._manner)
                ):
                    stale.append(table)
        if stale:
            with self._draft.write() as into:
                self._check(into)
                for table in reversed(stale):
                    into.execute(delete(table))
                    self._note.after.pop(table.name, None)
                self._note.write(into)
        return tuple(table.name for table in stale)

    def copy(self) -> None:
        for table in TABLES:
            self._copy(table)
        with self._draft.write() as into:
            self._check(into)
            for key in _CARRIED:
                value = store.meta(self._source, key)
                into.execute(update(about).where(about.c.key == key).values(value=value))
            for table in TABLES:
                if "number" in table.c:
                    count_on(into, table, highest_number(self._source, table))

    def _copy(self, table: Table) -> None:
        keys, after = list(table.primary_key), self._note.after.get(table.name)
        if after is not None and not keys:
            return
        of, done = store.count(self._source, table), 0
        asked = _rows(table).order_by(*keys)
        if after is not None:
            asked = asked.where(_key(table) > _values(after))
            with self._draft.read() as there:
                done = store.count(there, table)
        rows = self._manner.rows.get(table.name, _ROWS)
        parts = self._source.execute(asked, execution_options={"yield_per": rows}).mappings().partitions()
        # Without a key nothing tells how far it goes, so all is one step then.
        for step in ([part] for part in parts) if keys else [parts]:
            self._manner.check()
            done += self._step(table, step)
            self._manner.watch(table.name, done, of)

    def _step(self, table: Table, parts: Iterable[Sequence[RowMapping]]) -> int:
        """Copies rows in one transaction; how many."""
        done = 0
        with self._draft.write() as into:
            self._check(into)
            for part in parts:
                into.execute(insert(table), [dict(row) for row in part])
                self._note.after[table.name] = [part[-1][key.name] for key in table.primary_key]
                done += len(part)
            self._note.write(into)
        return done

    def _check(self, into: Connection) -> None:
        """Raises StorageError where the draft is not as this work left it: somebody else works on it."""
        if _Note.read(into) != self._note:
            raise StorageError("Another program makes the same copy.", "Wait until it has ended, then try again.")


def _rows(table: Table) -> Select[Any]:
    return select(table).where(about.c.key.in_(_CARRIED)) if table is about else select(table)


def _key(table: Table) -> ColumnElement[Any]:
    keys = list(table.primary_key)
    return keys[0] if len(keys) == 1 else tuple_(*keys)


def _values(key: list[Any]) -> Any:
    return key[0] if len(key) == 1 else tuple(key)


def _until(table: Table, after: list[Any]) -> list[ColumnElement[bool]]:
    return [_key(table) <= _values(after)] if after else []


def _compare_tables(source: Connection, target: Connection, manner: _Manner) -> tuple[Compared, ...]:
    found = []
    for table in (*TABLES, about):
        one, other = (_sum_hashes(each, _rows(table), table, manner) for each in (source, target))
        found.append(Compared(table=table.name, source=one[0], target=other[0], same=one == other))
    return tuple(found)


def _sum_hashes(connection: Connection, asked: Select[Any], table: Table, manner: _Manner) -> tuple[int, int]:
    """How many rows there are, and the sum of their hashes, which does not depend on their order."""
    rows, count, total = manner.rows.get(table.name, _ROWS), 0, 0
    for part in connection.execute(asked, execution_options={"yield_per": rows}).partitions():
        manner.check()
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
