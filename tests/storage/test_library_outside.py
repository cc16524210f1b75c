"""What outside services took and brought: calls kept by day, results remembered for a while, other versions refused."""

import sqlite3
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import select, update

from crag.core.errors import InputError, StorageError
from crag.core.events import RunStarted
from crag.core.trace import Trace
from crag.core.types import Call, Document, WebPage
from crag.storage.library import Library
from crag.storage.store import meta
from crag.storage.tables import VERSION, changes, searches
from tests.support.library_makers import HashEmbedder, change, on_disk
from tests.support.made import spent

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
    summed = {"calls": 3, "seconds": 2.5, "input_tokens": 301, "output_tokens": 32}
    assert gpt_4o == spent("openai", "gpt-4o", day=gpt_4o.day, **summed)
    assert (gpt_5.calls, gpt_5.input_tokens) == (1, 5)
    assert (tavily.calls, tavily.model, tavily.input_tokens, tavily.uncounted) == (1, "", 0, 0)
    assert {row.day for row in (tavily, gpt_4o, gpt_5)} <= {ago(0)[:10], ago(1)[:10]}


def test_days_are_apart_the_latest_first_and_old_ones_left_out(library: Library) -> None:
    for run, days in (("old", 40), ("week", 5), ("now", 0)):
        save(library, run, call(input_tokens=days + 1, output_tokens=0), days=days)
    assert [row.input_tokens for row in library.runs.spending(60)] == [1, 6, 41]
    assert [row.input_tokens for row in library.runs.spending()] == [1, 6]
    assert [row.input_tokens for row in library.runs.spending(3)] == [1]
    assert library.runs.spending(60)[0].day > library.runs.spending(60)[1].day


def test_what_was_spent_stays_spent_when_its_run_is_deleted(library: Library) -> None:
    save(library, "one", call(input_tokens=100, output_tokens=10))
    before = library.runs.spending()
    library.runs.delete("one")
    assert library.runs.latest() == []
    assert library.runs.spending() == before


# Remembered searches


def test_a_search_is_forgotten_after_so_many_hours(library: Library) -> None:
    library.cache.save_search("key", [PAGE])
    then = (datetime.now(UTC) - timedelta(hours=25)).isoformat(timespec="seconds")
    change(library, update(searches).values(found_at=then))
    assert library.cache.load_search("key", hours=24) is None
    assert library.cache.load_search("key", hours=26) == (then, (PAGE,))


def test_a_search_of_a_time_to_come_is_not_used(library: Library) -> None:
    """A clock that was ahead and was set back would keep it for as long as it was ahead."""
    library.cache.save_search("key", [PAGE])
    then = (datetime.now(UTC) + timedelta(days=7)).isoformat(timespec="seconds")
    change(library, update(searches).values(found_at=then))
    assert library.cache.load_search("key", hours=24) is None


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


def changed(library: Library) -> list[tuple[int, int | None, str]]:
    """What a chunk index would be told, with the documents by their number."""
    with library._database.read() as connection:
        rows = connection.execute(select(changes.c.generation, changes.c.document, changes.c.kind))
        return sorted(tuple(row) for row in rows)


def test_every_change_of_documents_and_vectors_is_noted_with_its_generation(library: Library, fill: Fill) -> None:
    fill(library, "alpha")
    library.documents.delete(fill(library, "beta").id)
    library.unembedded.forget_vectors()
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
        assert meta(connection).generation == 5


@pytest.mark.files
@pytest.mark.parametrize(("version", "said"), [(VERSION + 1, "newer version"), (VERSION - 3, "unreleased build")])
def test_a_library_of_another_version_is_refused_and_left_alone(
    library: Library, embedder: HashEmbedder, version: int, said: str
) -> None:
    on_disk(library).close()
    in_file(library, f"PRAGMA user_version = {version}")
    in_file(library, f"UPDATE alembic_version SET version_num = {version}")
    before = (library.folder / "library.db").read_bytes()
    with pytest.raises(StorageError, match=said):
        Library(library.folder, embedder)
    assert (library.folder / "library.db").read_bytes() == before
