"""The resources: documents, their pages as text, and the records of runs, of the workspace alone that asks."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from typing import Any

from mcp_types import Resource, ResourceTemplate, TextResourceContents

from crag.core.documents import Chunk, Document
from crag.core.errors import InputError, NotFoundError
from crag.export.records import trace_record
from crag.integrations.mcp import schemas
from crag.integrations.mcp.documents import documents
from crag.integrations.mcp.offer import SCHEME, Request, document_uri, line
from crag.integrations.mcp.searching import DATA
from crag.messages.wording import count
from crag.text.injection import fence_text, mask_injection, quote_for_model, sendable

LISTED = 50
"""How many resources a list shows at a time."""
CHARS = 100_000
"""Characters of a resource; of a longer document the first pages are given, of a longer run less of each text."""
_CUT = 1_000

TEMPLATES = (
    ResourceTemplate(
        name="documents_from",
        title="The list of documents, from one on",
        uri_template=f"{SCHEME}documents?offset={{offset}}",
        description="A page of the list of documents, as the tool documents tells it.",
        mime_type="application/json",
    ),
    ResourceTemplate(
        name="document",
        title="A document's text",
        uri_template=f"{SCHEME}documents/{{id}}",
        description="The text of a document, page by page, as far as it is short enough; then where the rest is.",
        mime_type="text/plain",
    ),
    ResourceTemplate(
        name="page",
        title="A page's text",
        uri_template=f"{SCHEME}documents/{{id}}/pages/{{page}}",
        description="The text of one page of a document, from 1.",
        mime_type="text/plain",
    ),
    ResourceTemplate(
        name="run",
        title="A run's record",
        uri_template=f"{SCHEME}runs/{{run_id}}",
        description="Everything that a run found, graded, decided and wrote.",
        mime_type="application/json",
    ),
)

_LIST = Resource(
    name="documents",
    title="The documents",
    uri=f"{SCHEME}documents",
    description="Which documents there are, a page at a time.",
    mime_type="application/json",
)
_FORM = re.compile(
    rf"{SCHEME}(?:documents(?:\?offset=(?P<offset>[0-9]{{1,8}}))?|documents/(?P<document>[0-9a-f]{{6,64}})"
    r"(?:/pages/(?P<page>[0-9]{1,8}))?|runs/(?P<run>[A-Za-z0-9_.:-]{1,100}))"
)


async def listed(request: Request, cursor: str | None) -> tuple[list[Resource], str | None]:
    """Some resources, and the cursor of those behind them. Raises InputError for a cursor of no list."""
    if cursor is not None and not re.fullmatch(r"[0-9]{1,8}", cursor):
        raise InputError("That cursor is of no list of this server.", "List from the beginning.")
    first = int(cursor or 0)
    found = await request.done(lambda: _documents(request))
    own = [_LIST] if first == 0 else []
    end = first + LISTED
    return [*own, *map(_resource, found[first:end])], str(end) if end < len(found) else None


async def read(request: Request, uri: str) -> TextResourceContents:
    """What a resource holds. Raises NotFoundError, and InputError for an address of another form."""
    asked = _FORM.fullmatch(uri)
    if asked is None:
        raise InputError(
            f"There is no resource {line(sendable(uri))[:200]}.",
            f"Use {', '.join([_LIST.uri, *(each.uri_template for each in TEMPLATES)])}.",
        )
    if asked["run"]:
        text = await request.done(lambda: _run(request, asked["run"]))
        return TextResourceContents(uri=uri, mime_type="application/json", text=text)
    if asked["document"]:
        page = int(asked["page"]) if asked["page"] else None
        text = await request.done(lambda: _document(request, asked["document"], page))
        return TextResourceContents(uri=uri, mime_type="text/plain", text=text)
    _, listing = await documents(request, schemas.Documents.model_validate({"offset": int(asked["offset"] or 0)}))
    return TextResourceContents(uri=uri, mime_type="application/json", text=listing.model_dump_json())


def _documents(request: Request) -> Sequence[Document]:
    return request.engine.library(request.workspace).documents.all()


def _resource(document: Document) -> Resource:
    return Resource(
        name=line(document.name),
        title=line(mask_injection(document.title)) or None,
        uri=document_uri(document.id),
        description=f"{count(document.pages, 'page')}, {count(document.chunks, 'passage')}.",
        mime_type="text/plain",
    )


def _document(request: Request, id: str, page: int | None) -> str:
    """The text of a document, or of one of its pages. Raises NotFoundError."""
    stored = request.engine.library(request.workspace).documents
    found = [each for each in stored.names() if each.startswith(id)]
    if len(found) != 1:
        raise NotFoundError(f"There is no document {id}.", "The tool documents lists those that there are.")
    document = stored.get(found[0])
    if page is not None and not 1 <= page <= document.pages:
        raise NotFoundError(f"The document has no page {page}.", f"It has {document.pages}, from 1.")
    pages: dict[int, list[Chunk]] = {}
    for chunk in stored.chunks(document.id, page=page, lines=False):
        pages.setdefault(chunk.page, []).append(chunk)
    parts, left = [f"{line(document.name)}, {count(document.pages, 'page')}. {DATA}"], CHARS
    for number, chunks in sorted(pages.items()):
        text = _join_chunks(chunks)
        if len(text) > left and len(parts) > 1:
            parts.append(f"Page {number} and those behind it: {document_uri(document.id)}/pages/{number} and so on.")
            break
        left -= len(text)
        parts.append(fence_text("page", text[:CHARS], number=number))
    if len(parts) == 1:
        parts.append("There is no text on this page." if page else "There is no text in this document.")
    return "\n\n".join(parts)


def _join_chunks(chunks: Sequence[Chunk]) -> str:
    """A page's text from its chunks, each character once where they overlap."""
    text, end = "", -1
    for chunk in sorted(chunks, key=lambda each: each.start):
        if chunk.end <= end:
            continue
        text += chunk.text[end - chunk.start :] if 0 <= chunk.start < end else f"{chr(10) if text else ''}{chunk.text}"
        end = chunk.end
    return text


def _run(request: Request, id: str) -> str:
    """The record of a run as JSON. Raises NotFoundError, StorageError."""
    record = trace_record(request.engine.library(request.workspace).runs.trace(id))
    text = json.dumps(_each_text(record, quote_for_model), ensure_ascii=False)
    return text if len(text) <= CHARS else json.dumps(_each_text(record, _cut), ensure_ascii=False)


def _cut(text: str) -> str:
    """A long text cut; what of it speaks to a model is marked."""
    return quote_for_model(f"{text[:_CUT]}…" if len(text) > _CUT else text)


def _each_text(value: Any, change: Callable[[str], str]) -> Any:
    """The same with every text in it changed."""
    match value:
        case str():
            return change(value)
        case dict():
            return {key: _each_text(each, change) for key, each in value.items()}
        case list() | tuple():
            return [_each_text(each, change) for each in value]
        case _:
            return value
