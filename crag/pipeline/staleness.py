"""Which documents of a library no longer say what their source does, or are due to be looked at by a person."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType

from crag.core.documents import Look
from crag.core.errors import ModelMismatchError
from crag.core.metadata import Fields, days_in
from crag.core.types import Document
from crag.ingest.chunking import chunk_id
from crag.ingest.identity import content_id
from crag.storage.library import Library

_LOOKS: Mapping[Look, str] = MappingProxyType(
    {
        "changed": "Its web page has changed since {fetched}: fetch it again.",
        "duplicate": "Its web page says since {looked} what another document here does: delete one of them.",
        "gone": "Its web page is gone, seen on {looked}; the text here is of {fetched}.",
        "refused": "Its web page wants people to sign in, seen on {looked}; the text here is of {fetched}.",
        "unreachable": "Its web page did not come on {looked}; the text here is of {fetched}.",
        "unreadable": "Its web page could not be read on {looked}; the text here is of {fetched}.",
    }
)


def stale(library: Library, ids: Sequence[str] | None = None, today: date | None = None) -> dict[str, tuple[str, ...]]:
    """What is stale of these documents, or of all, in words, by the document's id; others are left out.

    A file that is there no more tells nothing; a web page tells what the last look at it found. Of `ids` that are here
    no more, those in whose place a changed page came are told.
    """
    vectors: tuple[str, ...] = ()
    try:
        library.check_model()
    except ModelMismatchError:
        vectors = ("Its vectors are of another embedding model: re-index the library.",)
    first, given = library.documents.first_chunks(ids), library.documents.given(ids)
    found: dict[str, tuple[str, ...]] = {}
    documents = library.documents.all(ids)
    for document in documents:
        said = vectors if document.id in first else ()
        if document.id in first:
            id, *span = first[document.id]
            if id != chunk_id(document.id, *span):
                said += ("Its chunks are of an earlier version: delete it and add it again.",)
        if document.path and _changed(document):
            said += ("Its file changed since it was read: delete it and add the file again.",)
        said += _describe_last_look(document) + _due(given.get(document.id, {}), today or datetime.now(UTC).date())
        if said:
            found[document.id] = said
    gone = set(ids or ()) - {document.id for document in documents}
    return {**found, **_find_replacements(library, gone)}


def _describe_last_look(document: Document) -> tuple[str, ...]:
    """What the last look at its web page found."""
    if not document.look:
        return ()
    fetched = (document.fetched_at or document.added_at)[:10]
    return (_LOOKS[document.look].format(looked=document.looked_at[:10], fetched=fetched),)


def _due(given: Fields, today: date) -> tuple[str, ...]:
    """Whether the day is over by which a person wanted to look at it: of a month or a year, its last."""
    wanted = given.get("review_by")
    days = days_in(wanted) if isinstance(wanted, str) else None
    return (f"It was to be reviewed by {wanted}.",) if days and days[1] < today.isoformat() else ()


def _find_replacements(library: Library, gone: set[str]) -> dict[str, tuple[str, ...]]:
    """Of documents that are here no more, those in whose place their changed page came."""
    if not gone:
        return {}
    return {
        id: (f"Its web page has changed: since {document.fetched_at[:10]} the library holds the new text. Ask again.",)
        for document in library.documents.all()
        for id in document.earlier
        if id in gone
    }


def _changed(document: Document) -> bool:
    """Whether its file is there and holds something else now."""
    try:
        now = Path(document.path).stat()
        if (now.st_size, now.st_mtime_ns) == (document.size, document.modified):
            return False
        return now.st_size != document.size or _content(document.path, now.st_mtime_ns) != document.id
    except OSError:
        return False


@lru_cache(maxsize=256)
def _content(path: str, modified: int) -> str:
    """What a file of this time holds; `modified` is there to tell a later one."""
    return content_id(Path(path).read_bytes())
