"""What search and its index take from the records. Every function runs in its caller's transaction."""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from itertools import groupby
from operator import itemgetter
from typing import Any

import numpy as np
from sqlalchemy import Connection, case, func, or_, select

from crag.core.errors import StorageError
from crag.index.chunk_index import Batch, Candidates, Contents, Numbers, Scores, Vectors
from crag.retrieval.ranking import Rows
from crag.storage import store
from crag.storage.tables import changes, chunks, unembedded, vectors
from crag.storage.title_index import rarity

_WORDS = 16
"""Words that the records are searched for at most."""
_BATCH = 1000
"""Rows that one statement names."""
_PLACES = select(chunks.c.number, chunks.c.document, chunks.c.page)


def contents_of(known: store.Meta) -> Contents:
    """What an index of this library holds."""
    return Contents(library=known.library, model=known.model, dimension=known.dimension)


def changes_between(connection: Connection, since: int, now: int) -> dict[int, set[str]] | None:
    """The documents that changed between two generations, each with how; None where it may be all of them."""
    asked = select(changes.c.document, changes.c.kind).where(changes.c.generation > since)
    noted = connection.execute(asked.order_by(changes.c.generation)).all()
    if since < 0 or len(noted) != now - since or any(document is None for document, _ in noted):
        return None
    found: dict[int, set[str]] = {}
    for document, kind in noted:
        found.setdefault(document, set()).add(kind)
    return found


def batches(connection: Connection, of: Sequence[int] | None, at_once: int) -> Iterator[list[Batch]]:
    """The chunks of these documents, or of all, some thousands at a time.

    Raises StorageError if one has no vector, and its document is not to be embedded.
    """
    asked = (
        select(chunks.c.document, chunks.c.number, chunks.c.context, chunks.c.text, vectors.c.vector)
        .join(vectors, vectors.c.chunk == chunks.c.number, isouter=True)
        .order_by(chunks.c.number)
    )
    waiting = set(connection.scalars(select(unembedded.c.document)))
    none = bytes(4 * store.meta(connection).dimension)
    if of is None:
        yield from _gathered(store.in_parts(connection, asked, at_once), waiting, none)
        return
    for at in range(0, len(of), _BATCH):
        some = asked.where(chunks.c.document.in_(of[at : at + _BATCH]))
        yield from _gathered(store.in_parts(connection, some, at_once), waiting, none)


def rows(connection: Connection, candidates: Candidates, vector: Vectors) -> Rows:
    """What the records say of candidates; those that they do not have any more are left out.

    `vector` (dimension,) is the question's: cosines that the index does not know exactly are worked out here. Of
    documents that are being embedded the index knows none.
    """
    order = np.argsort(candidates.numbers)
    numbers, dense, lexical = candidates.numbers[order], candidates.dense[order].copy(), candidates.lexical[order]
    # As tuples: NumPy looks for many things in a row of SQLAlchemy's, which takes ten times as long.
    held = store.select_in(connection, _PLACES, chunks.c.number, numbers.tolist())
    found = np.array([tuple(row) for row in held], np.int64).reshape(-1, 3)
    found = found[np.argsort(found[:, 0])]
    kept = np.searchsorted(numbers, found[:, 0])
    dense, lexical = dense[kept], lexical[kept]
    dense[np.isin(found[:, 1], connection.scalars(select(unembedded.c.document)).all())] = np.nan
    unknown = np.flatnonzero(np.isnan(dense))
    if len(unknown):
        asked = select(vectors.c.chunk, vectors.c.vector)
        held = store.select_in(connection, asked, vectors.c.chunk, found[unknown, 0].tolist())
        stored = dict(map(tuple, held))
        known = unknown[[number in stored for number in found[unknown, 0].tolist()]]
        matrix = np.frombuffer(b"".join(stored[number] for number in found[known, 0].tolist()), "<f4")
        dense[known] = matrix.reshape(len(known), len(vector)) @ vector
    return Rows(numbers=found[:, 0], documents=found[:, 1], pages=found[:, 2], dense=dense, lexical=lexical)


def with_words(connection: Connection, words: Sequence[str], k: int, among: Numbers | None) -> tuple[Numbers, Scores]:
    """At most `k` chunks with some of the words in their text, those with the rarest first, and how much they weigh.

    Reads every text: it serves where there is no index.
    """
    asked = sorted(words, key=len, reverse=True)[:_WORDS]
    inside = [or_(chunks.c.text.icontains(word, autoescape=True), chunks.c.context.icontains(word, autoescape=True))
              for word in asked]  # fmt: skip
    if not inside:
        return np.zeros(0, np.int64), np.zeros(0, np.float32)
    counts = connection.execute(select(func.count(), *(func.sum(case((each, 1), else_=0)) for each in inside)))
    total, *having = counts.one()
    weight = sum(
        case((each, rarity(count or 0, total)), else_=0.0) for each, count in zip(inside, having, strict=True)
    ).label("weight")  # type: ignore[union-attr]
    found = select(chunks.c.number, weight).where(or_(*inside)).order_by(weight.desc(), chunks.c.number).limit(k)
    if among is not None:
        found = found.where(chunks.c.document.in_(among.tolist()))
    table = connection.execute(found).all()
    return np.array([row[0] for row in table], np.int64), np.array([row[1] for row in table], np.float32)


def _gathered(parts: Iterator[Sequence[Any]], waiting: Container[int], none: bytes) -> Iterator[list[Batch]]:
    """Rows as batches, one for each document in a part; `none` in place of vectors that documents are `waiting` for."""
    for part in parts:
        yield [
            _batch(document, list(rows), none if document in waiting else None)
            for document, rows in groupby(part, key=itemgetter(0))
        ]


def _batch(document: int, rows: Sequence[Any], none: bytes | None) -> Batch:
    _, numbers, contexts, texts, held = zip(*rows, strict=True)
    stored = [vector or none for vector in held]
    if None in stored:
        raise StorageError(
            "The library's vectors are incomplete.", "Re-index the library on the Documents page: no document is lost."
        )
    return Batch(
        document=document,
        numbers=np.array(numbers, np.int64),
        vectors=np.frombuffer(b"".join(filter(None, stored)), "<f4").reshape(len(rows), -1),
        contexts=contexts,
        texts=texts,
    )
