"""The tools that list documents and add one."""

from __future__ import annotations

import base64
import binascii
import threading
from collections.abc import Iterator
from contextlib import aclosing
from pathlib import Path
from typing import Any

from crag.core.documents import Document
from crag.core.errors import CancelledError, CragError, DocumentError, InputError, LimitError
from crag.core.filters.where import parse
from crag.core.ingesting import (
    DocumentAdded,
    DocumentFailed,
    DuplicateFound,
    Embedding,
    IngestEvent,
    ReadingPage,
    ReadingQueued,
    RecognisingPage,
)
from crag.core.metadata import Fields, fields_of, tags_of
from crag.ingest.media import ENDINGS
from crag.integrations.mcp import schemas
from crag.integrations.mcp.offer import Request, document_uri, line
from crag.integrations.mcp.searching import DATA
from crag.messages.wording import count, left_text
from crag.text.injection import fence, mask_injection

MB = 1024 * 1024


async def documents(request: Request, asked: schemas.Documents) -> tuple[str, schemas.Listing]:
    """A page of the library's documents, oldest first. Raises FilterError."""
    total, page = await request.done(lambda: _page(request, asked))
    end = asked.offset + len(page)
    listing = schemas.Listing(total=total, documents=page, next_offset=end if end < total else None)
    if not page:
        return f"No document; {total} meet what was asked for.", listing
    rows = "\n".join(f"{each.name} · {each.title} · {count(each.pages, 'page')} · id {each.id[:12]}" for each in page)
    said = f"Documents {asked.offset + 1} to {end} of {total}. {DATA}"
    more = [f"More: offset {end}."] if end < total else []
    return "\n\n".join([said, fence("documents", rows), *more]), listing


def _page(request: Request, asked: schemas.Documents) -> tuple[int, list[schemas.Listed]]:
    """How many there are, and those of the page."""
    stored = request.engine.library(request.workspace).documents
    given = stored.given()
    every = ((each, fields_of(each, given.get(each.id, {}))) for each in stored.all())
    filter, words, tag = parse(asked.where), asked.containing.casefold().split(), asked.tag.casefold()
    found = [
        (each, fields)
        for each, fields in every
        if filter.matches(fields)
        and all(word in f"{each.name} {each.title}".casefold() for word in words)
        and (not tag or tag in map(str.casefold, tags_of(fields)))
    ]
    return len(found), [_list_documents(*each) for each in found[asked.offset : asked.offset + asked.limit]]


def _list_documents(document: Document, fields: Fields) -> schemas.Listed:
    own: dict[str, Any] = {name: list(value) if isinstance(value, tuple) else value for name, value in fields.items()}
    title = line(mask_injection(document.title))
    return schemas.Listed(
        id=document.id,
        name=line(document.name),
        title=title,
        kind=document.kind,
        pages=document.pages,
        chunks=document.chunks,
        size=document.size,
        added_at=document.added_at,
        confidence=document.confidence,
        url=document.url,
        fields={**own, "title": title},
        uri=document_uri(document.id),
    )


async def add_document(request: Request, asked: schemas.AddDocument) -> tuple[str, schemas.Added]:
    """Adds one document, or tells of which it is a duplicate. Raises DocumentError, LimitError, LibraryError."""
    ended: IngestEvent | None = None

    def begin(cancel: threading.Event) -> Iterator[IngestEvent]:
        name, data = _file(request, asked)
        yield from request.engine.add_files(
            [(name, lambda: data)], request.workspace, confidence=asked.confidence, cancel=cancel
        )

    async with aclosing(request.follow(begin)) as events:
        async for event in events:
            ended = event
            if said := _progress(event):
                await request.report(line(said))
    match ended:
        case DocumentAdded():
            return _add_document("added", ended.document)
        case DuplicateFound():
            return _add_document("duplicate", ended.document)
        case DocumentFailed():
            raise CragError(ended.message, ended.remedy)
        case _:
            raise CancelledError("Adding was stopped; nothing was added.", "Add it again.")


def _add_document(status: str, document: Document) -> tuple[str, schemas.Added]:
    added = schemas.Added.model_validate(
        {
            "status": status,
            "id": document.id,
            "name": line(document.name),
            "title": line(mask_injection(document.title)),
            "pages": document.pages,
            "chunks": document.chunks,
            "warnings": [line(each) for each in document.warnings],
            "uri": document_uri(document.id),
        }
    )
    how = "Added" if status == "added" else "Nothing added: the same content is in the library already"
    size = f"{count(added.pages, 'page')}, {count(added.chunks, 'passage')}"
    said = fence("document", "\n".join([f"{added.name} · {added.title}", *added.warnings]))
    return f"{how}: {size}, {added.uri}\n\n{said}", added


def _progress(event: IngestEvent) -> str:
    match event:
        case ReadingQueued():
            return f"Waits until {event.before} others are read."
        case ReadingPage():
            return f"Read page {event.page} of {event.pages}."
        case RecognisingPage():
            return f"Recognises the text of page {event.page} of {event.pages}, {left_text(event.seconds_left)}."
        case Embedding():
            return f"Embedded {event.done} of {event.total} passages."
        case _:
            return ""


def _file(request: Request, asked: schemas.AddDocument) -> tuple[str, bytes]:
    """The name and bytes that were sent, or those of the file that was named."""
    path = asked.path if isinstance(asked, schemas.AddFile) else None
    ways = "text, base64 and path" if isinstance(asked, schemas.AddFile) else "text and base64"
    if sum(each is not None for each in (asked.text, asked.base64, path)) != 1:
        raise InputError(f"Exactly one of {ways} must be given.", "Give the document in one way.")
    if path is not None and request.offer.files is not None:
        return _of_folder(request.offer.files, path, request.engine.config.max_file_mb)
    if not asked.name.strip():
        raise InputError("The document has no name.", "Give its file name with its ending, as report.pdf.")
    data = _decode_content(asked)
    if len(data) > schemas.UPLOAD_MB * MB:
        raise LimitError(f"The document is larger than {schemas.UPLOAD_MB} MB.", "Split it, or add it as a file.")
    known = asked.name.rpartition(".")[2].lower() in ENDINGS
    return asked.name + ("" if known or asked.text is None else ".txt"), data


def _decode_content(asked: schemas.AddDocument) -> bytes:
    if asked.text is not None:
        return asked.text.encode()
    try:
        return base64.b64decode("".join((asked.base64 or "").split()), validate=True)
    except (binascii.Error, ValueError) as error:
        raise InputError("The argument base64 is not Base64.", "Send the file's bytes in Base64, or text.") from error


def _of_folder(folder: Path, said: str, most_mb: int) -> tuple[str, bytes]:
    """A file below the folder; nothing outside of it, whatever links there are."""
    whole = folder.resolve()
    try:
        file = (whole / said).resolve(strict=True)
        if not file.is_relative_to(whole) or not file.is_file():
            raise FileNotFoundError(said)
        if file.stat().st_size > most_mb * MB:
            raise LimitError(f"The file is larger than {most_mb} MB.", "Split it.")
        return file.name, file.read_bytes()
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        raise DocumentError(
            f"There is no file {line(said)[:200]} in the server's folder.", "Name it relative to that folder."
        ) from error
