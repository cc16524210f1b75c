"""The tools and resources on a library: search, grade, the list of documents and their text, and adding one."""

from __future__ import annotations

import json
from base64 import b64decode
from collections.abc import Callable, Iterator, Sequence
from contextlib import aclosing
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Literal

from mcp.server.mcpserver import Context
from mcp.types import CallToolResult
from pydantic import Field

from crag.core.documents import Chunk, Document
from crag.core.errors import CancelledError, CragError, DocumentError, InputError, LimitError, NotFoundError
from crag.core.filters import filter_of
from crag.core.ingesting import DocumentAdded, DocumentFailed, DuplicateFound, IngestEnd, IngestEvent, IngestStep
from crag.core.metadata import Fields, fields_of, tags_of
from crag.core.model_ids import about
from crag.core.protocols import SearchQuery
from crag.core.strategies import strategy
from crag.core.types import RetrievedChunk
from crag.export.records import RunRecord, describe_hit
from crag.ingest.files import ENDINGS
from crag.integrations.calls import in_turn
from crag.integrations.mcp.request import (
    DATA,
    SCHEME,
    AddResult,
    CurrentCall,
    DocumentList,
    GradeResult,
    Listed,
    McpCall,
    Passage,
    Score,
    SearchResult,
    ServerState,
    describe_document,
    document_uri,
    find_named,
    line,
    reply,
    take_call,
)
from crag.messages.documents import step_text
from crag.messages.wording import recognised_text, web_origin
from crag.pipeline.request import QUESTION_CHARS, check_question
from crag.text.formats import count
from crag.text.guard import detect_injection, fence, fence_text, mask_injection, quote_for_model

TEXTS, TEXT_CHARS = 64, 20_000
"""The most texts that one call grades, and the longest of them."""
PAGE = 50
"""Documents on a page of the list, by default."""

Name = Annotated[str, Field(min_length=1, max_length=300)]
Names = Annotated[
    tuple[Name, ...],
    Field(max_length=100, description="Search only these documents, each by its name or the beginning of its id."),
]
Tags = Annotated[tuple[Name, ...], Field(max_length=20, description="Search only documents with one of these tags.")]
Where = Annotated[
    dict[str, Any],
    Field(
        description='Only documents whose fields meet this, as {"date": {">=": "2024"}, "tags": {"has": "audit"}}. '
        "The tool documents lists the fields of each.",
    ),
]


@in_turn
def search(
    call: CurrentCall,
    query: Annotated[
        str, Field(min_length=1, max_length=QUESTION_CHARS, description="A question, or words to search for.")
    ],
    k: Annotated[int, Field(ge=1, le=50, description="How many passages at most.")] = 8,
    mode: Annotated[
        Literal["hybrid", "dense", "bm25"],
        Field(description="By meaning and words (hybrid), by meaning alone (dense), by words alone (bm25)."),
    ] = "hybrid",
    documents: Names = (),
    tags: Tags = (),
    where: Where = {},  # noqa: B006 - never changed
) -> Annotated[CallToolResult, SearchResult]:
    """Finds the passages of the documents nearest to a question, each with its document, page and similarity. Nothing
    is graded and nothing answered: to have a question answered, use ask."""
    settings = strategy(call.config.strategy).settings
    asked = SearchQuery.under(settings, check_question(query), k, mode)
    hits = call.library.find(replace(asked, where=call.filter(where, documents, tags)))
    passages = [_passage(hit) for hit in hits]
    text = "No passage was found."
    if hits:
        heading = f"{count(len(hits), 'passage')}, best first. Similarity ranks them and is no grade. {DATA}"
        text = "\n\n".join([heading, *map(_format_passage, hits, passages)])
    return reply(text, SearchResult(query=asked.text, passages=passages))


def _passage(hit: RetrievedChunk) -> Passage:
    chunk, spans = hit.chunk, detect_injection(hit.chunk.text)
    return Passage.model_validate(
        {
            **describe_hit(hit),
            "source": line(chunk.source),
            "title": line(mask_injection(chunk.title)),
            "text": quote_for_model(chunk.text),
            "untrusted": len(spans),
            "uri": document_uri(chunk.document_id, chunk.page),
        }
    )


def _format_passage(hit: RetrievedChunk, passage: Passage) -> str:
    """The passage between tags, headed by its source."""
    notes = [
        f"similarity {passage.similarity:.3f}",
        recognised_text(passage.recognised),
        web_origin(hit.chunk.from_web),
        f"{count(passage.untrusted, 'place')} that speaks to a language model" if passage.untrusted else "",
        passage.uri,
    ]
    where = passage.place or f"page {passage.page}"
    heading = f"{passage.source}, {where} ({'; '.join(filter(None, notes))})\n"
    spans = [
        replace(span, start=span.start + len(heading), end=span.end + len(heading))
        for span in detect_injection(hit.chunk.text)
    ]
    return fence_text("passage", heading + hit.chunk.text, spans, number=passage.rank)


@in_turn
def grade(
    call: CurrentCall,
    question: Annotated[
        str, Field(min_length=1, max_length=QUESTION_CHARS, description="The question that the texts may answer.")
    ],
    texts: Annotated[
        tuple[Annotated[str, Field(min_length=1, max_length=TEXT_CHARS)], ...],
        Field(min_length=1, max_length=TEXTS, description="The texts to grade, in any order."),
    ],
) -> Annotated[CallToolResult, GradeResult]:
    """Scores how likely each text answers a question, 0 to 1, calibrated: of texts scored 0.8 about 80 % do. Uses no
    document."""
    question = check_question(question)
    call.note_keys()
    grades = [
        Score(
            index=index,
            score=each.score,
            reason=line(each.reason),
            error=line(about(each.error, each.who)) or None,
            evaluator=each.evaluator,
        )
        for index, each in enumerate(call.engine.grade(question, texts))
    ]
    lines = [
        f"{each.index}: not graded: {each.error}" if each.score is None else f"{each.index}: {each.score:.3f}"
        for each in grades
    ]
    heading = "How likely each text answers the question, 0 to 1, by its place in the list, from 0:"
    return reply("\n".join([heading, *lines]), GradeResult(question=question, grades=grades))


@in_turn
def documents(
    call: CurrentCall,
    containing: Annotated[str, Field(max_length=300, description="Only those with these words in name or title.")] = "",
    tag: Annotated[str, Field(max_length=300, description="Only those with this tag.")] = "",
    where: Where = {},  # noqa: B006 - never changed
    offset: Annotated[
        int, Field(ge=0, le=10_000_000, description="How many to skip: next_offset of the page before.")
    ] = 0,
    limit: Annotated[int, Field(ge=1, le=200, description="How many at most.")] = PAGE,
) -> Annotated[CallToolResult, DocumentList]:
    """Lists the documents with their fields, a page at a time; filters by words, tag or fields."""
    filter, words = filter_of(where), containing.casefold().split()
    stored = call.library.documents
    given = stored.given()
    every = ((each, fields_of(each, given.get(each.id, {}))) for each in stored.all())
    found = [
        (each, fields)
        for each, fields in every
        if filter.matches(fields)
        and all(word in f"{each.name} {each.title}".casefold() for word in words)
        and (not tag or tag.casefold() in map(str.casefold, tags_of(fields)))
    ]
    page, end = [_listed(*each) for each in found[offset : offset + limit]], min(offset + limit, len(found))
    more = end < len(found)
    record = DocumentList(total=len(found), documents=page, next_offset=end if more else None)
    if not page:
        return reply(f"No document here; {len(found)} match.", record)
    rows = "\n".join(f"{each.name} · {each.title} · {count(each.pages, 'page')} · id {each.id[:12]}" for each in page)
    heading = f"Documents {offset + 1} to {end} of {len(found)}. {DATA}"
    return reply("\n\n".join([heading, fence("documents", rows), *([f"More: offset {end}."] if more else [])]), record)


def _listed(document: Document, fields: Fields) -> Listed:
    described = describe_document(document)
    return Listed.model_validate({**described, "fields": {**fields, "title": described["title"]}})


MB = 1024 * 1024
UPLOAD_MB = 16
"""The largest document in a message."""

FileName = Annotated[str, Field(max_length=300, description="The file's name with its ending, as report.pdf.")]
Text = Annotated[str, Field(max_length=UPLOAD_MB * MB, description="The document, if it is text.")]
Base64 = Annotated[
    str,
    Field(
        max_length=UPLOAD_MB * MB * 4 // 3 + 4,
        description=f"The file's bytes in Base64, at most {UPLOAD_MB} MB of them: PDF, Word, PowerPoint, Excel, "
        "OpenDocument, RTF, EPUB, CSV, HTML, Markdown, text, images, e-mails.",
    ),
]
Confidence = Annotated[float, Field(ge=0, le=1, description="How far the document is trusted.")]
FilePath = Annotated[
    str,
    Field(max_length=1_000, description="A file below the server's folder of files, relative to it; needs no name."),
]


async def add_document(
    call: CurrentCall, name: FileName, text: Text = "", base64: Base64 = "", confidence: Confidence = 1.0
) -> Annotated[CallToolResult, AddResult]:
    """Adds a document to the library: PDF, Word, PowerPoint, Excel, OpenDocument, RTF, EPUB, CSV, HTML, Markdown,
    text, an image, or an e-mail, whose attachments become documents of their own. It can be
    searched as soon as this returns. The same content is never there twice."""
    return await add_file(call, name, text, base64, confidence=confidence)


async def add_file(
    call: CurrentCall,
    name: FileName = "",
    text: Text = "",
    base64: Base64 = "",
    path: FilePath = "",
    confidence: Confidence = 1.0,
) -> Annotated[CallToolResult, AddResult]:
    """The same tool, by the same name, where the server was started with a folder of files."""
    ended: IngestEnd | None = None

    def begin() -> Iterator[IngestEvent]:
        file, data = _file(call, name, text, base64, path)
        yield from call.engine.add_files(
            [(file, lambda: data)], call.workspace, confidence=confidence, cancel=call.cancel
        )

    async with aclosing(call.follow(begin())) as events:
        async for event in events:
            if isinstance(event, IngestStep):
                await call.report(f"{step_text(event).capitalize()}.")
            elif isinstance(event, IngestEnd) and not event.attached_to:
                ended = event
    match ended:
        case DocumentAdded():
            return _result("added", ended.document)
        case DuplicateFound():
            return _result("duplicate", ended.document)
        case DocumentFailed():
            raise CragError(ended.message, ended.remedy)
        case _:
            raise CancelledError("Adding was stopped; nothing was added.", "Add it again.")


def _result(status: Literal["added", "duplicate"], document: Document) -> CallToolResult:
    described = describe_document(document)
    record = AddResult.model_validate({**described, "status": status, "warnings": [*map(line, document.warnings)]})
    how = "Added" if status == "added" else "Nothing added: the same content is in the library already"
    heading = f"{how}: {count(record.pages, 'page')}, {count(record.chunks, 'passage')}, {record.uri}"
    body = fence("document", "\n".join([f"{record.name} · {record.title}", *record.warnings]))
    return reply(f"{heading}\n\n{body}", record)


def _file(call: McpCall, name: str, text: str, base64: str, path: str) -> tuple[str, bytes]:
    """The name and bytes of the document. Raises InputError, LimitError, DocumentError."""
    folder = call.config.files
    if [bool(text), bool(base64), bool(path)].count(True) != 1:
        ways = "text and base64" if folder is None else "text, base64 and path"
        raise InputError(f"Exactly one of {ways} must be given.", "Give the document in one way.")
    if path and folder is not None:
        return _from_folder(folder, path, call.engine.config.limits.max_file_mb)
    if not name.strip():
        raise InputError("The document has no name.", "Give its file name with its ending, as report.pdf.")
    data = text.encode() if text else _decode(base64)
    if len(data) > UPLOAD_MB * MB:
        raise LimitError(f"The document is larger than {UPLOAD_MB} MB.", "Split it, or add it as a file.")
    known = name.rpartition(".")[2].lower() in ENDINGS
    return name + (".txt" if text and not known else ""), data


def _decode(base64: str) -> bytes:
    try:
        return b64decode("".join(base64.split()), validate=True)
    except ValueError as error:
        raise InputError("The argument base64 is not Base64.", "Send the file's bytes in Base64, or text.") from error


def _from_folder(folder: Path, path: str, max_mb: int) -> tuple[str, bytes]:
    """A file below the folder, never one that a link leads to elsewhere."""
    root = folder.resolve()
    try:
        file = (root / path).resolve(strict=True)
        if not file.is_relative_to(root) or not file.is_file():
            raise FileNotFoundError(path)
        if file.stat().st_size > max_mb * MB:
            raise LimitError(f"The file is larger than {max_mb} MB.", "Split it.")
        return file.name, file.read_bytes()
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        raise DocumentError(
            f"There is no file {line(path)[:200]} in the server's folder.", "Name it relative to that folder."
        ) from error


Call = Context[ServerState, Any]
CHARS = 100_000
"""Characters of a resource: a longer document is cut after a page, in a longer run each text is cut."""
_CUT = 1_000


async def documents_page(context: Call, offset: int = 0) -> str:
    """A page of the list of documents, as the tool documents returns it."""
    result = await documents(call=take_call(context), offset=max(0, offset), limit=PAGE)
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
    f"{SCHEME}documents{{?offset}}": (documents_page, "The list of documents", "application/json"),
    f"{SCHEME}documents/{{id}}": (document, "A document's text", "text/plain"),
    f"{SCHEME}documents/{{id}}/pages/{{page}}": (page, "A page's text", "text/plain"),
    f"{SCHEME}runs/{{run_id}}": (run, "A run's record", "application/json"),
}
"""By their addresses: the function that reads the resource, its title and media type."""


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
