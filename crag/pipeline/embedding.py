"""Makes the vectors of documents that are found by their words alone, in batches across documents."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from crag.core.errors import CancelledError, CragError
from crag.core.ingesting import Embedding, EmbeddingFailed
from crag.core.protocols import Embedder, texts_at_once
from crag.runtime.jobs import Job
from crag.storage.library import Library

_FEWEST, _MOST = 16, 512
"""Chunks that are embedded in one call."""
_SECONDS = 1.0
"""For so long a call should take: its vectors are stored then, and Stop is looked at."""
_BEAT = 0.1


def embed_missing(library: Library, embedder: Embedder, cancel: threading.Event) -> Iterator[Embedding]:
    """Make all vectors that a library misses, also of documents that come meanwhile, the oldest document's first.

    One caller at a time does this for a library; others wait. What is stored stays, and why no more is made is noted.
    Raises CancelledError, and what the embedder or the library does.
    """
    waiting, name, done, most = library.unembedded, "", 0, texts_at_once(embedder, _FEWEST)
    with _turn(library, cancel):
        if not waiting.count():
            return
        waiting.note("")
        try:
            while batch := waiting.next(most):
                name = next(iter(batch.values())).source
                yield Embedding(name=name, done=done, total=done + waiting.missing())
                if cancel.is_set():
                    raise CancelledError("Making the vectors was stopped.", "Make them when you are ready.")
                began = time.monotonic()
                waiting.fill([*batch], embedder.embed([chunk.indexed_text for chunk in batch.values()]))
                took = time.monotonic() - began
                done += len(batch)
                if took < _SECONDS / 2:
                    most = min(2 * most, _MOST)
                elif took > 2 * _SECONDS:
                    most = max(most // 2, _FEWEST)
            yield Embedding(name=name, done=done, total=done)
        except CragError as error:
            note_failure(library, error)
            raise


def note_failure(library: Library, error: CragError) -> None:
    """Note on the documents without vectors why they get none."""
    with suppress(CragError):  # a library that fails altogether says so itself
        if library.unembedded.count():
            library.unembedded.note(error.message)


@contextmanager
def _turn(library: Library, cancel: threading.Event) -> Iterator[None]:
    while not library.unembedded.turn.acquire(timeout=_BEAT):
        if cancel.is_set():
            raise CancelledError("Making the vectors was stopped.", "Make them when you are ready.")
    try:
        yield
    finally:
        library.unembedded.turn.release()


class BackgroundEmbedding:
    """Makes a library's vectors in a thread of its own, while more documents come. For one job."""

    def __init__(self, library: Library, embedder: Embedder, cancel: threading.Event) -> None:
        self._library, self._embedder = library, embedder
        self._more, self._last = threading.Event(), False
        self._job = Job("vectors", library.folder.name, self._work, cancel=cancel)
        self._started = False

    def wake(self) -> None:
        """Documents have come."""
        self._more.set()
        if not self._started:
            self._started = True
            self._job.start()

    def finish(self) -> Iterator[Embedding | EmbeddingFailed]:
        """No more will come: how far it is, until all vectors are there or can't be made."""
        self._last = True
        self.wake()
        at = Embedding(name="", done=0, total=0)
        for news in self._job.follow():
            if news:
                at = news[-1]  # how far it was before is old then
                yield at
        error = self._job.error
        if isinstance(error, CragError):
            note_failure(self._library, error)  # also on documents that came after it
            yield EmbeddingFailed(name=at.name, message=error.message, remedy=error.remedy)
        elif error is not None:
            raise error

    def stop(self) -> None:
        """Wait for what is under way, which ends at Stop."""
        self._last = True
        self._more.set()
        if self._started:
            self._job.wait()

    def _work(self, cancel: threading.Event, tell: Callable[[Embedding], None]) -> None:
        last = False
        while not last:
            self._more.wait()
            self._more.clear()
            last = self._last
            for event in embed_missing(self._library, self._embedder, cancel):
                tell(event)
