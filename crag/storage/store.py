"""Reads and writes of documents, chunks and vectors. Every function runs in its caller's transaction."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from itertools import islice
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import TypeAdapter
from sqlalchemy import (
    ColumnElement,
    Connection,
    FromClause,
    Insert,
    Select,
    Table,
    bindparam,
    func,
    insert,
    literal,
    select,
    update,
)
from sqlalchemy.dialects import postgresql, sqlite

from crag.core.errors import ModelMismatchError
from crag.core.metadata import Value, stored_fields
from crag.core.protocols import Embedder
from crag.core.tables import load_tables
from crag.core.types import INDEXED_AS, Chunk, Document, LineBox, Rect
from crag.storage.tables import changes, chunks, documents, unembedded, vectors
from crag.storage.tables import meta as about

Change = Literal["added", "deleted", "described", "embedded"]

_PLAIN = "id", "page", "ordinal", "start", "end", "text", "context", "kind", "place"
_COLUMNS = "number", "lines", "tables", *_PLAIN
CHUNK = select(*(chunks.c[name] for name in _COLUMNS), documents.c.id, documents.c.name, documents.c.title).join_from(
    chunks, documents, documents.c.number == chunks.c.document
)
"""What `chunk_of` makes a chunk of."""
CHUNK_WITHOUT_LINES = CHUNK.with_only_columns(
    *(
        literal("[]").label(column.name) if column in (chunks.c.lines, chunks.c.tables) else column
        for column in CHUNK.selected_columns
    )
)
"""The same of chunks whose lines and tables nobody asks for."""

_DOCUMENT: TypeAdapter[Document] = TypeAdapter(Document)
_BATCH = 500
"""Values that one statement is asked for."""
_META = select(about.c.key, about.c.value)
_ANY = select(chunks.c.number).limit(1)


def select_in(
    connection: Connection, statement: Select[Any], column: ColumnElement[Any], values: Sequence[Any] | None
) -> Iterator[Any]:
    """The rows of a statement whose `column` is one of these values, some hundreds at a time; None: all its rows."""
    if values is None:
        yield from connection.execute(statement)
        return
    in_json = connection.dialect.name == "sqlite"
    asked = _where_in(statement, column, in_json)
    for at in range(0, len(values), _BATCH):
        some = list(values[at : at + _BATCH])
        yield from connection.execute(asked, {"some": json.dumps(some) if in_json else some}).all()


@lru_cache(maxsize=64)
def _where_in(statement: Select[Any], column: ColumnElement[Any], in_json: bool) -> Select[Any]:
    """The statement with its condition, whose bound value is `some`. A statement that is used again is not built again,
    which takes longer than SQLite takes to answer it.

    `in_json`: one bound value rather than hundreds, each of which would be looked at: half the time.
    """
    if in_json:
        return statement.where(column.in_(select(func.json_each(bindparam("some")).table_valued("value").c.value)))
    return statement.where(column.in_(bindparam("some", expanding=True)))


def put(connection: Connection, into: Table, rows: Sequence[Mapping[str, Any]]) -> None:
    """Insert rows, in place of those of the same key."""
    connection.execute(_put(into, connection.dialect.name), rows)


@cache
def _put(into: Table, dialect: str) -> Insert:
    insertion = postgresql.insert(into) if dialect == "postgresql" else sqlite.insert(into)
    keys = [column.name for column in into.primary_key]
    rest: dict[str, Any] = {each.name: insertion.excluded[each.name] for each in into.c if each.name not in keys}
    return insertion.on_conflict_do_update(index_elements=keys, set_=rest)


def in_parts(connection: Connection, statement: Select[Any], rows: int) -> Iterator[Sequence[Any]]:
    """What a statement finds, part by part: the rows are never all in memory."""
    return connection.execute(statement, execution_options={"yield_per": rows}).partitions()


def count(connection: Connection, of: FromClause, *where: ColumnElement[bool]) -> int:
    """How many rows there are."""
    return connection.scalars(select(func.count()).select_from(of).where(*where)).one()


@dataclass(frozen=True, slots=True, kw_only=True)
class Meta:
    """What is known of a library as a whole.

    `library` is its own id; `generation` counts the changes of documents, chunks and vectors, 0 where there were none;
    `model` made the vectors, of `dimension` numbers each.
    """

    library: str
    generation: int
    model: str
    dimension: int


def meta(connection: Connection) -> Meta:
    """As the transaction sees it."""
    known = dict(map(tuple, connection.execute(_META)))
    return Meta(
        library=known["library"],
        generation=int(known["generation"]),
        model=known["model"],
        dimension=int(known["dimension"]),
    )


def _set(connection: Connection, key: str, value: str) -> None:
    connection.execute(update(about).where(about.c.key == key).values(value=value))


def bump(connection: Connection, kind: Change, document: int | None = None) -> None:
    """Note what changed, by the document's number, for every index in this process and in others: the next generation.

    Each change is one generation; a transaction may make several, which are seen together.
    """
    bump_all(connection, [(kind, document)])


def bump_all(connection: Connection, changed: Sequence[tuple[Change, int | None]]) -> None:
    """Note several changes in their order, as `bump` does."""
    before = meta(connection).generation
    _set(connection, "generation", str(before + len(changed)))
    rows = [
        {"generation": generation, "document": document, "kind": kind}
        for generation, (kind, document) in enumerate(changed, start=before + 1)
    ]
    connection.execute(insert(changes), rows)


def empty(connection: Connection) -> bool:
    """Whether there is nothing to search."""
    return connection.execute(_ANY).first() is None


def check_model(connection: Connection, embedder: Embedder) -> None:
    """Raises ModelMismatchError if there are vectors, and another model made them."""
    if not empty(connection):
        check_made_by(meta(connection), embedder)


def check_made_by(known: Meta, embedder: Embedder) -> None:
    """Raises ModelMismatchError where another model made the vectors."""
    if known.model != (used := model_name(embedder)):
        raise ModelMismatchError(f"The library's vectors were made by {known.model}; the model in use is {used}.")


def ensure_model(connection: Connection, embedder: Embedder) -> None:
    """Before vectors are added: the first ones decide which model the library has. Raises ModelMismatchError."""
    if empty(connection):
        set_model(connection, embedder)
        return
    known = meta(connection)
    check_made_by(known, embedder)
    check_dimension(known, embedder.dimension)


def check_dimension(known: Meta, dimension: int) -> None:
    """Raises ModelMismatchError where the vectors have another number of numbers."""
    if known.dimension != dimension:
        raise ModelMismatchError(
            f"The library's vectors have {known.dimension} numbers; the model now gives {dimension}."
        )


def set_model(connection: Connection, embedder: Embedder) -> None:
    """Note who makes the vectors from now on."""
    _set(connection, "model", model_name(embedder))
    _set(connection, "dimension", str(embedder.dimension))


def packed(numbers: Iterable[int], rows: NDArray[np.float32]) -> list[tuple[int, bytes]]:
    """The vector of each chunk as it is stored: little-endian float32."""
    return [(number, row.tobytes()) for number, row in zip(numbers, rows.astype("<f4"), strict=True)]


def put_vectors(connection: Connection, made: Iterable[tuple[int, bytes]]) -> None:
    """Insert the vectors of these chunk numbers, or replace them."""
    left = iter(made)
    while some := list(islice(left, _BATCH)):
        put(connection, vectors, [{"chunk": number, "vector": vector} for number, vector in some])


def chunk_numbers(connection: Connection) -> list[int]:
    """All chunks' numbers, ascending."""
    return list(connection.scalars(select(chunks.c.number).order_by(chunks.c.number)))


def chunks_numbered(connection: Connection, numbers: Sequence[int] | NDArray[np.int64]) -> dict[int, Chunk]:
    """The chunks of these numbers; unknown numbers are absent."""
    wanted = [int(number) for number in numbers]
    return {row[0]: chunk_of(row) for row in select_in(connection, CHUNK, chunks.c.number, wanted)}


def chunk_of(row: Sequence[Any]) -> Chunk:
    """The chunk of a row of `CHUNK`."""
    _, lines, tables, *plain = row
    values = dict(zip((*_PLAIN, "document_id", "source", "title"), plain, strict=True))
    return Chunk(**values, lines=_unpack(lines), tables=load_tables(json.loads(tables), len(values["text"])))


def read_documents(
    connection: Connection, numbers: Sequence[int] | None = None
) -> Iterator[tuple[int, tuple[Document, dict[str, Value]]]]:
    """All documents in order of number, each with the fields that it was given; or those of these numbers."""
    c = documents.c
    asked = select(c.number, c.record, c.model, c.meta).order_by(c.number)
    for number, record, model, given in select_in(connection, asked, c.number, numbers):
        yield number, (document_of(record, model), stored_fields(given))


def document_of(record: str, model: str) -> Document:
    """A document as it was stored. `model` stands apart: it changes when all is embedded again."""
    return replace(_DOCUMENT.validate_json(record), model=model)


def pack(lines: Sequence[LineBox]) -> str:
    """Line boxes as rows of bare numbers: a third of the size of named fields. A confidence of 1 is not written."""
    return json.dumps(
        [
            (
                *(box.start, box.end, box.rect.page, box.rect.left, box.rect.top, box.rect.right, box.rect.bottom),
                *([] if box.confidence == 1 else [round(box.confidence, 3)]),
            )
            for box in lines
        ],
        separators=(",", ":"),
    )


def first_problem(connection: Connection) -> str:
    """What is wrong with the records, or nothing: pages, references, a vector a chunk of what is embedded."""
    if connection.dialect.name == "sqlite":
        found = connection.exec_driver_sql("PRAGMA quick_check(1)").scalar_one()
        if found != "ok":
            return str(found)
        if row := connection.exec_driver_sql("PRAGMA foreign_key_check").first():
            return f"row {row[1]} of {row[0]} belongs to nothing"
    for _ in read_documents(connection):
        pass  # one that can't be read is an error
    waiting = select(unembedded.c.document)
    due = count(connection, chunks, chunks.c.document.not_in(waiting))
    there = count(connection, vectors.join(chunks), chunks.c.document.not_in(waiting))
    return "" if there == due else f"{due} chunks, but {there} vectors"


def model_name(embedder: Embedder) -> str:
    """The name of a model's vectors: they depend on what of a chunk was embedded, too."""
    return f"{embedder.id}/{INDEXED_AS}"


def _unpack(text: str) -> tuple[LineBox, ...]:
    return tuple(
        LineBox(
            start=start,
            end=end,
            rect=Rect(page=page, left=left, top=top, right=right, bottom=bottom),
            confidence=confidence[0] if confidence else 1.0,
        )
        for start, end, page, left, top, right, bottom, *confidence in json.loads(text)
    )
