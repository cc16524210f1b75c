"""The library of one workspace: opening, searching and closing it, and the way to all that it holds.

Vectors that are made for a whole library, kept in a temporary file until all of them are there.

What purges took out of a library: kept whole for a day, so that it can be brought back, then deleted for good.
"""

from __future__ import annotations

import json
import logging
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, delete, insert, literal, select

from crag.core.errors import CancelledError, NotFoundError, StorageError
from crag.core.metadata import MOST_FIELDS, fields_of, stored_fields
from crag.core.protocols import Embedder, SearchQuery
from crag.core.purging import KEEP, Conditions, Due, Standing, due
from crag.core.trace import Track
from crag.core.types import Chunk, Document, RetrievedChunk
from crag.index.embedded import EmbeddedIndex
from crag.storage import store
from crag.storage.database import Database
from crag.storage.documents import Documents, insert_content, number_of, read_content, remove
from crag.storage.evaluations import Evaluations
from crag.storage.index_sync import Differences, IndexSync, OpenIndex
from crag.storage.labels import Labels, of_documents
from crag.storage.points import Points
from crag.storage.records import Records
from crag.storage.runs import Facts, InFlightJobs, Runs
from crag.storage.search import Search
from crag.storage.store import Cache
from crag.storage.tables import chunks, documents, files, purged

if TYPE_CHECKING:
    from crag.storage.postgres import Server

_log = logging.getLogger(__name__)

UNDO_HOURS = 24
"""For so long a purge can be undone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Purged:
    """A document that a purge took out and that can still be brought back. `at` is ISO 8601, UTC."""

    id: str
    name: str
    at: str
    why: str


class Purges:
    """What purges take out of a library. Thread-safe, across processes too.

    A document that was taken out is in no list, search or count, and its words and vectors leave the index.
    """

    def __init__(self, database: Records, embedder: Embedder, forget: Callable[[], None]) -> None:
        """`forget` is called after documents were taken out, so that the chunk index forgets the words, too."""
        self._database, self._embedder, self._forget = database, embedder, forget

    def due(self, conditions: Conditions, now: datetime | None = None) -> list[Due]:
        """The documents that a purge would take out now, oldest first. Raises FilterError."""
        with self._database.read() as connection:
            tracked = of_documents(connection)
            library = [
                Standing(document=document, fields=fields_of(document, given), track=tracked.get(document.id, Track()))
                for _, (document, given) in store.read_documents(connection)
            ]
        return due(conditions, library, now or datetime.now(UTC))

    def purge(self, conditions: Conditions, now: datetime | None = None) -> list[Due]:
        """Take these documents out, one after the other, each whole; and delete for good what can't be undone any more.

        A document that is deleted meanwhile is left out of what is returned. Raises FilterError.
        """
        now = now or datetime.now(UTC)
        found = self.due(conditions, now)
        self.expire(now)
        gone = [each for each in found if self._take_out(each, now)]
        if gone:
            self._forget()
        return gone

    def undoable(self, now: datetime | None = None) -> list[Purged]:
        """What can be brought back, the latest first."""
        p = purged.c
        lately = select(p.id, p.name, p.at, p.reason.label("why")).where(p.at > _least(now))
        with self._database.read() as connection:
            rows = connection.execute(lately.order_by(p.at.desc(), p.name)).mappings()
            return [Purged(**row) for row in rows]

    def undo(self, id: str, now: datetime | None = None) -> Document:
        """Bring a document back with its file, chunks, vectors, fields, labels and track record.

        It has the field `keep` then, which keeps it from every purge until it is taken away. Vectors of another
        model are rebuilt. Raises NotFoundError after a day, InputError where the same content was added meanwhile,
        and ModelMismatchError.
        """
        with self._database.read() as connection:
            row = connection.execute(
                select(purged.c.content, purged.c.model, purged.c.vectors)
                .where(purged.c.id == id)
                .where(purged.c.at > _least(now))
            ).first()
        if row is None:
            raise NotFoundError(
                f"There is no document {id[:12]} that a purge could bring back.",
                f"What was purged is kept for {UNDO_HOURS} hours.",
            )
        content: dict[str, Any] = json.loads(row.content)
        its_chunks = _chunks(content)
        kept = np.frombuffer(row.vectors, "<f4")
        if its_chunks and row.model != store.model_name(self._embedder):
            kept = self._embedder.embed([chunk.indexed_text for chunk in its_chunks])
        kept = kept.reshape(len(its_chunks), self._embedder.dimension)

        def moved(connection: Connection) -> None:
            store.ensure_model(connection, self._embedder)
            _bring_back(connection, id, self._embedder.id, content, kept)

        self._database.free(moved)
        with self._database.read() as connection:
            asked = select(documents.c.record, documents.c.model).where(documents.c.id == id)
            return store.document_of(*connection.execute(asked).one())

    def expire(self, now: datetime | None = None) -> int:
        """Delete for good what can't be brought back any more; how many documents that were."""
        over = purged.c.at <= _least(now)
        with self._database.read() as connection:
            found = store.count(connection, purged, over)
        if found:
            self._database.free(lambda connection: connection.execute(delete(purged).where(over)))
        return found

    def _take_out(self, each: Due, now: datetime) -> bool:
        """Whether the document was still there."""
        try:
            self._database.free(lambda connection: _move_out(connection, each, now))
        except NotFoundError:
            _log.info("a document was deleted while a purge went on")
            return False
        return True


def _move_out(connection: Connection, each: Due, now: datetime) -> None:
    """From the tables of documents to that of what was purged."""
    number = number_of(connection, each.document.id)
    content, its_vectors = read_content(connection, number)
    # The bytes of the file go from table to table, and never through this process.
    row = {
        "id": each.document.id,
        "name": content["document"]["name"],
        "at": now.isoformat(timespec="milliseconds"),
        "reason": each.why,
        "model": store.meta(connection, "model"),
        "content": json.dumps(content),
        "vectors": its_vectors,
    }
    connection.execute(delete(purged).where(purged.c.id == each.document.id))
    values = [literal(value, purged.c[name].type) for name, value in row.items()]
    whole = select(*values, files.c.bytes).where(files.c.document == number)
    connection.execute(insert(purged).from_select([*row, "bytes"], whole))
    remove(connection, number)
    store.bump(connection, "deleted", number)


def _bring_back(connection: Connection, id: str, model: str, content: dict[str, Any], kept: np.ndarray) -> None:
    """From the table of what was purged to those of documents, under new numbers."""
    given = stored_fields(content["document"]["meta"])
    if len(given) < MOST_FIELDS:
        given[KEEP] = True
    document = {**content["document"], "model": model, "meta": given}
    number = insert_content(connection, {**content, "document": document}, kept)
    file = select(literal(number), purged.c.bytes).where(purged.c.id == id)
    connection.execute(insert(files).from_select(["document", "bytes"], file))
    connection.execute(delete(purged).where(purged.c.id == id))
    store.bump(connection, "added", number)


def _chunks(content: dict[str, Any]) -> Sequence[Chunk]:
    about = content["document"]
    its_document = (about["id"], about["name"], about["title"])
    return [store.chunk_of([*(row[name] for name in store.CHUNK_COLUMNS), *its_document]) for row in content["chunks"]]


def _least(now: datetime | None) -> str:
    """What was purged after this can be brought back."""
    return ((now or datetime.now(UTC)) - timedelta(hours=UNDO_HOURS)).isoformat(timespec="milliseconds")


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
    """One folder's library: its `documents`, their `points`, `purges`, `runs` and `facts`, `in_flight`, `labels`,
    `cache` and `evaluations`.

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
        """The library in `folder`, an empty one if there is none; `may_grow` is asked before it grows.

        With a `server` the records are those of that folder's name there, and not on the disk. `open_index` gives the
        chunk index; None: the embedded one, in the folder. Vectors of another model are noticed on use, not here.
        """
        self.folder = folder
        self._embedder = embedder
        self._database = _records(folder, may_grow, server)
        self._upkeep = IndexSync(self._database, open_index or partial(EmbeddedIndex, folder / "index"))
        search = self._search = Search(self._database, embedder, self._upkeep)
        self.find, self.find_in_records, self.about = search.find, search.find_in_records, search.about
        self.documents = Documents(self._database, embedder, self._upkeep.forget_deleted)
        self.purges = Purges(self._database, embedder, self._upkeep.forget_deleted)
        self.runs = Runs(self._database)
        self.facts = Facts(self._database, folder.name)
        self.in_flight = InFlightJobs(self._database)
        self.labels = Labels(self._database)
        self.cache = Cache(self._database)
        self.evaluations = Evaluations(self._database)
        self.points = Points(self._database)

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

    def refresh_index(self) -> None:
        """Bring the chunk index up to date now, so that the next search need not."""
        self._upkeep.follow()

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
