"""Searching a library: which candidates its index has for a question, and in which order they stand."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime

import numpy as np
from sqlalchemy import Connection

from crag.core.errors import EmptyLibraryError, InputError, QuestionError
from crag.core.protocols import Embedder, SearchQuery, embed_question
from crag.core.types import RetrievedChunk
from crag.index.chunk_index import Candidates, ChunkIndex, Scores, Vectors
from crag.retrieval.ranking import join_candidates, nearer, rank, search_terms, without_names
from crag.retrieval.statement_lines import line_items
from crag.storage import search_rows, store
from crag.storage.catalog import Catalog
from crag.storage.database import Database
from crag.storage.index_sync import IndexSync

CANDIDATES = 400
"""How many chunks are taken from the index by meaning, and as many by words."""
_OF_NAMED = 200
"""And how many of the documents that the question names."""


class Search:
    """Finds chunks of one library. Thread-safe.

    Every method raises ModelMismatchError where the vectors are of another model, and FilterError for a filter that
    can't be read or lets no document through.
    """

    def __init__(self, database: Database, embedder: Embedder, upkeep: IndexSync) -> None:
        self._database, self._embedder, self._upkeep = database, embedder, upkeep
        self._catalog: Catalog | None = None
        self._lock = threading.Lock()

    def find(self, query: SearchQuery, embedder: Embedder | None = None) -> list[RetrievedChunk]:
        """The chunks of a query, best first, ranks from 1. `embedder`: the library's own, as one run may use it.

        Raises EmptyLibraryError, QuestionError, IndexUnavailableError, where `find_in_records` still serves, and
        ProviderError where an embedding server fails: a query `by_words` needs none.
        """
        with self._asked(query) as (connection, known):
            bare = self._without_names(self._catalog_of(connection, known), query) if query.mode == "hybrid" else ""
        # Outside the transaction: the model may take its time, and loads itself on the first question.
        vector = self._vector(query, query.text, embedder, known)
        # A chunk of a document that is named is as near as the nearer of the two.
        unnamed = self._vector(query, bare, embedder, known) if bare else None
        with self._asked(query) as (connection, known):
            return self._through_index(connection, known, query, vector, unnamed)

    def find_in_records(self, query: SearchQuery, embedder: Embedder | None = None) -> list[RetrievedChunk]:
        """The same without the index, for when it fails: of the chunks that share words with the query, the best.

        Reads every text. Raises as `find` does, but for the index.
        """
        query = replace(query, mode="hybrid")
        with self._asked(query) as (_, known):
            pass
        vector = self._vector(query, query.text, embedder, known)
        with self._asked(query) as (connection, known):
            catalog = self._catalog_of(connection, known)
            words = list(dict.fromkeys(word for group in _groups(query) for word in group))
            allowed = catalog.allowed(query.where, query.min_confidence)
            numbers, lexical = search_rows.with_words(connection, words, max(CANDIDATES, query.k), allowed)
            candidates = Candidates(numbers, np.full(len(numbers), np.nan, np.float32), lexical)
            return _rank(connection, query, vector, catalog, candidates, catalog.titles.scores(query.text))

    def forget(self) -> None:
        """Free the memory; the next search loads it again."""
        with self._lock:
            self._catalog = None
        self._upkeep.forget()

    def _vector(self, query: SearchQuery, text: str, embedder: Embedder | None, known: store.Meta) -> Vectors:
        """What the question is compared by; zeros where it is compared by words alone. Raises ModelMismatchError."""
        if query.by_words:
            return np.zeros(known.dimension, np.float32)
        vector = embed_question(embedder or self._embedder, text)
        store.check_dimension(known, len(vector))
        return vector

    @contextmanager
    def _asked(self, query: SearchQuery) -> Iterator[tuple[Connection, store.Meta]]:
        """The records and what is known of them as a whole, for a query that this library can be asked."""
        if not query.text.strip():
            raise QuestionError("The question is empty.")
        if query.k < 1:
            raise InputError(f"{query.k} chunks can't be searched for.", "Ask for at least one.")
        with self._database.read() as connection:
            if store.empty(connection):
                raise EmptyLibraryError("The library holds no documents yet.")
            known = store.meta(connection)
            store.check_made_by(known, self._embedder)
            yield connection, known

    def _without_names(self, catalog: Catalog, query: SearchQuery) -> str:
        """The query without the names of the documents that it names; "" where it names none."""
        named = catalog.titles.scores(query.text)
        numbers = catalog.outstanding(named, catalog.allowed(query.where, query.min_confidence))
        documents = [catalog.documents[place][0] for place in np.searchsorted(catalog.numbers, numbers)]
        return without_names(query.text, [f"{document.name} {document.title}" for document in documents])

    def _through_index(
        self, connection: Connection, known: store.Meta, query: SearchQuery, vector: Vectors, unnamed: Vectors | None
    ) -> list[RetrievedChunk]:
        catalog = self._catalog_of(connection, known)
        groups = [] if query.mode == "dense" else _groups(query)
        allowed = catalog.allowed(query.where, query.min_confidence)
        named = catalog.titles.scores(query.text) if query.mode == "hybrid" else None
        outstanding = catalog.outstanding(named, allowed) if named is not None else np.zeros(0, np.int64)

        def found(index: ChunkIndex) -> Candidates:
            candidates = index.top(vector, groups, max(CANDIDATES, query.k), allowed)
            if len(outstanding) and len(outstanding) < len(catalog.numbers):
                named_ones = index.top(vector, groups, max(_OF_NAMED, query.k), outstanding)
                candidates = join_candidates(candidates, named_ones)
            if unnamed is not None and len(outstanding):
                candidates = nearer(candidates, index.top(unnamed, groups, max(_OF_NAMED, query.k), outstanding))
            return candidates

        candidates = self._upkeep.use(search_rows.contents_of(known), catalog.generation, found)
        if query.by_words:
            candidates = candidates.with_words()
        return _rank(connection, query, vector, catalog, candidates, named)

    def _catalog_of(self, connection: Connection, known: store.Meta) -> Catalog:
        """From memory if nothing changed, in this process or another, since it was read; else read again."""
        with self._lock:
            current = self._catalog
            if current is not None and (current.library, current.generation) == (known.library, known.generation):
                return current
            read = Catalog.read(connection, known, current)
            # A reader that began before the last change must not turn the clock back for the others.
            if current is None or current.library != known.library or current.generation < known.generation:
                self._catalog = read
            return read


def _groups(query: SearchQuery) -> list[Sequence[str]]:
    """The words to look for: the question's, and those of the line items of accounts that it asks for."""
    groups = [search_terms(query.text)]
    if query.mode == "hybrid" and (items := line_items(query.text)):
        groups.append(search_terms(items))
    return [group for group in groups if group]


def _rank(
    connection: Connection,
    query: SearchQuery,
    vector: Vectors,
    catalog: Catalog,
    candidates: Candidates,
    named: Scores | None,
) -> list[RetrievedChunk]:
    """The best of the candidates that the records still have; `named` says how far the question names each document."""
    rows = search_rows.rows(connection, candidates, vector)
    places = np.searchsorted(catalog.numbers, rows.documents)
    decay = catalog.decay(query.half_life_days, datetime.now(UTC))[places] if query.half_life_days > 0 else None
    order, score = rank(rows, query.k, mode=query.mode, named=None if named is None else named[places], decay=decay)
    chunks = store.chunks_numbered(connection, rows.numbers[order])
    return [
        RetrievedChunk(
            chunk=catalog.sourced(chunks[int(rows.numbers[row])], int(places[row])),
            rank=place,
            similarity=float(score[row]),
            dense=None if query.by_words or np.isnan(rows.dense[row]) else float(rows.dense[row]),
            bm25=float(rows.lexical[row]) or None,
        )
        for place, row in enumerate(order, start=1)
    ]
