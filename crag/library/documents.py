"""The documents of a library, with their files and chunks: added whole, read back, deleted without a trace."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from dataclasses import asdict

import numpy as np
from numpy.typing import NDArray

from crag.core.errors import InputError, NotFoundError, StorageError
from crag.core.protocols import Embedder
from crag.core.types import Chunk, Document
from crag.library import store
from crag.library.cards import first_page
from crag.library.database import Database

_RESERVED, _RESERVED_EACH = 1536 * 1024, 2 * 1024
"""Bytes of the disk kept for deleting a document when it is full, in all and for each chunk."""
_PIECE = 1024 * 1024


class Documents:
    """A library's documents. Thread-safe, across processes too."""

    def __init__(self, database: Database, embedder: Embedder) -> None:
        self._database = database
        self._embedder = embedder

    def add(self, document: Document, data: bytes, chunks: Sequence[Chunk], vectors: NDArray[np.float32]) -> None:
        """Store a document whole, or not at all. `vectors` are the embeddings of the chunks' `indexed_text`, in order.

        Raises InputError for content that is there already, ModelMismatchError.
        """
        if vectors.shape != (len(chunks), self._embedder.dimension):
            raise ValueError(f"{len(chunks)} chunks need as many vectors of {self._embedder.dimension} numbers each")
        if not np.isfinite(vectors).all():
            raise ValueError("vectors must be finite")
        with self._database.write(more=len(data) + 2 * vectors.nbytes) as connection:
            if store.empty(connection):
                store.set_model(connection, self._embedder)
            else:
                store.check_model(connection, self._embedder)
            number = _insert(connection, document, chunks)
            _insert_file(connection, number, data)
            store.put_vectors(connection, _insert_chunks(connection, number, chunks), vectors)
            store.bump(connection)
        self._database.reserve(_RESERVED + _RESERVED_EACH * len(chunks))

    def all(self) -> list[Document]:
        """In the order they were added."""
        with self._database.read() as connection:
            return [_document(row[0]) for row in connection.execute("SELECT record FROM documents ORDER BY number")]

    def get(self, id: str) -> Document:
        """Raises NotFoundError."""
        with self._database.read() as connection:
            row = connection.execute("SELECT record FROM documents WHERE id = ?", (id,)).fetchone()
        if row is None:
            raise _unknown(id)
        return _document(row[0])

    def file(self, id: str) -> bytes:
        """The document's bytes as they were added. Raises NotFoundError."""
        with self._database.read() as connection:
            number = _number(connection, id)
            return bytes(connection.execute("SELECT bytes FROM files WHERE document = ?", (number,)).fetchone()[0])

    def chunks(self, id: str) -> list[Chunk]:
        """A document's chunks in reading order. Raises NotFoundError."""
        with self._database.read() as connection:
            number = _number(connection, id)
            rows = connection.execute(f"{store.CHUNK} WHERE c.document = ? ORDER BY c.ordinal, c.number", (number,))
            return [store.chunk_of(row) for row in rows]

    def chunk(self, id: str) -> Chunk:
        """Raises NotFoundError."""
        with self._database.read() as connection:
            row = connection.execute(f"{store.CHUNK} WHERE c.id = ?", (id,)).fetchone()
        if row is None:
            raise NotFoundError(f"There is no chunk {id} in this library.")
        return store.chunk_of(row)

    def delete(self, id: str) -> None:
        """Remove a document and its file, chunks, vectors, index entries and labels, all or nothing.

        Raises NotFoundError. Runs that quoted the document stay: delete those by themselves.
        """

        def removed(connection: sqlite3.Connection) -> None:
            _remove(connection, _number(connection, id))
            store.bump(connection)

        self._database.free(removed)


def _insert(connection: sqlite3.Connection, document: Document, chunks: Sequence[Chunk]) -> int:
    """The document's own row, whose number is returned. Raises InputError for a known id."""
    if connection.execute("SELECT 1 FROM documents WHERE id = ?", (document.id,)).fetchone():
        raise InputError(
            f"{document.name} is in the library already: the same content was added before.",
            "Nothing to do. To read it again, delete it first.",
        )
    return _inserted(
        connection,
        "INSERT INTO documents (id, name, title, card, added_at, confidence, model, record) "
        "VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        (
            document.id,
            _clean(document.name),
            _clean(document.title),
            _clean(first_page(chunks)),
            document.added_at,
            document.confidence,
            document.model,
            _clean(json.dumps(asdict(document))),
        ),
    )


def _insert_file(connection: sqlite3.Connection, number: int, data: bytes) -> None:
    """Written piece by piece: a value that is bound whole stays in the connection's memory with its statement."""
    connection.execute("INSERT INTO files VALUES (?, zeroblob(?))", (number, len(data)))
    with connection.blobopen("files", "bytes", number) as blob:
        for at in range(0, len(data), _PIECE):
            blob.write(data[at : at + _PIECE])


def _insert_chunks(connection: sqlite3.Connection, number: int, chunks: Sequence[Chunk]) -> list[int]:
    """The chunks of a document, whose numbers are returned."""
    return [
        _inserted(
            connection,
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
                store.pack(chunk.lines),
            ),
        )
        for chunk in chunks
    ]


def _inserted(connection: sqlite3.Connection, statement: str, values: tuple[object, ...]) -> int:
    return int(connection.execute(statement, values).lastrowid or 0)


def _remove(connection: sqlite3.Connection, number: int) -> None:
    """Delete a document and all that hangs on it, then look whether anything is left."""
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


def _number(connection: sqlite3.Connection, id: str) -> int:
    row = connection.execute("SELECT number FROM documents WHERE id = ?", (id,)).fetchone()
    if row is None:
        raise _unknown(id)
    return int(row[0])


def _unknown(id: str) -> NotFoundError:
    return NotFoundError(f"There is no document {id[:12]} in this library.")


def _document(record: str) -> Document:
    values = json.loads(record)
    return Document(**{**values, "warnings": tuple(values["warnings"])})


def _clean(text: str) -> str:
    """Half a surrogate pair can't be stored; a replacement of the same length keeps every offset true."""
    return text if text.isascii() else "".join("\ufffd" if "\ud800" <= c <= "\udfff" else c for c in text)
