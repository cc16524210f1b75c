"""Files to stored, searchable documents: read, chunk, store, embed, all at the same time."""

from __future__ import annotations

import queue
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial

from crag.core.config import AppConfig
from crag.core.errors import CragError, InputError, NotFoundError
from crag.core.ingesting import (
    Attachment,
    DocumentAdded,
    DocumentFailed,
    DocumentRefreshed,
    DuplicateFound,
    IngestEnd,
    IngestEvent,
    ParsedDocument,
    ReadingPage,
    ReadingQueued,
    RecognisingPage,
)
from crag.core.protocols import Embedder
from crag.core.types import Chunk, Document
from crag.ingest.chunking import chunk_document
from crag.ingest.files import attached_name, content_id, record_of, safe_name
from crag.ingest.reader import read_document
from crag.pipeline.embedding import BackgroundEmbedding
from crag.runtime.fair_queue import FairQueue
from crag.storage.documents import NewDocument
from crag.storage.labels import Lost
from crag.storage.library import Library

_READERS = 2
"""Files that a job reads at once."""
_AHEAD, _AHEAD_BYTES = 8, 64 * 1024 * 1024
"""Files that are had before their turn, and what they may hold: a reader never waits for the next one."""
_SECONDS, _CHUNKS, _BYTES = 1.0, 4_000, 64 * 1024 * 1024
"""The most that one step stores: seconds of reading, chunks, and bytes."""
_MOST_LEVELS = 10
"""E-mails that lie in one another, which are opened."""
_EARLIER = 20
"""The most ids that are kept of documents in whose place one came."""


Read = Callable[[bytes, str], ParsedDocument]
"""`read_document` with all that it is given beside a file's bytes and name."""


@dataclass(kw_only=True)
class Original:
    """A file's bytes, and what is made of them: of a plain file, a new document.

    `before`: the document of what its page or file said before, in whose place the new one comes. Of an attachment,
    `attached_to` names the file that it came in, and `level` counts the files around it.
    """

    data: bytes
    attached_to: str = ""
    level: int = 0
    before: Document | None = None

    def read(self, name: str, read: Read) -> ParsedDocument:
        """Its pages, by `read`. Raises what that does."""
        return read(self.data, name)

    def settled(self, parsed: ParsedDocument) -> IngestEnd | None:
        """What came of it, where nothing of what was read is to be stored."""
        return None

    def described(self, document: Document, parsed: ParsedDocument) -> Document:
        """The document with what is known of where it is from."""
        return document

    def failed(self, name: str, error: CragError) -> IngestEnd:
        """What is said where it can't be read or stored."""
        return DocumentFailed(name=name, message=error.message, remedy=error.remedy, reason=error.reason)


Load = Callable[[], bytes | Original | IngestEnd]
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
    attached_to: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Made:
    """A document that is ready to be stored."""

    original: Original
    new: NewDocument


@dataclass(kw_only=True)
class _Waiting:
    """What came of files in their order, the documents among it not stored yet. `since`: when the first was read."""

    items: list[_Made | _Again | IngestEnd] = field(default_factory=list)
    since: float | None = None

    def put(self, item: _Made | _Again | IngestEnd) -> None:
        self.items.append(item)
        if self.since is None:
            self.since = time.monotonic()

    def patience(self) -> float | None:
        """Seconds until it must be stored; None where there is nothing."""
        if self.since is None:
            return None
        made = [each.new for each in self.items if isinstance(each, _Made)]
        full = sum(len(each.chunks) for each in made) >= _CHUNKS or sum(len(each.data) for each in made) >= _BYTES
        return 0.0 if full else max(0.0, self.since + _SECONDS - time.monotonic())

    def take(self) -> list[_Made | _Again | IngestEnd]:
        items, self.items, self.since = self.items, [], None
        return items


@dataclass(frozen=True, slots=True)
class Indexer:
    """Adds files to a library: several are read at once, stored in one step, and found by their words from then on.

    Their vectors are made meanwhile and after it. `readers` is the queue of files that are read, of all libraries.
    `confidence` (0..1) says how far the files are trusted. `cancel` ends all: what is stored by then stays.
    """

    library: Library
    embedder: Embedder
    config: AppConfig
    readers: FairQueue
    cancel: threading.Event
    confidence: float = 1.0

    def index(self, files: Iterable[tuple[str, Load]]) -> Iterator[IngestEvent]:
        """Add each (name, function that returns its bytes), in order; then make the vectors that are missing.

        A file that can't be read or stored, or that comes after Stop, is a DocumentFailed. Raises InputError for a
        confidence outside 0..1.
        """
        if not 0 <= self.confidence <= 1:
            raise InputError(f"A confidence of {self.confidence:g} is not between 0 and 1.", "Give one from 0 to 1.")
        embedding = BackgroundEmbedding(self.library, self.embedder, self.cancel)
        try:
            yield from self._add(files, embedding)
            yield from embedding.finish()
            self.library.refresh_index()
        except BaseException:
            self.cancel.set()  # nobody follows any more (Ctrl-C, or the generator was closed)
            raise
        finally:
            embedding.stop()

    def _add(self, files: Iterable[tuple[str, Load]], embedding: BackgroundEmbedding) -> Iterator[IngestEvent]:
        pending, started = iter(files), set[str]()
        attached = deque[tuple[str, Load]]()
        window: deque[_Reading | _Again | IngestEnd] = deque()
        waiting = _Waiting()
        with ThreadPoolExecutor(max_workers=_READERS, thread_name_prefix="crag-read") as pool:
            try:
                while True:
                    while _has_room(window) and (given := attached.popleft() if attached else next(pending, None)):
                        window.append(self._begin(*given, pool, started))
                        del given  # it holds the file
                    if not window:
                        break
                    first = window.popleft()
                    if isinstance(first, _Reading):
                        yield from self._follow(first, waiting, embedding)
                        waiting.put(self._made(first, attached))
                    else:
                        waiting.put(first)
                    if waiting.patience() == 0:
                        yield from self._store(waiting, embedding)
                yield from self._store(waiting, embedding)
            except BaseException:
                self.cancel.set()  # before the pool waits for its readers
                raise

    def _begin(
        self, name: str, load: Load, pool: ThreadPoolExecutor, started: set[str]
    ) -> _Reading | _Again | IngestEnd:
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
            return DuplicateFound(name=label, document=known, attached_to=original.attached_to)
        if identity in started:
            return _Again(name=label, id=identity, attached_to=original.attached_to)
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

    def _follow(self, reading: _Reading, waiting: _Waiting, embedding: BackgroundEmbedding) -> Iterator[IngestEvent]:
        """How far the reading is, until it has ended; what waits is stored meanwhile when it is time."""
        while True:
            try:
                progress = reading.progress.get(timeout=waiting.patience())
            except queue.Empty:
                yield from self._store(waiting, embedding)
                continue
            if progress is None:
                return
            yield progress

    def _made(self, reading: _Reading, attached: deque[tuple[str, Load]]) -> _Made | IngestEnd:
        """The document that was read, or what else came of the file. What is attached to it is to be read next."""
        assert reading.result is not None
        original = reading.original
        try:
            parsed, chunks = reading.result.result()
            if (settled := original.settled(parsed)) is not None:
                return settled
            size = len(original.data)
            document = replace(
                record_of(parsed, chunks, id=reading.id, name=reading.name, size=size, model=self.embedder.id),
                seconds=round(time.perf_counter() - reading.began, 3),
                confidence=self.confidence,
            )
            document = original.described(document, parsed)
        except CragError as error:
            return replace(original.failed(reading.name, error), attached_to=original.attached_to)
        attached.extend(_loads(parsed.attachments, reading))
        if (before := original.before) is not None:
            earlier = (before.id, *before.earlier)[:_EARLIER]
            document = replace(document, confidence=before.confidence, earlier=earlier)
        instead_of = before.id if before else ""
        return _Made(
            original=original,
            new=NewDocument(document=document, data=original.data, chunks=chunks, instead_of=instead_of),
        )

    def _store(self, waiting: _Waiting, embedding: BackgroundEmbedding) -> Iterator[IngestEvent]:
        """Store what waits, and say what came of each file."""
        items = waiting.take()
        ends = iter(self._stored([each for each in items if isinstance(each, _Made)]))
        if any(isinstance(each, _Made) for each in items):
            embedding.wake()
        for item in items:
            if isinstance(item, _Made):
                yield replace(next(ends), attached_to=item.original.attached_to)
            elif isinstance(item, _Again):
                yield replace(_report_duplicate(item, self.library), attached_to=item.attached_to)
            else:
                yield item

    def _stored(self, made: Sequence[_Made]) -> list[IngestEnd]:
        """Stores these documents in one step; where that fails each by itself, for it may be for one of them alone."""
        if not made:
            return []
        try:
            lost = self.library.documents.store([each.new for each in made])
        except CragError as error:
            if len(made) == 1:
                return [made[0].original.failed(made[0].new.document.name, error)]
            return [end for each in made for end in self._stored([each])]
        return [_report_stored(each.new.document, gone) for each, gone in zip(made, lost, strict=True)]


def _loads(attachments: Iterable[Attachment], reading: _Reading) -> Iterator[tuple[str, Load]]:
    """The attachments of a file that was read, as files to be added."""
    source, level = reading.original.attached_to or reading.name, reading.original.level + 1
    for attachment in attachments:
        name = attached_name(attachment.name, reading.name)
        if level > _MOST_LEVELS:
            message = f"{name} lies in {level} e-mails, one in another; {_MOST_LEVELS} of them are opened."
            failed = DocumentFailed(
                name=name, message=message, remedy="Save it from its e-mail, and add that file.", attached_to=source
            )
            yield name, partial(_given, failed)
        else:
            original = Original(data=attachment.data, attached_to=source, level=level)
            yield name, partial(_given, original)


def _given(given: Original | IngestEnd) -> Original | IngestEnd:
    return given


def _has_room(window: Iterable[_Reading | _Again | IngestEnd]) -> bool:
    """Whether one more file may be had before its turn."""
    held = [len(each.original.data) for each in window if isinstance(each, _Reading)]
    return len(held) < _AHEAD and sum(held) < _AHEAD_BYTES


def _report_stored(document: Document, lost: Lost | None) -> IngestEnd:
    if lost is None:
        return DocumentAdded(name=document.name, document=document)
    return DocumentRefreshed(
        name=document.name,
        document=document,
        found="replaced",
        lost_labels=lost.labels,
        lost_records=lost.records,
        lost_verified=lost.verified,
    )


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
