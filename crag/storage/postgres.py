"""Libraries on a PostgreSQL server: a schema each, of the same tables as a file has. Why: docs/decisions/storage.md."""

from __future__ import annotations

import hashlib
import logging
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager, suppress
from pathlib import Path

from sqlalchemy import (
    Column,
    Connection,
    LargeBinary,
    MetaData,
    Table,
    Text,
    create_engine,
    func,
    literal,
    make_url,
    select,
    table,
    text,
    union_all,
)
from sqlalchemy.exc import ArgumentError, DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from crag.core.errors import InputError, StorageError
from crag.storage.places import WORKSPACE, Place, Stored, holds_nothing
from crag.storage.records import KeyValueStore, Records
from crag.storage.sqlite import Layout, foreign_database_error
from crag.storage.store import put
from crag.storage.tables import LIBRARY, revision

_log = logging.getLogger(__name__)
_ADDRESS = "Check that the server runs and that CRAG_DATABASE_URL names its host, port and database."
_LET_IN = "Check the user, the password and the database in CRAG_DATABASE_URL."
_FREE = "Make room on the database server, then try again; everything already stored is intact."
_BUSY = "Wait until the others are done, then try again."
_RIGHTS = "Ask who runs the database to GRANT CREATE ON DATABASE to the user in CRAG_DATABASE_URL."
_AGAIN = "Try again; what was confirmed is stored, and what was not is absent."
_READ_ONLY = "CRAG_DATABASE_URL must name the server that is written to, not one that follows it."
_DAMAGED = "Restore a backup of the database, or ask who runs it."

# By the class (two characters) or the whole of what PostgreSQL calls SQLSTATE, the whole first.
_CAUSES = {
    "53100": ("has no room left on its disk.", _FREE),
    "53200": ("is out of memory.", _AGAIN),
    "53300": ("takes no more connections.", _BUSY),
    "54": ("can't store as much in one place.", _FREE),
    "55P03": ("keeps the library locked for another program.", _BUSY),
    "25006": ("takes no writes.", _READ_ONLY),
    "42501": ("does not allow it.", _RIGHTS),
    "28": ("did not let the program in.", _LET_IN),
    "3D000": ("has no database of that name.", _LET_IN),
    "40": ("was asked for the same by another program at once.", _AGAIN),
    "57": ("broke off.", _AGAIN),
    "08": ("went away in the middle.", _AGAIN),
    "XX": ("reports damage.", _DAMAGED),
}

# A connection that fails has no SQLSTATE: only the server's own words.
_REFUSALS = {
    "authentication failed": "28",
    "no password supplied": "28",
    "no pg_hba.conf entry": "28",
    "role ": "28",
    "permission denied for database": "28",
    "does not exist": "3D000",
    "too many clients": "53300",
    "remaining connection slots": "53300",
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
        _log.info("%s: %s", place, error)
        raise StorageError(f"All connections to the database server {place} are in use.", _BUSY) from error


def _cause(error: DBAPIError) -> tuple[str, str]:
    state = str(getattr(error.orig, "sqlstate", None) or "")
    if not state:
        said = str(error.orig)
        state = next((code for words, code in _REFUSALS.items() if words in said), "")
    if found := _CAUSES.get(state) or _CAUSES.get(state[:2]):
        return found
    if error.connection_invalidated:
        return _CAUSES["08"]
    if not state:
        return "can't be reached.", _ADDRESS
    # A constraint that was not met, or a mistake of ours: its name helps who reads the report.
    return f"refused ({state}: {type(error.orig).__name__}).", _AGAIN


_LOCK_MS = 20_000
"""Milliseconds for which a writer waits for others."""
_TURN_SECONDS = 0.05
"""Between two tries to be the one that changes the index."""
_GONE = "60s"
"""How long a transaction may stand still before the server ends it: the program that started it is gone."""
_CONNECTING = {
    "connect_timeout": 10,
    "keepalives_idle": 30,
    "tcp_user_timeout": 30_000,
}
_OPEN, _MORE, _WAIT = 5, 25, 20
"""Connections kept, those opened beside them where many read at once, and seconds to wait for one."""
_PLAIN = re.compile(r"[a-z0-9-]{1,61}")

KEPT = Table(
    "kept",
    MetaData(schema="crag"),
    Column("name", Text, primary_key=True),
    Column("value", LargeBinary, nullable=False),
)
"""What belongs to no library: small things that all app servers share."""
# Not by `to_regclass`: within a transaction it may repeat what the connection found before another app server made it.
_ANY_KEPT = text(f"SELECT 1 FROM pg_tables WHERE schemaname = '{KEPT.schema}' AND tablename = '{KEPT.name}'")

# `set_config(…, true)`: until the transaction ends. The lock is one for each library, and goes with the transaction.
_ENTER = text(
    "SELECT set_config('search_path', quote_ident(:schema), true),"
    " (SELECT oid::bigint FROM pg_namespace WHERE nspname = :schema),"
    " to_regclass(quote_ident(:schema) || '.' || quote_ident(:versions))::oid::bigint"
)
_LOCK = text(
    "SELECT set_config('search_path', quote_ident(:schema), true), set_config('lock_timeout', :wait, true),"
    " set_config('idle_in_transaction_session_timeout', :gone, true),"
    " pg_advisory_xact_lock(hashtextextended(:schema, 0))"
)
# Held for as long as an index takes to be filled, so it may stand still; that its holder is gone the server finds out.
_TURN = text(
    "SELECT pg_try_advisory_xact_lock(hashtextextended(:schema, 1)),"
    " set_config('idle_in_transaction_session_timeout', '0', true), set_config('tcp_keepalives_idle', '20', true),"
    " set_config('tcp_keepalives_interval', '10', true), set_config('tcp_keepalives_count', '4', true)"
)
_LIBRARIES = "n.nspname ~ '^[wh]_'"
_SIZES = (
    "SELECT n.nspname, coalesce(sum(pg_total_relation_size(c.oid)), 0)::bigint, bool_or(c.relname = 'documents')"
    " FROM pg_namespace n LEFT JOIN pg_class c ON c.relnamespace = n.oid AND c.relkind = 'r' WHERE {}"
    " GROUP BY n.nspname"
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
            made = made.set(drivername="postgresql+psycopg")
            engine = create_engine(
                made,
                connect_args={**_CONNECTING, "application_name": self.called},
                pool_size=_OPEN,
                max_overflow=_MORE,
                pool_timeout=_WAIT,
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
        self.address = f"{made.host or 'on this machine'}{f':{made.port}' if made.port else ''}"
        self._password = str(made.password or "")
        self._engine = engine
        self._snapshots = engine.execution_options(isolation_level="REPEATABLE READ", postgresql_readonly=True)

    def translated(self) -> AbstractContextManager[None]:
        """Errors of the server as ours."""
        return translate_errors(self.address, self._password)

    def reading(self) -> Connection:
        """A connection whose transaction sees one moment."""
        return self._snapshots.connect()

    def writing(self) -> Connection:
        """A connection whose every statement sees what is committed by then."""
        return self._engine.connect()

    def reach(self) -> None:
        """Raises StorageError where the server does not answer."""
        with self.translated(), self.reading() as connection:
            connection.execute(select(1))

    @property
    def values(self) -> KeyValueStore:
        """What belongs to no library."""
        return KeyValueStore(Path(), self)

    def names(self) -> list[str]:
        """The workspaces that have a library here, in order."""
        found = (schema.removeprefix("w_") for schema in self.sizes() if schema.startswith("w_"))
        return sorted(filter(WORKSPACE.fullmatch, found))

    def unnamed(self) -> int:
        """How many libraries here have a name that no workspace can have."""
        return len(self.sizes()) - len(self.names())

    def place(self, workspace: str) -> Place:
        """The place of a workspace's library."""
        return Place(workspace, lambda: SchemaRecords(self, workspace))

    def key(self, workspace: str) -> str:
        """The schema of a workspace."""
        return schema_of(workspace)

    def sizes(self) -> dict[str, int]:
        """Bytes of every library, by its schema."""
        return {schema: stored.bytes for schema, stored in self.stored().items()}

    def stored(self) -> dict[str, Stored]:
        """Documents and bytes of every library, by its schema."""
        return self._count(_LIBRARIES)

    def stored_in(self, key: str) -> Stored:
        """Documents and bytes of one library, by its schema; nothing where it does not exist."""
        return self._count("n.nspname = :schema", schema=key).get(key, Stored())

    def _count(self, which: str, **names: str) -> dict[str, Stored]:
        with self.translated(), self.reading() as connection:
            found = connection.execute(text(_SIZES.format(which)), names).all()
            asked = [
                select(literal(schema), func.count()).select_from(table("documents", schema=schema))
                for schema, _, holds_documents in found
                if holds_documents
            ]
            counts = dict(map(tuple, connection.execute(union_all(*asked)))) if asked else {}
            return {schema: Stored(documents=counts.get(schema, 0), bytes=size) for schema, size, _ in found}

    def remove(self, workspace: str, *, if_unused: bool = False) -> bool:
        """Remove a library's schema, if it is there; with `if_unused` only an empty one. Whether it is gone."""
        schema = schema_of(workspace)
        with self.translated(), self.writing() as connection, connection.begin():
            locked(connection, schema)
            connection.execute(_ENTER, {"schema": schema, "versions": revision.name})
            if if_unused and not holds_nothing(connection):
                return False
            connection.exec_driver_sql(f'DROP SCHEMA IF EXISTS "{schema}" CASCADE')
            return True

    def kept(self, name: str) -> bytes | None:
        """What belongs to no library and was kept under a name; None where nothing was."""
        with self.translated(), self.reading() as connection:
            if connection.scalar(_ANY_KEPT) is None:
                return None
            value = connection.scalar(select(KEPT.c.value).where(KEPT.c.name == name))
            return None if value is None else bytes(value)

    def keep(self, name: str, value: bytes, *, replace: bool) -> bytes:
        """Keep a value, in place of an earlier one or, without `replace`, where there is none; what is kept then."""
        with self.translated(), self.writing() as connection, connection.begin():
            locked(connection, str(KEPT.schema))
            if connection.scalar(_ANY_KEPT) is None:
                connection.exec_driver_sql(f"CREATE SCHEMA IF NOT EXISTS {KEPT.schema}")
                KEPT.create(connection)
            found = connection.scalar(select(KEPT.c.value).where(KEPT.c.name == name))
            if found is None or replace:
                put(connection, KEPT, [{"name": name, "value": value}])
                return value
            return bytes(found)

    def close(self) -> None:
        """Close what is idle. Anyone who uses the server again opens new connections."""
        self._engine.dispose()


class SchemaRecords(Records):
    """The records of one library in a schema of its own on a server."""

    def __init__(
        self,
        server: Server,
        name: str,
        may_grow: Callable[..., None] | None = None,
        *,
        schema: str = "",
        layout: Layout = LIBRARY,
    ) -> None:
        """`name` is the workspace's, whose `schema` it is if none is given."""
        super().__init__(name, "on the database server", layout, may_grow)
        self._server, self.schema = server, schema or schema_of(name)

    @property
    def exists(self) -> bool:
        with self._server.translated(), self._server.reading() as connection:
            return self._entered(connection) is not None

    def _translated(self) -> AbstractContextManager[None]:
        return self._server.translated()

    @contextmanager
    def _reading(self) -> Iterator[Connection | None]:
        with self._server.reading() as connection:
            found = self._entered(connection)
            if found != self._seen:
                connection.rollback()
                self._meet(found)
                found = self._entered(connection)
            if found is not None:
                yield connection
                return
        yield None

    @contextmanager
    def _changing(self, more: int, *, synced: bool) -> Iterator[Connection]:
        with self._server.writing() as connection:
            with connection.begin():
                if not synced:
                    connection.exec_driver_sql("SET LOCAL synchronous_commit = off")
                found = self._locked(connection)
                if found is None:
                    found = self._create(connection)
                yield connection
            self._seen = found

    def _free(self, work: Callable[[Connection], object]) -> bool:
        with self._server.writing() as connection, connection.begin():
            if self._locked(connection) is None:
                return False
            work(connection)
        self._reclaim()
        return True

    @contextmanager
    def alone(self, stop: threading.Event) -> Iterator[bool]:
        with self._server.translated(), self._server.writing() as connection, connection.begin():
            while not connection.execute(_TURN, {"schema": self.schema}).one()[0]:
                if stop.wait(_TURN_SECONDS):
                    yield False
                    return
            yield True

    def damaged(self, detail: str) -> StorageError:
        return StorageError(
            f"The library {self.name} on the database server is damaged ({detail}).",
            "Restore a backup of the database, or delete the library's documents and add them again.",
        )

    def _entered(self, connection: Connection) -> int | None:
        """Begins to work in the schema; the number of its tables, None where there are none.

        Raises StorageError for a schema of another program.
        """
        names = {"schema": self.schema, "versions": self._layout.version_table.name}
        _, schema, tables = connection.execute(_ENTER, names).one()
        if schema is not None and tables is None and not self._layout.shares_schema:
            raise foreign_database_error(f"schema {self.schema}", "the database")
        number: int | None = tables
        return number

    def _create(self, connection: Connection) -> int | None:
        """Creates the schema with its tables, whose number is returned."""
        if connection.exec_driver_sql("SHOW server_encoding").scalar_one() != "UTF8":
            raise StorageError(
                "The database in CRAG_DATABASE_URL can't hold every character.",
                "Make it with: CREATE DATABASE … ENCODING 'UTF8' TEMPLATE template0",
            )
        connection.exec_driver_sql(f'CREATE SCHEMA IF NOT EXISTS "{self.schema}"')
        self._layout.create(connection)
        return self._entered(connection)

    def _locked(self, connection: Connection) -> int | None:
        """Waits until nobody else writes, then as `_entered`. Raises as `_meet` does."""
        locked(connection, self.schema)
        found = self._entered(connection)
        if found is not None:
            self._layout.check(connection, self.name)
        with self._lock:
            self._follow(found)
        return found

    def _meet(self, found: int | None) -> None:
        """Another schema than before, or none. Raises StorageError, once, where there was one before."""
        with self._lock:
            if found is not None and found != self._seen:
                with self._server.writing() as connection, connection.begin():
                    if self._entered(connection) is not None:
                        self._layout.check(connection, self.name)
            self._follow(found)

    def _reclaim(self) -> None:
        """What was removed makes room for others; without it the server sees to that when it comes to it."""
        tables = ", ".join(f'"{self.schema}".{name}' for name in _VACUUMED)
        with suppress(DBAPIError), closing(self._server.writing()) as connection:
            connection.execution_options(isolation_level="AUTOCOMMIT").exec_driver_sql(f"VACUUM {tables}")


def locked(connection: Connection, schema: str) -> None:
    """Wait until nobody else writes to a schema, for as long as the transaction lasts."""
    connection.execute(_LOCK, {"schema": schema, "wait": f"{_LOCK_MS}ms", "gone": _GONE})
