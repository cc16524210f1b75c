"""The library of one workspace: opening, searching and closing it, and the way to all that it holds."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path

from crag.core.protocols import Embedder, SearchQuery
from crag.core.types import RetrievedChunk
from crag.index.embedded import EmbeddedIndex
from crag.storage import store
from crag.storage.cache import Cache
from crag.storage.configurations import Configurations
from crag.storage.conversations import Conversations
from crag.storage.database import Database
from crag.storage.documents import Documents
from crag.storage.evaluations import Evaluations
from crag.storage.facts import Facts
from crag.storage.in_flight import InFlightJobs
from crag.storage.index_sync import Differences, IndexSync, OpenIndex
from crag.storage.labels import Labels
from crag.storage.points import Points
from crag.storage.postgres import PostgresSchema, Server
from crag.storage.purges import Purges
from crag.storage.runs import Runs
from crag.storage.search import Search
from crag.storage.sqlite import SqliteFile
from crag.storage.tables import LIBRARY, chunks, documents
from crag.storage.unembedded import Unembedded


class Library(AbstractContextManager["Library"]):
    """One folder's library: its `documents`, those `unembedded`, their `points`, `purges`, `runs`, `conversations`
    and `facts`, `in_flight`, `labels`, `cache`, `evaluations` and `configurations`.

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
        self.embedder = embedder
        in_file = SqliteFile(folder / "library.db", LIBRARY)
        self._database = Database(in_file if server is None else PostgresSchema(server, folder.name, LIBRARY), may_grow)
        self._database.check()
        self._upkeep = IndexSync(self._database, open_index or partial(EmbeddedIndex, folder / "index"))
        search = self._search = Search(self._database, embedder, self._upkeep)
        self.find, self.find_in_records = search.find, search.find_in_records
        self.documents = Documents(self._database, embedder, self._upkeep.forget_deleted)
        self.purges = Purges(self._database, embedder, self._upkeep.forget_deleted)
        self.runs = Runs(self._database)
        self.conversations = Conversations(self._database)
        self.facts = Facts(self._database, folder.name)
        self.in_flight = InFlightJobs(self._database)
        self.labels = Labels(self._database)
        self.cache = Cache(self._database)
        self.evaluations = Evaluations(self._database)
        self.configurations = Configurations(self._database)
        self.points = Points(self._database)
        self.unembedded = Unembedded(self._database, embedder)

    def close(self) -> None:
        self._search.forget()
        self._database.close()

    def rest(self) -> None:
        """Keep no file open and nothing in memory until the next use, which is as good as before."""
        self._search.forget()
        self._database.place.rest()

    @property
    def exists(self) -> bool:
        """Whether anything was ever stored here."""
        return self._database.exists

    def __exit__(self, *raised: object) -> None:
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
            store.check_model(connection, self.embedder)

    def verify(self, *, repair: bool = False) -> Differences:
        """Read the whole library and compare its parts; where its index differs from the records. Slow on a large one.

        With `repair` an index that differs is rebuilt. Raises StorageError if the records are damaged, and
        IndexUnavailableError.
        """
        with self._database.read() as connection:
            problem = store.first_problem(connection)
        if problem:
            raise self._database.place.damaged(problem)
        return self._upkeep.repair() if repair else self._upkeep.compare()
