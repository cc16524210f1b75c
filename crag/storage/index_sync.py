"""Keeps a library's chunk index up to date with its records: by what changed, or from the beginning."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

import numpy as np

from crag.core.errors import CragError, IndexUnavailableError
from crag.index.chunk_index import ChunkIndex, Contents, Numbers
from crag.runtime.jobs import Job
from crag.runtime.waiting import CLOCK, Clock
from crag.storage import search_rows, store
from crag.storage.database import Database

_log = logging.getLogger(__name__)
_PATIENCE = 10.0
"""Seconds that a search waits for an index that is being brought up to date, before it does without."""
_REST = 5.0
"""Seconds for which an index that failed is left alone."""
_QUIET = 1.0
"""Seconds after a deletion before the index forgets its words: often others follow, and reading stands in their way."""
_AT_ONCE = 4_000
"""Chunks that are handed to the index in one step."""
_SMALL = 20_000
"""Up to this many chunks a deletion rebuilds an index that would keep the words in its files; and as many are added
before they are committed."""

OpenIndex = Callable[[Contents], ChunkIndex]
T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Differences:
    """What an index holds, against the records: chunks missing from it, and chunks that are in it alone."""

    missing: Numbers
    foreign: Numbers

    def __bool__(self) -> bool:
        return bool(len(self.missing) or len(self.foreign))


class IndexSync:
    """The index of one library, and its way to what the records say. Thread-safe.

    Of several processes one at a time does this: what one adds, another must not delete or note as done meanwhile.
    """

    def __init__(self, database: Database, open_index: OpenIndex, clock: Clock = CLOCK) -> None:
        self._database, self._open, self._clock = database, open_index, clock
        self._lock = threading.Lock()
        self._contents: Contents | None = None
        self._index: ChunkIndex | None = None
        self._filling: Job[int] | None = None
        """The work on the index, done by a thread of its own; its events are how many chunks were added."""
        self._resting: tuple[float, CragError] | None = None
        self._cleared = 0
        """How often an index was emptied, to be filled again."""
        self._later: threading.Timer | None = None
        """What forgets deleted chunks when it is time."""

    def use(self, contents: Contents, generation: int, work: Callable[[ChunkIndex], T], *, patient: bool = False) -> T:
        """What `work` makes of the index, with all in it that the records held at `generation`.

        Raises IndexUnavailableError where the index fails or failed a moment ago, and, unless `patient`, where it is
        not ready after a few seconds: it is made ready in the background then.
        """
        index = self._opened(contents)
        try:
            while True:
                before = self._cleared
                self._ensure_current(index, generation, None if patient else _PATIENCE)
                found = work(index)
                # What was found in an index while it was emptied and filled again may be a part, or nothing.
                if index.generation >= 0 and self._cleared == before:
                    return found
        except IndexUnavailableError as error:
            with self._lock:
                let_go = self._index is not index
            if let_go:  # by another thread, which is no failure
                return self.use(contents, generation, work, patient=patient)
            if not isinstance(error, _NotReady):
                self._rest(error)
            raise

    def refresh(self, *, fill: bool = True) -> None:
        """Bring the index up to date, however long it takes; without `fill` one that holds nothing stays as it is.

        Raises IndexUnavailableError, StorageError.
        """
        with self._database.read() as connection:
            known = store.meta(connection)
        contents = search_rows.contents_of(known)
        if known.generation and (fill or self._opened(contents).generation >= 0):
            self.use(contents, known.generation, lambda index: None, patient=True)

    def follow(self, *, fill: bool = True) -> None:
        """As `refresh`, so that the next search need not. What fails now, that search meets and says."""
        try:
            self.refresh(fill=fill)
        except CragError as error:
            _log.info("the chunk index is not up to date: %s", error.message)

    def forget_deleted(self) -> None:
        """Have the index forget what the records hold no more: in a moment, if nothing more is deleted until then."""
        later = threading.Timer(_QUIET, self.follow, kwargs={"fill": False})
        later.daemon = True
        with self._lock:
            before, self._later = self._later, later
        if before is not None:
            before.cancel()
        later.start()

    def compare(self) -> Differences:
        """What the index holds against the records, each looked through whole. Raises as `refresh` does."""
        self.refresh()
        with self._database.read() as connection:
            held = self.use(search_rows.contents_of(store.meta(connection)), 0, lambda index: index.numbers())
            numbers = np.array(store.chunk_numbers(connection), np.int64)
        return Differences(
            missing=np.setdiff1d(numbers, held, assume_unique=True),
            foreign=np.setdiff1d(held, numbers, assume_unique=True),
        )

    def repair(self) -> Differences:
        """Rebuild the index where it differs from the records; what differed. Raises as `refresh` does."""
        found = self.compare()
        if found:
            with self._database.place.alone(threading.Event()), self._database.read() as connection:
                self._clear(self._opened(search_rows.contents_of(store.meta(connection))))
            self.refresh()
        return found

    def _clear(self, index: ChunkIndex) -> None:
        """Empty it. Only one caller at a time may: one that has the records to itself."""
        index.clear()
        self._cleared += 1

    def forget(self) -> None:
        """Let go of the index; the next use opens it again. Long work on it is stopped, short work is waited for."""
        with self._lock:
            later, self._later = self._later, None
        if later is not None and not later.finished.is_set():
            later.cancel()
            self.follow(fill=False)
        with self._lock:
            filling, index = self._filling, self._index
            self._index = self._contents = self._filling = None
        if filling is not None:
            filling.stop()
            filling.wait()
        if index is not None:
            index.close()

    def _opened(self, contents: Contents) -> ChunkIndex:
        """The index of these contents; one of other contents is let go of."""
        with self._lock:
            if self._resting is not None and self._clock.now() < self._resting[0]:
                raise self._resting[1]
            if self._index is not None and self._contents == contents:
                return self._index
        self.forget()
        try:
            index = self._open(contents)
        except IndexUnavailableError as error:
            self._rest(error)
            raise
        with self._lock:
            self._index, self._contents, self._resting = index, contents, None
        return index

    def _rest(self, error: IndexUnavailableError) -> None:
        _log.warning("the chunk index failed: %s", error.message)
        self.forget()
        with self._lock:
            self._resting = self._clock.now() + _REST, error

    def _ensure_current(self, index: ChunkIndex, generation: int, patience: float | None) -> ChunkIndex:
        """The index once it holds what the records held at `generation`."""
        while index.generation < generation:
            filling = self._start_filling(index)
            if not filling.wait(patience):
                raise _NotReady(sum(filling.events()))
            if filling.error is not None:
                raise filling.error
            if filling.stopping and index.generation < generation:
                raise IndexUnavailableError("The index of this library was closed.", "Ask again.")
        return index

    def _start_filling(self, index: ChunkIndex) -> Job[int]:
        """The work under way on this index, or work that begins now."""
        with self._lock:
            if self._filling is None or not self._filling.running:
                self._filling = Job("index", "", partial(self._fill, index))
                self._filling.start()
            return self._filling

    def _fill(self, index: ChunkIndex, stop: threading.Event, added: Callable[[int], None]) -> None:
        with self._database.place.alone(stop) as ours, self._database.read() as connection:
            generation = store.meta(connection).generation
            if not ours or index.generation >= generation:  # another process was first
                return
            kinds = search_rows.changes_between(connection, index.generation, generation)
            deleted = [document for document, kind in (kinds or {}).items() if "deleted" in kind]
            if kinds is None or (deleted and index.keeps_words and index.size <= _SMALL):
                of = None
                self._clear(index)
            else:
                there = {document: kind for document, kind in kinds.items() if "deleted" not in kind}
                of = [document for document, kind in there.items() if kind & {"added", "embedded"}]
                # What was embedded later is there already, with its words alone.
                index.delete([*deleted, *(document for document in of if "added" not in there[document])])
            before, total, committed = max(index.generation, 0), 0, 0
            for batches in search_rows.batches(connection, of, _AT_ONCE):
                if stop.is_set() and total > _SMALL:
                    return
                index.add(batches)
                many = sum(len(batch.numbers) for batch in batches)
                added(many)
                total += many
                if total - committed >= _SMALL:  # what is added stays in memory until then
                    index.commit(before)
                    committed = total
            index.commit(generation)


class _NotReady(IndexUnavailableError):
    """The index is whole, but not up to date yet."""

    def __init__(self, chunks: int) -> None:
        so_far = f"; {chunks:,} chunks are in it" if chunks else ""
        super().__init__(f"The index of this library is being made{so_far}.", "Wait a little.")
