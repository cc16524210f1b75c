"""What outside services took and brought: calls kept by day, results remembered for a while, older libraries opened."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from crag.core.errors import StorageError
from crag.core.events import RunStarted
from crag.core.meter import Call, DaySpending
from crag.core.trace import Trace
from crag.core.types import Document, WebPage
from crag.library.library import Library
from crag.library.schema import VERSION
from tests.support.library_makers import HashEmbedder, as_version, on_disk

Fill = Callable[..., Document]
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


def change(library: Library, statement: str, *values: object) -> None:
    with closing(sqlite3.connect(library.folder / "library.db")) as connection, connection:
        connection.execute(statement, values)


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


def test_spending_is_there_after_reopening(library: Library, embedder: HashEmbedder) -> None:
    save(library, "one", call(input_tokens=100, output_tokens=10))
    before = library.runs.spending()
    library.close()
    with Library.open(library.folder, embedder) as again:
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
    change(library, "UPDATE searches SET found_at = ?", then)
    assert library.cache.load_search("key", hours=24) is None
    assert library.cache.load_search("key", hours=26) == (then, (PAGE,))


def test_a_later_search_takes_the_place_of_an_earlier_one(library: Library) -> None:
    library.cache.save_search("key", [PAGE])
    change(library, "UPDATE searches SET found_at = '2020-01-01T00:00:00+00:00'")
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


def tables(file: Path) -> set[str]:
    with closing(sqlite3.connect(file)) as connection:
        return {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}


def test_a_library_of_version_1_opens_with_all_it_holds(library: Library, fill: Fill, embedder: HashEmbedder) -> None:
    documents = [fill(library, "alpha"), fill(library, "beta")]
    save(library, "one", call(input_tokens=100, output_tokens=10))
    found, history = library.search("beta copper", 3), library.runs.latest()
    library.close()
    as_version(library, 1)
    assert not {"calls", "searches"} & tables(library.folder / "library.db")
    with Library.open(library.folder, embedder) as opened:
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


@pytest.mark.parametrize("version", range(1, VERSION))
def test_a_new_library_and_a_migrated_one_are_alike(
    library: Library, tmp_path: Path, embedder: HashEmbedder, version: int
) -> None:
    on_disk(library).close()
    with Library.open(tmp_path / "new", embedder) as new:
        file = on_disk(new).folder / "library.db"
    as_version(library, version)
    Library.open(library.folder, embedder).close()
    layouts = []
    for each in (file, library.folder / "library.db"):
        with closing(sqlite3.connect(each)) as connection:
            rows = connection.execute("SELECT type, name, sql FROM sqlite_master WHERE sql NOT NULL ORDER BY name")
            layouts.append((rows.fetchall(), connection.execute("PRAGMA user_version").fetchone()))
    assert layouts[0] == layouts[1]


def test_a_migration_that_breaks_off_leaves_version_1(library: Library, fill: Fill, embedder: HashEmbedder) -> None:
    document = fill(library, "alpha")
    library.close()
    as_version(library, 1)
    change(library, "CREATE TABLE calls (in_the_way TEXT)")
    with pytest.raises(StorageError):
        Library.open(library.folder, embedder)
    assert "searches" not in tables(library.folder / "library.db"), "half a migration"
    change(library, "DROP TABLE calls")
    with Library.open(library.folder, embedder) as opened:
        assert opened.documents.all() == [document]
        assert opened.runs.spending() == []


def test_a_library_of_a_later_version_is_refused_and_left_alone(library: Library, embedder: HashEmbedder) -> None:
    on_disk(library).close()
    change(library, f"PRAGMA user_version = {VERSION + 1}")
    before = (library.folder / "library.db").read_bytes()
    with pytest.raises(StorageError, match="newer version of this program"):
        Library.open(library.folder, embedder)
    assert (library.folder / "library.db").read_bytes() == before
