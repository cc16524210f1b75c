"""Documents from the web: added by their addresses and fetched again; a changed page takes the old one's place."""

from __future__ import annotations

import hashlib
import logging
import re
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

from crag.core.config import AppConfig
from crag.core.documents import Look
from crag.core.errors import (
    CragError,
    DocumentError,
    EmptyError,
    GoneError,
    NotFoundError,
    PageError,
    SignInError,
)
from crag.core.ingesting import DocumentFailed, DocumentRefreshed, IngestEnd, IngestEvent, ParsedDocument
from crag.core.metadata import kept_from_web
from crag.core.types import Document
from crag.ingest.files import content_id, media_of
from crag.pipeline.indexing import Indexer, Load, Original, Read
from crag.storage.library import Library
from crag.text.formats import iso_now
from crag.web.fetching import Download, Downloads, page_address, page_name

_log = logging.getLogger(__name__)

_TEXTS = ("html", "markdown", "text", "csv")
_KINDS = {"text/html": ".html", "application/xhtml+xml": ".html", "text/markdown": ".md", "text/csv": ".csv"}
"""Forms of text that a server tells apart, each with an ending by which bytes are read so."""
_PASSWORD = re.compile(rb"<input\b[^>]{0,400}?\btype\s*=\s*[\"']?password", re.IGNORECASE)
_LITTLE = 1_000
"""Characters: a page that asks for a password and says less beside is one to sign in."""


class Pages:
    """The documents from the web of one engine's libraries. Thread-safe."""

    def __init__(
        self,
        config: Callable[[], AppConfig],
        library: Callable[[str | Path], Library],
        indexer: Callable[..., Indexer],
    ) -> None:
        """`indexer(library, cancel, confidence)` gives what adds files to a library."""
        self._config, self._library, self._indexer = config, library, indexer

    def add(
        self,
        addresses: Iterable[str],
        workspace: str | Path = "default",
        *,
        confidence: float = 1.0,
        cancel: threading.Event | None = None,
    ) -> Iterator[IngestEvent]:
        """Adds what stands at each address, in order and once; one that is in the library already is looked at again.

        Otherwise as `crag.pipeline.indexing.index_files`.
        """
        library, stop = self._library(workspace), cancel or threading.Event()
        known = {document.url: document for document in _from_addresses(library)}

        def files() -> Iterator[tuple[str, Load]]:
            asked: set[str] = set()
            for typed in addresses:
                try:
                    address = page_address(typed)
                except PageError as error:
                    yield typed, partial(DocumentFailed, name=typed[:80], message=error.message, remedy=error.remedy)
                    continue
                if address in asked:
                    continue
                asked.add(address)
                before = known.get(address)
                visit = _Visit(address, before, library, self._downloads(), stop)
                yield (before.name if before else page_name(address)), visit.load

        yield from self._indexer(library, stop, confidence).index(files())

    def refresh(
        self,
        workspace: str | Path = "default",
        ids: Sequence[str] | None = None,
        *,
        older_than: float | None = None,
        dry_run: bool = False,
        cancel: threading.Event | None = None,
    ) -> Iterator[IngestEvent]:
        """Looks again at the addresses of these documents, or of all from the web, and replaces those that changed.

        `older_than`: only those whose address was looked at longer ago, in days. `dry_run`: what changed is noted on
        the document, and nothing replaced. Each that is from the web ends in a DocumentRefreshed, or, where the
        library fails or it is stopped, in a DocumentFailed.
        """
        library, stop = self._library(workspace), cancel or threading.Event()
        yield from self._refreshed(library, ids, older_than, dry_run, stop)

    def renew(self, library: Library, days: float, stop: threading.Event) -> None:
        """Refreshes what was not looked at for `days` days, and logs what is not as it was."""
        for event in self._refreshed(library, None, days, False, stop):
            if isinstance(event, DocumentRefreshed) and event.found != "unchanged":
                _log.info("web document %s of %s: %s", event.document.id[:12], library.folder.name, event.found)

    def _refreshed(
        self,
        library: Library,
        ids: Sequence[str] | None,
        older_than: float | None,
        dry_run: bool,
        stop: threading.Event,
    ) -> Iterator[IngestEvent]:
        due = [each for each in _from_addresses(library, ids) if _old(each, older_than)]

        def files() -> Iterator[tuple[str, Load]]:
            for document in due:
                assert document.url is not None
                visit = _Visit(document.url, document, library, self._downloads(), stop, dry_run=dry_run)
                yield document.name, visit.load

        yield from self._indexer(library, stop).index(files())

    def _downloads(self) -> Downloads:
        config = self._config()
        return Downloads(max_mb=config.limits.max_file_mb, allow_private=config.providers.private_addresses)


def _from_addresses(library: Library, ids: Sequence[str] | None = None) -> list[Document]:
    """The documents, of these or of all, that are what stands at an address: a page kept from an answer is not."""
    found = [document for document in library.documents.all(ids) if document.url]
    given = library.documents.given([document.id for document in found]) if found else {}
    return [document for document in found if not kept_from_web(given.get(document.id, {}))]


def _old(document: Document, days: float | None) -> bool:
    if days is None:
        return True
    looked = datetime.fromisoformat(document.looked_at or document.added_at)
    looked = looked if looked.tzinfo else looked.replace(tzinfo=UTC)
    return datetime.now(UTC) - looked > timedelta(days=days)


@dataclass(frozen=True, slots=True)
class _Visit:
    """One look at an address. `before`: the document that came from it before."""

    address: str
    before: Document | None
    library: Library
    downloads: Downloads
    cancel: threading.Event
    dry_run: bool = False

    def load(self) -> Original | IngestEnd:
        """What stands there; or what came of it, where that is known already. Raises PageError of a new address."""
        before = self.before
        try:
            got = self.downloads.get(
                self.address,
                etag=before.etag if before else "",
                last_modified=before.last_modified if before else "",
                cancel=self.cancel,
            )
        except PageError as error:
            if before is None:
                raise
            return self.seen(before, error)
        if before is None:
            return _Page(data=_bytes(got, page_name(self.address)), visit=self, got=got)
        if got.data is None:
            return self.same(before, got)
        data = _bytes(got, before.name)
        id = content_id(data)
        if id == before.id:
            return self.same(before, got)
        try:
            other = self.library.documents.get(id)
        except NotFoundError:
            return _Page(data=data, before=before, visit=self, got=got)
        return self.noted(before, "duplicate", f"{before.name} says what {other.name} does, which is in the library.")

    def same(self, before: Document, got: Download) -> DocumentRefreshed:
        """The page says what it said."""
        now = iso_now()
        headers = {"etag": got.etag or before.etag, "last_modified": got.last_modified or before.last_modified}
        document = self.library.documents.note(before.id, **headers, look="", looked_at=now, fetched_at=now)
        return DocumentRefreshed(name=before.name, document=document, found="unchanged")

    def seen(self, before: Document, error: CragError) -> DocumentRefreshed:
        """The page did not come, or can't be read."""
        look: Look
        match error:
            case GoneError():
                look = "gone"
            case SignInError():
                look = "refused"
            case PageError():
                look = "unreachable"
            case _:
                look = "unreadable"
        return self.noted(before, look, error.message, error.remedy)

    def noted(self, before: Document, look: Look, message: str, remedy: str = "") -> DocumentRefreshed:
        assert look
        document = self.library.documents.note(before.id, look=look, looked_at=iso_now())
        return DocumentRefreshed(name=before.name, document=document, found=look, message=message, remedy=remedy)


@dataclass(kw_only=True)
class _Page(Original):
    """What a server sent for an address: a new document, or one that takes the place of what it sent before."""

    visit: _Visit
    got: Download

    def read(self, name: str, read: Read) -> ParsedDocument:
        """Its pages. Raises SignInError too, and EmptyError of a page that only scripts would fill."""
        ending = _ending(self.data, name, self.got.kind)
        asks = _PASSWORD.search(self.data) is not None
        try:
            parsed = super().read(name + ending, read)
        except EmptyError as error:
            if asks:
                raise _sign_in(name) from error
            if media_of(self.data, name + ending) != "html":
                raise
            raise EmptyError(
                f"{name} holds no main text: it may be filled by scripts, which are not run.",
                "Open it in a browser, save it or print it to PDF, and add that file.",
            ) from error
        if asks and sum(len(page.text) for page in parsed.pages) < _LITTLE:
            raise _sign_in(name)
        return parsed

    def settled(self, parsed: ParsedDocument) -> IngestEnd | None:
        before = self.visit.before
        if before is None:
            return None
        if before.text_id == _text_id(parsed):
            return self.visit.same(before, self.got)
        return self.visit.noted(before, "changed", f"{before.name} has changed.") if self.visit.dry_run else None

    def described(self, document: Document, parsed: ParsedDocument) -> Document:
        now = iso_now()
        return replace(
            document,
            url=self.visit.address,
            etag=self.got.etag,
            last_modified=self.got.last_modified,
            fetched_at=now,
            looked_at=now,
            text_id=_text_id(parsed),
        )

    def failed(self, name: str, error: CragError) -> IngestEnd:
        before = self.visit.before
        if before is None or not isinstance(error, DocumentError):
            return super().failed(name, error)
        try:
            return self.visit.seen(before, error)
        except CragError as second:  # deleted meanwhile, or nothing can be noted any more
            return super().failed(name, second)


def _sign_in(name: str) -> SignInError:
    return SignInError(f"{name} asks for a password and says little else: it is a page to sign in.")


def _bytes(got: Download, name: str) -> bytes:
    """What a document is made of: a text in UTF-8, anything else as it came."""
    assert got.data is not None
    if media_of(got.data, name) not in (None, *_TEXTS):
        return got.data
    try:
        return got.in_utf8()
    except ValueError:
        return got.data


def _ending(data: bytes, name: str, kind: str) -> str:
    """What a name has to end in for a text to be read as its server says."""
    wanted = _KINDS.get(kind.partition(";")[0].strip().lower(), "")
    media = media_of(data, name)
    return wanted if media == "text" and wanted else ""


def _text_id(parsed: ParsedDocument) -> str:
    """What tells whether a document says something else: the SHA-256 of its text, in hex."""
    whole = hashlib.sha256()
    for page in parsed.pages:
        whole.update(page.text.encode("utf-8", "replace") + b"\f")
    return whole.hexdigest()
