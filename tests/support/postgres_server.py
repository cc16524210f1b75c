"""A real PostgreSQL server for a test session, where PostgreSQL is installed: on loopback, in a folder of its own."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import NullPool, create_engine, make_url

from tests.support.other_programs import free_port

ADMIN, PASSWORD = "crag_tests", "not-a-secret"
_FAST = {"fsync": "off", "full_page_writes": "off", "autovacuum": "off"}
"""Enough for a server that is killed, not for a machine that loses its power."""


class PostgresServer:
    """A server that was started; each of its databases is empty."""

    def __init__(self, programs: Path, folder: Path) -> None:
        self._programs, self._folder, self.port = programs, folder, free_port()

    def make(self) -> None:
        """The folder's contents. The server refuses to run as root, so it all belongs to somebody else then."""
        if self._somebody:
            shutil.chown(self._folder, self._somebody["user"], self._somebody["group"])
        word = self._folder / "password"
        word.write_text(PASSWORD)
        word.chmod(0o644)
        self._run(
            "initdb", "-D", "data", "-U", ADMIN, "--pwfile", "password", "-A", "scram-sha-256", "-E", "UTF8", "-N"
        )

    def start(self, **settings: str) -> None:
        """Returns when it takes connections. `settings` of the server, else those that are fast."""
        settings = {**_FAST, **settings}
        settings |= {"listen_addresses": "127.0.0.1", "port": str(self.port), "unix_socket_directories": ""}
        options = [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
        self._run("pg_ctl", "start", "-w", "-D", "data", "-l", "log", "-o", " ".join(map(_quoted, options)))

    def stop(self, how: str = "fast") -> None:
        """`how`: "fast" as when it is shut down, "immediate" as when it is killed."""
        self._run("pg_ctl", "stop", "-w", "-D", "data", "-m", how)

    @contextmanager
    def emptied(self) -> Iterator[str]:
        """The address of a database, from which every library is removed at the end."""
        url = self.url("postgres")
        yield url
        engine = create_engine(url, poolclass=NullPool, isolation_level="AUTOCOMMIT")
        with engine.connect() as connection:  # a statement each: one transaction can't lock the tables of a hundred
            found = connection.exec_driver_sql("SELECT nspname FROM pg_namespace WHERE nspname ~ '^([chorw]_|crag$)'")
            for name in found.scalars().all():
                connection.exec_driver_sql(f'DROP SCHEMA "{name}" CASCADE')

    def url(self, database: str, *, password: str = PASSWORD, user: str = ADMIN) -> str:
        made = make_url(f"postgresql+psycopg://{user}@127.0.0.1:{self.port}/{database}").set(password=password)
        return made.render_as_string(hide_password=False)

    @cached_property
    def _somebody(self) -> dict[str, Any]:
        return {"user": "postgres", "group": "postgres", "extra_groups": []} if os.geteuid() == 0 else {}

    def _run(self, program: str, *arguments: str) -> None:
        # Not captured: the server that is started would hold the other end of the pipe.
        with (self._folder / "said").open("ab") as said:
            ran = subprocess.run(
                [self._programs / program, *arguments],
                cwd=self._folder,
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=said,
                **self._somebody,
            )
        assert ran.returncode == 0, (self._folder / "said").read_text(errors="replace")


def _quoted(option: str) -> str:
    return f"'{option}'"


@contextmanager
def postgres_server(**settings: str) -> Iterator[PostgresServer]:
    """Skips the test, with its reason, where PostgreSQL is not installed. `settings` as of `PostgresServer.start`."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: float(path.parts[-3]))
    anywhere = shutil.which("initdb")
    if not found and not anywhere:
        pytest.skip("PostgreSQL is not installed: apt-get install postgresql")
    programs = found[-1].parent if found else Path(str(anywhere)).resolve().parent
    with tempfile.TemporaryDirectory(prefix="crag-postgres-", ignore_cleanup_errors=True) as folder:
        server = PostgresServer(programs, Path(folder))
        server.make()
        server.start(**settings)
        try:
            yield server
        finally:
            server.stop("immediate")
