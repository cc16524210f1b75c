"""Web pages kept as documents: the text that a run saw, unverified until a person confirms it."""

from __future__ import annotations

import re
import threading
import time
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, replace

from crag.core.errors import NotFoundError
from crag.core.metadata import KEPT_CONFIDENCE, KEPT_SOURCE, Value, days_in
from crag.core.trace import Trace
from crag.core.types import Document, WebPage
from crag.engine import Engine
from crag.ingest.chunking import chunk_document
from crag.ingest.files import content_id, record_of, safe_name
from crag.ingest.reader import read_document
from crag.storage.library import Library

_MOST_QUESTION = 1_000
_PARTS = re.compile(r"(?<!\s)\s*+[|:]\s++")
"""What parts a page's title and can't stand in a file's name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptPage:
    """What came of keeping a page. `already`: its text was in the library, maybe under another name."""

    document: Document
    already: bool


def used_pages(trace: Trace) -> tuple[WebPage, ...]:
    """The web pages that a run's answer may rest on, in their order; none of a run that led to none.

    Those that were handed over too: the answer rests on them, whichever program writes it.
    """
    used = {strip.source_id for strip in trace.kept("external")}
    return tuple(page for page in trace.pages if page.id in used) if trace.answer or trace.handed_over else ()


def find_page(trace: Trace, id: str) -> WebPage:
    """The web page of a run that has this id. Raises NotFoundError."""
    found = next((page for page in trace.pages if page.id == id), None)
    if found is None:
        raise NotFoundError(
            f"The run {trace.run_id} found no such web page.", "Choose one of the web sources that it lists."
        )
    return found


def in_library(pages: Sequence[WebPage], library: Library) -> dict[str, Document]:
    """The documents that hold the texts of these pages, by the pages' ids; those that are not kept are left out."""
    ids = {page.id: content_id(_bytes(page)) for page in pages}
    stored = {document.id: document for document in library.documents.all(list(set(ids.values())))}
    return {page: stored[id] for page, id in ids.items() if id in stored}


def keep(
    page: WebPage,
    question: str,
    library: Library,
    engine: Engine,
    *,
    cancel: threading.Event | None = None,
) -> KeptPage:
    """Add a page as a document, unverified, with the question that it served; once: what is there stays as it is.

    It is read as plain text whatever its text looks like, in the reader's child process, and waits for its turn among
    the engine's readers, as any file does. Raises DocumentError, RoomError, ModelMismatchError, CancelledError.
    """
    if known := in_library([page], library).get(page.id):
        return KeptPage(document=known, already=True)
    began, data = time.perf_counter(), _bytes(page)
    identity, name = content_id(data), safe_name(_PARTS.sub(" – ", page.title) or page.url)
    stop = cancel or threading.Event()
    with engine.readers.taken(stop):
        parsed = read_document(data, name, engine.config, media="text", cancel=stop)
    parsed = replace(parsed, title=_plain(page.title) or name)
    chunks = chunk_document(parsed, identity, name)
    vectors = engine.embedder.embed([chunk.indexed_text for chunk in chunks])
    record = record_of(
        parsed,
        chunks,
        id=identity,
        name=name,
        size=len(data),
        model=engine.embedder.id,
    )
    seconds = round(time.perf_counter() - began, 3)
    document = replace(record, url=page.url, seconds=seconds, confidence=KEPT_CONFIDENCE)
    library.documents.add(document, data, chunks, vectors, _describe_page(page, question))
    library.refresh_index()
    return KeptPage(document=document, already=False)


def _bytes(page: WebPage) -> bytes:
    return page.text.encode("utf-8", "replace")


def _describe_page(page: WebPage, question: str) -> dict[str, Value]:
    """What is known of a kept page, as fields that a person sees, changes and filters by."""
    given: dict[str, Value] = {"source": KEPT_SOURCE, "verified": False}
    if asked := _plain(question)[:_MOST_QUESTION].strip():
        given["question"] = asked
    published = page.published or ""
    if day := next((published[:size] for size in (10, 7, 4) if days_in(published[:size])), ""):
        given["date"] = day
    return given


def _plain(text: str) -> str:
    """One line without control characters, as a field takes it."""
    line = " ".join(unicodedata.normalize("NFC", text).split())
    return "".join(letter for letter in line if unicodedata.category(letter) not in ("Cc", "Cs"))
