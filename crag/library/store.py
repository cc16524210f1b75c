"""Documents and chunks as rows: put in, read back, removed. Every function runs in its caller's transaction."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crag.core.errors import InputError, NotFoundError, StorageError
from crag.core.types import Chunk, Document, LineBox, Rect

__all__ = [
    "bump",
    "chunk_numbers",
    "chunks_numbered",
    "first_problem",
    "get_chunk",
    "get_document",
    "get_file",
    "list_chunks",
    "list_documents",
    "meta",
    "put_document",
    "put_vectors",
    "remove_document",
    "replace_vectors",
    "set_document_models",
    "set_meta",
    "size",
]

_CHUNK = """
SELECT c.number, c.id, c.page, c.ordinal, c."start", c."end", c.text, c.context, c.kind, c.lines, d.id, d.name, d.title
FROM chunks c JOIN documents d ON d.number = c.document
"""
_PIECE = 1024 * 1024
_BATCH = 500
"""Values bound in one statement; SQLite allows 999 in old builds."""


def meta(connection: sqlite3.Connection, key: str) -> str:
    """One of: library (its own id), generation (counts changes of chunks and vectors), model, dimension."""
    return str(connection.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()[0])


def set_meta(connection: sqlite3.Connection, key: str, value: str) -> None:
    connection.execute("UPDATE meta SET value = ? WHERE key = ?", (value, key))


def bump(connection: sqlite3.Connection) -> None:
    """Make every cache of the vectors stale, in this process and in others."""
    connection.execute("UPDATE meta SET value = CAST(value AS INTEGER) + 1 WHERE key = 'generation'")


def size(connection: sqlite3.Connection) -> tuple[int, int]:
    """Documents, chunks."""
    row = connection.execute("SELECT (SELECT count(*) FROM documents), (SELECT count(*) FROM chunks)").fetchone()
    return int(row[0]), int(row[1])


def put_document(
    connection: sqlite3.Connection, document: Document, data: bytes, chunks: Sequence[Chunk], card: str
) -> list[int]:
    """Insert a document with its file and chunks; returns the chunks' numbers. Raises InputError for a known id."""
    if connection.execute("SELECT 1 FROM documents WHERE id = ?", (document.id,)).fetchone():
        raise InputError(
            f"{document.name} is in the library already: the same content was added before.",
            "Nothing to do. To read it again, delete it first.",
        )
    cursor = connection.execute(
        "INSERT INTO documents (id, name, title, card, added_at, confidence, model, record) "
        "VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        (
            document.id,
            _clean(document.name),
            _clean(document.title),
            _clean(card),
            document.added_at,
            document.confidence,
            document.model,
            _clean(json.dumps(asdict(document))),
        ),
    )
    number = cursor.lastrowid
    _put_file(connection, int(number or 0), data)
    added = []
    for chunk in chunks:
        row = connection.execute(
            'INSERT INTO chunks (id, document, ordinal, page, "start", "end", text, context, kind, lines) '
            "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                chunk.id,
                number,
                chunk.ordinal,
                chunk.page,
                chunk.start,
                chunk.end,
                _clean(chunk.text),
                _clean(chunk.context),
                chunk.kind,
                _pack(chunk.lines),
            ),
        ).lastrowid
        added.append(int(row or 0))
    return added


def _put_file(connection: sqlite3.Connection, number: int, data: bytes) -> None:
    """Written piece by piece: a value that is bound whole stays in the connection's memory with its statement."""
    connection.execute("INSERT INTO files VALUES (?, zeroblob(?))", (number, len(data)))
    with connection.blobopen("files", "bytes", number) as blob:
        for at in range(0, len(data), _PIECE):
            blob.write(data[at : at + _PIECE])


def put_vectors(connection: sqlite3.Connection, numbers: Sequence[int], vectors: NDArray[np.float32]) -> None:
    """Insert one vector a chunk number, as little-endian float32."""
    rows = np.ascontiguousarray(vectors, dtype="<f4")
    connection.executemany(
        "INSERT INTO vectors VALUES (?, ?)",
        [(number, row.tobytes()) for number, row in zip(numbers, rows, strict=True)],
    )


def replace_vectors(
    connection: sqlite3.Connection, numbers: Sequence[int], vectors: Sequence[NDArray[np.float32]]
) -> None:
    """All vectors at once; `numbers` must be all chunks."""
    connection.execute("DELETE FROM vectors")
    if numbers:
        put_vectors(connection, numbers, np.stack(vectors))


def set_document_models(connection: sqlite3.Connection, model: str) -> None:
    """Write the model's id on every document."""
    connection.execute("UPDATE documents SET model = ?, record = json_set(record, '$.model', ?)", (model, model))


def remove_document(connection: sqlite3.Connection, id: str) -> None:
    """Delete a document and all that hangs on it, then look whether anything is left. Raises NotFoundError."""
    number = _number(connection, id)
    first, last = connection.execute(
        "SELECT min(number), max(number) FROM chunks WHERE document = ?", (number,)
    ).fetchone()
    connection.execute("DELETE FROM documents WHERE number = ?", (number,))
    left = connection.execute(
        "SELECT (SELECT count(*) FROM files WHERE document = :document)"
        " + (SELECT count(*) FROM chunks WHERE document = :document)"
        # A document's chunks are numbered in one transaction, so no other document's lie between.
        " + (SELECT count(*) FROM vectors WHERE chunk BETWEEN :first AND :last)"
        " + (SELECT count(*) FROM chunk_search_docsize WHERE id BETWEEN :first AND :last)",
        {"document": number, "first": first, "last": last},
    ).fetchone()[0]
    if left:
        raise StorageError(
            f"Deleting left {left} rows behind, so it was undone.", "Make a copy of the library file and report this."
        )


def list_documents(connection: sqlite3.Connection) -> list[Document]:
    """All documents, in the order they were added."""
    return [_document(row[0]) for row in connection.execute("SELECT record FROM documents ORDER BY number")]


def get_document(connection: sqlite3.Connection, id: str) -> Document:
    """Raises NotFoundError."""
    number = _number(connection, id)
    return _document(connection.execute("SELECT record FROM documents WHERE number = ?", (number,)).fetchone()[0])


def get_file(connection: sqlite3.Connection, id: str) -> bytes:
    """The bytes as they were added. Raises NotFoundError."""
    number = _number(connection, id)
    return bytes(connection.execute("SELECT bytes FROM files WHERE document = ?", (number,)).fetchone()[0])


def list_chunks(connection: sqlite3.Connection, document_id: str) -> list[Chunk]:
    """A document's chunks in reading order. Raises NotFoundError."""
    number = _number(connection, document_id)
    rows = connection.execute(f"{_CHUNK} WHERE c.document = ? ORDER BY c.ordinal, c.number", (number,))
    return [_chunk(row) for row in rows]


def get_chunk(connection: sqlite3.Connection, id: str) -> Chunk:
    """Raises NotFoundError."""
    row = connection.execute(f"{_CHUNK} WHERE c.id = ?", (id,)).fetchone()
    if row is None:
        raise NotFoundError(f"There is no chunk {id} in this library.")
    return _chunk(row)


def chunk_numbers(connection: sqlite3.Connection) -> list[int]:
    """All chunks' numbers, ascending."""
    return [int(row[0]) for row in connection.execute("SELECT number FROM chunks ORDER BY number")]


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


def chunks_numbered(connection: sqlite3.Connection, numbers: Iterable[int]) -> dict[int, Chunk]:
    """The chunks of these numbers; unknown numbers are absent."""
    wanted, found = [int(number) for number in numbers], {}
    for at in range(0, len(wanted), _BATCH):
        some = wanted[at : at + _BATCH]
        marks = ",".join("?" * len(some))
        for row in connection.execute(f"{_CHUNK} WHERE c.number IN ({marks})", some):
            found[int(row[0])] = _chunk(row)
    return found


def _number(connection: sqlite3.Connection, id: str) -> int:
    row = connection.execute("SELECT number FROM documents WHERE id = ?", (id,)).fetchone()
    if row is None:
        raise NotFoundError(f"There is no document {id[:12]} in this library.")
    return int(row[0])


def _document(record: str) -> Document:
    values = json.loads(record)
    return Document(**{**values, "warnings": tuple(values["warnings"])})


def _chunk(row: Sequence[Any]) -> Chunk:
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


def _pack(lines: Sequence[LineBox]) -> str:
    """Line boxes as rows of bare numbers: a third of the size of named fields."""
    return json.dumps(
        [
            (box.start, box.end, box.rect.page, box.rect.left, box.rect.top, box.rect.right, box.rect.bottom)
            for box in lines
        ],
        separators=(",", ":"),
    )


def _unpack(text: str) -> tuple[LineBox, ...]:
    return tuple(
        LineBox(start=start, end=end, rect=Rect(page=page, left=left, top=top, right=right, bottom=bottom))
        for start, end, page, left, top, right, bottom in json.loads(text)
    )


def _clean(text: str) -> str:
    """Half a surrogate pair can't be stored; a replacement of the same length keeps every offset true."""
    return text if text.isascii() else "".join("\ufffd" if "\ud800" <= c <= "\udfff" else c for c in text)
