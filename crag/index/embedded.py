"""The chunk index that needs no server: FAISS for meaning, tantivy for words, in one folder of a workspace."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import faiss
import tantivy
from filelock import BaseFileLock, FileLock, Timeout

from crag.core.config import AppConfig, Keys
from crag.core.errors import IndexUnavailableError
from crag.index import folder, manifest, vectors
from crag.index.chunk_index import Batch, Candidates, ChunkIndex, Contents, Numbers, Vectors
from crag.index.folder import LOCK, MAKING, MANIFEST, IndexState, View
from crag.index.manifest import IndexCorruptError, translate_corruption
from crag.index.vectors import EXACT, FlatSegment, IvfSegment

_log = logging.getLogger(__name__)
_WAIT_SECONDS = 120.0
"""How long a commit waits for another process's; the longest of them merges the words of a million chunks."""
_SOON_SECONDS = 5.0
_POLL_SECONDS = 0.01
_TOO_LONG = 4
"""From this multiple of what is fine after the main file, a commit waits until that file is rebuilt."""


class EmbeddedIndex:
    """A `ChunkIndex` in a folder of its own. Nothing is on the disk before the first commit.

    A folder that can't be written raises IndexUnavailableError at the commit, and what stands in it is searched on.
    """

    name = "embedded"
    keeps_words = True

    def __init__(self, place: Path, contents: Contents) -> None:
        self._place = place
        self._contents = contents
        # Anyone who needs both takes the folder's lock first.
        self._lock = threading.RLock()
        self._state: IndexState | None = None
        self._view: View | None = None
        self._noting = threading.Lock()
        self._batches: list[Batch] = []
        self._documents: set[int] = set()
        self._threads: list[threading.Thread] = []
        self._making = False
        self._next = 0
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
            batches, documents = self._batches, self._documents
            self._batches, self._documents = [], set()
        with self._writing() as turn, self._lock:
            state = self._load_or_reset()
            self._state = None  # What is half written is read again from the disk.
            try:
                state, writer = folder.commit_changes(
                    self._place, state, self._contents, batches, documents, generation
                )
            except BaseException:
                folder.sweep(
                    self._place, state.manifest.names if state.manifest else set()
                )  # a full disk needs the room
                raise
            self._set_state(state)
            if writer:
                self._start(writer, turn)
        if len(state.dense.tail.rows.numbers) > _TOO_LONG * state.dense.limit:
            self.wait_for_writers()

    def clear(self) -> None:
        with self._noting:
            self._batches, self._documents = [], set()
        if not self._place.exists():
            return
        with self._writing(), self._lock:
            folder.clear(self._place)
            self._set_state(IndexState.nothing(manifest.mark(self._place / MANIFEST), self._contents))

    def top(
        self, vector: Vectors, words: Sequence[Sequence[str]], k: int, documents: Numbers | None = None
    ) -> Candidates:
        view = self._current()
        try:
            return view.top(vector, words, k, documents)
        except IndexCorruptError as error:
            self._distrust(view, error)
            return Candidates.none()

    def numbers(self) -> Numbers:
        return self._current().numbers()

    def wait_for_writers(self) -> None:
        """Wait until the files are in order: words merged, and the main file rebuilt where that was due."""
        for thread in list(self._threads):
            thread.join()

    def close(self) -> None:
        self._closing.set()
        self.wait_for_writers()
        with self._lock, self._noting:
            self._batches, self._documents = [], set()
            self._state = self._view = None

    # ---- reading --------------------------------------------------------------------------------------------------

    def _current(self) -> View:
        """What the last commit of any process left, or the one before while this process is writing."""
        view, state = self._view, self._state
        if view and state and state.mark == manifest.mark(self._place / MANIFEST):
            return view
        if self._lock.acquire(blocking=view is None):
            try:
                self._load()
                return self._require_view()
            except IndexCorruptError as error:
                _log.info("the chunk index is looked at again: %s", error)
            finally:
                self._lock.release()
        elif view:
            return view
        return self._reload_locked()

    def _reload_locked(self) -> View:
        """What stands there when nobody writes: files that change while they are read look damaged."""
        lock = self._folder_lock(LOCK, _SOON_SECONDS)
        try:
            lock.acquire()
        except OSError as error:
            _log.info("the chunk index's folder can't be locked: %s", type(error).__name__)
        try:
            with self._lock:
                self._load_or_reset()
                return self._require_view()
        finally:
            lock.release()

    def _require_view(self) -> View:
        assert self._view is not None
        return self._view

    def _load_or_reset(self) -> IndexState:
        """What stands on the disk if it can be believed; to be called with both locks."""
        try:
            return self._load()
        except IndexCorruptError as error:
            return self._forget(error)

    def _load(self) -> IndexState:
        """What stands on the disk; to be called with the lock. Raises IndexCorruptError."""
        mark = manifest.mark(self._place / MANIFEST)
        if self._state and self._state.mark == mark:
            return self._state
        found = manifest.read(self._place / MANIFEST, self._contents)
        state, self._state = self._state, None
        if found is None:
            return self._set_state(IndexState.nothing(mark, self._contents))
        if state and state.follow(self._place, mark, found):
            return self._set_state(state)
        return self._set_state(folder.open_state(self._place, mark, found))

    def _set_state(self, state: IndexState) -> IndexState:
        self._view, self._state = state.view(), state
        return state

    def _distrust(self, view: View, error: IndexCorruptError) -> None:
        with self._lock:
            if self._view is view:
                self._forget(error)

    def _forget(self, error: IndexCorruptError) -> IndexState:
        """Go on as if nothing stood there, until somebody commits."""
        _log.warning("the chunk index is not believed and must be filled again: %s", error)
        return self._set_state(IndexState.nothing(manifest.mark(self._place / MANIFEST), self._contents))

    # ---- writing --------------------------------------------------------------------------------------------------

    def _folder_lock(self, name: str, seconds: float) -> BaseFileLock:
        # One object each time: a lock that is state already would be given again.
        return FileLock(self._place / name, seconds, thread_local=False, poll_interval=_POLL_SECONDS)

    @contextmanager
    def _writing(self) -> Iterator[_Turn]:
        """The right to write to the folder, which a killed process loses. Raises IndexUnavailableError."""
        turn = _Turn(self._folder_lock(LOCK, _WAIT_SECONDS))
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

    def _start(self, writer: tantivy.IndexWriter, turn: _Turn) -> None:
        thread = threading.Thread(target=self._maintain, args=(writer, turn.lock), name="chunk index")
        thread.start()
        turn.kept = True
        self._threads = [each for each in self._threads if each.is_alive()] + [thread]

    def _maintain(self, writer: tantivy.IndexWriter, lock: BaseFileLock) -> None:
        """After a commit, beside all searches: let words be merged, then rebuild the main file where that is due."""
        try:
            with translate_corruption("the words can't be merged"):
                writer.wait_merging_threads()
            with self._lock:
                if self._state:
                    self._set_state(
                        self._state
                    )  # What was merged is searched faster, and its old files leave the disk.
        except IndexCorruptError as error:
            _log.warning("the chunk index: %s", error)
        finally:
            lock.release()
        while self._claim_rebuild():
            try:
                self._rebuild_main()
            except _Stopped:
                return
            except (OSError, IndexCorruptError, IndexUnavailableError) as error:
                _log.warning("the chunk index's main file could not be made: %s", error)
            finally:
                self._making = False
                vectors.give_back_memory()

    def _claim_rebuild(self) -> bool:
        with self._lock:
            dense = self._state.dense if self._state else None
            if dense is None or self._making or not dense.is_due or len(dense.tail.rows.numbers) < self._next:
                return False
            # Where this one fails, the next is tried when there is more to gain by it.
            self._next = len(dense.tail.rows.numbers) + dense.limit // 2
            self._making = True
            return True

    def _rebuild_main(self) -> None:
        """Make the main file of all that is there, and put it in place with what has changed meanwhile."""
        with self._lock:
            if self._state is None or self._state.manifest is None:
                return
            names, main, tail = self._state.manifest.names, self._state.dense.main, self._state.dense.tail
        making = self._folder_lock(MAKING, 0)
        try:
            making.acquire()
        except Timeout:
            return  # Another process makes it.
        try:
            made = self._build_main(main, tail)
            with self._writing(), self._lock:
                state = self._load_or_reset()
                self._next = 0
                if state.manifest and state.manifest.names == names:
                    self._set_state(folder.replace_main(self._place, state, len(tail.rows.numbers), made))
        finally:
            making.release()

    def _build_main(self, main: IvfSegment | None, tail: FlatSegment) -> IvfSegment | None:
        """The main file of what is alive in both; None where that is so little that it is better searched exactly."""
        count = tail.rows.size + (main.rows.size if main else 0)
        if not count or (main is None and count <= EXACT):
            return None
        faiss.omp_set_num_threads(1)  # Of this thread alone: searches need the other cores.
        name = folder.fresh_name()
        sums = vectors.make(self._place, name, main, tail, self._check_stop)
        return IvfSegment.open(self._place, name, sums, self._contents.dimension)

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
