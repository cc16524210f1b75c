"""The library of one workspace: opening, searching and closing it, and the way to all that it holds.

Vectors that are made for a whole library, kept in a temporary file until all of them are there.
"""

from __future__ import annotations

import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

import numpy as np
from numpy.typing import NDArray

from crag.core.errors import CancelledError, EmptyLibraryError, InputError, QuestionError, StorageError
from crag.core.guidance import About
from crag.core.protocols import Embedder, QuestionEmbedder
from crag.core.request import SearchQuery
from crag.core.types import RetrievedChunk
from crag.index.embedded import EmbeddedIndex
from crag.storage import store
from crag.storage.database import Database
from crag.storage.documents import Documents
from crag.storage.evaluations import Evaluations
from crag.storage.index_sync import Differences, IndexSync, OpenIndex
from crag.storage.labels import Labels
from crag.storage.purges import Purges
from crag.storage.records import Records
from crag.storage.runs import Facts, InFlightJobs, Runs
from crag.storage.search import Search
from crag.storage.store import Cache
from crag.storage.tables import chunks, documents

if TYPE_CHECKING:
    from crag.storage.postgres import Server

_AT_ONCE = 4_000


class NewVectors:
    """One vector a chunk number; a context manager. Of the vectors only a batch is ever in memory."""

    def __init__(self, dimension: int) -> None:
        self._dimension = dimension
        self._places: dict[int, int] = {}

    def __enter__(self) -> Self:
        try:
            self._file = tempfile.TemporaryFile(prefix="crag-vectors-")
        except OSError as error:
            raise _no_room(error) from error
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._file.close()

    def __len__(self) -> int:
        return len(self._places)

    def __contains__(self, number: int) -> bool:
        return number in self._places

    def add(self, numbers: Sequence[int], vectors: NDArray[np.float32]) -> None:
        """Keep a vector for each number. Raises StorageError where the disk is full."""
        rows = np.ascontiguousarray(vectors, dtype="<f4").reshape(len(numbers), self._dimension)
        try:
            self._file.seek(4 * self._dimension * len(self._places))
            self._file.write(rows.tobytes())
            self._file.flush()
        except OSError as error:
            raise _no_room(error) from error
        self._places.update(zip(numbers, range(len(self._places), len(self._places) + len(numbers)), strict=True))

    def batches(self, numbers: Sequence[int]) -> Iterator[tuple[Sequence[int], NDArray[np.float32]]]:
        """The vectors of these numbers, each of which is there, some thousands at a time."""
        for at in range(0, len(numbers), _AT_ONCE):
            some = numbers[at : at + _AT_ONCE]
            held = np.memmap(self._file, "<f4", "r", shape=(len(self._places), self._dimension))
            yield some, held[[self._places[number] for number in some]]


def _no_room(error: OSError) -> StorageError:
    return StorageError(
        f"The new vectors can't be kept until all are there: {error.strerror or error}.",
        "Free disk space for temporary files, or set TMPDIR to a folder with more, and re-index again.",
    )


_EMBED_BATCH = 64


class Library:
    """One folder's library: `documents`, `purges`, `runs`, `facts`, `in_flight`, `labels`, `cache` and `evaluations`.

    The records, in SQLite or on a PostgreSQL server, are the truth, the chunk index a cache of them.

    Thread-safe, and several processes may have the same one open. Nothing is stored before the first write.
    Every method raises StorageError where the disk or the file fails, and once where the folder was deleted or
    replaced meanwhile; one that adds raises RoomError where no more may be stored. Usable as a context manager.
    """

    def __init__(
        self,
        folder: Path,
        embedder: Embedder,
        may_grow: Callable[..., None] | None = None,
        server: Server | None = None,
        open_index: OpenIndex | None = None,
    ) -> None:
        self.folder = folder
        self._embedder = embedder
        self._database = _records(folder, may_grow, server)
        self._upkeep = IndexSync(self._database, open_index or partial(EmbeddedIndex, folder / "index"))
        self._search = Search(self._upkeep)
        self.documents = Documents(self._database, embedder, self._upkeep.forget_deleted)
        self.purges = Purges(self._database, embedder, self._upkeep.forget_deleted)
        self.runs = Runs(self._database)
        self.facts = Facts(self._database, folder.name)
        self.in_flight = InFlightJobs(self._database)
        self.labels = Labels(self._database)
        self.cache = Cache(self._database)
        self.evaluations = Evaluations(self._database)

    @classmethod
    def open(
        cls,
        folder: Path,
        embedder: Embedder,
        may_grow: Callable[..., None] | None = None,
        server: Server | None = None,
        open_index: OpenIndex | None = None,
    ) -> Library:
        """The library in `folder`, an empty one if there is none; `may_grow` is asked before it grows.

        With a `server` the records are those of that folder's name there, and not on the disk. `open_index` gives the
        chunk index; None: the embedded one, in the folder. Vectors of another model are noticed on use, not here.
        """
        return cls(folder, embedder, may_grow, server, open_index)

    def close(self) -> None:
        self._search.forget()
        self._database.close()

    def rest(self) -> None:
        """Keep no file open and nothing in memory until the next use, which is as good as before."""
        self._search.forget()
        self._database.rest()

    @property
    def exists(self) -> bool:
        """Whether anything was ever stored here."""
        return self._database.exists

    def __enter__(self) -> Library:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def size(self) -> tuple[int, int]:
        """How many documents and chunks there are."""
        with self._database.read() as connection:
            return store.count(connection, documents), store.count(connection, chunks)

    # Search

    def search(self, query: str, k: int) -> list[RetrievedChunk]:
        """At most `k` chunks of all documents, best first. Raises as `find`."""
        return self.find(SearchQuery(query, k))

    def find(self, query: SearchQuery) -> list[RetrievedChunk]:
        """The chunks of a query, best first, ranks from 1.

        Raises EmptyLibraryError, ModelMismatchError, QuestionError, FilterError, and IndexUnavailableError, where
        `find_in_records` still serves.
        """
        vector = self._asked(query.text, query.k)
        with self._database.read() as connection:
            store.check_model(connection, self._embedder)
            return self._search.through_index(connection, query, vector)

    def find_in_records(self, query: SearchQuery) -> list[RetrievedChunk]:
        """The same without the index, for when it fails: of the chunks that share words with the query, the best.

        Reads every text. Raises as `find` does, but for the index.
        """
        vector = self._asked(query.text, query.k)
        with self._database.read() as connection:
            store.check_model(connection, self._embedder)
            return self._search.through_records(connection, replace(query, mode="hybrid"), vector)

    def about(self, *, where: str = "", min_confidence: float = 0.0) -> About:
        """What the documents are about that a search with these filters would use. Raises FilterError."""
        with self._database.read() as connection:
            return self._search.about(connection, where, min_confidence)

    def refresh_index(self) -> None:
        """Bring the chunk index up to date now, so that the next search need not."""
        self._upkeep.follow()

    def _asked(self, query: str, k: int) -> NDArray[np.float32]:
        """The vector of a question that this library can be asked; for others it raises what `search` does."""
        if not query.strip():
            raise QuestionError("The question is empty.")
        if k < 1:
            raise InputError(f"{k} chunks can't be searched for.", "Ask for at least one.")
        with self._database.read() as connection:
            if store.empty(connection):
                raise EmptyLibraryError("The library holds no documents yet.")
            store.check_model(connection, self._embedder)
        # Outside the transaction: the model may take its time, and loads itself on the first question.
        return self._vector(query)

    def _vector(self, query: str) -> NDArray[np.float32]:
        if isinstance(self._embedder, QuestionEmbedder):
            return self._embedder.embed_question(query)
        found: NDArray[np.float32] = self._embedder.embed([query])[0]
        return found

    def check_model(self) -> None:
        """Raises ModelMismatchError if the stored vectors are of another model than the one in use."""
        with self._database.read() as connection:
            store.check_model(connection, self._embedder)

    def reindex(
        self, on_progress: Callable[[int, int], None] | None = None, cancel: threading.Event | None = None
    ) -> None:
        """Embed every chunk with the model in use, then swap all vectors at once; until then search stays as it was.

        `on_progress(done, total)` after each batch. Raises CancelledError, and then nothing has changed.
        """
        with NewVectors(self._embedder.dimension) as done:
            while True:
                with self._database.read() as connection:
                    wanted = store.chunk_numbers(connection)
                missing = [number for number in wanted if number not in done]
                for at in range(0, len(missing), _EMBED_BATCH):
                    if cancel is not None and cancel.is_set():
                        raise CancelledError(
                            "Re-indexing was stopped; the library is as it was.", "Start it again later."
                        )
                    with self._database.read() as connection:
                        batch = store.chunks_numbered(connection, missing[at : at + _EMBED_BATCH])
                    if batch:
                        done.add([*batch], self._embedder.embed([chunk.indexed_text for chunk in batch.values()]))
                    if on_progress is not None:
                        on_progress(min(len(wanted), len(done)), len(wanted))
                with self._database.write() as connection:
                    numbers = store.chunk_numbers(connection)
                    # Something was added meanwhile: embed that too, then try again.
                    if not all(number in done for number in numbers):
                        continue
                    store.replace_vectors(connection, done.batches(numbers), self._embedder)
                    return

    def verify(self, *, repair: bool = False) -> Differences:
        """Read the whole library and compare its parts; where its index differs from the records. Slow on a large one.

        With `repair` an index that differs is rebuilt. Raises StorageError if the records are damaged, and
        IndexUnavailableError.
        """
        with self._database.read() as connection:
            problem = store.first_problem(connection)
        if problem:
            raise self._database.damaged(problem)
        return self._upkeep.repair() if repair else self._upkeep.compare()


def _records(folder: Path, may_grow: Callable[..., None] | None, server: Server | None) -> Records:
    if server is None:
        database = Database(folder / "library.db", may_grow)
        database.check()
        return database
    from crag.storage.postgres import SchemaRecords  # only those with a server need it

    return SchemaRecords(server, folder.name, may_grow)
