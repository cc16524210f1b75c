"""Libraries on a PostgreSQL server: what can go wrong between here and there, and what several app servers share."""

import logging
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from sqlalchemy import create_engine, select, text

from crag.core.errors import CragError, InputError, NotFoundError, StorageError
from crag.core.types import Document
from crag.storage.library import Library
from crag.storage.postgres import KEPT, Server, lock, schema_of
from crag.storage.private import PrivateLibraries
from crag.storage.tables import VERSION, chunks
from tests.support.eventually import eventually
from tests.support.library_makers import HashEmbedder
from tests.support.postgres_server import PASSWORD, PostgresServer

Fill = Callable[..., Document]
OpenLibrary = Callable[..., Library]


@pytest.fixture
def url(database: str) -> str:
    """All libraries here are on the server."""
    return database


@pytest.fixture
def server(url: str):
    made = Server(url)
    yield made
    made.close()


def run(url: str, *statements: str) -> None:
    """What somebody does beside the program."""
    with create_engine(url).begin() as connection:
        for statement in statements:
            connection.exec_driver_sql(statement)


def test_a_name_that_is_no_schema_s_has_one_all_the_same() -> None:
    names = ["default", "p-" + "0" * 40, "x" * 64, "Größe", 'a"; DROP SCHEMA crag; --', "w_default", "..", ""]
    schemas = [schema_of(name) for name in names]
    assert len(set(schemas)) == len(names) and all(len(each) <= 63 for each in schemas)
    assert all(each.isascii() and not set(each) & set("\"'; .") for each in schemas)


# What goes wrong


@pytest.mark.parametrize(
    ("change", "message", "remedy"),
    [
        ({"password": "wrong-secret"}, "did not let the program in", "password"),
        ({"user": "nobody", "password": "wrong-secret"}, "did not let the program in", "user"),
        ({"database": "nowhere"}, "did not let the program in", "database"),
    ],
)
def test_who_is_not_let_in_is_told_why_without_the_password(
    database_server: PostgresServer,
    change: dict[str, str],
    message: str,
    remedy: str,
    caplog: pytest.LogCaptureFixture,
    tmp_path: Path,
) -> None:
    caplog.set_level(logging.DEBUG)
    server = Server(database_server.url(**{"database": "postgres", **change}))
    library = Library(tmp_path / "library", HashEmbedder(), server=server)
    with pytest.raises(StorageError, match=message) as raised:
        library.documents.all()
    assert remedy in raised.value.remedy and raised.value.__cause__ is None
    told = f"{raised.value} {caplog.text} {server!r} {server.writers}"
    assert "wrong-secret" not in told and PASSWORD not in told


def test_a_server_that_is_not_there_is_named(tmp_path: Path) -> None:
    server = Server("postgresql+psycopg://somebody:hidden@127.0.0.1:9/crag")
    with pytest.raises(StorageError, match=r"127\.0\.0\.1:9 can't be reached") as raised:
        Library(tmp_path, HashEmbedder(), server=server).documents.all()
    assert "CRAG_DATABASE_URL" in raised.value.remedy and "hidden" not in str(raised.value)


@pytest.mark.parametrize(
    "url",
    ["sqlite:///library.db", "mysql://me:hidden@here/db", "hidden", "postgresql+psycopg://me:hidden@here:port/db"],
)
def test_what_is_no_address_is_told_without_it(url: str) -> None:
    with pytest.raises(InputError, match="no address of a PostgreSQL database") as raised:
        Server(url)
    assert "hidden" not in str(raised.value) and raised.value.__cause__ is None


def test_a_driver_that_is_not_installed_is_told_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(InputError, match="driver is not installed") as raised:
        Server("postgresql+psycopg://me:hidden@here/db")
    assert "pip install" in raised.value.remedy


def test_a_server_that_goes_away_in_the_middle_is_told_and_used_again_when_it_is_back(
    database_server: PostgresServer, open_library: OpenLibrary, server: Server, fill: Fill
) -> None:
    library = open_library()
    kept = fill(library, "alpha")
    server.reach()
    try:
        with pytest.raises(StorageError), library._database.write() as connection:
            connection.execute(select(chunks.c.id)).all()
            database_server.stop("immediate")
            connection.execute(select(chunks.c.id)).all()
        for asked in (library.documents.all, server.reach):
            with pytest.raises(StorageError, match="can't be reached"):
                asked()
    finally:
        database_server.start()
    assert library.documents.all() == [kept]
    fill(library, "beta")
    library.verify()


def test_another_version_s_library_and_another_program_s_schema_are_refused_and_left_alone(
    url: str, open_library: OpenLibrary, fill: Fill
) -> None:
    early = open_library()
    fill(early, "alpha")
    run(url, f"UPDATE w_library.alembic_version SET version_num = '{VERSION + 1}'", "CREATE SCHEMA w_taken")
    for refused in (lambda: open_library().size, lambda: fill(open_library(), "beta"), lambda: fill(early, "beta")):
        with pytest.raises(StorageError, match=f"newer version.*schema {VERSION + 1}"):
            refused()
    for refused in (lambda: open_library("taken").size, lambda: fill(open_library("taken"), "beta")):
        with pytest.raises(StorageError, match="another program"):
            refused()
    run(url, f"UPDATE w_library.alembic_version SET version_num = '{VERSION - 3}'")
    for refused in (lambda: open_library().size, lambda: fill(open_library(), "beta"), lambda: fill(early, "beta")):
        with pytest.raises(StorageError, match=f"unreleased build.*schema {VERSION - 3}"):
            refused()


# What is shared


def test_keys_given_out_by_one_app_server_are_known_to_the_others(server: Server, url: str, tmp_path: Path) -> None:
    other = Server(url)
    here, there = PrivateLibraries(tmp_path / "a", server), PrivateLibraries(tmp_path / "b", other)
    with ThreadPoolExecutor(2) as pool:
        keys = list(pool.map(lambda each: each.issue(), (here, there)))
    assert all(each.known(key) for each in (here, there) for key in keys)
    assert not here.known("0" * 48) and not here.known("0" * 32)
    here.settle()
    assert list(tmp_path.iterdir()) == []
    other.close()


def test_the_first_value_of_all_counts_for_an_app_server_that_had_found_none(server: Server, url: str) -> None:
    """PostgreSQL remembers for a connection that a schema is missing, until its next transaction or table lock."""
    other = Server(url)
    assert other.kept("secret") is None
    waiting = text("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted")
    with ThreadPoolExecutor(1) as pool:
        with server.writers.begin() as connection:
            lock(connection, "crag")
            late = pool.submit(other.keep, "secret", b"late", replace=False)
            eventually(lambda: connection.scalar(waiting))
            connection.exec_driver_sql("CREATE SCHEMA crag")
            KEPT.create(connection)
            connection.execute(KEPT.insert().values(name="secret", value=b"first"))
        assert late.result(60) == b"first" == server.kept("secret")
    other.close()


@pytest.mark.slow
def test_workspaces_share_connections_and_nothing_else(open_library: OpenLibrary, fill: Fill) -> None:
    """The server keeps statements that it has seen often: each must go to the schema of whoever says it."""
    names = [f"p-{number}" for number in range(12)]
    stored = {name: fill(open_library(name), name, 3) for name in names}

    def look(name: str) -> None:
        library, own = open_library(name), stored[name]
        for other in names:
            assert library.documents.all() == [own] and library.size == (1, 3)
            assert {found.chunk.document_id for found in library.search(other, 9)} == {own.id}
            if other != name:
                with pytest.raises(NotFoundError):
                    library.documents.get(stored[other].id)
                with pytest.raises(NotFoundError):
                    library.documents.delete(stored[other].id)
                with pytest.raises(NotFoundError):
                    library.labels.save("why?", f"{stored[other].id[:16]}-0", "relevant")

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(look, names))


def test_a_user_who_may_make_no_schema_is_told_what_to_ask_for(
    url: str, database_server: PostgresServer, tmp_path: Path, fill: Fill
) -> None:
    run(url, "DROP ROLE IF EXISTS guest", "CREATE ROLE guest LOGIN PASSWORD 'hidden'")
    server = Server(database_server.url("postgres", user="guest", password="hidden"))
    with pytest.raises(CragError, match="does not allow it") as raised:
        fill(Library(tmp_path / "library", HashEmbedder(), server=server), "alpha")
    assert "GRANT CREATE" in raised.value.remedy
    server.close()


def test_a_lost_connection_is_replaced_without_a_word(url: str, open_library: OpenLibrary, fill: Fill) -> None:
    library = open_library()
    kept = fill(library, "alpha")
    run(url, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'crag'")
    assert library.documents.all() == [kept]
