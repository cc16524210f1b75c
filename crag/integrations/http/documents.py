"""/v1/documents: the documents of a workspace listed, added, described and deleted."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable, Iterator
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, model_validator
from starlette.datastructures import UploadFile
from starlette.formparsers import MultiPartException, MultiPartParser
from starlette.responses import JSONResponse, Response

from crag.core.errors import NotFoundError
from crag.core.ingesting import DocumentAdded, DocumentFailed, DuplicateFound
from crag.core.types import Document
from crag.integrations.http.problems import Problem
from crag.integrations.http.serving import Body, Call, pieces

PAGE, MOST_A_PAGE, MOST_FILES = 100, 1_000, 100
_ID = re.compile(r"[!-~]{1,128}")
_STATUSES = {"limit_reached": 429, "no_room": 507, "unreadable_document": 422}
File = tuple[str, Callable[[], bytes]]


def _decode_fields(given: Any) -> Any:
    if not isinstance(given, str):
        return given
    try:
        return base64.b64decode(given, validate=True)
    except (binascii.Error, ValueError) as error:
        raise ValueError("it is no base64") from error


class Adding(Body):
    """One document in JSON: its `text`, or the bytes of its file in `base64`. Larger files are sent as a form."""

    name: str = Field("document.txt", min_length=1, max_length=500)
    text: str | None = None
    base64: Annotated[bytes | None, BeforeValidator(_decode_fields)] = None
    confidence: float = Field(1.0, ge=0, le=1)

    @model_validator(mode="after")
    def _one(self) -> Adding:
        if (self.text is None) == (self.base64 is None):
            raise ValueError("give either text or base64")
        return self

    @property
    def data(self) -> bytes:
        return self.base64 if self.base64 is not None else (self.text or "").encode()


def record(document: Document) -> dict[str, Any]:
    """The fields of a document that a program sees. The place of its file is not among them."""
    return {
        "id": document.id,
        "object": "document",
        "name": document.name,
        "title": document.title,
        "kind": document.kind,
        "bytes": document.size,
        "pages": document.pages,
        "chunks": document.chunks,
        "added_at": document.added_at,
        "url": document.url,
        "published": document.published or None,
        "confidence": document.confidence,
        "warnings": list(document.warnings),
    }


async def list_documents(call: Call) -> Response:
    """A page of documents, oldest first: `limit` of them `after` an id."""
    limit, after = _number(call, "limit", PAGE, MOST_A_PAGE), call.request.query_params.get("after")

    def page() -> dict[str, Any]:
        documents = call.engine.library(call.workspace).documents
        ids = list(documents.names())
        if after is not None and after not in ids:
            raise Problem(400, "invalid_field", "after: there is no such document.", param="after")
        rest = ids[ids.index(after) + 1 :] if after is not None else ids
        found = {each.id: each for each in documents.all(rest[:limit])}
        data = [record(found[id]) for id in rest[:limit] if id in found]
        return {"object": "list", "data": data, "total": len(ids), "has_more": len(rest) > limit}

    return JSONResponse(await call.work(page))


async def one(call: Call) -> Response:
    """What is known of a document."""
    id = _id(call)
    return JSONResponse(await call.work(lambda: record(call.engine.library(call.workspace).documents.get(id))))


async def delete_document(call: Call) -> Response:
    """The document with all that hangs on it is deleted; runs that quoted it stay."""
    id = _id(call)

    def delete() -> None:
        documents = call.engine.library(call.workspace).documents
        name = documents.get(id).name
        documents.delete(id)
        call.engine.teams.audit.note("delete", call.caller.name, workspace=call.workspace, what="document", detail=name)

    await call.work(delete)
    return JSONResponse({"id": id, "object": "document.deleted", "deleted": True})


async def add_documents(call: Call) -> Response:
    """What came of each file: added, a duplicate of one that is there, or failed and why; 422 where all failed.

    Files come in a form (multipart), each in a field of any name, and lie on the disk until they are read; a single
    one also in JSON.
    """
    kind = call.request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind not in ("multipart/form-data", "application/json"):
        raise Problem(415, "no_form", "Send a form (multipart/form-data) with the file, or JSON with text or base64.")
    if kind == "application/json":
        asked = await call.body(Adding)
        return await call.work(lambda: _outcomes(call, [(asked.name, lambda: asked.data)], asked.confidence))
    limits = call.serving.limits
    stream = pieces(call.request, limits.upload_bytes, limits.pace, call.hold(call.serving.uploads))
    try:
        form = await MultiPartParser(call.request.headers, stream, max_files=MOST_FILES, max_fields=20).parse()
    except MultiPartException as error:
        raise Problem(400, "invalid_form", f"The form can't be read: {error.message}") from error
    try:
        uploads = [each for _, each in form.multi_items() if isinstance(each, UploadFile)]
        if not uploads:
            raise Problem(422, "invalid_field", "file: the form brings no file.", param="file")
        confidence = _confidence(form.get("confidence"))
        files: list[File] = [(each.filename or "document", each.file.read) for each in uploads]
        return await call.work(lambda: _outcomes(call, files, confidence))
    finally:
        await form.close()


def _outcomes(call: Call, files: list[File], confidence: float) -> Response:
    data = list(_describe_results(call, files, confidence))
    errors = [each["error"] for each in data if each["error"]]
    if len(errors) < len(data):
        return JSONResponse({"object": "list", "data": data})
    code = errors[0]["code"]
    problem = Problem(_STATUSES[code], code, errors[0]["message"])
    headers = {"Retry-After": str(errors[0]["retry_after"])} if errors[0]["retry_after"] else {}
    return JSONResponse({**problem.body, "object": "list", "data": data}, problem.status, headers)


def _describe_results(call: Call, files: list[File], confidence: float) -> Iterator[dict[str, Any]]:
    """What came of each file, in order."""
    for event in call.engine.add_files(files, call.workspace, confidence=confidence, cancel=call.cancel):
        match event:
            case DocumentAdded():
                yield {"name": event.name, "outcome": "added", "document": record(event.document), "error": None}
            case DuplicateFound():
                yield {"name": event.name, "outcome": "duplicate", "document": record(event.document), "error": None}
            case DocumentFailed():
                error = {
                    "message": f"{event.message} {event.remedy}".strip(),
                    "code": _code(event),
                    "retry_after": event.retry_after or None,
                }
                yield {"name": event.name, "outcome": "failed", "document": None, "error": error}


def _code(failed: DocumentFailed) -> str:
    """Whether it is the file's fault, or a limit that is free again, or one that is full."""
    if failed.reason != "limit":
        return "unreadable_document"
    return "limit_reached" if failed.retry_after else "no_room"


def _id(call: Call) -> str:
    id: str = call.request.path_params["id"]
    if not _ID.fullmatch(id):
        raise NotFoundError("There is no such document in this library.")
    return id


def _number(call: Call, name: str, default: int, most: int) -> int:
    given = call.request.query_params.get(name, str(default))
    if not (given.isascii() and given.isdigit() and len(given) < 10 and 1 <= int(given) <= most):
        raise Problem(400, "invalid_field", f"{name}: give a whole number from 1 to {most:,}.", param=name)
    return int(given)


def _confidence(given: object) -> float:
    try:
        value = float(given) if isinstance(given, str) else 1.0
    except ValueError:
        value = -1.0
    if not 0 <= value <= 1:
        raise Problem(422, "invalid_field", "confidence: give a number from 0 to 1.", param="confidence")
    return value
