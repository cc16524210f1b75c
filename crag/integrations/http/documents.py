"""/v1/documents and /v1/search: the documents of a workspace listed, added, described, deleted and searched."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, Literal

import python_multipart  # noqa: F401 - FastAPI reads forms with it; a missing package is reported at the start
from fastapi import APIRouter, Form, Query, UploadFile
from pydantic import BaseModel, Field
from starlette.responses import JSONResponse, Response

from crag.core.filters import filter_of
from crag.core.ingesting import DocumentAdded, DocumentFailed, DuplicateFound
from crag.core.protocols import SearchQuery
from crag.export.records import DocumentRecord, HitRecord
from crag.integrations.calls import in_turn
from crag.integrations.http.problems import Problem
from crag.integrations.http.serving import CurrentCall, GuardedRoute, Id, RequestModel, UploadRoute
from crag.pipeline.request import QUESTION_CHARS

PAGE, MOST_A_PAGE = 100, 1_000
Outcome = Literal["added", "duplicate", "failed"]
Code = Literal["no_room", "unreadable_document"]
_STATUSES: dict[Code, int] = {"no_room": 507, "unreadable_document": 422}

router = APIRouter(route_class=GuardedRoute)
uploads = APIRouter(route_class=UploadRoute)


class Search(RequestModel):
    """What is searched for. `where` is a filter over documents' fields, as of `/v1/ask`."""

    query: str = Field(min_length=1, max_length=QUESTION_CHARS)
    k: int = Field(5, ge=1, le=100)
    where: dict[str, Any] = Field({})
    mode: Literal["hybrid", "dense", "bm25"] = "hybrid"
    min_confidence: float = Field(0.0, ge=0, le=1)
    half_life_days: float = Field(0.0, ge=0)


class Hits(BaseModel):
    object: Literal["list"] = "list"
    data: list[HitRecord]


@router.post("/v1/search", summary="Find chunks, ungraded")
@in_turn
def search(asked: Search, call: CurrentCall) -> Hits:
    """At most `k` chunks, best first, with text, document, page and similarity."""
    where = filter_of(asked.where)
    query = SearchQuery(text=asked.query, where=where, **asked.model_dump(exclude={"query", "where"}))
    return Hits(data=[HitRecord.of(hit) for hit in call.library.find(query)])


class DocumentPage(BaseModel):
    """Documents, oldest first, of `total`."""

    object: Literal["list"] = "list"
    data: list[DocumentRecord]
    total: int
    has_more: bool


class FileError(BaseModel):
    """Why a file was not added: `unreadable_document` or `no_room`."""

    message: str
    code: Code


class FileOutcome(BaseModel):
    """What came of one file; a duplicate is the document that is there. `attached_to`: the e-mail that it came in."""

    name: str
    attached_to: str | None = None
    outcome: Outcome
    document: DocumentRecord | None = None
    error: FileError | None = None


class FileOutcomes(BaseModel):
    object: Literal["list"] = "list"
    data: list[FileOutcome]


class Deletion(BaseModel):
    id: str
    object: Literal["document.deleted"] = "document.deleted"
    deleted: Literal[True] = True


@router.get("/v1/documents", summary="List the documents")
@in_turn
def list_documents(
    call: CurrentCall,
    limit: Annotated[int, Query(ge=1, le=MOST_A_PAGE, description="How many.")] = PAGE,
    after: Annotated[str | None, Query(description="The id of the last one seen.")] = None,
) -> DocumentPage:
    """A page of documents, oldest first."""
    documents = call.library.documents
    ids = list(documents.names())
    if after is not None and after not in ids:
        raise Problem(400, "invalid_field", "after: there is no such document.", param="after")
    rest = ids[ids.index(after) + 1 :] if after is not None else ids
    found = {each.id: each for each in documents.all(rest[:limit])}
    data = [DocumentRecord.of(found[id]) for id in rest[:limit] if id in found]
    return DocumentPage(data=data, total=len(ids), has_more=len(rest) > limit)


@router.get("/v1/documents/{id}", summary="A document")
@in_turn
def one(id: Id, call: CurrentCall) -> DocumentRecord:
    """What is known of it."""
    return DocumentRecord.of(call.library.documents.get(id))


@router.delete("/v1/documents/{id}", summary="Delete a document")
@in_turn
def delete_document(id: Id, call: CurrentCall) -> Deletion:
    """The document with all that hangs on it is deleted; runs that quoted it stay."""
    documents = call.library.documents
    name = documents.get(id).name
    documents.delete(id)
    caller, note = call.caller, call.engine.teams.audit.note
    note("delete", caller.name, workspace=caller.workspace, what="document", detail=name)
    return Deletion(id=id)


@uploads.post("/v1/documents", summary="Add documents", response_model=FileOutcomes)
@in_turn
def add_documents(
    call: CurrentCall, file: list[UploadFile], confidence: Annotated[float, Form(ge=0, le=1)] = 1.0
) -> Response:
    """What came of each file: added, a duplicate of one that is there, or failed and why; 422 where all failed.

    Files come in a form, and lie on the disk until they are read.
    """
    files = ((each.filename or "document", each.file.read) for each in file)
    events = call.engine.add_files(files, call.workspace, confidence=confidence, cancel=call.cancel)
    outcomes = FileOutcomes(data=list(_outcomes(events)))
    errors = [each.error for each in outcomes.data if each.error]
    if len(errors) < len(outcomes.data):
        return JSONResponse(outcomes.model_dump())
    first = errors[0]
    problem = Problem(_STATUSES[first.code], first.code, first.message)
    return JSONResponse({**problem.body, **outcomes.model_dump()}, problem.status_code)


def _outcomes(events: Iterator[Any]) -> Iterator[FileOutcome]:
    """What came of each file, in order."""
    for event in events:
        source = event.attached_to or None
        match event:
            case DocumentAdded() | DuplicateFound():
                outcome: Outcome = "added" if isinstance(event, DocumentAdded) else "duplicate"
                document = DocumentRecord.of(event.document)
                yield FileOutcome(name=event.name, attached_to=source, outcome=outcome, document=document)
            case DocumentFailed():
                error = FileError(
                    message=f"{event.message} {event.remedy}".strip(),
                    code="no_room" if event.reason == "limit" else "unreadable_document",
                )
                yield FileOutcome(name=event.name, attached_to=source, outcome="failed", error=error)
