"""The chunk index that needs no server: FAISS for meaning, tantivy for words, in one folder of a workspace."""

from __future__ import annotations

import logging
import shutil
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import faiss
import numpy as np
import tantivy
from filelock import BaseFileLock, FileLock, Timeout

from crag.core.config import AppConfig, Keys
from crag.core.errors import IndexUnavailableError
from crag.index import lexical, vectors
from crag.index.chunk_index import Batch, Candidates, ChunkIndex, Contents, Numbers, Vectors
from crag.index.lexical import Lexical, Searcher
from crag.index.stamp import IndexCorruptError, Stamped, put_in_place, stamp, translate_corruption
from crag.index.vectors import EXACT, Cells, InFile, Rows
from crag.index.view import View

_log = logging.getLogger(__name__)
_STAMP, _LOCK, _MAKING = "stamp", "lock", "making"
_WAIT_SECONDS = 120.0
"""How long a commit waits for another process's; the longest of them merges the words of a million chunks."""
_SOON_SECONDS = 5.0
_POLL_SECONDS = 0.01
_FEW, _SHARE = 1_000, 0.2
"""Chunks, or the share of those in the file, that may come and go before it is written again; `EXACT` at most."""
_NONE = -1
"""As long as there is no file, every chunk is a reason to write one."""
_TOO_MANY = 4 * EXACT
"""From this many changed chunks on, a commit waits until the file is written: they are in memory."""

_Mark = tuple[int, int, int]


def _mark(path: Path) -> _Mark:
    """Which version of a file stands at `path` now: its number, time and size; zeros where there is none."""
    try:
        found = path.stat()
    except OSError:
        return 0, 0, 0
    return found.st_ino, found.st_mtime_ns, found.st_size


class EmbeddedIndex:
    """A `ChunkIndex` in a folder of its own. Nothing is on the disk before the first commit.

    Words are on the disk after each commit, vectors once many have changed: after a start the generation is that of the
    vectors' file, and what came after it must be added again, which writes no word twice. A folder that can't be
    written raises IndexUnavailableError at the commit, and what stands in it is searched on.
    """

    name = "embedded"
    keeps_words = True

    def __init__(self, place: Path, contents: Contents) -> None:
        self._place, self._contents = place, contents
        self._vectors, self._words = place / "vectors.faiss", place / "words"
        # Anyone who needs both takes the folder's lock first.
        self._lock = threading.RLock()
        self._view: View | None = None
        self._mark: _Mark = 0, 0, 0
        self._since, self._allowed = 0, _NONE
        """How many chunks came and went since the vectors were written, and how many may."""
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
            batches, deleted = self._batches, np.array(sorted(self._documents), np.int64)
            self._batches, self._documents = [], set()
        with self._writing() as turn, self._lock:
            before, added = self._current(), Rows.of(batches, self._contents.dimension)
            words, writer = self._write_words(before, generation, batches, deleted)
            view = self._view = before.changed(generation, deleted, added, words)
            # Each that came once, and each that went.
            self._since += 2 * len(added.numbers) + before.size - view.size
            if writer:
                turn.kept = True
                self._begin(self._finish_words, writer, turn.lock)
        if self._since > self._allowed:
            if view.size <= EXACT and view.cells.index is None:
                self._write_vectors()
            else:
                self._begin(self._write_vectors)
        if self._since > _TOO_MANY:
            self.wait_for_writers()

    def clear(self) -> None:
        with self._noting:
            self._batches, self._documents = [], set()
        if not self._place.exists():
            with self._lock:
                self._forget()
        else:
            with self._writing(), self._lock:
                # The stamp goes first: words without it are not believed.
                (self._words / _STAMP).unlink(missing_ok=True)
                for path in self._place.iterdir():
                    if path.is_dir():
                        shutil.rmtree(path, ignore_errors=True)
                    elif path.name not in (_LOCK, _MAKING):
                        path.unlink()
                self._forget()

    def top(
        self, vector: Vectors, words: Sequence[Sequence[str]], k: int, documents: Numbers | None = None
    ) -> Candidates:
        view = self._current()
        try:
            return view.top(vector, words, k, documents)
        except IndexCorruptError as error:
            _log.warning("the chunk index must be filled again: %s", error)
            with self._lock:
                if self._view is view:
                    self._forget()
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

    def _current(self) -> View:
        """What this process has committed, or what another has written since; while that is read, what was before."""
        view = self._view
        if view and self._mark == _mark(self._vectors):
            return view
        if not self._lock.acquire(blocking=view is None):
            assert view is not None
            return view
        try:
            return self._load()
        except IndexCorruptError as error:
            _log.info("the chunk index is looked at again: %s", error)
        finally:
            self._lock.release()
        # Files that change while they are read look damaged: once more, when nobody writes.
        lock = self._folder_lock(_LOCK, _SOON_SECONDS)
        with suppress(OSError):
            lock.acquire()
        try:
            with self._lock:
                return self._load()
        except IndexCorruptError as error:
            _log.warning("the chunk index must be filled again: %s", error)
            return self._forget()
        finally:
            lock.release()

    def _load(self) -> View:
        """What stands on the disk, and what this process knows beyond it. Raises IndexCorruptError."""
        mark, view = _mark(self._vectors), self._view
        found, stamped = vectors.read(self._vectors, self._contents), Stamped.read(self._words / _STAMP, self._contents)
        if mark != _mark(self._vectors):
            raise IndexCorruptError("the vectors were replaced while they were read")
        if found is None or stamped is None:
            view = view or self._forget()
        elif view and found.generation <= view.generation:
            view = view.over(found.cells) if found.cells.index else view
        else:
            with translate_corruption("the words can't be read"):
                lexical.verify(self._words)
                words = Lexical.open(self._words).searcher()
            view = View(min(found.generation, stamped.generation), found.cells, found.rows, words)
        self._view, self._mark, self._since, self._allowed = view, mark, 0, _NONE
        if found:
            held = len(found.cells.numbers) + len(found.rows.numbers)
            self._allowed = max(_FEW, min(int(_SHARE * held), EXACT))
        return view

    def _forget(self) -> View:
        """Go on as if nothing stood there, until it is filled again."""
        view = self._view = View(-1, Cells.none(), Rows.of([], self._contents.dimension), None)
        self._mark, self._since, self._allowed = _mark(self._vectors), 0, _NONE
        return view

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
        self, before: View, generation: int, batches: Sequence[Batch], deleted: Numbers
    ) -> tuple[Searcher, tantivy.IndexWriter | None]:
        """Write the words that are not there, as far as another process has not; what to search them by.

        With it the writer, if there was something to write: it may still be merging. Raises OSError and
        IndexCorruptError.
        """
        with translate_corruption("the words can't be written"):
            if before.words is None:
                shutil.rmtree(self._words, ignore_errors=True)
                words, last = Lexical.make(self._words), -1
            else:
                words, stamped = Lexical.open(self._words), Stamped.read(self._words / _STAMP, self._contents)
                if stamped is None or stamped.generation < before.generation:
                    raise IndexCorruptError("its words are not those that it wrote")
                last = stamped.generation
            writer = words.change(deleted, batches)
            if generation > last:
                stamp(self._words / _STAMP, self._contents, generation)
            return words.searcher(), writer

    def _finish_words(self, writer: tantivy.IndexWriter, lock: BaseFileLock) -> None:
        """Beside all searches: let words be merged. What was merged is searched faster, and its old files go."""
        try:
            with translate_corruption("the words can't be merged"):
                writer.wait_merging_threads()
                with self._lock:
                    if self._view and self._view.words:
                        self._view.words = Lexical.open(self._words).searcher()
        except IndexCorruptError as error:
            _log.warning("the chunk index: %s", error)
        finally:
            lock.release()

    def _write_vectors(self) -> None:
        """Write the file of all that is there, until that is no more due."""
        making = self._folder_lock(_MAKING, 0)
        try:
            making.acquire()
        except Timeout:
            return  # Another thread or process writes it.
        faiss.omp_set_num_threads(1)  # Of this thread alone: searches need the other cores.
        try:
            while self._since > self._allowed and not self._closing.is_set():
                self._replace_file()
        except _Stopped:
            return
        except (OSError, IndexCorruptError, IndexUnavailableError) as error:
            _log.warning("the vectors of the chunk index could not be written: %s", error)
            self._allowed = self._since + _FEW
        finally:
            making.release()
            vectors.give_back_memory()

    def _replace_file(self) -> None:
        with self._lock:
            view, mark, since = self._current(), self._mark, self._since
        part = self._vectors.with_suffix(".part")
        try:
            held = InFile(view.generation, view.cells, view.rows)
            vectors.write(self._vectors, part, self._contents, held, self._check_stop)
            with self._writing(), self._lock:
                now = self._since
                # Else all was cleared meanwhile.
                if mark == self._mark == _mark(self._vectors) and self._current().generation >= view.generation:
                    put_in_place(part, self._vectors)
                    self._load()
                    self._since = now - since
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


def opened(config: AppConfig, keys: Keys, folder: Path, contents: Contents) -> ChunkIndex:
    """The index of a library, whose own folder is given. Raises SettingsError and IndexUnavailableError."""
    if config.storage.index == "milvus":
        from crag.index.milvus import MilvusIndex  # only who has a server needs its client

        token = keys.get("milvus")
        return MilvusIndex(config.storage.milvus_uri, contents, token=token.get_secret_value() if token else "")
    return EmbeddedIndex(folder / "index", contents)
