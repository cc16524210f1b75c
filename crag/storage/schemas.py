"""A database as backing up and restoring use it: read in one snapshot, and swapped with what was restored at once.

What is to come lies in schemas `r_…`, which no app looks into. All of it takes its place in one transaction, and what
was there is kept in schemas `o_…`, whose comments say what they were.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime

from sqlalchemy import Connection, text

from crag.core.errors import NotFoundError, StorageError
from crag.storage.postgres import KEPT, Server, locked

__all__ = ["APART", "Workshop"]

APART = str(KEPT.schema)
"""The schema of what belongs to no library."""
_EXPORT = text("SELECT set_config('idle_in_transaction_session_timeout', '0', true), pg_export_snapshot()")
_ALONE = text("SELECT pg_try_advisory_lock(hashtextextended('crag restore', 0))")
_USERS = text("SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND application_name = :called")
_THERE = text("SELECT nspname FROM pg_namespace WHERE nspname ~ :pattern ORDER BY nspname")
_ASIDE = text(
    "SELECT nspname, obj_description(oid, 'pg_namespace') FROM pg_namespace WHERE nspname ~ '^o_[0-9]+_' ORDER BY 1"
)
_LIBRARIES = "^[wh]_"
_STAGED = "^[rc]_"


class Workshop(Server):
    """One database, while it is backed up or restored. Its connections are not taken for an app's."""

    called = "crag backup"
    _seen = ""

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """In the block, all reading is of one moment. Deleted rows can't be vacuumed meanwhile."""
        with self.translated(), self.reading() as held:
            self._seen = str(held.execute(_EXPORT).one()[1])
            try:
                yield
            finally:
                self._seen = ""

    def reading(self) -> Connection:
        connection = super().reading()
        if self._seen:
            connection.exec_driver_sql(f"SET TRANSACTION SNAPSHOT '{self._seen}'")
        return connection

    @contextmanager
    def alone(self, *, used: bool) -> Iterator[None]:
        """The right to restore, which one at a time has; unless `used`, StorageError where an app is connected."""
        with self.translated(), self.writing() as held:
            # Of the session, not of a transaction: it is held for hours, and goes with the connection.
            if not held.execute(_ALONE).scalar_one():
                raise StorageError(
                    "Another program restores a backup into this database.",
                    "Wait until that has ended. Nothing was changed.",
                )
            held.commit()
            try:
                if not used:
                    self.check_unused()
                yield
            finally:
                held.invalidate()  # the connection must not go back to the others with its lock

    def check_unused(self) -> None:
        """Raises StorageError where an app or another program of ours is connected to the database."""
        with self.translated(), self.reading() as connection:
            count = connection.execute(_USERS, {"called": Server.called}).scalar_one()
        if count:
            raise StorageError(
                f"The database is in use by a running program ({count} connections).",
                "Stop the app, crag serve and what else uses it, then give the command again. Nothing was changed.",
            )

    def there(self, pattern: str = _LIBRARIES) -> list[str]:
        """The schemas of libraries, or those whose names fit another pattern."""
        with self.translated(), self.reading() as connection:
            return list(connection.execute(_THERE, {"pattern": pattern}).scalars())

    def discard(self, but: Collection[str] = ()) -> None:
        """Remove what restores and copies that were given up have left, but for these schemas."""
        for name in self.there(_STAGED):
            if name not in but:
                self.drop(name)

    def swap(self, arriving: Mapping[str, str], leaving: list[str]) -> str:
        """Have the schemas `arriving` take the names they are given for, and put those `leaving` aside, at once.

        Returns the stamp under which these are kept; nothing where none were there. Raises StorageError; then nothing
        has changed.
        """
        stamp = datetime.now(UTC).strftime("%Y%m%d%H%M%S%f")
        gone = False
        with self.translated(), self.writing() as connection, connection.begin():
            for name in sorted({*leaving, *arriving.values()}):
                locked(connection, name)
            found = set(connection.execute(_THERE, {"pattern": ""}).scalars())
            for name in sorted({*leaving, *arriving.values()} & found):
                aside = f"o_{stamp}_{hashlib.sha256(name.encode()).hexdigest()[:12]}"
                said = json.dumps({"name": name, "with": sorted({*arriving.values(), *leaving})}).replace("'", "''")
                connection.exec_driver_sql(f'ALTER SCHEMA "{name}" RENAME TO "{aside}"')
                connection.exec_driver_sql(f"COMMENT ON SCHEMA \"{aside}\" IS '{said}'".replace("%", "%%"))
                gone = True
            for staged, name in arriving.items():
                connection.exec_driver_sql(f'ALTER SCHEMA "{staged}" RENAME TO "{name}"')
        return stamp if gone else ""

    def put_back(self) -> str:
        """Undo the latest swap: what it put aside takes its place again, and what is there now is kept aside.

        Raises NotFoundError where nothing is aside, and StorageError.
        """
        with self.translated(), self.reading() as connection:
            found = [(str(name), json.loads(said)) for name, said in connection.execute(_ASIDE) if said]
        if not found:
            raise NotFoundError("No restore has put anything aside here.", "There is nothing to undo.")
        latest = found[-1][0].split("_")[1]
        back = {name: said["name"] for name, said in found if name.split("_")[1] == latest}
        return self.swap(back, found[-1][1]["with"])
