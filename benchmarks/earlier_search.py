"""The search that the library had before it had chunk indexes, kept to be compared with: all in one SQLite file.

All vectors are one matrix in memory, and each search computes the score of every chunk. Words are FTS5's, which ranks
every match. After a change of any size the next search reads all vectors from SQLite again, and writes them to a cache
file with its checksum. What the earlier library read of a page or a document to rank is read here too.
"""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import faiss
import numpy as np
from numpy.typing import NDArray

from crag.index.chunk_index import Batch, Candidates, Contents, Numbers, Scores, Vectors

_CONTEXT_WEIGHT = 2.0
_BM25_WEIGHT = 0.25
_PAGE_CHUNKS = 5
"""Chunks of one page: the made ones know no page."""

_CREATE = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE chunks (
    number INTEGER PRIMARY KEY, document INTEGER NOT NULL, page INTEGER NOT NULL, text TEXT NOT NULL,
    context TEXT NOT NULL
);
CREATE INDEX chunks_by_document ON chunks (document);
CREATE TABLE vectors (chunk INTEGER PRIMARY KEY, vector BLOB NOT NULL);
CREATE VIRTUAL TABLE chunk_search USING fts5 (
    context, text, content = 'chunks', content_rowid = 'number',
    tokenize = "porter unicode61 remove_diacritics 2"
);
CREATE TRIGGER chunks_added AFTER INSERT ON chunks BEGIN
    INSERT INTO chunk_search (rowid, context, text) VALUES (new.number, new.context, new.text);
END;
CREATE TRIGGER chunks_removed AFTER DELETE ON chunks BEGIN
    INSERT INTO chunk_search (chunk_search, rowid, context, text)
    VALUES ('delete', old.number, old.context, old.text);
END;
"""


class EarlierSearch:
    """A ChunkIndex of one thread. Adding writes to SQLite; `commit` makes it visible; the next `top` reads all anew."""

    name = "earlier"

    def __init__(self, folder: Path, contents: Contents) -> None:
        self._cache = folder / "library.vectors"
        self._contents = contents
        made = (folder / "library.db").exists()
        self._connection = sqlite3.connect(folder / "library.db", isolation_level=None)
        self._connection.execute("PRAGMA journal_mode = WAL")
        self._connection.execute("PRAGMA synchronous = FULL")
        if not made:
            self._connection.executescript(_CREATE)
            self._connection.execute("INSERT INTO meta VALUES ('generation', '-1')")
        self._lock = threading.Lock()
        self._loaded: tuple[int, Any, NDArray[np.int64]] | None = None

    @property
    def generation(self) -> int:
        return int(self._connection.execute("SELECT value FROM meta").fetchone()[0])

    @property
    def size(self) -> int:
        return int(self._connection.execute("SELECT count(*) FROM chunks").fetchone()[0])

    def add(self, batches: Sequence[Batch]) -> None:
        self._begin()
        for batch in batches:
            numbers = [int(number) for number in batch.numbers]
            pages = [place // _PAGE_CHUNKS + 1 for place in range(len(numbers))]
            self._connection.executemany(
                "INSERT INTO chunks VALUES (?, ?, ?, ?, ?)",
                zip(numbers, [batch.document] * len(numbers), pages, batch.texts, batch.contexts, strict=True),
            )
            self._connection.executemany(
                "INSERT INTO vectors VALUES (?, ?)",
                [(number, row.tobytes()) for number, row in zip(numbers, batch.vectors, strict=True)],
            )

    def delete(self, documents: Sequence[int]) -> None:
        self._begin()
        for document in documents:
            self._connection.execute(
                "DELETE FROM vectors WHERE chunk IN (SELECT number FROM chunks WHERE document = ?)", (document,)
            )
            self._connection.execute("DELETE FROM chunks WHERE document = ?", (document,))

    def commit(self, generation: int) -> None:
        self._begin()
        self._connection.execute("UPDATE meta SET value = ?", (str(generation),))
        self._connection.execute("COMMIT")

    def clear(self) -> None:
        self.delete([row[0] for row in self._connection.execute("SELECT DISTINCT document FROM chunks").fetchall()])
        self.commit(-1)

    def top(
        self, vector: Vectors, words: Sequence[Sequence[str]], k: int, documents: Numbers | None = None
    ) -> Candidates:
        """The `k` best by the sum of cosine and words, all scores computed. Knows no `documents`."""
        if documents is not None:
            raise NotImplementedError("the earlier search knew no filter")
        index, table = self._snapshot()
        if not len(table):
            return Candidates.none()
        # The rows without a copy, as the earlier library had them.
        matrix = faiss.rev_swig_ptr(index.get_xb(), len(table) * index.d).reshape(len(table), index.d)
        dense = np.asarray(matrix @ vector, np.float32)
        lexical = np.zeros_like(dense)
        for group in words:
            lexical += self._bm25(table[:, 0], group, k)
        score = dense + _BM25_WEIGHT * lexical / max(float(lexical.max()), 1e-9)
        best = np.union1d(_best(score, k), _best(dense, k))
        return Candidates(table[best, 0], dense[best], lexical[best])

    def numbers(self) -> Numbers:
        rows = self._connection.execute("SELECT number FROM chunks ORDER BY number").fetchall()
        return np.array(rows, np.int64).reshape(-1)

    def close(self) -> None:
        self._connection.close()

    def _begin(self) -> None:
        if not self._connection.in_transaction:
            self._connection.execute("BEGIN IMMEDIATE")

    def _bm25(self, numbers: Numbers, words: Sequence[str], k: int) -> Scores:
        found = np.zeros(len(numbers), np.float32)
        if words:
            expression = " OR ".join(f'"{word}"' for word in words)
            rows = self._connection.execute(
                "SELECT rowid, -rank FROM chunk_search WHERE chunk_search MATCH ? AND rank MATCH ?"
                " ORDER BY rank LIMIT ?",
                (expression, f"bm25({_CONTEXT_WEIGHT}, 1.0)", k),
            ).fetchall()
            found[np.searchsorted(numbers, [row[0] for row in rows])] = [row[1] for row in rows]
        return found

    def _snapshot(self) -> tuple[Any, NDArray[np.int64]]:
        generation = self.generation
        with self._lock:
            if self._loaded is None or self._loaded[0] != generation:
                rows = self._connection.execute("SELECT number, document, page FROM chunks ORDER BY number").fetchall()
                table = np.array(rows, np.int64).reshape(-1, 3)
                index = self._read(generation)
                if index is None:
                    index = self._rebuilt()
                    self._write(generation, index)
                self._loaded = generation, index, table
            return self._loaded[1:]

    def _rebuilt(self) -> Any:
        index = faiss.IndexFlatIP(self._contents.dimension)
        cursor = self._connection.execute("SELECT vector FROM vectors ORDER BY chunk")
        while rows := cursor.fetchmany(4096):
            blob = b"".join(row[0] for row in rows)
            index.add(np.frombuffer(blob, "<f4").reshape(len(rows), self._contents.dimension))
        return index

    def _read(self, generation: int) -> Any | None:
        if not self._cache.exists():
            return None
        head, _, body = self._cache.read_bytes().partition(b"\n")
        if head != _head(generation, body):
            return None
        return faiss.deserialize_index(np.frombuffer(body, np.uint8))

    def _write(self, generation: int, index: Any) -> None:
        body = faiss.serialize_index(index).tobytes()
        part = self._cache.with_suffix(".part")
        part.write_bytes(_head(generation, body) + b"\n" + body)
        os.replace(part, self._cache)


def _head(generation: int, body: bytes) -> bytes:
    return json.dumps([generation, hashlib.sha256(body).hexdigest()]).encode()


def _best(score: Scores, count: int) -> NDArray[np.int64]:
    if count >= len(score):
        return np.argsort(-score, kind="stable")
    floor = np.partition(score, len(score) - count)[len(score) - count]
    rows = np.flatnonzero(score >= floor)
    return np.asarray(rows[np.argsort(-score[rows], kind="stable")][:count], np.int64)
