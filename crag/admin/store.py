"""Where people, workspaces, limits and the audit log are stored: a file of the data folder, or the database."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from sqlalchemy import (
    JSON,
    BigInteger,
    Boolean,
    Column,
    Connection,
    Double,
    Index,
    Integer,
    MetaData,
    PrimaryKeyConstraint,
    Table,
    Text,
    UniqueConstraint,
    insert,
    select,
    text,
)
from sqlalchemy import inspect as inspected

from crag.core.errors import StorageError
from crag.storage.database import own_folder
from crag.storage.sqlite import (
    Idle,
    connect,
    connect_read_only,
    driver,
    translate_errors,
    wait_for_others,
    writable,
    write_ahead,
)

if TYPE_CHECKING:
    from crag.storage.postgres import Server

VERSION = 1
"""Of these tables. A file of a newer one is refused; `crag.admin.store` brings an older one up to date."""

metadata = MetaData()

meta = Table("team_meta", metadata, Column("key", Text, primary_key=True), Column("value", Text, nullable=False))

people = Table(
    "team_people",
    metadata,
    Column("id", Text, primary_key=True),
    # Who somebody is, says the provider of their sign-in: `sub` is unique within `iss` alone (OpenID Connect Core 2).
    Column("issuer", Text, nullable=False),
    Column("subject", Text, nullable=False),
    Column("name", Text, nullable=False),
    Column("email", Text, nullable=False),
    Column("groups", JSON, nullable=False),
    Column("role", Text, nullable=False),
    Column("made_at", Text, nullable=False),
    Column("seen_at", Text, nullable=False),
    Column("removed_at", Text, nullable=False, server_default=""),
    UniqueConstraint("issuer", "subject"),
)

sign_ins = Table(
    "team_sign_ins",
    metadata,
    # SHA-256 of what the provider said at that sign-in.
    Column("hash", Text, primary_key=True),
    # When it ends by itself, and this row can go.
    Column("ends_at", Text, nullable=False),
    # Signed out: a copy of its cookie is worth nothing from then on.
    Column("over", Boolean, nullable=False),
)

workspaces = Table(
    "team_workspaces",
    metadata,
    # The name of its library: a folder below data/workspaces, or a schema.
    Column("name", Text, primary_key=True),
    Column("title", Text, nullable=False),
    Column("owner", Text, nullable=False),
    Column("made_at", Text, nullable=False),
    Column("used_at", Text, nullable=False),
    # Not in use: when an idle workspace ends stands in team_usage, with what was seen of its warning.
    Column("ends_at", Text, nullable=False, server_default=""),
)

members = Table(
    "team_members",
    metadata,
    Column("workspace", Text, nullable=False),
    Column("kind", Text, nullable=False),
    Column("who", Text, nullable=False),
    Column("role", Text, nullable=False),
    Column("made_at", Text, nullable=False),
    PrimaryKeyConstraint("workspace", "kind", "who"),
)
"""`kind`: "person", by id or, before they first signed in, by e-mail; or "group", a value of the groups claim."""

links = Table(
    "team_links",
    metadata,
    Column("id", Text, primary_key=True),
    # SHA-256 of what stands in the address: the link itself is stored nowhere.
    Column("hash", Text, nullable=False, unique=True),
    Column("workspace", Text, nullable=False),
    Column("made_by", Text, nullable=False),
    Column("made_at", Text, nullable=False),
    Column("ends_at", Text, nullable=False),
    Column("ended_at", Text, nullable=False, server_default=""),
)

limits = Table(
    "team_limits",
    metadata,
    # "" is the whole server.
    Column("workspace", Text, nullable=False),
    Column("name", Text, nullable=False),
    Column("value", Double, nullable=False),
    # Counts changes: who changes a limit names the one that they saw, and is refused where somebody was faster.
    Column("edition", Integer, nullable=False),
    Column("changed_by", Text, nullable=False),
    Column("changed_at", Text, nullable=False),
    PrimaryKeyConstraint("workspace", "name"),
)

usage = Table(
    "team_usage",
    metadata,
    Column("workspace", Text, nullable=False),
    Column("day", Text, nullable=False),
    Column("what", Text, nullable=False),
    Column("amount", Double, nullable=False),
    PrimaryKeyConstraint("workspace", "day", "what"),
)

audit = Table(
    "team_audit",
    metadata,
    Column("number", BigInteger().with_variant(Integer, "sqlite"), primary_key=True, autoincrement=True),
    Column("at", Text, nullable=False),
    Column("who", Text, nullable=False),
    Column("act", Text, nullable=False),
    Column("workspace", Text, nullable=False),
    Column("what", Text, nullable=False),
    Column("detail", Text, nullable=False),
    Column("refused", Boolean, nullable=False),
    Index("team_audit_at", "at"),
    sqlite_autoincrement=True,
)


FILE = "teams.db"
SCHEMA = "crag"
_LOCK = text("SELECT pg_advisory_xact_lock(hashtextextended('crag teams', 0))")
_PATH = text(f"SELECT set_config('search_path', '{SCHEMA}', true)")


class Store:
    """Read and write transactions on the teams' tables. Thread-safe; several processes may share them.

    Nothing is made before the first write; until then all tables read as empty. Every method raises StorageError.
    """

    def __init__(self, data: Path, server: Server | None = None) -> None:
        self._file, self._server = data / FILE, server
        self._idle = Idle()
        self._ready = False

    @property
    def made(self) -> bool:
        """Whether anything was ever stored."""
        if self._server is None:
            return self._file.exists()
        with self._server.translated(), self._server.reading() as connection:
            return inspected(connection).has_table(meta.name, schema=SCHEMA)

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """A read transaction: all that is read in the block is of one moment."""
        if self._server is not None:
            if not self._ready and not self.made:
                with _nothing() as empty:
                    yield empty
                return
            with self._server.translated(), self._server.reading() as connection:
                connection.execute(_PATH)
                self._check(connection)
                yield connection
            return
        if not self._file.exists():
            with _nothing() as empty:
                yield empty
            return
        with translate_errors(self._file), self._borrowed() as connection:
            driver(connection).execute("BEGIN")
            transaction = connection.begin()
            try:
                yield connection
            finally:
                transaction.rollback()

    @contextmanager
    def write(self) -> Iterator[Connection]:
        """A write transaction, one at a time: lasting when the block ends; if it raises, nothing of it happened."""
        if self._server is not None:
            with self._server.translated(), self._server.writing() as connection, connection.begin():
                connection.execute(_LOCK)
                if not self._ready:
                    connection.exec_driver_sql(f"CREATE SCHEMA IF NOT EXISTS {SCHEMA}")
                connection.execute(_PATH)
                if not self._ready:
                    _create(connection)
                self._check(connection)
                yield connection
            return
        with translate_errors(self._file):
            if not self._file.exists():
                own_folder(self._file.parent)
                os.close(os.open(self._file, os.O_RDWR | os.O_CREAT, 0o600))
            with self._borrowed() as connection:
                driver(connection).execute("BEGIN IMMEDIATE")
                with connection.begin():
                    yield connection

    def close(self) -> None:
        """Close what is idle; the next use opens it again."""
        self._idle.rest()

    @contextmanager
    def _borrowed(self) -> Iterator[Connection]:
        found = self._file.stat()
        identity = (found.st_dev, found.st_ino)
        connection = self._idle.take(identity) or self._connected()
        try:
            yield connection
        finally:
            self._idle.give_back(identity, connection)

    def _connected(self) -> Connection:
        readable_only = not writable(self._file)
        connection = connect_read_only(self._file) if readable_only else connect(self._file)
        try:
            file = driver(connection)
            wait_for_others(file)
            if readable_only:
                return connection
            write_ahead(file)
            file.execute("PRAGMA synchronous = FULL")
            version = int(file.execute("PRAGMA user_version").fetchone()[0])
            if version > VERSION:
                raise _newer(str(version))
            if version < VERSION:
                file.execute("BEGIN IMMEDIATE")
                with connection.begin():
                    _create(connection)
                    file.execute(f"PRAGMA user_version = {VERSION}")
        except BaseException:
            connection.close()
            raise
        return connection

    def _check(self, connection: Connection) -> None:
        if self._ready:
            return
        version = str(connection.scalars(select(meta.c.value).where(meta.c.key == "version")).one())
        if not version.isdecimal() or int(version) > VERSION:
            raise _newer(version)
        self._ready = True


def _create(connection: Connection) -> None:
    """Tables that are not there yet; those that are stay as they are."""
    metadata.create_all(connection)
    if connection.scalar(select(meta.c.value).where(meta.c.key == "version")) is None:
        connection.execute(insert(meta).values(key="version", value=str(VERSION)))


@contextmanager
def _nothing() -> Iterator[Connection]:
    """Empty tables in memory, to be read where nothing was stored yet."""
    connection = connect(":memory:")
    try:
        driver(connection).deserialize(_empty())
        yield connection
    finally:
        connection.rollback()
        connection.close()


@cache
def _empty() -> bytes:
    """A file of empty tables: rebuilding them at every read took a tenth of a page's time."""
    connection = connect(":memory:")
    try:
        metadata.create_all(connection)
        connection.commit()
        return driver(connection).serialize()
    finally:
        connection.close()


def _newer(version: str) -> StorageError:
    return StorageError(
        f"People and workspaces were stored by a newer version of this program (version {version}; this one knows "
        f"{VERSION}).",
        "Update the program, or choose another data folder or database. Nothing was changed.",
    )
