"""Synthetic documents, and an embedder whose vectors are counts of hashed words: no model file is needed."""

import hashlib
import re
import zlib
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Update

from crag.core.events import RunFinished, RunStarted
from crag.core.tables import Cell, Row, Table
from crag.core.trace import Trace
from crag.core.types import Chunk, Document, LineBox, Rect
from crag.storage.index_sync import OpenIndex
from crag.storage.library import Library
from crag.testing.fakes import chunk_of

WORDS = (
    "harbour ledger copper willow orbit granite saffron lantern meadow turbine glacier anthem "
    "quartz ferry orchard beacon cobalt prairie violin ember canyon tundra walnut sextant"
).split()


class HashEmbedder:
    """Bag of hashed words, as unit vectors."""

    def __init__(self, id: str = "hash-v1", dimension: int = 64) -> None:
        self.id = id
        self.dimension = dimension

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        rows = np.zeros((len(texts), self.dimension), dtype=np.float32)
        for row, text in zip(rows, texts, strict=True):
            for word in re.findall(r"\w+", text.lower()):
                row[zlib.crc32(f"{self.id} {word}".encode()) % self.dimension] += 1
            row[0] += 0.01
            row /= np.linalg.norm(row)
        return rows


def _table(text: str) -> Table:
    """The text as a table of one row, whose last character is its only value."""
    row = Row(0, len(text), len(text) - 1, (Cell(0, len(text) - 1, len(text)),), section="Parts", indent=7.5)
    return Table(start=0, end=len(text), header=("2018",), rows=(row,), unit="in millions", title="What parts tell")


def make_document(
    label: str,
    chunks: int = 4,
    *,
    texts: Sequence[str] = (),
    title: str = "",
    confidence: float = 1.0,
    added_at: str = "2026-01-01T00:00:00+00:00",
    model: str = "hash-v1",
) -> tuple[Document, bytes, list[Chunk]]:
    """A document that is the same for the same arguments; its chunks say `label` and cycle through WORDS."""
    body = list(texts) or [
        f"{label} part {at} tells of {WORDS[at % len(WORDS)]} and {WORDS[(at * 7 + 3) % len(WORDS)]}."
        for at in range(chunks)
    ]
    data = f"%PDF-fake {label} {body}".encode()
    id = hashlib.sha256(data).hexdigest()
    made = [
        replace(
            chunk_of(text, name=f"{label}.pdf", page=at // 2 + 1, ordinal=at),
            id=f"{id[:16]}-{at}",
            document_id=id,
            title=title or label,
            context=title or label,
            kind="table" if at % 3 == 2 else "text",
            tables=(_table(text),) if at % 3 == 2 else (),
            lines=(
                LineBox(
                    start=0,
                    end=len(text),
                    rect=Rect(page=at // 2 + 1, left=72.125, top=90.5, right=523.0, bottom=101.1),
                ),
            ),
        )
        for at, text in enumerate(body)
    ]
    document = Document(
        id=id,
        name=f"{label}.pdf",
        title=title or label,
        size=len(data),
        pages=max((chunk.page for chunk in made), default=1),
        chunks=len(made),
        added_at=added_at,
        model=model,
        seconds=0.25,
        warnings=("page 3 is a scan",),
        confidence=confidence,
    )
    return document, data, made


def fill(library: Library, label: str, chunks: int = 4, *, more: bytes = b"", **options: Any) -> Document:
    """Add a made document, with `more` bytes at the end of its file, and return it."""
    document, data, made = make_document(label, chunks, **options)
    library.documents.add(document, data + more, made, library.embedder.embed([chunk.indexed_text for chunk in made]))
    return document


def embed_missing(library: Library, most: int = 100) -> None:
    """Make vectors that a library misses, `most` of them at most."""
    batch = library.unembedded.next(most)
    library.unembedded.fill([*batch], library.embedder.embed([chunk.indexed_text for chunk in batch.values()]))


def save_run(library: Library, id: str, question: str = "why?", **started: Any) -> None:
    """Store a run that began and ended, and did nothing in between. `started`: more fields of `RunStarted`."""
    given = {"strategy": "balanced", "settings": {}, "workspace": "w", "started_at": "2026-01-01T00:00:00+00:00"}
    events = [RunStarted(run_id=id, question=question, **{**given, **started}), RunFinished(at=1.0)]
    library.runs.save(Trace.from_events(events), events)


def index_at(uri: str) -> OpenIndex | None:
    """What opens a library's index in the Milvus of that address; without one, None, which stands for the embedded."""
    if not uri:
        return None
    from crag.index.milvus import MilvusIndex  # only who has a server needs its client

    return lambda contents: MilvusIndex(uri, contents)


def on_disk(library: Library) -> Library:
    """The library with its file, which only a first write makes."""
    with library._database.write():
        return library


def change(library: Library, statement: Update) -> None:
    """What no part of the library does: values that another program, or another time, left there."""
    with library._database.write() as connection:
        connection.execute(statement)
