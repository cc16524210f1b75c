"""The tools and resources on a library: search, grade, the list of documents and their text, and adding one."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Callable, Iterator, Sequence
from contextlib import aclosing
from dataclasses import replace
from typing import Annotated, Any, Literal

from mcp.server.mcpserver import Context
from pydantic import Field

from crag.core.documents import Chunk, Document
from crag.core.errors import CancelledError, CragError, InputError, LimitError, NotFoundError
from crag.core.filters import filter_of
from crag.core.ingesting import DocumentAdded, DocumentFailed, DuplicateFound, IngestEnd, IngestEvent, IngestStep
from crag.core.metadata import Fields, fields_of, tags_of
from crag.core.protocols import SearchQuery
from crag.core.strategies import strategy
from crag.core.types import RetrievedChunk
from crag.export.records import describe_grade
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
    document_uri,
    find_named,
    line,
    take_call,
)
from crag.messages.documents import step_text
from crag.pipeline.request import QUESTION_CHARS, check_question
from crag.text.formats import count
from crag.text.guard import detect_injection, fence_text

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
) -> SearchResult:
    """Finds the passages of the documents nearest to a question, each with its document, page and similarity. Nothing
    is graded and nothing answered: to have a question answered, use ask."""
    settings = strategy(call.config.strategy, call.engine.strategies(call.workspace)).settings
    asked = SearchQuery.under(settings, check_question(query), k, mode)
    hits = call.library.find(replace(asked, where=call.filter(where, documents, tags)))
    return SearchResult(query=asked.text, passages=[_passage(hit) for hit in hits])


def _passage(hit: RetrievedChunk) -> Passage:
    uri = document_uri(hit.chunk.document_id, hit.chunk.page)
    return Passage.of(hit, untrusted=len(detect_injection(hit.chunk.text)), uri=uri)


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
) -> GradeResult:
    """Scores how likely each text answers a question, 0 to 1, calibrated: of texts scored 0.8 about 80 % do. Uses no
    document."""
    question = check_question(question)
    call.note_keys()
    grades = enumerate(call.engine.grade(question, texts))
    return GradeResult(question=question, grades=[Score(index=index, **describe_grade(each)) for index, each in grades])


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
) -> DocumentList:
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
    page, end = [_listed(*each) for each in found[offset : offset + limit]], offset + limit
    return DocumentList(total=len(found), documents=page, next_offset=end if end < len(found) else None)


def _listed(document: Document, fields: Fields) -> Listed:
    return Listed.of(document, fields=fields, uri=document_uri(document.id))


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


async def add_document(
    call: CurrentCall, name: FileName, text: Text = "", base64: Base64 = "", confidence: Confidence = 1.0
) -> AddResult:
    """Adds a document to the library: PDF, Word, PowerPoint, Excel, OpenDocument, RTF, EPUB, CSV, HTML, Markdown,
    text, an image, or an e-mail, whose attachments become documents of their own. It can be
    searched as soon as this returns. The same content is never there twice."""
    ended: IngestEnd | None = None

    def begin() -> Iterator[IngestEvent]:
        file, data = _file(name, text, base64)
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
            return AddResult.of(ended.document, status="added", uri=document_uri(ended.document.id))
        case DuplicateFound():
            return AddResult.of(ended.document, status="duplicate", uri=document_uri(ended.document.id))
        case DocumentFailed():
            raise CragError(ended.message, ended.remedy)
        case _:
            raise CancelledError("Adding was stopped; nothing was added.", "Add it again.")


def _file(name: str, text: str, base64: str) -> tuple[str, bytes]:
    """The name and bytes of the document. Raises InputError, LimitError."""
    if bool(text) == bool(base64):
        raise InputError("Exactly one of text and base64 must be given.", "Give the document in one way.")
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


Call = Context[ServerState, Any]
CHARS = 100_000
"""Characters of a resource: a longer document is cut after a page."""


async def document(context: Call, id: str) -> str:
    """The text of a document, page by page, as far as it is short enough; then where the rest is."""
    call = take_call(context)
    return await call.work(lambda: _document(call, id, None))


async def page(context: Call, id: str, page: int) -> str:
    """The text of one page of a document, from 1."""
    call = take_call(context)
    return await call.work(lambda: _document(call, id, page))


TEMPLATES: dict[str, tuple[Callable[..., Any], str]] = {
    f"{SCHEME}documents/{{id}}": (document, "A document's text"),
    f"{SCHEME}documents/{{id}}/pages/{{page}}": (page, "A page's text"),
}
"""By their addresses: the function that reads the resource, and its title."""


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
