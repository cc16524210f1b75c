"""The resources: documents, their pages as text, and the records of runs, each of the caller's workspace."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.server.mcpserver import Context
from mcp.shared.exceptions import MCPError
from mcp.types import INVALID_PARAMS, Resource

from crag.core.documents import Chunk, Document
from crag.core.errors import NotFoundError
from crag.export.records import RunRecord
from crag.integrations.mcp.library import PAGE
from crag.integrations.mcp.library import documents as list_documents
from crag.integrations.mcp.request import (
    DATA,
    SCHEME,
    McpCall,
    ServerState,
    describe_document,
    document_uri,
    find_named,
    line,
    take_call,
)
from crag.text.formats import count
from crag.text.injection import fence_text, quote_for_model

Call = Context[ServerState, Any]
LISTED = 50
"""Resources on a page of their list."""
CHARS = 100_000
"""Characters of a resource: a longer document is cut after a page, in a longer run each text is cut."""
_CUT = 1_000


async def documents(context: Call, offset: int = 0) -> str:
    """A page of the list of documents, as the tool documents returns it."""
    result = await list_documents(call=take_call(context), offset=max(0, offset), limit=PAGE)
    return json.dumps(result.structured_content, ensure_ascii=False)


async def document(context: Call, id: str) -> str:
    """The text of a document, page by page, as far as it is short enough; then where the rest is."""
    call = take_call(context)
    return await call.work(lambda: _document(call, id, None))


async def page(context: Call, id: str, page: int) -> str:
    """The text of one page of a document, from 1."""
    call = take_call(context)
    return await call.work(lambda: _document(call, id, page))


async def run(context: Call, run_id: str) -> str:
    """Everything that a run found, graded, decided and wrote."""
    call = take_call(context)
    return await call.work(lambda: _run(call, run_id))


TEMPLATES: dict[str, tuple[Callable[..., Any], str, str]] = {
    f"{SCHEME}documents{{?offset}}": (documents, "The list of documents", "application/json"),
    f"{SCHEME}documents/{{id}}": (document, "A document's text", "text/plain"),
    f"{SCHEME}documents/{{id}}/pages/{{page}}": (page, "A page's text", "text/plain"),
    f"{SCHEME}runs/{{run_id}}": (run, "A run's record", "application/json"),
}
"""By their addresses: the function that reads the resource, its title and media type."""


async def list_library(ctx: ServerRequestContext[ServerState, Any], call_next: CallNext) -> HandlerResult:
    """Middleware: adds the caller's documents to the list of resources, a page at a time.

    The SDK lists what was registered, the same for every caller.
    """
    result = await call_next(ctx)
    if ctx.method != "resources/list" or not isinstance(result, dict):
        return result
    cursor = str((ctx.params or {}).get("cursor") or "0")
    if not (cursor.isascii() and cursor.isdigit() and len(cursor) <= 8):
        raise MCPError(INVALID_PARAMS, "That cursor is of no list of this server. List from the beginning.")
    call, first = McpCall(ctx), int(cursor)
    stored = await call.work(lambda: call.library.documents.all())
    found = [_resource(each) for each in stored[first : first + LISTED]]
    if first == 0:
        index = f"{SCHEME}documents"
        found.insert(0, Resource(name="documents", title="The documents", uri=index, mime_type="application/json"))
    result["resources"] += [each.model_dump(mode="json", by_alias=True, exclude_none=True) for each in found]
    if first + LISTED < len(stored):
        result["nextCursor"] = str(first + LISTED)
    return result


def _resource(document: Document) -> Resource:
    described = describe_document(document)
    return Resource(
        name=described["name"],
        title=described["title"] or None,
        uri=described["uri"],
        description=f"{count(document.pages, 'page')}, {count(document.chunks, 'passage')}.",
        mime_type="text/plain",
    )


def _document(call: McpCall, id: str, page: int | None) -> str:
    """The text of a document, or of one of its pages. Raises NotFoundError."""
    stored = call.library.documents
    document = stored.get(find_named(id, stored.names()))
    if page is not None and not 1 <= page <= document.pages:
        raise NotFoundError(f"The document has no page {page}.", f"It has {document.pages}, from 1.")
    pages: dict[int, list[Chunk]] = {}
    for chunk in stored.chunks(document.id, page=page, lines=False):
        pages.setdefault(chunk.page, []).append(chunk)
    parts, left = [f"{line(document.name)}, {count(document.pages, 'page')}. {DATA}"], CHARS
    for number, chunks in sorted(pages.items()):
        text = _join_chunks(chunks)
        if len(text) > left and len(parts) > 1:
            parts.append(f"Page {number} and later pages: {document_uri(document.id)}/pages/{number} and so on.")
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


def _run(call: McpCall, id: str) -> str:
    """The record of a run as JSON. Raises NotFoundError, StorageError."""
    record = RunRecord.of(call.library.runs.trace(id)).json_values()
    text = json.dumps(_change_texts(record, quote_for_model), ensure_ascii=False)
    return text if len(text) <= CHARS else json.dumps(_change_texts(record, _cut), ensure_ascii=False)


def _cut(text: str) -> str:
    return quote_for_model(f"{text[:_CUT]}…" if len(text) > _CUT else text)


def _change_texts(value: Any, change: Callable[[str], str]) -> Any:
    """The same value with every text in it changed."""
    match value:
        case str():
            return change(value)
        case dict():
            return {key: _change_texts(each, change) for key, each in value.items()}
        case list() | tuple():
            return [_change_texts(each, change) for each in value]
        case _:
            return value
