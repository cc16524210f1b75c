"""The chunk index that needs no server: FAISS for meaning, tantivy for words, in one folder of a workspace."""

from __future__ import annotations

import logging
import operator
import shutil
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import faiss
import numpy as np
import tantivy
from filelock import BaseFileLock, FileLock, Timeout

from crag.core.config import AppConfig, Keys
from crag.core.errors import IndexUnavailableError
from crag.index import lexical, vectors
from crag.index.chunk_index import Batch, Candidates, ChunkIndex, Contents, Numbers, Scores, Vectors
from crag.index.lexical import Lexical, Searcher
from crag.index.stamp import IndexCorruptError, Stamp, put_in_place, read_stamp, translate_corruption, write_stamp
from crag.index.vectors import EXACT, Cells, Mask, Rows, VectorFile, places

_log = logging.getLogger(__name__)
_VECTORS, _WORDS, _STAMP, _LOCK, _MAKING = "vectors.faiss", "words", "stamp.json", "lock", "making"
_WAIT_SECONDS = 120.0
"""How long a commit waits for another process's; the longest of them merges the words of a million chunks."""
_SOON_SECONDS = 5.0
_POLL_SECONDS = 0.01
_FEW_AFTER, _SHARE_AFTER = 1_000, 0.2
"""So many chunks, or this share of those in the file, may change before the file is written again; `EXACT` at most."""
_TOO_LONG = 4
"""From this multiple of it on, a commit waits until the file is written."""


@dataclass(frozen=True, eq=False)
class _Chosen:
    """Which chunks a search may find: `cells` and `rows` are masks, `words` restricts the words, `documents` is why."""

    documents: Numbers | None
    cells: Mask
    rows: Mask
    words: Any
    selector: Any

    @cached_property
    def count(self) -> int:
        """How many chunks in cells it may find."""
        return int(np.count_nonzero(self.cells))


class _View:
    """The index as it was at one commit: what a search looks at, whatever is written meanwhile.

    Its chunks never change. The last choice of documents is remembered, because the same one comes again and again.
    """

    def __init__(
        self, generation: int, cells: Cells | None, alive: Mask, rows: Rows, words: Searcher | None = None
    ) -> None:
        """`alive` says which chunks in the cells were not deleted since the file was written."""
        self.generation, self.cells, self.alive, self.rows, self.words = generation, cells, alive, rows, words
        self._all = self._chosen = self._choose(None, alive, np.ones(len(rows.numbers), np.bool_))

    @classmethod
    def nothing(cls, contents: Contents) -> _View:
        return cls(-1, None, np.zeros(0, np.bool_), Rows.of([], contents.dimension))

    @property
    def size(self) -> int:
        return self._all.count + len(self.rows.numbers)

    def numbers(self) -> Numbers:
        """All chunks, ascending."""
        held = self.cells.numbers[self.alive] if self.cells else self.rows.numbers[:0]
        return np.sort(np.concatenate([held, self.rows.numbers]))

    def holds(self, numbers: Numbers) -> Mask:
        """Which of the chunks (n,) are in it."""
        there: Mask = places(self.rows.numbers, numbers) >= 0
        if self.cells:
            at = places(self.cells.numbers, numbers)
            there |= (at >= 0) & self.alive[at]
        return there

    def changed(self, generation: int, documents: Numbers, added: Rows, words: Searcher) -> _View:
        """Without these documents, and with the chunks that it does not hold."""
        alive = self.alive & ~np.isin(self.cells.documents, documents) if self.cells else self.alive
        kept = _View(generation, self.cells, alive, self.rows.of_mask(~np.isin(self.rows.documents, documents)))
        rows = kept.rows.joined(added.of_mask(~kept.holds(added.numbers)))
        return _View(generation, self.cells, alive, rows, words)

    def after(self, file: VectorFile) -> _View:
        """The same over a file of an earlier generation that holds all but what came after it."""
        if file.cells is None:
            return self
        rows = self.rows.of_mask(places(file.cells.numbers, self.rows.numbers) < 0)
        return _View(self.generation, file.cells, self.holds(file.cells.numbers), rows, self.words)

    def top(self, vector: Vectors, words: Sequence[Sequence[str]], k: int, documents: Numbers | None) -> Candidates:
        """What `ChunkIndex.top` says. Raises IndexCorruptError where FAISS or tantivy fail over their files."""
        chosen = self._choice(documents)
        if not chosen.count and not chosen.rows.any():
            return Candidates.none()
        cosines = self.rows.cosines(vector)
        near = self._nearest(vector, k, chosen, cosines)
        with translate_corruption("the words can't be searched"):
            hits = [self.words.best(group, k, chosen.words) for group in words] if self.words else []
        numbers, where = np.unique(np.concatenate([near, *(found for found, _ in hits)]), return_inverse=True)
        scores = np.zeros(len(numbers), np.float32)
        np.add.at(scores, where[len(near) :], np.concatenate([np.zeros(0, np.float32), *(each for _, each in hits)]))
        rows = places(self.rows.numbers, numbers)
        dense = np.full(len(numbers), np.nan, np.float32)
        dense[rows >= 0] = cosines[rows[rows >= 0]]
        held = self.holds(numbers)  # Words may know chunks of a later commit, or of one that was cut off.
        return Candidates(numbers[held], dense[held], scores[held])

    def _nearest(self, vector: Vectors, k: int, chosen: _Chosen, cosines: Scores) -> Numbers:
        """The nearest chunks: the scores of 8 bits are good enough to choose by."""
        rows = np.flatnonzero(chosen.rows)
        numbers, scores = self.rows.numbers[rows], cosines[rows]
        if self.cells and chosen.count <= k:
            # All of them, rather than a look into every cell for each.
            return np.concatenate([_best(numbers, scores, k), self.cells.numbers[chosen.cells]])
        if self.cells:
            others, about = self.cells.best(vector, k, chosen.count, chosen.selector)
            numbers, scores = np.concatenate([numbers, others]), np.concatenate([scores, about])
        return _best(numbers, scores, k)

    def _choice(self, documents: Numbers | None) -> _Chosen:
        if documents is None:
            return self._all
        chosen = self._chosen
        if chosen.documents is None or not np.array_equal(chosen.documents, documents):
            cells = self.alive & np.isin(self.cells.documents, documents) if self.cells else self.alive
            chosen = self._choose(documents.copy(), cells, np.isin(self.rows.documents, documents))
            self._chosen = chosen
        return chosen

    def _choose(self, documents: Numbers | None, cells: Mask, rows: Mask) -> _Chosen:
        words = None if documents is None else lexical.only(documents)
        return _Chosen(documents, cells, rows, words, self.cells.selector(cells) if self.cells else None)


def _best(numbers: Numbers, scores: Scores, k: int) -> Numbers:
    """The numbers of the `k` highest scores, in no order."""
    return numbers if len(numbers) <= k else numbers[np.argpartition(scores, len(scores) - k)[len(scores) - k :]]


class EmbeddedIndex:
    """A `ChunkIndex` in a folder of its own. Nothing is on the disk before the first commit.

    Words are on the disk after each commit, vectors once many have changed: after a start the generation is that of the
    vectors' file, and what came after it must be added again, which writes no word twice. A folder that can't be
    written raises IndexUnavailableError at the commit, and what stands in it is searched on.
    """

    name = "embedded"
    keeps_words = True

    def __init__(self, place: Path, contents: Contents) -> None:
        self._place, self._contents, self._path = place, contents, place / _VECTORS
        # Anyone who needs both takes the folder's lock first.
        self._lock = threading.RLock()
        self._view: _View | None = None
        self._mark = _NO_FILE
        self._written: Numbers | None = None
        """The chunks in the file."""
        self._patience = 0
        """So many chunks must have changed before the file is tried again, after it could not be written."""
        self._noting = threading.Lock()
        self._batches: list[Batch] = []
        self._documents: set[int] = set()
        self._threads: list[threading.Thread] = []
        self._closing = threading.Event()

    @property
    def generation(self) -> int:
        return self._current().generation

    @property
    def size(self) -> int:
        return self._current().size

    def add(self, batches: Sequence[Batch]) -> None:
        with self._noting:
            self._batches += batches

    def delete(self, documents: Sequence[int]) -> None:
        gone = set(documents)
        with self._noting:
            self._batches = [batch for batch in self._batches if batch.document not in gone]
            self._documents |= gone

    def commit(self, generation: int) -> None:
        with self._noting:
            batches, documents = self._batches, np.array(sorted(self._documents), np.int64)
            self._batches, self._documents = [], set()
        with self._writing() as turn, self._lock:
            before = self._current()
            words, writer = self._write_words(before, generation, batches, documents)
            self._view = before.changed(generation, documents, Rows.of(batches, self._contents.dimension), words)
            if writer:
                turn.kept = True
                self._begin(self._finish_words, writer, turn.lock)
        self._write_vectors_if_due()

    def clear(self) -> None:
        with self._noting:
            self._batches, self._documents = [], set()
        if not self._place.exists():
            return
        with self._writing(), self._lock:
            # The stamp goes first: words without it are not believed.
            (self._place / _WORDS / _STAMP).unlink(missing_ok=True)
            self._path.unlink(missing_ok=True)
            shutil.rmtree(self._place / _WORDS, ignore_errors=True)
            self._view, self._mark, self._written = _View.nothing(self._contents), _NO_FILE, None

    def top(
        self, vector: Vectors, words: Sequence[Sequence[str]], k: int, documents: Numbers | None = None
    ) -> Candidates:
        view = self._current()
        try:
            return view.top(vector, words, k, documents)
        except IndexCorruptError as error:
            with self._lock:
                if self._view is view:
                    self._forget(error)
            return Candidates.none()

    def numbers(self) -> Numbers:
        return self._current().numbers()

    def wait_for_writers(self) -> None:
        """Wait until the files are in order: words merged, and vectors written where that was due."""
        for thread in list(self._threads):
            thread.join()

    def close(self) -> None:
        self._closing.set()
        self.wait_for_writers()
        with self._lock, self._noting:
            self._batches, self._documents = [], set()
            self._view = None

    # ---- reading --------------------------------------------------------------------------------------------------

    def _current(self) -> _View:
        """What this process has committed, or what another has written since; while that is read, what was before."""
        view, mark = self._view, _mark(self._path)
        if view and (mark == self._mark or vectors.generation_of(self._path) <= view.generation):
            return view
        if not self._lock.acquire(blocking=view is None):
            assert view is not None
            return view
        try:
            return self._load()
        finally:
            self._lock.release()

    def _load(self) -> _View:
        """What stands on the disk; to be called with the lock."""
        try:
            return self._read()
        except IndexCorruptError as error:
            _log.info("the chunk index is looked at again: %s", error)
        # Files that change while they are read look damaged: once more when nobody writes.
        lock = self._folder_lock(_LOCK, _SOON_SECONDS)
        try:
            with suppress(OSError):
                lock.acquire()
            return self._read()
        except IndexCorruptError as error:
            return self._forget(error)
        finally:
            lock.release()

    def _read(self) -> _View:
        """Raises IndexCorruptError."""
        self._mark, self._written = _mark(self._path), None
        file = VectorFile.open(self._path, self._contents)
        stamp = read_stamp(self._place / _WORDS / _STAMP)
        if file is None or stamp is None or stamp.contents != self._contents:
            self._view = _View.nothing(self._contents)
            return self._view
        with translate_corruption("the words can't be read"):
            lexical.verify(self._place / _WORDS)
            words = Lexical.open(self._place / _WORDS).searcher()
        generation = min(file.stamp.generation, stamp.generation)
        self._written = file.numbers
        alive = np.ones(len(file.cells.numbers) if file.cells else 0, np.bool_)
        self._view = _View(generation, file.cells, alive, file.rows, words)
        return self._view

    def _forget(self, error: IndexCorruptError) -> _View:
        """Go on as if nothing stood there, until it is filled again."""
        _log.warning("the chunk index is not believed and must be filled again: %s", error)
        self._view, self._written = _View.nothing(self._contents), None
        return self._view

    # ---- writing --------------------------------------------------------------------------------------------------

    def _folder_lock(self, name: str, seconds: float) -> BaseFileLock:
        # One object each time: a lock that is held already would be given again.
        return FileLock(self._place / name, seconds, thread_local=False, poll_interval=_POLL_SECONDS)

    @contextmanager
    def _writing(self) -> Iterator[_Turn]:
        """The right to write to the folder, which a killed process loses. Raises IndexUnavailableError."""
        turn = _Turn(self._folder_lock(_LOCK, _WAIT_SECONDS))
        try:
            self._place.mkdir(0o700, parents=True, exist_ok=True)
            turn.lock.acquire()
            yield turn
        except Timeout as error:
            raise IndexUnavailableError("Another process has been writing to the chunk index for too long.") from error
        except (OSError, IndexCorruptError) as error:
            said = error.strerror if isinstance(error, OSError) else str(error)
            raise IndexUnavailableError(
                f"The chunk index can't be written: {said}.",
                "Free disk space, or check the folder's permissions; everything stored is intact.",
            ) from error
        finally:
            if not turn.kept:
                turn.lock.release()

    def _begin(self, work: Callable[..., None], *given: Any) -> None:
        thread = threading.Thread(target=work, args=given, name="chunk index")
        thread.start()
        self._threads = [each for each in self._threads if each.is_alive()] + [thread]

    def _write_words(
        self, before: _View, generation: int, batches: Sequence[Batch], documents: Numbers
    ) -> tuple[Searcher, tantivy.IndexWriter | None]:
        """Write the words that are not there, as far as another process has not; what to search them by.

        With it the writer, if there was something to write: it may still be merging. Raises OSError and
        IndexCorruptError.
        """
        folder, stamp = self._place / _WORDS, Stamp(contents=self._contents, generation=generation)
        if before.words is None:
            shutil.rmtree(folder, ignore_errors=True)
            words, last = Lexical.make(folder), -1
        else:
            words, found = Lexical.open(folder), read_stamp(folder / _STAMP)
            if found is None or found.contents != self._contents or found.generation < before.generation:
                raise IndexCorruptError("the words are others")
            last = found.generation
        with translate_corruption("the words can't be written"):
            writer = words.change(documents, batches)
        if generation > last:
            write_stamp(folder / _STAMP, stamp)
        return words.searcher(), writer

    def _finish_words(self, writer: tantivy.IndexWriter, lock: BaseFileLock) -> None:
        """Beside all searches: let words be merged. What was merged is searched faster, and its old files go."""
        try:
            with translate_corruption("the words can't be merged"):
                writer.wait_merging_threads()
                with self._lock:
                    if self._view and self._view.words:
                        self._view.words = Lexical.open(self._place / _WORDS).searcher()
        except IndexCorruptError as error:
            _log.warning("the chunk index: %s", error)
        finally:
            lock.release()

    def _write_vectors_if_due(self) -> None:
        changed, limit = self._changes()
        if changed <= limit:
            return
        if self.size <= EXACT and not self._current().cells:
            self._write_vectors()
        else:
            self._begin(self._write_vectors)
        if changed > _TOO_LONG * limit:
            self.wait_for_writers()

    def _changes(self) -> tuple[int, int]:
        """How many chunks came and went since the file was written, and how many may."""
        with self._lock:
            view, written = self._current(), self._written
            if written is None:
                return view.size + 1, self._patience
            limit = max(_FEW_AFTER, min(int(_SHARE_AFTER * len(written)), EXACT), self._patience)
            if view.cells:
                return len(view.rows.numbers) + int(np.count_nonzero(~view.alive)), limit
            return len(np.setxor1d(view.rows.numbers, written, assume_unique=True)), limit

    def _write_vectors(self) -> None:
        """Write the file of all that is there, or take the one that another process has written."""
        making = self._folder_lock(_MAKING, 0)
        try:
            making.acquire()
        except Timeout:
            return  # Another thread or process writes it.
        faiss.omp_set_num_threads(1)  # Of this thread alone: searches need the other cores.
        try:
            while not self._closing.is_set() and operator.gt(*self._changes()):
                self._replace_file()
                self._patience = 0
        except _Stopped:
            return
        except (OSError, IndexCorruptError, IndexUnavailableError) as error:
            _log.warning("the vectors of the chunk index could not be written: %s", error)
            # Where this one fails, the next is tried when there is more to gain by it.
            self._patience = self._changes()[0] + _FEW_AFTER
        finally:
            making.release()
            vectors.give_back_memory()

    def _replace_file(self) -> None:
        with self._lock:
            view, mark = self._current(), self._mark
        source = part = self._path.with_suffix(".part")
        try:
            if mark == _mark(self._path):
                stamp = Stamp(contents=self._contents, generation=view.generation)
                vectors.write(part, stamp, view.cells, self._path, view.alive, view.rows, self._check_stop)
            else:
                source = self._path
            file, written = VectorFile.open(source, self._contents), _mark(source)
            with self._writing(), self._lock:
                now = self._current()
                if file is None or mark != self._mark or now.generation < view.generation:
                    return  # All was cleared meanwhile.
                if source == part and mark == _mark(self._path):
                    put_in_place(part, self._path)
                self._mark, self._written = written, file.numbers
                self._view = now.after(file)
        finally:
            part.unlink(missing_ok=True)

    def _check_stop(self) -> None:
        if self._closing.is_set() or not threading.main_thread().is_alive():
            raise _Stopped


class _Stopped(Exception):
    """The program ends, or this index is closed: what is not finished is not needed."""


@dataclass(slots=True)
class _Turn:
    """The folder's lock, and whether somebody else will release it."""

    lock: BaseFileLock
    kept: bool = False


_Mark = tuple[int, int, int]
_NO_FILE: _Mark = (0, 0, 0)


def _mark(path: Path) -> _Mark:
    """Which version of a file stands at `path` now: its number, time and size."""
    try:
        found = path.stat()
    except OSError:
        return _NO_FILE
    return found.st_ino, found.st_mtime_ns, found.st_size


def opened(config: AppConfig, keys: Keys, folder: Path, contents: Contents) -> ChunkIndex:
    """The index of a library, whose own folder is given. Raises SettingsError and IndexUnavailableError."""
    if config.storage.index == "milvus":
        from crag.index.milvus import MilvusIndex  # only who has a server needs its client

        token = keys.get("milvus")
        return MilvusIndex(config.storage.milvus_uri, contents, token=token.get_secret_value() if token else "")
    return EmbeddedIndex(folder / "index", contents)
