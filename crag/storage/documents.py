"""The documents of a library, with their files and chunks: added whole, read back, deleted without a trace."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import ColumnElement, Connection, Table, and_, delete, func, insert, select, update

from crag.core.errors import InputError, NotFoundError
from crag.core.metadata import Fields, Value, checked_fields, fields_of, stored_fields
from crag.core.protocols import Embedder
from crag.core.tables import dump_tables
from crag.core.trace import Track
from crag.core.types import Chunk, Document
from crag.storage import store, tracks
from crag.storage.database import Database, Part
from crag.storage.labels import Lost, take_over
from crag.storage.sqlite import driver
from crag.storage.tables import chunks as stored_chunks
from crag.storage.tables import documents, files, reasons, unembedded, vectors
from crag.storage.tables import labels as stored_labels
from crag.storage.tables import tracks as stored_tracks
from crag.storage.title_index import first_page
from crag.text import memory

_RESERVED, _RESERVED_EACH = 1536 * 1024, 2 * 1024
"""Bytes of the disk kept for deleting a document when it is full, in all and for each chunk."""
_PIECE = 1024 * 1024


_RECORD = select(documents.c.record, documents.c.model)


@dataclass(frozen=True, slots=True, kw_only=True)
class NewDocument:
    """A document to store. `vectors` (n, dimension) are the embeddings of the chunks' `indexed_text`, in order.

    Without them it is found by its words until they are made: `crag.storage.unembedded`. `given` are the fields that
    it has from the first; `instead_of` is the id of the document in whose place it comes.
    """

    document: Document
    data: bytes
    chunks: Sequence[Chunk]
    vectors: NDArray[np.float32] | None = None
    given: Fields = field(default_factory=dict)
    instead_of: str = ""


class Documents(Part):
    """A library's documents. Thread-safe, across processes too."""

    def __init__(self, database: Database, embedder: Embedder, forget: Callable[[], None] = lambda: None) -> None:
        """`forget` is called after a deletion, so that the chunk index forgets the words, too."""
        super().__init__(database)
        self._embedder, self._forget = embedder, forget

    def add(
        self,
        document: Document,
        data: bytes,
        chunks: Sequence[Chunk],
        vectors: NDArray[np.float32] | None = None,
        given: Fields = MappingProxyType({}),
    ) -> None:
        """Store one new document, as `store` does."""
        self.store([NewDocument(document=document, data=data, chunks=chunks, vectors=vectors, given=given)])

    def store(self, new: Sequence[NewDocument]) -> list[Lost | None]:
        """Store documents, all of them or none; for each what was lost with the one in whose place it came.

        At any time one of these two is there, whole. The new one takes over given fields, labels and track records as
        `crag.storage.labels.take_over` says. Raises InputError for fields that are none, and for content that is there
        already; NotFoundError where what is to be replaced is gone; ModelMismatchError.
        """
        fields = [checked_fields(each.given) for each in new]
        chunks = sum(len(each.chunks) for each in new)
        for each in new:
            self._check_vectors(each)
        more = sum(len(each.data) for each in new) + 8 * self._embedder.dimension * chunks
        lost: list[Lost | None] = []
        with self._database.write(more=more) as connection:
            store.ensure_model(connection, self._embedder)
            changed: list[tuple[store.Change, int]] = []
            for each, given in zip(new, fields, strict=True):
                old = number_of(connection, each.instead_of) if each.instead_of else None
                number, numbers = _put(connection, each, given)
                lost.append(None if old is None else _take_place(connection, old, number, each.chunks, numbers))
                if each.vectors is None and numbers:
                    connection.execute(insert(unembedded), {"document": number, "why": ""})
                changed += [("added", number)] if old is None else [("deleted", old), ("added", number)]
            if changed:
                store.bump_all(connection, changed)
        self._database.place.reserve(_RESERVED + _RESERVED_EACH * chunks)
        replaced = [each.instead_of for each in new if each.instead_of]
        if replaced:
            self._forget()
            memory.forget(replaced)
        return lost

    def _check_vectors(self, new: NewDocument) -> None:
        if new.vectors is None:
            return
        if new.vectors.shape != (len(new.chunks), self._embedder.dimension):
            wanted = f"as many vectors of {self._embedder.dimension} numbers each"
            raise ValueError(f"{len(new.chunks)} chunks need {wanted}")
        if not np.isfinite(new.vectors).all():
            raise ValueError("vectors must be finite")

    def count(self) -> int:
        """How many there are."""
        with self._database.read() as connection:
            return store.count(connection, documents)

    def all(self, ids: Sequence[str] | None = None) -> list[Document]:
        """In the order they were added; with `ids` those of them that are here, in no order."""
        asked = _RECORD.order_by(documents.c.number)
        with self._database.read() as connection:
            return [store.document_of(*row) for row in store.select_in(connection, asked, documents.c.id, ids)]

    def names(self, ids: Sequence[str] | None = None) -> dict[str, str]:
        """The documents' names by their ids, in the order they were added; with `ids` of those alone, in no order."""
        c = documents.c
        asked = select(c.id, c.name).order_by(c.number)
        return dict(map(tuple, self._among(asked, c.id, ids)))

    def get(self, id: str) -> Document:
        """Raises NotFoundError."""
        with self._database.read() as connection:
            record, model, _ = _read_record(connection, id)
        return store.document_of(record, model)

    def file(self, id: str) -> bytes:
        """The document's bytes as they were added. Raises NotFoundError."""
        with self._database.read() as connection:
            number = number_of(connection, id)
            return bytes(connection.scalars(select(files.c.bytes).where(files.c.document == number)).one())

    def given(self, ids: Sequence[str] | None = None) -> dict[str, dict[str, Value]]:
        """The fields that people gave to these documents, or to all, by their ids; those without are left out."""
        asked = select(documents.c.id, documents.c.meta).order_by(documents.c.number)
        return {id: stored_fields(given) for id, given in self._among(asked, documents.c.id, ids) if given}

    def fields(self, id: str) -> dict[str, Value]:
        """All fields of a document that a filter may ask for: its own, and those given to it. Raises NotFoundError."""
        with self._database.read() as connection:
            record, model, given = _read_record(connection, id)
        return fields_of(store.document_of(record, model), stored_fields(given))

    def describe(self, id: str, given: Mapping[str, Value | None]) -> dict[str, Value]:
        """Give a document fields, in place of those of the same names; None takes one away. Returns all it has then.

        In force for the next search. Raises NotFoundError, and InputError for what is no field or one too many.
        """
        with self._database.write() as connection:
            number = number_of(connection, id)
            _, _, stored = _read_record(connection, id)
            kept = {name: value for name, value in {**stored_fields(stored), **given}.items() if value is not None}
            connection.execute(update(documents).where(documents.c.number == number).values(meta=checked_fields(kept)))
            store.bump(connection, "described", number)
        return self.fields(id)

    def version(self) -> tuple[str, int, int]:
        """Another one as soon as `all`, `given` or `tracks` would say something else; for what is made of them."""
        with self._database.read() as connection:
            retrieved = connection.scalar(select(func.sum(stored_tracks.c.retrieved)))
            known = store.meta(connection)
        return known.library, known.generation, int(retrieved or 0)

    def content_hash(self) -> str:
        """The same for the same documents cut into the same chunks, wherever they are stored: 32 hex digits."""
        found = hashlib.sha256()
        with self._database.read() as connection:
            for column in (documents.c.id, stored_chunks.c.id):
                for id in connection.scalars(select(column).order_by(column)):
                    found.update(f"{id}\n".encode())
        return found.hexdigest()[:32]

    def tracks(self) -> dict[str, Track]:
        """What runs said of each document, by its id; of those that no run retrieved, nothing."""
        with self._database.read() as connection:
            return tracks.of_documents(connection)

    def chunk_tracks(self, id: str) -> dict[str, Track]:
        """What runs said of a document's chunks, by the chunk's id. Raises NotFoundError."""
        with self._database.read() as connection:
            return tracks.of_document(connection, number_of(connection, id))

    def note(self, id: str, **facts: str | int) -> Document:
        """Change what is noted of a document's origin, or its `name`: fields of `Document`. It, as it is then.

        Its title, and what was embedded with it, stay. Raises NotFoundError.
        """
        with self._database.write() as connection:
            number = number_of(connection, id)
            record, model, _ = _read_record(connection, id)
            noted = _clean(json.dumps({**json.loads(record), **facts}))
            values = {"record": noted, **({"name": _clean(str(facts["name"]))} if "name" in facts else {})}
            connection.execute(update(documents).where(documents.c.number == number).values(values))
            store.bump(connection, "described", number)
            return store.document_of(noted, model)

    def first_chunks(self, ids: Sequence[str] | None = None) -> dict[str, tuple[str, int, int, int]]:
        """Id, page, start and end of the first chunk of these documents, or of all, by the document's id.

        None where a document has no chunks.
        """
        c = stored_chunks.c
        first = and_(c.document == documents.c.number, c.ordinal == 0)
        asked = select(documents.c.id, c.id, c.page, c.start, c.end).join_from(documents, stored_chunks, first)
        return {document: tuple(chunk) for document, *chunk in self._among(asked, documents.c.id, ids)}

    def chunks(self, id: str, *, page: int | None = None, lines: bool = True) -> list[Chunk]:
        """A document's chunks in reading order, or those that begin on a page. Raises NotFoundError.

        Without `lines` they have none, and thousands of them are there in a moment.
        """
        asked = store.CHUNK if lines else store.CHUNK_WITHOUT_LINES
        with self._database.read() as connection:
            its_own = asked.where(stored_chunks.c.document == number_of(connection, id))
            if page is not None:
                its_own = its_own.where(stored_chunks.c.page == page)
            rows = connection.execute(its_own.order_by(stored_chunks.c.ordinal, stored_chunks.c.number))
            return [store.chunk_of(row) for row in rows]

    def chunk(self, id: str) -> Chunk:
        """Raises NotFoundError."""
        with self._database.read() as connection:
            row = connection.execute(store.CHUNK.where(stored_chunks.c.id == id)).first()
        if row is None:
            raise NotFoundError(f"There is no chunk {id} in this library.")
        return store.chunk_of(row)

    def delete(self, id: str) -> None:
        """Remove a document and its file, chunks, vectors, index entries and labels, all or nothing.

        Raises NotFoundError. Runs that quoted the document stay: delete those by themselves.
        """

        def removed(connection: Connection) -> None:
            number = number_of(connection, id)
            remove(connection, number)
            store.bump(connection, "deleted", number)

        self._database.free(removed)
        self._forget()
        memory.forget([id])


def _take_place(connection: Connection, old: int, new: int, chunks: Sequence[Chunk], numbers: Sequence[int]) -> Lost:
    """Remove the document `old`, in whose place `new` came with these chunks, and give that what it was given."""
    its = [(_clean(each.text), each.id, at) for each, at in zip(chunks, numbers, strict=True)]
    lost = take_over(connection, old, new, its)
    remove(connection, old)
    return lost


def _put(connection: Connection, new: NewDocument, given: Fields) -> tuple[int, list[int]]:
    """The document with all that hangs on it; its number and those of its chunks. Raises InputError for a known id."""
    document = new.document
    row = {
        **{name: getattr(document, name) for name in ("id", "added_at", "confidence", "model")},
        **{"name": _clean(document.name), "title": _clean(document.title), "card": _clean(first_page(new.chunks))},
        **{"record": _clean(json.dumps(asdict(document))), "meta": dict(given)},
    }
    number = insert_document(connection, row)
    insert_file(connection, number, new.data)
    numbers = insert_chunks(connection, number, [_row(chunk) for chunk in new.chunks])
    if new.vectors is not None:
        store.put_vectors(connection, store.packed(numbers, new.vectors))
    return number, numbers


def insert_file(connection: Connection, number: int, data: bytes) -> None:
    """In SQLite piece by piece: a value that is bound whole stays in the connection's memory with its statement."""
    if connection.dialect.name != "sqlite":
        connection.execute(insert(files).values(document=number, bytes=data))
        return
    connection.execute(insert(files).values(document=number, bytes=func.zeroblob(len(data))))
    with driver(connection).blobopen("files", "bytes", number) as blob:
        for at in range(0, len(data), _PIECE):
            blob.write(data[at : at + _PIECE])


def _row(chunk: Chunk) -> dict[str, Any]:
    return {
        **{name: getattr(chunk, name) for name in ("id", "ordinal", "page", "start", "end", "kind")},
        **{name: _clean(getattr(chunk, name)) for name in ("text", "context", "place")},
        "lines": store.pack(chunk.lines),
        "tables": _clean(json.dumps(dump_tables(chunk.tables), separators=(",", ":"), ensure_ascii=False)),
    }


def insert_document(connection: Connection, row: Mapping[str, Any]) -> int:
    """A document's own row, whose number is returned. Raises InputError for a known id."""
    if connection.execute(select(documents.c.number).where(documents.c.id == row["id"])).first():
        raise InputError(
            f"{row['name']} is in the library already: the same content was added before.",
            "Nothing to do. To read it again, delete it first.",
        )
    return int(connection.scalars(insert(documents).returning(documents.c.number), row).one())


def insert_chunks(connection: Connection, number: int, chunks: Sequence[Mapping[str, Any]]) -> list[int]:
    """The rows of a document's chunks, whose numbers are returned: ascending, and no other document's between them."""
    rows = [{**row, "document": number} for row in chunks]
    if not rows:
        return []
    added = insert(stored_chunks).returning(stored_chunks.c.number, sort_by_parameter_order=True)
    if connection.dialect.name != "sqlite":
        return list(connection.scalars(added, rows))
    # SQLite would be asked for each row's number by itself. Nobody else writes now, so the others follow the first.
    first = connection.scalars(added, rows[:1]).one()
    rest = [{**row, "number": first + at} for at, row in enumerate(rows[1:], start=1)]
    if rest:
        connection.execute(insert(stored_chunks), rest)
    return list(range(first, first + len(rows)))


def read_content(connection: Connection, number: int) -> tuple[dict[str, Any], bytes]:
    """A document's own row as `document`, the rows of its `chunks`, `labels` and `tracks`; and its vectors' bytes.

    The file is left out.
    """

    def rows(table: Table, where: ColumnElement[bool]) -> list[dict[str, Any]]:
        asked = select(table).where(where).order_by(*table.primary_key)
        return [dict(row) for row in connection.execute(asked).mappings()]

    c, of_it = stored_chunks.c, stored_chunks.c.document == number
    (about,) = rows(documents, documents.c.number == number)
    content = {
        "document": about,
        "chunks": rows(stored_chunks, of_it),
        "labels": rows(stored_labels, stored_labels.c.chunk.in_(select(c.id).where(of_it))),
        "tracks": rows(stored_tracks, stored_tracks.c.chunk.in_(select(c.number).where(of_it))),
    }
    asked = select(vectors.c.vector).join(stored_chunks, c.number == vectors.c.chunk).where(of_it).order_by(c.number)
    return content, b"".join(connection.scalars(asked))


def insert_content(connection: Connection, content: Mapping[str, Any], kept: NDArray[np.float32] | None) -> int:
    """Store what `read_content` gave of a document under new numbers; its own is returned.

    `kept` are the vectors of the chunks; None: they are to be made. The file comes by itself. Raises InputError for a
    known id.
    """

    def unnumbered(row: Mapping[str, Any]) -> dict[str, Any]:
        return {name: value for name, value in row.items() if name != "number"}

    number = insert_document(connection, unnumbered(content["document"]))
    numbers = insert_chunks(connection, number, list(map(unnumbered, content["chunks"])))
    if kept is not None:
        store.put_vectors(connection, store.packed(numbers, kept))
    elif numbers:
        connection.execute(insert(unembedded).values(document=number, why=""))
    now = {each["number"]: at for each, at in zip(content["chunks"], numbers, strict=True)}
    if content["labels"]:
        connection.execute(insert(stored_labels), content["labels"])
    if content["tracks"]:
        connection.execute(insert(stored_tracks), [{**each, "chunk": now[each["chunk"]]} for each in content["tracks"]])
    return number


def remove(connection: Connection, number: int) -> None:
    """Delete a document and all that hangs on it or quotes it, but runs: the keys of other tables see to that."""
    connection.execute(delete(documents).where(documents.c.number == number))
    connection.execute(delete(reasons))


def number_of(connection: Connection, id: str) -> int:
    """The number of the document of this id. Raises NotFoundError."""
    number: int | None = connection.scalar(select(documents.c.number).where(documents.c.id == id))
    if number is None:
        raise _unknown(id)
    return number


def _read_record(connection: Connection, id: str) -> tuple[str, str, Any]:
    """A document's record, the model of its vectors, and the fields given to it. Raises NotFoundError."""
    row = connection.execute(_RECORD.add_columns(documents.c.meta).where(documents.c.id == id)).one_or_none()
    if row is None:
        raise _unknown(id)
    return row.record, row.model, row.meta


def _unknown(id: str) -> NotFoundError:
    return NotFoundError(f"There is no document {id[:12]} in this library.")


def _clean(text: str) -> str:
    """Half a surrogate pair can't be stored; a replacement of the same length keeps every offset true."""
    return text if text.isascii() else "".join("\ufffd" if "\ud800" <= c <= "\udfff" else c for c in text)
