"""Libraries on a PostgreSQL server: a schema each, of the same tables as a file has. Why: docs/decisions/storage.md."""

from __future__ import annotations

import hashlib
import logging
import re
import threading
from collections.abc import Collection, Hashable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress

from sqlalchemy import (
    Column,
    Connection,
    LargeBinary,
    MetaData,
    Table,
    Text,
    create_engine,
    inspect,
    make_url,
    select,
    text,
)
from sqlalchemy.exc import ArgumentError, DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from crag.core.errors import InputError, StorageError
from crag.storage.layout import Layout, foreign_database_error
from crag.storage.store import put
from crag.text.memory import on_deletion

_log = logging.getLogger(__name__)
_LET_IN = "Check the user, the password and the database in CRAG_DATABASE_URL, and whether it takes more connections."
_FREE = "Make room on the database server, then try again; everything already stored is intact."
_AGAIN = "Try again; what was confirmed is stored, and what was not is absent."

# By the class (two characters) or the whole of what PostgreSQL calls SQLSTATE, the whole first.
_CAUSES = {
    "53100": ("has no room left on its disk.", _FREE),
    "54": ("can't store as much in one place.", _FREE),
    "53": ("has no memory or connection left.", _AGAIN),
    "55P03": ("keeps the library locked for another program.", "Wait until the others are done, then try again."),
    "25006": (
        "takes no writes.",
        "CRAG_DATABASE_URL must name the server that is written to, not one that follows it.",
    ),
    "42501": (
        "does not allow it.",
        "Ask who runs the database to GRANT CREATE ON DATABASE to the user in CRAG_DATABASE_URL.",
    ),
    "28": ("did not let the program in.", _LET_IN),
    "3D": ("did not let the program in.", _LET_IN),
    "40": ("was asked for the same by another program at once.", _AGAIN),
    "57": ("broke off.", _AGAIN),
    "08": ("went away in the middle.", _AGAIN),
    "XX": ("reports damage.", "Restore a backup of the database, or ask who runs it."),
}


@contextmanager
def translate_errors(place: str, password: str) -> Iterator[None]:
    """Raises StorageError, with a remedy for each cause, in place of what the server or its driver raised.

    `place` names the server; `password` is left out of the log, whatever the driver says.
    """
    try:
        yield
    except DBAPIError as error:
        said = str(error.orig or error)
        _log.info("%s: %s", place, said.replace(password, "…") if password else said)
        what, remedy = _cause(error)
        # Not `from error`: the driver's own words may hold what it was given.
        raise StorageError(f"The database server {place} {what}", remedy) from None
    except PoolTimeout as error:
        raise StorageError(f"All connections to the database server {place} are in use.", _AGAIN) from error


def _cause(error: DBAPIError) -> tuple[str, str]:
    state = str(getattr(error.orig, "sqlstate", None) or "")
    if not state and "FATAL" in str(error.orig):
        state = "28"  # a refused connection has no SQLSTATE, only the server's own words
    if found := _CAUSES.get(state) or _CAUSES.get(state[:2]):
        return found
    if error.connection_invalidated:
        return _CAUSES["08"]
    if not state:
        return "can't be reached.", "Check that it runs and that CRAG_DATABASE_URL names its host, port and database."
    # A constraint that was not met, or a mistake of ours: its name helps who reads the report.
    return f"refused ({state}: {type(error.orig).__name__}).", _AGAIN


_LOCK_MS = 20_000
"""Milliseconds for which a writer waits for others."""
_TURN_SECONDS = 0.05
"""Between two tries to be the one that changes the index."""
_GONE = "60s"
"""How long a transaction may stand still before the server ends it: the program that started it is gone."""
_CONNECTING = {"connect_timeout": 10, "keepalives_idle": 30, "tcp_user_timeout": 30_000}
_PLAIN = re.compile(r"[a-z0-9-]{1,61}")

KEPT = Table(
    "kept",
    MetaData(schema="crag"),
    Column("name", Text, primary_key=True),
    Column("value", LargeBinary, nullable=False),
)
"""What belongs to no library: small things that all app servers share."""

# Not by `to_regclass`: it sees what the transaction does not see yet, or no more.
_FIND = text(
    "SELECT n.oid::bigint, (SELECT c.oid::bigint FROM pg_class c WHERE c.relnamespace = n.oid AND c.relname = :table)"
    " FROM pg_namespace n WHERE n.nspname = :schema"
)
# `set_config(…, true)`: until the transaction ends. The lock is one for each library, and goes with the transaction.
_LOCK = text(
    "SELECT set_config('lock_timeout', :wait, true), set_config('idle_in_transaction_session_timeout', :gone, true),"
    " pg_advisory_xact_lock(hashtextextended(:schema, 0))"
)
# Held for as long as an index takes to be filled, so it may stand still; that its holder is gone the server finds out.
_TURN = text(
    "SELECT pg_try_advisory_xact_lock(hashtextextended(:schema, 1)),"
    " set_config('idle_in_transaction_session_timeout', '0', true), set_config('tcp_keepalives_idle', '20', true),"
    " set_config('tcp_keepalives_interval', '10', true), set_config('tcp_keepalives_count', '4', true)"
)
_VACUUMED = "files", "chunks", "vectors", "runs", "purged"


def schema_of(name: str) -> str:
    """The schema of a workspace: its name where PostgreSQL takes it, else a hash of it."""
    return f"w_{name}" if _PLAIN.fullmatch(name) else f"h_{hashlib.sha256(name.encode()).hexdigest()[:40]}"


class Server:
    """One database of a PostgreSQL server, and the pool of connections to it. Thread-safe; libraries share it.

    Nothing is connected before the first use.
    """

    called = "crag"
    """The application name of its connections."""

    def __init__(self, url: str) -> None:
        """Raises InputError for what is no address of PostgreSQL, or where its driver is not installed."""
        try:
            made = make_url(url)
            if made.drivername not in ("postgresql", "postgresql+psycopg"):
                raise ArgumentError("another kind of database")
            self.writers = create_engine(
                made.set(drivername="postgresql+psycopg"),
                connect_args={**_CONNECTING, "application_name": self.called},
                max_overflow=25,
                pool_timeout=20,
                pool_pre_ping=True,
                hide_parameters=True,
            )
        except (ArgumentError, ValueError):
            raise InputError(
                "CRAG_DATABASE_URL is no address of a PostgreSQL database.",
                "Write it as postgresql+psycopg://user:password@host:5432/database.",
            ) from None  # what was given may be in it, with the password
        except ModuleNotFoundError as error:
            raise InputError(
                "CRAG_DATABASE_URL names a PostgreSQL database, whose driver is not installed.",
                "Install it: pip install 'psycopg[binary]>=3.2,<4'",
            ) from error
        self.readers = self.writers.execution_options(isolation_level="REPEATABLE READ", postgresql_readonly=True)
        self.address = f"{made.host or 'on this machine'}{f':{made.port}' if made.port else ''}"
        self._password = str(made.password or "")
        on_deletion(self._forget)

    def _forget(self, gone: Collection[str]) -> None:
        self.writers.clear_compiled_cache()  # a statement keeps the values that it was first given

    def translated(self) -> AbstractContextManager[None]:
        """Errors of the server as ours."""
        return translate_errors(self.address, self._password)

    def reach(self) -> None:
        """Raises StorageError where the server does not answer."""
        with self.translated(), self.readers.connect() as connection:
            connection.execute(select(1))

    def close(self) -> None:
        """Close what is idle. Anyone who uses the server again opens new connections."""
        self.writers.dispose()

    # Values that belong to no library

    def kept(self, name: str) -> bytes | None:
        """The value that was kept under a name; None where none was."""
        with self.translated(), self.readers.connect() as connection:
            if not _any_kept(connection):
                return None
            value = connection.scalar(select(KEPT.c.value).where(KEPT.c.name == name))
            return None if value is None else bytes(value)

    def keep(self, name: str, value: bytes, *, replace: bool) -> bytes:
        """Keep a value, in place of an earlier one or, without `replace`, where there is none; what is kept then."""
        with self.translated(), self.writers.begin() as connection:
            lock(connection, str(KEPT.schema))
            if not _any_kept(connection):
                connection.exec_driver_sql(f"CREATE SCHEMA IF NOT EXISTS {KEPT.schema}")
                KEPT.create(connection)
            found = connection.scalar(select(KEPT.c.value).where(KEPT.c.name == name))
            if found is None or replace:
                put(connection, KEPT, [{"name": name, "value": value}])
                return value
            return bytes(found)


def lock(connection: Connection, schema: str) -> None:
    """Wait until nobody else writes to a schema, for as long as the transaction lasts."""
    connection.execute(_LOCK, {"schema": schema, "wait": f"{_LOCK_MS}ms", "gone": _GONE})


def _any_kept(connection: Connection) -> bool:
    return inspect(connection).has_table(KEPT.name, KEPT.schema)


class PostgresSchema:
    """A schema with the tables of one layout. Thread-safe, for several app servers too. See `SqliteFile`."""

    where = "on the database server"

    def __init__(self, server: Server, name: str, layout: Layout, schema: str = "") -> None:
        """`name` is the workspace's, whose `schema` it is if none is given."""
        self._server, self.name, self.layout, self.schema = server, name, layout, schema or schema_of(name)

    def translated(self) -> AbstractContextManager[None]:
        return self._server.translated()

    def damaged(self, detail: str) -> StorageError:
        return StorageError(
            f"The library {self.name} on the database server is damaged ({detail}).",
            "Restore a backup of the database, or delete the library's documents and add them again.",
        )

    def identity(self) -> Hashable:
        with self._server.readers.connect() as connection:
            return self._find(connection)

    def check(self) -> None:
        """What is there is looked at when it is used: a server may be out of reach for a while."""

    def create(self) -> None:
        with self._begin(write=True) as connection:
            if connection.exec_driver_sql("SHOW server_encoding").scalar_one() != "UTF8":
                raise StorageError(
                    "The database in CRAG_DATABASE_URL can't hold every character.",
                    "Make it with: CREATE DATABASE … ENCODING 'UTF8' TEMPLATE template0",
                )
            if self._find(connection) is None:
                connection.exec_driver_sql(f'CREATE SCHEMA IF NOT EXISTS "{self.schema}"')
                self.layout.create(connection)

    @contextmanager
    def transaction(
        self, *, write: bool = False, more: int = 0, synced: bool = True
    ) -> Iterator[tuple[Connection, Hashable]]:
        with self._begin(write=write) as connection:
            if not synced:
                connection.exec_driver_sql("SET LOCAL synchronous_commit = off")
            found = self._find(connection)
            if found is not None:
                if write:  # another app server may have brought the tables to a newer version
                    self.layout.check(self.layout.version_of(connection), self.name)
                yield connection, found
                return
        with self.layout.empty() as connection:
            yield connection, None

    def rest(self) -> None:
        """The connections belong to the server."""

    @contextmanager
    def alone(self, stop: threading.Event) -> Iterator[bool]:
        with self._server.translated(), self._server.writers.begin() as connection:
            while not connection.execute(_TURN, {"schema": self.schema}).one()[0]:
                if stop.wait(_TURN_SECONDS):
                    yield False
                    return
            yield True

    def reserve(self, size: int) -> None:
        """An administrator sees to the disk of a server."""

    def make_room(self, error: DBAPIError) -> int:
        return 0

    def reclaim(self) -> None:
        """Make room for others of what was removed; without it the server sees to that when it comes to it."""
        tables = ", ".join(f'"{self.schema}".{name}' for name in _VACUUMED)
        with suppress(DBAPIError), self._server.writers.connect() as connection:
            connection.execution_options(isolation_level="AUTOCOMMIT").exec_driver_sql(f"VACUUM {tables}")

    @contextmanager
    def _begin(self, *, write: bool) -> Iterator[Connection]:
        engine = self._server.writers if write else self._server.readers
        with engine.execution_options(schema_translate_map={None: self.schema}).begin() as connection:
            if write:
                lock(connection, self.schema)
            yield connection

    def _find(self, connection: Connection) -> Hashable:
        """What identifies the tables, None where there are none. Raises StorageError for those of others."""
        table = self.layout.version_table.name
        found = connection.execute(_FIND, {"schema": self.schema, "table": table}).first()
        if found is not None and found[1] is None and not self.layout.shares_schema:
            raise foreign_database_error(f"schema {self.schema}", "the database")
        return None if found is None else found[1]


def server_at(url: str) -> Server | None:
    """The server of a database that holds libraries; None where there is no address. Raises InputError."""
    return Server(url) if url else None
