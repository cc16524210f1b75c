"""What search reads of a library: chunks, vectors, and which model made them. Every function runs in its caller's
transaction."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crag.core.errors import ModelMismatchError
from crag.core.protocols import Embedder
from crag.core.types import INDEXED_AS, Chunk, LineBox, Rect

CHUNK = """
SELECT c.number, c.id, c.page, c.ordinal, c."start", c."end", c.text, c.context, c.kind, c.lines, d.id, d.name, d.title
FROM chunks c JOIN documents d ON d.number = c.document
"""
_BATCH = 500
"""Values bound in one statement; SQLite allows 999 in old builds."""


def select_in(connection: sqlite3.Connection, statement: str, values: Sequence[Any]) -> Iterator[Any]:
    """The rows of a statement whose `IN ({})` takes all these values, some hundreds at a time."""
    for at in range(0, len(values), _BATCH):
        some = values[at : at + _BATCH]
        yield from connection.execute(statement.format(",".join("?" * len(some))), some)


def meta(connection: sqlite3.Connection, key: str) -> str:
    """One of: library (its own id), generation (counts changes of chunks and vectors), model, dimension."""
    return str(connection.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()[0])


def bump(connection: sqlite3.Connection) -> None:
    """Make every cache of the vectors stale, in this process and in others."""
    connection.execute("UPDATE meta SET value = CAST(value AS INTEGER) + 1 WHERE key = 'generation'")


def empty(connection: sqlite3.Connection) -> bool:
    """Whether there is nothing to search."""
    return connection.execute("SELECT 1 FROM chunks LIMIT 1").fetchone() is None


def check_model(connection: sqlite3.Connection, embedder: Embedder) -> None:
    """Raises ModelMismatchError if there are vectors, and another model made them."""
    stored, used = meta(connection, "model"), _model(embedder)
    if stored != used and not empty(connection):
        raise ModelMismatchError(f"The library's vectors were made by {stored}; the model in use is {used}.")


def set_model(connection: sqlite3.Connection, embedder: Embedder) -> None:
    """Note which model makes the vectors, and how long they are."""
    values = [(_model(embedder), "model"), (str(embedder.dimension), "dimension")]
    connection.executemany("UPDATE meta SET value = ? WHERE key = ?", values)


def put_vectors(connection: sqlite3.Connection, numbers: Sequence[int], vectors: NDArray[np.float32]) -> None:
    """Insert one vector a chunk number, as little-endian float32."""
    rows = np.ascontiguousarray(vectors, dtype="<f4")
    connection.executemany(
        "INSERT INTO vectors VALUES (?, ?)",
        [(number, row.tobytes()) for number, row in zip(numbers, rows, strict=True)],
    )


def replace_vectors(
    connection: sqlite3.Connection, numbers: Sequence[int], vectors: Sequence[NDArray[np.float32]], embedder: Embedder
) -> None:
    """All vectors at once, and the model that made them on every document; `numbers` must be all chunks."""
    connection.execute("DELETE FROM vectors")
    if numbers:
        put_vectors(connection, numbers, np.stack(vectors))
    set_model(connection, embedder)
    connection.execute(
        "UPDATE documents SET model = :model, record = json_set(record, '$.model', :model)", {"model": embedder.id}
    )
    bump(connection)


def chunk_numbers(connection: sqlite3.Connection) -> list[int]:
    """All chunks' numbers, ascending."""
    return [int(row[0]) for row in connection.execute("SELECT number FROM chunks ORDER BY number")]


def chunks_numbered(connection: sqlite3.Connection, numbers: Sequence[int] | NDArray[np.int64]) -> dict[int, Chunk]:
    """The chunks of these numbers; unknown numbers are absent."""
    wanted = [int(number) for number in numbers]
    return {int(row[0]): chunk_of(row) for row in select_in(connection, f"{CHUNK} WHERE c.number IN ({{}})", wanted)}


def chunk_of(row: Sequence[Any]) -> Chunk:
    """The chunk of a row of `CHUNK`."""
    _, id, page, ordinal, start, end, text, context, kind, lines, document_id, name, title = row
    return Chunk(
        id=id,
        document_id=document_id,
        source=name,
        title=title,
        page=page,
        ordinal=ordinal,
        start=start,
        end=end,
        text=text,
        context=context,
        kind=kind,
        lines=_unpack(lines),
    )


def pack(lines: Sequence[LineBox]) -> str:
    """Line boxes as rows of bare numbers: a third of the size of named fields."""
    return json.dumps(
        [
            (box.start, box.end, box.rect.page, box.rect.left, box.rect.top, box.rect.right, box.rect.bottom)
            for box in lines
        ],
        separators=(",", ":"),
    )


def first_problem(connection: sqlite3.Connection) -> str:
    """What is wrong with the file, or nothing: pages, references, one vector a chunk, full-text against text."""
    found = connection.execute("PRAGMA quick_check(1)").fetchone()[0]
    if found != "ok":
        return str(found)
    if row := connection.execute("PRAGMA foreign_key_check").fetchone():
        return f"row {row[1]} of {row[0]} belongs to nothing"
    for name in ("vectors", "chunk_search_docsize"):
        chunks, others = connection.execute(
            f"SELECT (SELECT count(*) FROM chunks), (SELECT count(*) FROM {name})"
        ).fetchone()
        if chunks != others:
            return f"{chunks} chunks, but {others} rows in {name}"
    return ""


def _model(embedder: Embedder) -> str:
    """What vectors of this model are told by: they depend on what of a chunk was embedded, too."""
    return f"{embedder.id}/{INDEXED_AS}"


def _unpack(text: str) -> tuple[LineBox, ...]:
    return tuple(
        LineBox(start=start, end=end, rect=Rect(page=page, left=left, top=top, right=right, bottom=bottom))
        for start, end, page, left, top, right, bottom in json.loads(text)
    )
