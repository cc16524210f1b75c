"""A library with rows of every kind, and all that is stored in one, to be compared wherever it lies."""

from collections.abc import Callable
from contextlib import closing
from typing import Any

from sqlalchemy import Column, Table, delete, func, insert, select

from crag.core.types import Document
from crag.storage import store
from crag.storage.database import Database
from crag.storage.library import Library
from crag.storage.sqlite import SqliteFile
from crag.storage.tables import (
    calls,
    changes,
    chunks,
    documents,
    files,
    labels,
    meta,
    metadata,
    revision,
    runs,
    unembedded,
    vectors,
)
from tests.support.library_makers import HashEmbedder, make_document

Fill = Callable[..., Document]
TABLES = tuple(table for table in metadata.sorted_tables if table not in (meta, revision))
"""What a library holds, each table after those that it refers to."""
BY_THE_LIBRARY = (documents, files, chunks, vectors, changes, labels, unembedded)
"""Those that adding documents and saving a label fill; and those that still have no vectors."""
JSON_TEXTS = ("grade", "pages", "detail", "content", "row")


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
        for table in TABLES:
            if table not in BY_THE_LIBRARY:
                connection.execute(insert(table), [row(table, at) for at in range(1, 9)])
        latest = connection.scalar(select(func.max(documents.c.number)))
        connection.execute(insert(unembedded), [{"document": latest, "why": "The server did not answer. 没有"}])
        connection.execute(insert(calls), [row(calls, 1)])  # the same again: calls have no key
        connection.execute(delete(runs).where(runs.c.number == 8))


def row(table: Table, at: int) -> dict[str, object]:
    """Values of every kind for all columns without a number of their own; NULL in odd rows where it may be."""
    return {
        column.name: None if column.nullable and at % 2 else value(column, at)
        for column in table.columns
        if column.identity is None
    }


def value(column: Column[Any], at: int) -> object:
    """A key that refers to another row is that row's, of the same number."""
    referred = next((key.column for key in column.foreign_keys), column)
    match column.type.python_type():
        case bytes():
            return bytes(range(256)) * at
        case float():
            return at / 7
        case int():
            return at
        case _:
            return "{}" if column.name in JSON_TEXTS else f"{referred.name} größe\0{at}"


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
