"""Which documents of a library no longer say what their files do, or were stored by an earlier build of its parts."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

from crag.core.errors import ModelMismatchError
from crag.core.types import Document
from crag.ingest.chunking import chunk_id
from crag.ingest.identity import content_id
from crag.library.library import Library


def stale(library: Library) -> dict[str, tuple[str, ...]]:
    """What is stale of documents, in words, by the document's id; a document of which nothing is stale is left out.

    A file that is there no more tells nothing.
    """
    vectors: tuple[str, ...] = ()
    try:
        library.check_model()
    except ModelMismatchError:
        vectors = ("Its vectors are of another embedding model: re-index the library.",)
    first = library.documents.first_chunks()
    found: dict[str, tuple[str, ...]] = {}
    for document in library.documents.all():
        said = vectors if document.id in first else ()
        if document.id in first:
            id, *span = first[document.id]
            if id != chunk_id(document.id, *span):
                said += ("Its chunks are of an earlier version: delete it and add it again.",)
        if document.path and _changed(document):
            said += ("Its file changed since it was read: delete it and add the file again.",)
        if said:
            found[document.id] = said
    return found


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
