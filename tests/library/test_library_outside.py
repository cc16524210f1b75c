"""What outside services took and brought: calls kept by day, results remembered for a while, older libraries opened."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from sqlalchemy import select, update

from crag.core.errors import InputError, StorageError
from crag.core.events import RunStarted
from crag.core.meter import Call, DaySpending
from crag.core.trace import Trace
from crag.core.types import Document, WebPage
from crag.library.library import Library
from crag.library.schema import VERSION
from crag.library.store import meta
from crag.library.tables import changes, searches
from crag.models.minilm import MiniLM
from tests.support.library_makers import HashEmbedder, as_version, change, make_document, on_disk
from tests.support.stored import stored_library

Fill = Callable[..., Document]
OpenLibrary = Callable[..., Library]
ROOT = Path(__file__).resolve().parents[2]
PAGE = WebPage(
    id="w", url="https://example.org/a", title="A page", text="Words of it.", provider="tavily", query="words", rank=1
)


def ago(days: int) -> str:
    return (datetime.now(UTC) - timedelta(days=days)).isoformat(timespec="milliseconds")


def call(**values: object) -> Call:
    made: dict[str, object] = {"step": "answer", "provider": "openai", "model": "gpt-4o", "seconds": 0.5, **values}
    return Call(**made)  # type: ignore[arg-type]


def save(library: Library, run: str, *calls: Call, days: int = 0) -> None:
    """Store a run that made these calls so many days ago."""
    trace = Trace(run_id=run, question="why?", strategy="balanced", started_at=ago(days), calls=calls, finished=True)
    started = RunStarted(
        run_id=run, question="why?", strategy="balanced", settings={}, workspace="default", started_at=trace.started_at
    )
    library.runs.save(trace, [started])


# Calls


def test_a_run_s_calls_are_summed_by_day_provider_and_model(library: Library) -> None:
    save(
        library,
        "one",
        call(input_tokens=100, output_tokens=10),
        call(input_tokens=200, output_tokens=20, seconds=1.5),
        call(provider="tavily", model="", seconds=0.25),
    )
    save(library, "two", call(input_tokens=1, output_tokens=2), call(model="gpt-5", input_tokens=5, output_tokens=6))
    tavily, gpt_4o, gpt_5 = sorted(library.runs.spending(), key=lambda row: (row.provider != "tavily", row.model))
    assert gpt_4o == DaySpending(
        day=gpt_4o.day,
        provider="openai",
        model="gpt-4o",
        calls=3,
        failed=0,
        uncounted=0,
        seconds=2.5,
        input_tokens=301,
        output_tokens=32,
    )
    assert (gpt_5.calls, gpt_5.input_tokens) == (1, 5)
    assert (tavily.calls, tavily.model, tavily.input_tokens, tavily.uncounted) == (1, "", 0, 0)
    assert {row.day for row in (tavily, gpt_4o, gpt_5)} <= {ago(0)[:10], ago(1)[:10]}


def test_failed_and_uncounted_calls_are_told_apart(library: Library) -> None:
    save(library, "one", call(error="busy"), call(), call(input_tokens=7, output_tokens=1), call(error="gone"))
    (row,) = library.runs.spending()
    assert (row.calls, row.failed, row.uncounted, row.input_tokens) == (4, 2, 1, 7)


def test_days_are_apart_the_latest_first_and_old_ones_left_out(library: Library) -> None:
    for run, days in (("old", 40), ("week", 5), ("now", 0)):
        save(library, run, call(input_tokens=days + 1, output_tokens=0), days=days)
    assert [row.input_tokens for row in library.runs.spending(60)] == [1, 6, 41]
    assert [row.input_tokens for row in library.runs.spending()] == [1, 6]
    assert [row.input_tokens for row in library.runs.spending(3)] == [1]
    assert library.runs.spending(60)[0].day > library.runs.spending(60)[1].day


def test_rows_of_a_day_come_by_provider_and_model(library: Library) -> None:
    save(library, "one", call(model="b"), call(model="a"), call(provider="alpha", model="z"))
    assert [(row.provider, row.model) for row in library.runs.spending()] == [
        ("alpha", "z"),
        ("openai", "a"),
        ("openai", "b"),
    ]


def test_what_was_spent_stays_spent_when_its_run_is_deleted(library: Library) -> None:
    save(library, "one", call(input_tokens=100, output_tokens=10))
    before = library.runs.spending()
    library.runs.delete("one")
    assert library.runs.latest() == []
    assert library.runs.spending() == before


def test_a_run_of_the_same_id_takes_the_place_of_the_earlier_one_s_calls(library: Library) -> None:
    save(library, "one", call(input_tokens=100, output_tokens=10), call(input_tokens=100, output_tokens=10))
    save(library, "other", call(input_tokens=1, output_tokens=1))
    save(library, "one", call(input_tokens=7, output_tokens=1))
    (row,) = library.runs.spending()
    assert (row.calls, row.input_tokens) == (2, 8)


def test_a_run_without_calls_leaves_no_row(library: Library) -> None:
    save(library, "one")
    assert library.runs.spending() == []


def test_spending_is_there_after_reopening(library: Library, embedder: HashEmbedder, open_library: OpenLibrary) -> None:
    save(library, "one", call(input_tokens=100, output_tokens=10))
    before = library.runs.spending()
    library.close()
    with open_library("library", embedder) as again:
        assert again.runs.spending() == before


# Remembered searches


def test_a_search_is_remembered_with_its_time(library: Library) -> None:
    library.cache.save_search("key", [PAGE])
    found_at, pages = library.cache.load_search("key", hours=1) or ("", ())
    assert pages == (PAGE,)
    assert datetime.fromisoformat(found_at).utcoffset() == timedelta(0)
    assert library.cache.load_search("another key", hours=1) is None


def test_a_search_without_results_is_remembered_too(library: Library) -> None:
    library.cache.save_search("key", [])
    found = library.cache.load_search("key", hours=1)
    assert found is not None and found[1] == ()


def test_a_search_is_forgotten_after_so_many_hours(library: Library) -> None:
    library.cache.save_search("key", [PAGE])
    then = (datetime.now(UTC) - timedelta(hours=25)).isoformat(timespec="seconds")
    change(library, update(searches).values(found_at=then))
    assert library.cache.load_search("key", hours=24) is None
    assert library.cache.load_search("key", hours=26) == (then, (PAGE,))


def test_a_later_search_takes_the_place_of_an_earlier_one(library: Library) -> None:
    library.cache.save_search("key", [PAGE])
    change(library, update(searches).values(found_at="2020-01-01T00:00:00+00:00"))
    library.cache.save_search("key", [])
    found = library.cache.load_search("key", hours=1)
    assert found is not None and found[1] == ()


def test_deleting_a_run_forgets_every_remembered_search(library: Library) -> None:
    """They hold queries, and nobody can tell whose."""
    save(library, "one", call())
    library.cache.save_search("key", [PAGE])
    library.cache.save_search("other", [PAGE])
    library.runs.delete("one")
    assert library.cache.load_search("key", hours=1) is None
    assert library.cache.load_search("other", hours=1) is None


# Libraries of other versions


def in_file(library: Library, statement: str) -> None:
    with closing(sqlite3.connect(library.folder / "library.db")) as connection, connection:
        connection.execute(statement)


def tables(file: Path) -> set[str]:
    with closing(sqlite3.connect(file)) as connection:
        return {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}


@pytest.mark.files
def test_a_library_of_version_1_opens_with_all_it_holds(library: Library, fill: Fill, embedder: HashEmbedder) -> None:
    documents = [fill(library, "alpha"), fill(library, "beta")]
    save(library, "one", call(input_tokens=100, output_tokens=10))
    found, history = library.search("beta copper", 3), library.runs.latest()
    library.close()
    as_version(library, 1)
    assert not {"calls", "searches"} & tables(library.folder / "library.db")
    earlier_index = library.folder / "library.vectors"
    earlier_index.write_bytes(b"what an earlier version kept beside its file")
    with Library.open(library.folder, embedder) as opened:
        assert not earlier_index.exists()
        assert {"calls", "searches"} <= tables(opened.folder / "library.db")
        assert opened.documents.all() == documents
        assert opened.runs.latest() == history
        assert opened.runs.trace("one").calls == (call(input_tokens=100, output_tokens=10),)
        assert opened.search("beta copper", 3) == found
        assert opened.runs.spending() == []
        save(opened, "two", call(input_tokens=1, output_tokens=1))
        opened.cache.save_search("key", [PAGE])
        assert opened.runs.spending()[0].calls == 1
        opened.verify()
    with Library.open(library.folder, embedder) as again:
        assert again.cache.load_search("key", hours=1) is not None


def layout(file: Path) -> dict[str, object]:
    """What a file is made of, however the statements that made it were written: tables, columns, indexes, triggers."""
    with closing(sqlite3.connect(file)) as connection:
        rows = connection.execute("SELECT type, name, sql FROM sqlite_master WHERE name NOT LIKE 'sqlite_%'").fetchall()
        found: dict[str, object] = {f"{kind} {name}": sql.split() for kind, name, sql in rows if kind != "table"}
        for name, sql in [(name, sql) for kind, name, sql in rows if kind == "table"]:
            columns = connection.execute(f"PRAGMA table_xinfo({name})").fetchall()
            # What is part of a key is never NULL, said or not.
            said = [
                (name, type, bool(needed or key), default, key) for _, name, type, needed, default, key, _ in columns
            ]
            indexes = [
                (index[2:], connection.execute(f"PRAGMA index_xinfo({index[1]})").fetchall())
                for index in connection.execute(f"PRAGMA index_list({name})").fetchall()
            ]
            keys = connection.execute(f"PRAGMA foreign_key_list({name})").fetchall()
            words = {word for word in ("AUTOINCREMENT", "WITHOUT ROWID", "fts5", "CHECK") if word in sql}
            found[f"table {name}"] = (said, sorted(map(repr, indexes)), keys, words)
        for pragma in ("user_version", "auto_vacuum", "journal_mode"):
            found[pragma] = connection.execute(f"PRAGMA {pragma}").fetchone()
        found["stamp"] = connection.execute("SELECT version_num FROM alembic_version").fetchall()
        return found


@pytest.mark.files
@pytest.mark.parametrize("version", range(1, VERSION))
def test_a_new_library_and_a_migrated_one_are_alike(
    library: Library, tmp_path: Path, embedder: HashEmbedder, version: int
) -> None:
    on_disk(library).close()
    with Library.open(tmp_path / "new", embedder) as new:
        file = on_disk(new).folder / "library.db"
    as_version(library, version)
    Library.open(library.folder, embedder).close()
    made, migrated = layout(file), layout(library.folder / "library.db")
    assert made.keys() == migrated.keys()
    assert [name for name in made if made[name] != migrated[name]] == []


@pytest.mark.slow
def test_a_new_library_and_a_current_one_are_opened_without_alembic(tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from tests.support.library_makers import HashEmbedder, on_disk; "
        "from crag.library.library import Library; library = Library.open(Path(sys.argv[1]), HashEmbedder()); "
        "on_disk(library).size; assert 'alembic' not in sys.modules"
    )
    for _ in ("new", "current"):
        subprocess.run([sys.executable, "-c", code, str(tmp_path / "library")], cwd=ROOT, check=True)


@pytest.mark.slow
@pytest.mark.files
@pytest.mark.parametrize("version", [1, VERSION - 1])
def test_processes_and_threads_that_migrate_at_once_agree(
    library: Library, fill: Fill, embedder: HashEmbedder, version: int
) -> None:
    document = fill(library, "alpha")
    library.close()
    as_version(library, version)
    code = (
        "import sys; from pathlib import Path; from tests.support.library_makers import HashEmbedder; "
        "from crag.library.library import Library; Library.open(Path(sys.argv[1]), HashEmbedder()).close()"
    )
    begun = [subprocess.Popen([sys.executable, "-c", code, str(library.folder)], cwd=ROOT) for _ in range(2)]
    with ThreadPoolExecutor(3) as pool:
        list(pool.map(lambda _: Library.open(library.folder, embedder).close(), range(3)))
    assert [child.wait(timeout=60) for child in begun] == [0, 0]
    with Library.open(library.folder, embedder) as opened:
        assert opened.documents.all() == [document] and opened.search("alpha", 1)
        opened.verify()
    assert layout(library.folder / "library.db")["stamp"] == [(str(VERSION),)]


def changed(library: Library) -> list[tuple[int, int | None, str]]:
    """What a chunk index would be told, with the documents by their number."""
    with library._database.read() as connection:
        rows = connection.execute(select(changes.c.generation, changes.c.document, changes.c.kind))
        return sorted(tuple(row) for row in rows)


def test_every_change_of_documents_and_vectors_is_noted_with_its_generation(library: Library, fill: Fill) -> None:
    fill(library, "alpha")
    library.documents.delete(fill(library, "beta").id)
    library.reindex()
    with pytest.raises(InputError):
        fill(library, "alpha")
    fill(library, "gamma")
    assert changed(library) == [
        (1, 1, "added"),
        (2, 2, "added"),
        (3, 2, "deleted"),
        (4, None, "embedded"),
        (5, 3, "added"),
    ]
    with library._database.read() as connection:
        assert meta(connection, "generation") == "5"


def test_an_older_library_s_changes_are_noted_from_its_own_generation_on(tmp_path: Path) -> None:
    with Library.open(stored_library(tmp_path / "old", 4), MiniLM()) as library:
        assert changed(library) == []
        library.documents.delete(library.documents.all()[0].id)
        assert changed(library) == [(5, 1, "deleted")]
        assert library.size == (1, 3) and library.labels.all()[-1].question == "Which harbour?"
        document, data, chunks = make_document("new", 2, model=MiniLM().id)
        library.documents.add(document, data, chunks, MiniLM().embed([chunk.text for chunk in chunks]))
        assert changed(library)[1:] == [(6, 4, "added")], "a number is never used twice"
        library.verify()


@pytest.mark.files
def test_a_migration_that_breaks_off_leaves_version_1(library: Library, fill: Fill, embedder: HashEmbedder) -> None:
    document = fill(library, "alpha")
    library.close()
    as_version(library, 1)
    in_file(library, "CREATE TABLE calls (in_the_way TEXT)")
    with pytest.raises(StorageError):
        Library.open(library.folder, embedder)
    assert "searches" not in tables(library.folder / "library.db"), "half a migration"
    in_file(library, "DROP TABLE calls")
    with Library.open(library.folder, embedder) as opened:
        assert opened.documents.all() == [document]
        assert opened.runs.spending() == []


@pytest.mark.files
def test_a_library_of_a_later_version_is_refused_and_left_alone(library: Library, embedder: HashEmbedder) -> None:
    on_disk(library).close()
    in_file(library, f"PRAGMA user_version = {VERSION + 1}")
    before = (library.folder / "library.db").read_bytes()
    with pytest.raises(StorageError, match="newer version of this program"):
        Library.open(library.folder, embedder)
    assert (library.folder / "library.db").read_bytes() == before
