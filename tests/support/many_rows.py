"""A library with rows of every kind, and all that is stored in one, to be compared wherever it lies."""

from collections.abc import Callable
from contextlib import closing

from sqlalchemy import delete, insert, select

from crag.core.types import Document
from crag.storage import store
from crag.storage.database import Database
from crag.storage.library import Library
from crag.storage.sqlite import SqliteFile
from crag.storage.tables import (
    calls,
    evaluations,
    facts,
    grades,
    meta,
    metadata,
    purged,
    question_sets,
    results,
    revision,
    runs,
    searches,
    tracks,
)
from tests.support.library_makers import HashEmbedder, make_document

Fill = Callable[..., Document]
TABLES = tuple(table for table in metadata.sorted_tables if table not in (meta, revision))
"""What a library holds, each table after those that it refers to."""


def fill(library: Library, label: str, chunks: int = 4) -> Document:
    """Adds a made document and returns it."""
    document, data, made = make_document(label, chunks)
    vectors = HashEmbedder().embed([chunk.indexed_text for chunk in made])
    library.documents.add(document, data, made, vectors)
    return document


def many(library: Library, fill: Fill = fill) -> None:
    """Rows of every kind, some numbers given out and used no more."""
    kept = [fill(library, label, 5) for label in ("alpha", "beta", "gamma")]
    gone = fill(library, "gone", 7)
    library.documents.describe(
        kept[0].id, {"tags": ("annual", "größe"), "verified": True, "weight": 1e22, "share": 0.1, "date": "2024-03"}
    )
    library.labels.save("Why? 为什么", f"{kept[1].id[:16]}-2", "relevant")
    library.documents.delete(gone.id)
    with library._database.write() as connection:
        some: list[tuple[object, list[dict[str, object]]]] = [
            (grades, [{"key": f"{at}é", "grade": "{}"} for at in range(5)]),
            (searches, [{"key": f"q{at}", "found_at": "2026", "pages": "[\0]"} for at in range(4)]),
            (runs, [run_row(at) for at in range(8)]),
            (facts, [facts_row(at) for at in range(1, 9)]),
            (calls, [call_row(at) for at in range(8)] * 2),
            (question_sets, [set_row(at) for at in range(2)]),
            (evaluations, [evaluation_row(at) for at in range(2)]),
            (tracks, [track_row(at) for at in range(1, 5)]),
            (purged, [purged_row(at) for at in range(2)]),
            (results, [{"evaluation": 1 + at % 2, "place": at, "row": "{}"} for at in range(9)]),
        ]
        for table, rows in some:
            connection.execute(insert(table), rows)  # type: ignore[arg-type]
        connection.execute(delete(runs).where(runs.c.id == "run7"))


def facts_row(number: int) -> dict[str, object]:
    words = ("id", "started_at", "strategy", "via", "action", "outcome", "evaluator", "scope")
    figures = {"searches": 1, "rewrites": 0, "seconds": 0.1, "waited": 0.0, "detail": "{}"}
    return {"run": number, **dict.fromkeys(words, f"größe\0{number}"), "best": number / 7, **figures}


def run_row(at: int) -> dict[str, object]:
    names = ("strategy", "started_at", "trace", "events")
    more = {"action": None if at % 2 else "correct", "seconds": at / 7}
    return {"id": f"run{at}", "question": f"what\0{at}", **dict.fromkeys(names, "x"), **more}


def call_row(at: int) -> dict[str, object]:
    more = {"seconds": at / 3, "input_tokens": None if at % 3 else at, "output_tokens": 4, "failed": 0}
    return {"run": f"run{at}", "at": "2026", "step": "grade", "provider": "p", "model": "m", **more}


def set_row(at: int) -> dict[str, object]:
    more = {"questions": 1, "problems": 0, "added_at": "2026", "content": "{}"}
    return {"id": f"set{at}", "name": "n", "kind": "k", **more}


def track_row(chunk: int) -> dict[str, object]:
    names = ("last_action", "last_at", "last_used")
    return {
        "chunk": chunk,
        "retrieved": 3,
        "used": 1,
        "graded": 2,
        "score_sum": 0.1 * chunk,
        **dict.fromkeys(names, ""),
    }


def purged_row(at: int) -> dict[str, object]:
    names = ("name", "at", "reason", "model", "content")
    return {"id": f"p{at}", "vectors": bytes(range(256)), "bytes": b"\0", **dict.fromkeys(names, "x")}


def evaluation_row(at: int) -> dict[str, object]:
    names = ("strategy", "settings", "parts", "key", "started_at", "finished_at")
    return {"id": f"e{at}", "question_set": f"set{at}", **dict.fromkeys(names, "x")}


def rows_of(place: SqliteFile) -> dict[str, list[str]]:
    """All that is stored, in no place's own order."""
    with closing(Database(place)) as database, database.read() as connection:
        found = {
            table.name: sorted(repr([plain(each) for each in row]) for row in connection.execute(select(table)))
            for table in TABLES
        }
        found["meta"] = [store.meta(connection, key) for key in ("generation", "model", "dimension")]
    return found


def plain(value: object) -> object:
    """A value as every place can hold it."""
    return value.replace("\0", "\ufffd") if isinstance(value, str) else value
