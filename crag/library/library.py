"""The library of one workspace: documents, chunks, vectors, search, and what runs leave behind."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from crag.core.errors import CancelledError, EmptyLibraryError, InputError, ModelMismatchError, QuestionError
from crag.core.events import Event
from crag.core.protocols import Embedder
from crag.core.trace import Trace
from crag.core.types import INDEXED_AS, Chunk, Document, Grade, RetrievedChunk, WebPage
from crag.library import labels, outside, runs, store
from crag.library.cards import first_page
from crag.library.database import Database
from crag.library.evaluations import Evaluations
from crag.library.faults import damaged
from crag.library.outside import DaySpending
from crag.library.room import Room
from crag.library.runs import Label, RunSummary, Unreadable
from crag.library.search import Mode, rank
from crag.library.snapshot import Snapshots

__all__ = ["Library"]

_EMBED_BATCH = 64
_TRACE_BATCH = 100
_RESERVED, _RESERVED_EACH = 1536 * 1024, 2 * 1024
"""Bytes of the disk kept for deleting a document when it is full, in all and for each chunk."""


class Library:
    """One folder's library: SQLite is the truth, FAISS a cache of it.

    Thread-safe, and several processes may have the same folder open. Nothing is on the disk before the first write.
    Every method raises StorageError where the disk or the file fails, and once where the folder was deleted or
    replaced meanwhile; one that adds raises RoomError where no more may be stored. Usable as a context manager.
    """

    def __init__(self, folder: Path, embedder: Embedder, room: Room | None = None) -> None:
        self.folder = folder
        self._embedder = embedder
        self._model = f"{embedder.id}/{INDEXED_AS}"
        self._database = Database(folder / "library.db", *([partial(room.check, folder)] if room else []))
        self._snapshots = Snapshots(folder / "library.vectors")
        self.evaluations = Evaluations(self._database)

    @classmethod
    def open(cls, folder: Path, embedder: Embedder, room: Room | None = None) -> Library:
        """The library in `folder`, an empty one if there is none; `room` says how much may be stored, None: all.

        Vectors of another model are noticed on use, not here.
        """
        return cls(folder, embedder, room)

    def close(self) -> None:
        self._database.close()

    def rest(self) -> None:
        """Keep no file open and nothing in memory until the next use, which is as good as before."""
        self._database.rest()
        self._snapshots.forget()

    @property
    def made(self) -> bool:
        """Whether anything was ever stored here."""
        return self._database.path.exists()

    def __enter__(self) -> Library:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # Documents

    def add(self, document: Document, data: bytes, chunks: Sequence[Chunk], vectors: NDArray[np.float32]) -> None:
        """Store a document whole, or not at all. `vectors` are the embeddings of the chunks' `indexed_text`, in order.

        Raises InputError for content that is there already, ModelMismatchError.
        """
        if vectors.shape != (len(chunks), self._embedder.dimension):
            raise ValueError(f"{len(chunks)} chunks need as many vectors of {self._embedder.dimension} numbers each")
        if not np.isfinite(vectors).all():
            raise ValueError("vectors must be finite")
        with self._database.write(more=len(data) + 2 * vectors.nbytes) as connection:
            if store.size(connection)[1] == 0:
                store.set_meta(connection, "model", self._model)
                store.set_meta(connection, "dimension", str(self._embedder.dimension))
            else:
                self._check(store.meta(connection, "model"))
            numbers = store.put_document(connection, document, data, chunks, first_page(chunks))
            store.put_vectors(connection, numbers, vectors)
            store.bump(connection)
        self._database.reserve(_RESERVED + _RESERVED_EACH * len(chunks))

    def documents(self) -> list[Document]:
        """All documents, in the order they were added."""
        with self._database.read() as connection:
            return store.list_documents(connection)

    def document(self, id: str) -> Document:
        """Raises NotFoundError."""
        with self._database.read() as connection:
            return store.get_document(connection, id)

    def file(self, id: str) -> bytes:
        """The document's bytes as they were added. Raises NotFoundError."""
        with self._database.read() as connection:
            return store.get_file(connection, id)

    def chunks(self, document_id: str) -> list[Chunk]:
        """A document's chunks in reading order. Raises NotFoundError."""
        with self._database.read() as connection:
            return store.list_chunks(connection, document_id)

    def chunk(self, id: str) -> Chunk:
        """Raises NotFoundError."""
        with self._database.read() as connection:
            return store.get_chunk(connection, id)

    def delete(self, id: str) -> None:
        """Remove a document and its file, chunks, vectors, index entries and labels, all or nothing.

        Raises NotFoundError. Runs that quoted the document stay: delete those by themselves.
        """

        def removed(connection: sqlite3.Connection) -> None:
            store.remove_document(connection, id)
            store.bump(connection)

        self._database.free(removed)

    @property
    def size(self) -> tuple[int, int]:
        """How many documents and chunks there are."""
        with self._database.read() as connection:
            return store.size(connection)

    # Search

    def search(
        self,
        query: str,
        k: int,
        *,
        mode: Mode = "hybrid",
        min_confidence: float = 0.0,
        half_life_days: float = 0.0,
    ) -> list[RetrievedChunk]:
        """At most `k` chunks, best first, ranks from 1.

        Documents whose confidence is below `min_confidence` are left out, unless all are. With `half_life_days`, a
        document's similarity halves every so many days since it was added. `mode` "bm25" returns only chunks that
        share a word with the query. Raises EmptyLibraryError, ModelMismatchError, QuestionError.
        """
        if not query.strip():
            raise QuestionError("The question is empty.")
        if k < 1:
            raise InputError(f"{k} chunks can't be searched for.", "Ask for at least one.")
        with self._database.read() as connection:
            if store.size(connection)[1] == 0:
                raise EmptyLibraryError("The library holds no documents yet.")
            self._check(store.meta(connection, "model"))
        # Outside the transaction: the model may take its time, and loads itself on the first question.
        vector = self._embedder.embed([query])[0]
        with self._database.read() as connection:
            self._check(store.meta(connection, "model"))
            return rank(
                connection,
                self._snapshots.get(connection),
                query,
                vector,
                k,
                mode=mode,
                min_confidence=min_confidence,
                half_life_days=half_life_days,
            )

    def check_model(self) -> None:
        """Raises ModelMismatchError if the stored vectors are of another model than the one in use."""
        with self._database.read() as connection:
            if store.size(connection)[1]:
                self._check(store.meta(connection, "model"))

    def reindex(
        self, on_progress: Callable[[int, int], None] | None = None, cancel: threading.Event | None = None
    ) -> None:
        """Embed every chunk with the model in use, then swap all vectors at once; until then search stays as it was.

        `on_progress(done, total)` after each batch. Raises CancelledError, and then nothing has changed.
        """
        done: dict[int, NDArray[np.float32]] = {}
        while True:
            with self._database.read() as connection:
                wanted = store.chunk_numbers(connection)
            missing = [number for number in wanted if number not in done]
            for at in range(0, len(missing), _EMBED_BATCH):
                if cancel is not None and cancel.is_set():
                    raise CancelledError("Re-indexing was stopped; the library is as it was.", "Start it again later.")
                with self._database.read() as connection:
                    batch = store.chunks_numbered(connection, missing[at : at + _EMBED_BATCH])
                if batch:
                    texts = [chunk.indexed_text for chunk in batch.values()]
                    done.update(zip(batch, self._embedder.embed(texts), strict=True))
                if on_progress is not None:
                    on_progress(min(len(wanted), len(done)), len(wanted))
            with self._database.write() as connection:
                numbers = store.chunk_numbers(connection)
                # Something was added meanwhile: embed that too, then try again.
                if not all(number in done for number in numbers):
                    continue
                store.replace_vectors(connection, numbers, [done[number] for number in numbers])
                store.set_meta(connection, "model", self._model)
                store.set_meta(connection, "dimension", str(self._embedder.dimension))
                store.set_document_models(connection, self._embedder.id)
                store.bump(connection)
                return

    def verify(self) -> None:
        """Read the whole library and compare its parts. Slow on a large one. Raises StorageError if it is damaged."""
        with self._database.read() as connection:
            problem = store.first_problem(connection)
        if problem:
            raise damaged(self._database.path, problem)

    # Grades, runs, labels

    def load_grades(self, keys: Sequence[str]) -> dict[str, Grade]:
        """The grades stored under these keys; unknown keys are absent."""
        with self._database.read() as connection:
            return runs.load_grades(connection, keys)

    def save_grades(self, grades: dict[str, Grade]) -> None:
        """Store grades under their keys, in place of older ones."""
        if grades:
            with self._database.write() as connection:
                runs.save_grades(connection, grades)

    def save_run(self, trace: Trace, events: Sequence[Event]) -> None:
        """Store a run's record and events; a run of the same id is replaced."""
        with self._database.write() as connection:
            runs.save_run(connection, trace, events)
            outside.save_calls(connection, trace)

    def load_search(self, key: str, *, hours: float) -> tuple[str, tuple[WebPage, ...]] | None:
        """When web results were found (ISO 8601, UTC) and what; None if never, or longer ago than so many hours."""
        with self._database.read() as connection:
            return outside.load_search(connection, key, hours)

    def save_search(self, key: str, pages: Sequence[WebPage]) -> None:
        """Store web results with the present time, in place of older ones."""
        with self._database.write() as connection:
            outside.save_search(connection, key, pages)

    def spending(self, days: int = 30) -> list[DaySpending]:
        """Outside calls of the last so many days (UTC), summed by day and model, latest day first."""
        with self._database.read() as connection:
            return outside.spending(connection, days)

    def runs(self, limit: int = 100, *, every: bool = False) -> list[RunSummary]:
        """The latest runs that a person asked for, newest first; with `every` those of evaluations too."""
        with self._database.read() as connection:
            return runs.list_runs(connection, limit, every)

    def run_events(self, run_id: str) -> list[Event]:
        """Raises NotFoundError, and StorageError for a run of another version that can't be read."""
        with self._database.read() as connection:
            return runs.run_events(connection, run_id)

    def run_trace(self, run_id: str) -> Trace:
        """Raises as `run_events` does."""
        with self._database.read() as connection:
            return runs.run_trace(connection, run_id)

    def run_ids(self) -> list[str]:
        """The ids of all runs, oldest first. A run that is stored anew, under its old id, comes last."""
        with self._database.read() as connection:
            return runs.run_ids(connection)

    def traces(self, run_ids: Sequence[str]) -> Iterator[Trace | Unreadable]:
        """These runs' records as they are read, in the given order; ids of no run are left out."""
        for at in range(0, len(run_ids), _TRACE_BATCH):
            with self._database.read() as connection:
                texts = runs.trace_texts(connection, run_ids[at : at + _TRACE_BATCH])
            yield from (runs.read_trace(run_id, text) for run_id, text in texts)

    def delete_run(self, run_id: str) -> None:
        """Raises NotFoundError."""
        self._database.free(partial(runs.delete_run, run_id=run_id))

    def save_label(self, question: str, chunk_id: str, label: Literal["relevant", "irrelevant"]) -> None:
        """Store a person's word on a chunk, in place of an earlier one. Raises NotFoundError."""
        with self._database.write() as connection:
            runs.save_label(connection, question, chunk_id, label)

    def delete_label(self, question: str, chunk_id: str) -> None:
        """Take a person's word on a chunk back, if there is one."""
        self._database.free(partial(labels.delete_label, question=question, chunk_id=chunk_id))

    def labels(self) -> list[Label]:
        """All labels, oldest first."""
        with self._database.read() as connection:
            return runs.list_labels(connection)

    def _check(self, stored: str) -> None:
        if stored != self._model:
            raise ModelMismatchError(f"The library's vectors were made by {stored}; the model in use is {self._model}.")
