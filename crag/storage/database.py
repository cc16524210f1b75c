"""The database of one library, or of people and workspaces: many readers, one writer, every use a transaction."""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

from pydantic import ValidationError
from sqlalchemy import ColumnElement, Connection, Select
from sqlalchemy.exc import DBAPIError

from crag.core.errors import StorageError
from crag.storage.postgres import PostgresSchema
from crag.storage.sqlite import SqliteFile
from crag.storage.store import select_in

T = TypeVar("T")

_log = logging.getLogger(__name__)


class Database:
    """A database in a file or on a server. Thread-safe, across processes too.

    What was never written to reads as empty, and is nowhere. What is deleted or replaced from outside while it is in
    use is reported once, by StorageError; after that the library works with what is there then.
    """

    def __init__(self, place: SqliteFile | PostgresSchema, may_grow: Callable[..., None] | None = None) -> None:
        """`place`: the file or the schema, which others may ask for room and for the right to change the index.

        `may_grow(more, makes=…)` is asked before every write that may add, with the bytes that are to come where
        that is known, and whether the library would be created; it raises RoomError where that is too much.
        """
        self.place, self._may_grow = place, may_grow
        self._writing = threading.Lock()
        self._closed = False
        self._seen: Hashable = None
        """What identifies the tables that were used last; None: none were there."""

    def check(self) -> None:
        """Raises StorageError where the file, or a folder for it, can't be used."""
        with self.place.translated():
            self.place.check()

    @property
    def exists(self) -> bool:
        """Whether anything was ever stored. Raises StorageError."""
        with self.place.translated():
            return self.place.identity() is not None

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """A read transaction: all that is read in the block is of one moment, and nothing that it changes is stored."""
        self._check_open()
        with self._translated(), self.place.transaction() as (connection, found):
            self._meet(found)
            yield connection

    @contextmanager
    def write(self, more: int = 0, *, grows: bool = True, synced: bool = True) -> Iterator[Connection]:
        """A write transaction: lasting when the block ends, or, if it raises, nothing of it happened.

        `more`: about how many bytes it adds. Raises RoomError where no more may be stored, unless it never `grows`.
        What is not `synced` outlives the program, but maybe not a power cut: caches, and notes of what is under way.
        """
        self._check_open()
        with self._translated(), self._writing:
            makes = self._look() is None
            if self._may_grow is not None and (grows or makes):
                self._may_grow(more, makes=makes)
            if makes:
                self.place.create()
            with self.place.transaction(write=True, more=more, synced=synced) as (connection, found):
                self._meet(found)
                yield connection

    def free(self, work: Callable[[Connection], T]) -> T:
        """What `work` returns, in a write transaction that only removes; the space of that is given back.

        Where there is no room for it, `work` may be done twice.
        """
        self._check_open()
        with self._translated(), self._writing:
            held, found = 0, self._look()
            try:
                done = self._remove(work)
            except DBAPIError as error:
                held = self.place.make_room(error)
                if not held:
                    raise
                done = self._remove(work)
            if found is not None:
                self.place.reclaim()
            if held:
                self.place.reserve(held)
            return done

    def close(self) -> None:
        """Close what is idle now and the rest as it comes back. Closing twice does nothing."""
        self._closed = True
        self.place.rest()

    def _remove(self, work: Callable[[Connection], T]) -> T:
        with self.place.transaction(write=True) as (connection, found):
            self._meet(found)
            return work(connection)  # where there is nothing to remove, it finds that itself and says so

    def _look(self) -> Hashable:
        found = self.place.identity()
        self._meet(found)
        return found

    def _meet(self, found: Hashable) -> None:
        """Take the tables that are there now as the library. Raises StorageError, once, where others were before."""
        if found == self._seen:
            return
        if found is None and self.place.identity() == self._seen:
            return  # the transaction began before another thread made the library
        if self._seen is not None:
            self._seen = None
            self.place.rest()
            _log.info("the library %s was deleted or replaced while it was in use", self.place.name)
            raise StorageError(
                f"The library {self.place.name} was deleted or replaced {self.place.where} while it was in use.",
                "It goes on with what is there now, which may be nothing: add the documents again, or put a backup in"
                " its place.",
            )
        layout = self.place.layout
        with self.place.transaction() as (connection, _):
            layout.check(layout.version_of(connection), self.place.name)
        self._seen = found

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            with self.place.translated():
                yield
        except (json.JSONDecodeError, ValidationError) as error:  # flipped bytes that SQLite does not notice
            # Not `from error`: what can't be read is a text of somebody's document.
            raise self.place.damaged(f"a row can't be read: {type(error).__name__}") from None

    def _check_open(self) -> None:
        if self._closed:
            raise StorageError(f"The library {self.place.name} is closed.", "Open it again.")


class Part:
    """A part of what a library holds. Thread-safe, across processes too. Every method raises StorageError."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def _scalar(self, asked: Select[Any]) -> Any:
        """The first value of the first row; None where there is none."""
        with self._database.read() as connection:
            return connection.scalar(asked)

    def _scalars(self, asked: Select[Any]) -> list[Any]:
        """The first value of each row."""
        with self._database.read() as connection:
            return list(connection.scalars(asked))

    def _among(self, asked: Select[Any], column: ColumnElement[Any], values: Sequence[Any] | None) -> list[Any]:
        """The rows whose `column` is one of these values; None: all rows."""
        with self._database.read() as connection:
            return list(select_in(connection, asked, column, values))

    def _records(self, kind: type[T], asked: Select[Any]) -> list[T]:
        """A value for each row, whose columns have the names of its fields."""
        with self._database.read() as connection:
            return [kind(**row) for row in connection.execute(asked).mappings()]
