"""What is out of date of stored documents: vectors, chunks, the file, the web page, the day of a review."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Literal

from crag.core.documents import Look
from crag.core.errors import ModelMismatchError
from crag.core.metadata import Fields, days_in
from crag.core.types import Document
from crag.ingest.chunking import chunk_id
from crag.ingest.files import file_id
from crag.storage.library import Library


@dataclass(frozen=True, slots=True)
class Stale:
    """One thing that is out of date of a document.

    vectors: another embedding model made them. chunks: an earlier version cut them. file: it changed since it was read.
    review: its day is over, or its month or year. replaced: its changed page or file came in its place. Others: what
    the last look at its web page found. `since` is when the text was fetched or read, or the wanted day; `looked` when
    the page was looked at.
    """

    reason: Literal["vectors", "chunks", "file", "review", "replaced"] | Look
    since: str = ""
    looked: str = ""


def find_stale(
    library: Library, ids: Sequence[str] | None = None, today: date | None = None
) -> dict[str, tuple[Stale, ...]]:
    """What is out of date of these documents, or of all, by the document's id; others are left out.

    A file that is gone says nothing. Of `ids` that are gone, those that a changed page replaced are listed.
    """
    vectors: tuple[Stale, ...] = ()
    try:
        library.check_model()
    except ModelMismatchError:
        vectors = (Stale("vectors"),)
    first, given = library.documents.first_chunks(ids), library.documents.given(ids)
    found: dict[str, tuple[Stale, ...]] = {}
    documents = library.documents.all(ids)
    for document in documents:
        stale = vectors if document.id in first else ()
        if document.id in first:
            id, *span = first[document.id]
            if id != chunk_id(document.id, *span):
                stale += (Stale("chunks"),)
        if document.path and _changed(document):
            stale += (Stale("file"),)
        if document.look:
            since = (document.fetched_at or document.added_at)[:10]
            stale += (Stale(document.look, since, document.looked_at[:10]),)
        stale += _due(given.get(document.id, {}), today or datetime.now(UTC).date())
        if stale:
            found[document.id] = stale
    gone = set(ids or ()) - {document.id for document in documents}
    return {**found, **_find_replacements(library, gone)}


def _due(given: Fields, today: date) -> tuple[Stale, ...]:
    """Whether the day of the review is over: of a month or a year, its last."""
    wanted = given.get("review_by")
    if not isinstance(wanted, str):
        return ()
    days = days_in(wanted)
    return (Stale("review", wanted),) if days and days[1] < today.isoformat() else ()


def _find_replacements(library: Library, gone: set[str]) -> dict[str, tuple[Stale, ...]]:
    """Of documents that are gone, those in whose place their changed page came."""
    return {
        id: (Stale("replaced", (document.fetched_at or document.added_at)[:10]),)
        for document in (library.documents.all() if gone else ())
        for id in document.earlier
        if id in gone
    }


def _changed(document: Document) -> bool:
    """Whether its file is there and holds something else now."""
    try:
        now = Path(document.path).stat()
        if (now.st_size, now.st_mtime_ns) == (document.size, document.modified):
            return False
        return now.st_size != document.size or file_id(document.path, now.st_mtime_ns) != document.id
    except OSError:
        return False
