"""Files to stored, searchable documents: read, chunk, embed, add. While one file is embedded the next is read."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np

from crag.core.config import AppConfig
from crag.core.errors import CancelledError, CragError, InputError, NotFoundError
from crag.core.ingesting import (
    DocumentAdded,
    DocumentFailed,
    DocumentRefreshed,
    DuplicateFound,
    Embedding,
    IngestEvent,
    ParsedDocument,
    ReadingPage,
    ReadingQueued,
    RecognisingPage,
)
from crag.core.protocols import Embedder, texts_at_once
from crag.core.types import Chunk, Document
from crag.ingest.chunking import chunk_document
from crag.ingest.files import content_id, record_of, safe_name
from crag.ingest.reader import read_document
from crag.runtime.fair_queue import FairQueue
from crag.storage.library import Library

EMBED_BATCH = 16
"""Chunks embedded between two signs of progress, and between two looks at Stop: about a second of two cores. Larger
batches take no less of a processor."""
AHEAD = 2
"""Files read ahead of the one that is being embedded."""
_EARLIER = 20
"""The most ids that are kept of documents in whose place one came."""


Ended = DocumentAdded | DocumentFailed | DocumentRefreshed | DuplicateFound
"""What came of a file."""
Read = Callable[[bytes, str], ParsedDocument]
"""`read_document` with all that it is given beside a file's bytes and name."""


@dataclass(kw_only=True)
class Original:
    """A file's bytes, and what is made of them: of a plain file, a new document."""

    data: bytes

    def read(self, name: str, read: Read) -> ParsedDocument:
        """Its pages, by `read`. Raises what that does."""
        return read(self.data, name)

    def settled(self, parsed: ParsedDocument) -> Ended | None:
        """What came of it, where nothing of what was read is to be stored."""
        return None

    def stored(
        self, library: Library, document: Document, parsed: ParsedDocument, chunks: Sequence[Chunk], vectors: np.ndarray
    ) -> Ended:
        """Stores it whole, or raises a CragError."""
        library.documents.add(document, self.data, chunks, vectors)
        return DocumentAdded(name=document.name, document=document)

    def failed(self, name: str, error: CragError) -> Ended:
        """What is said where it can't be read or stored."""
        return DocumentFailed(name=name, message=error.message, remedy=error.remedy, reason=error.reason)


def replace_document(
    library: Library, before: Document, document: Document, data: bytes, chunks: Sequence[Chunk], vectors: np.ndarray
) -> DocumentRefreshed:
    """Store a document in the place of what its page or file said `before`, as trusted as that was.

    Raises what `Documents.replace` does.
    """
    earlier = (before.id, *before.earlier)[:_EARLIER]
    document = replace(document, confidence=before.confidence, earlier=earlier)
    lost = library.documents.replace(before.id, document, data, chunks, vectors)
    return DocumentRefreshed(
        name=document.name,
        document=document,
        found="replaced",
        lost_labels=lost.labels,
        lost_records=lost.records,
        lost_verified=lost.verified,
    )


Load = Callable[[], bytes | Original | Ended]
"""Gets a file when its turn comes, or says at once what came of it."""


@dataclass(kw_only=True)
class _Reading:
    """A file on its way through the reader. `progress` ends with None.

    Its bytes are let go as soon as it is stored: who keeps the job's events keeps no files.
    """

    name: str
    original: Original
    id: str
    began: float = field(default_factory=time.perf_counter)
    progress: queue.SimpleQueue[ReadingQueued | ReadingPage | RecognisingPage | None] = field(
        default_factory=queue.SimpleQueue
    )
    result: Future[tuple[ParsedDocument, list[Chunk]]] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Again:
    """A file whose bytes came earlier in the same batch."""

    name: str
    id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Indexer:
    """Adds files to a library.

    `readers` is the queue of files that are read, of all libraries. `confidence` (0..1) says how far the files are
    trusted. `cancel` ends all: the files added by
    then stay.
    """

    library: Library
    embedder: Embedder
    config: AppConfig
    readers: FairQueue
    cancel: threading.Event
    confidence: float = 1.0

    def index(self, files: Iterable[tuple[str, Load]]) -> Iterator[IngestEvent]:
        """Add each (name, function that returns its bytes), in order.

        A file that can't be read or stored, or that comes after Stop, is a DocumentFailed. Raises InputError for a
        confidence outside 0..1.
        """
        if not 0 <= self.confidence <= 1:
            raise InputError(f"A confidence of {self.confidence:g} is not between 0 and 1.", "Give one from 0 to 1.")
        pending = iter(files)
        window: list[_Reading | _Again | Ended] = []
        started: set[str] = set()
        with ThreadPoolExecutor(max_workers=AHEAD, thread_name_prefix="crag-read") as pool:
            try:
                while True:
                    while len(window) < AHEAD and (given := next(pending, None)) is not None:
                        window.append(self._begin(*given, pool, started))
                        del given  # it holds the file
                    if not window:
                        self.library.refresh_index()
                        return
                    current = window.pop(0)
                    if isinstance(current, _Reading):
                        yield from self._finish(current)
                    elif isinstance(current, _Again):
                        yield _report_duplicate(current, self.library)
                    else:
                        yield current
            except BaseException:
                self.cancel.set()  # nobody follows any more (Ctrl-C, or the generator was closed)
                raise

    def _begin(self, name: str, load: Load, pool: ThreadPoolExecutor, started: set[str]) -> _Reading | _Again | Ended:
        """Starts reading a file, unless it is here already or can't be had at all."""
        label = safe_name(name)
        try:
            got = load()
            if not isinstance(got, bytes | Original):
                return got
            original = Original(data=got) if isinstance(got, bytes) else got
            identity = content_id(original.data)
            known = _find_stored(self.library, identity)
        except CragError as error:
            return DocumentFailed(name=label, message=error.message, remedy=error.remedy)
        except OSError as error:
            reason = error.strerror or "unreadable"
            return DocumentFailed(
                name=label, message=f"{label} can't be opened: {reason}.", remedy="Check the path and its permissions."
            )
        if known is not None:
            return DuplicateFound(name=label, document=known)
        if identity in started:
            return _Again(name=label, id=identity)
        started.add(identity)
        reading = _Reading(name=label, original=original, id=identity)
        reading.result = pool.submit(self._read, reading)
        return reading

    def _read(self, reading: _Reading) -> tuple[ParsedDocument, list[Chunk]]:
        def waits(before: int) -> None:
            reading.progress.put(ReadingQueued(name=reading.name, before=before))

        def on_page(page: int, pages: int) -> None:
            reading.progress.put(ReadingPage(name=reading.name, page=page, pages=pages))

        def on_recognising(page: int, pages: int, seconds: float) -> None:
            reading.progress.put(RecognisingPage(name=reading.name, page=page, pages=pages, seconds_left=seconds))

        read = partial(
            read_document, config=self.config, on_page=on_page, on_recognising=on_recognising, cancel=self.cancel
        )
        try:
            with self.readers.taken(self.cancel, waits):
                parsed = reading.original.read(reading.name, read)
            return parsed, chunk_document(parsed, reading.id, reading.name)
        finally:
            reading.progress.put(None)

    def _finish(self, reading: _Reading) -> Iterator[IngestEvent]:
        """Follows the reading, then embeds and stores."""
        assert reading.result is not None
        while (progress := reading.progress.get()) is not None:
            yield progress
        try:
            parsed, chunks = reading.result.result()
            if (settled := reading.original.settled(parsed)) is not None:
                reading.original.data = b""
                yield settled
                return
            vectors: list[np.ndarray] = []
            size = texts_at_once(self.embedder, EMBED_BATCH)
            for first in range(0, len(chunks), size):
                if self.cancel.is_set():
                    raise CancelledError(f"{reading.name} was stopped before it was added.")
                yield Embedding(name=reading.name, done=first, total=len(chunks))
                batch = chunks[first : first + size]
                vectors.append(self.embedder.embed([chunk.indexed_text for chunk in batch]))
            yield Embedding(name=reading.name, done=len(chunks), total=len(chunks))
            document = replace(
                record_of(
                    parsed,
                    chunks,
                    id=reading.id,
                    name=reading.name,
                    size=len(reading.original.data),
                    model=self.embedder.id,
                ),
                seconds=round(time.perf_counter() - reading.began, 3),
                confidence=self.confidence,
            )
            matrix = np.concatenate(vectors) if vectors else np.zeros((0, self.embedder.dimension), np.float32)
            ended = reading.original.stored(self.library, document, parsed, chunks, matrix)
        except CragError as error:
            ended = reading.original.failed(reading.name, error)
        reading.original.data = b""
        yield ended


def _find_stored(library: Library, identity: str) -> Document | None:
    """The stored document with these bytes, if there is one."""
    try:
        return library.documents.get(identity)
    except NotFoundError:
        return None


def _report_duplicate(again: _Again, library: Library) -> DuplicateFound | DocumentFailed:
    """What became of the first file with these bytes, which is finished by now."""
    try:
        known = _find_stored(library, again.id)
    except CragError as error:
        return DocumentFailed(name=again.name, message=error.message, remedy=error.remedy)
    if known is not None:
        return DuplicateFound(name=again.name, document=known)
    return DocumentFailed(
        name=again.name,
        message=f"{again.name} holds the same bytes as a file before it that was not added.",
        remedy="See what is said of that file.",
    )
