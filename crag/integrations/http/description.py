"""What the server offers, told to programs: its OpenAPI description, made from the models that check requests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel
from pydantic.json_schema import models_json_schema
from starlette.responses import JSONResponse, Response

import crag
from crag.integrations.http import ask, chat, documents, embeddings, health, models, rerank, runs, search
from crag.integrations.http.bodies import Body
from crag.integrations.http.chatting import ChatRequest
from crag.integrations.http.completion import ChatChunk, ChatCompletion
from crag.integrations.http.serving import Call, Endpoint

if TYPE_CHECKING:
    from crag.integrations.http.app import Served

_REF = "#/components/schemas/{model}"
_PROBLEM = "Problem"
_JSON, _EVENTS, _FORM = "application/json", "text/event-stream", "multipart/form-data"
_ABOUT = (
    "Corrective RAG over one's own documents: retrieval is graded, corrected and cited. A token is for one library, "
    "which is all that its requests see. Errors have the form of OpenAI's."
)


class Fault(BaseModel):
    """`code` is for programs; `param` the field of the body that is meant."""

    message: str
    type: str
    code: str
    param: str | None


class ProblemReply(BaseModel):
    """How every refusal and failure is told, also as an event of a stream that fails in the middle."""

    error: Fault


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """What one endpoint does, takes and gives, as far as its models do not say it themselves.

    `reply`: the model of what it gives in JSON, or else `gives` says in words what that is. `event`: the model of what
    it streams, where it has one; `streams`: what its events are. `queries`: what may stand in the address behind "?".
    """

    summary: str
    gives: str
    body: type[Body] | None = None
    reply: type[BaseModel] | None = None
    event: type[BaseModel] | None = None
    streams: str = ""
    form: bool = False
    queries: Mapping[str, str] | None = None


_RUN = "The whole run: chunks, grades, decision, strips, answer, citations, checks, calls and times."
_TOLD = "The run's own events, each under its number; the last, trace, is the whole run."


def operations() -> dict[Endpoint, Operation]:
    """Every endpoint with what it does."""
    return {
        chat.completions: Operation(
            summary="Answer the last question of a chat",
            gives="The answer with [n] marks and, under it, its sources; in `crag` what is known of it.",
            body=ChatRequest,
            reply=ChatCompletion,
            event=ChatChunk,
            streams="Chunks of the answer as it is written, then [DONE].",
        ),
        ask.ask: Operation(
            summary="Answer a question, and show how",
            gives=_RUN,
            body=ask.AskRequest,
            streams=_TOLD,
        ),
        runs.run: Operation(summary="A stored run", gives=_RUN),
        runs.events: Operation(
            summary="A stored run told again", gives="", streams=f"{_TOLD} Last-Event-ID says which were seen."
        ),
        rerank.rerank: Operation(
            summary="Order texts by their relevance",
            gives="`results`, best first: the `index` of a text among those sent, and its `relevance_score`, 0..1.",
            body=rerank.Reranking,
        ),
        embeddings.embeddings: Operation(
            summary="Turn texts into vectors",
            gives="`data`: one `embedding` of length 1 a text, in order.",
            body=embeddings.Embedding,
        ),
        search.search: Operation(
            summary="Find chunks, ungraded",
            gives="`data`: chunks, best first, with text, document, page and similarity.",
            body=search.Search,
        ),
        documents.list_documents: Operation(
            summary="List the documents",
            gives="`data`: documents, oldest first; `total`; `has_more`.",
            queries={"limit": "How many, up to 1,000.", "after": "The id of the last one seen."},
        ),
        documents.add_documents: Operation(
            summary="Add documents",
            gives="`data`: of each file its `outcome`, added, duplicate or failed, with the document or the error.",
            body=documents.Adding,
            form=True,
        ),
        documents.one: Operation(summary="A document", gives="What is known of it."),
        documents.delete_document: Operation(summary="Delete a document", gives="That it is deleted."),
        models.list_models: Operation(
            summary="List the models", gives="`data`: models; one that chats means a strategy."
        ),
        models.one: Operation(summary="A model", gives="What it is for."),
        health.alive: Operation(summary="Whether the server is there", gives="That it is."),
        health.metrics: Operation(
            summary="Metrics for Prometheus", gives="Its text form, for who may have it; 401 or 404 for others."
        ),
        health.ready: Operation(summary="Whether it can answer at once", gives="That it can; 503 where not."),
        describe_api: Operation(summary="This description", gives="OpenAPI 3.1."),
    }


async def describe_api(call: Call) -> Response:
    """The description."""
    return JSONResponse(document(call.request.app.state.served))


@cache
def document(served: Sequence[Served]) -> dict[str, Any]:
    """OpenAPI 3.1 of these routes, those of programs alone."""
    known = operations()
    told = [(each, known[each.endpoint]) for each in served if each.endpoint in known]
    paths: dict[str, dict[str, Any]] = {}
    for each, operation in told:
        paths.setdefault(each.path, {})[each.method.lower()] = _operation(each, operation)
    return {
        "openapi": "3.1.0",
        "info": {"title": "CRAG Explorer", "version": crag.__version__, "description": _ABOUT},
        "security": [{"token": []}],
        "paths": paths,
        "components": {
            "schemas": _schemas([operation for _, operation in told]),
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
            "responses": {_PROBLEM: {"description": ProblemReply.__doc__, "content": _as_json(ProblemReply)}},
        },
    }


def _schemas(told: Sequence[Operation]) -> dict[str, Any]:
    bodies = {each.body for each in told if each.body}
    replies = {each for operation in told for each in (operation.reply, operation.event) if each} | {ProblemReply}
    named = sorted(
        [*((each, "validation") for each in bodies), *((each, "serialization") for each in replies)],
        key=lambda pair: pair[0].__name__,
    )
    schemas: dict[str, Any] = models_json_schema(named, ref_template=_REF)[1]["$defs"]  # type: ignore[arg-type]
    return schemas


def _operation(served: Served, operation: Operation) -> dict[str, Any]:
    made: dict[str, Any] = {
        "operationId": f"{served.method.lower()}{served.path.replace('/', '_').replace('{', '').replace('}', '')}",
        "summary": operation.summary,
        "responses": {"200": _describe_operation(operation), "default": {"$ref": f"#/components/responses/{_PROBLEM}"}},
    }
    if served.free:
        made["security"] = []
    if operation.body is not None:
        content = _as_json(operation.body)
        if operation.form:
            content[_FORM] = {"schema": _UPLOAD}
        made["requestBody"] = {"required": True, "content": content}
    if parameters := [*_in_path(served.path), *_in_query(operation)]:
        made["parameters"] = parameters
    return made


_UPLOAD = {
    "type": "object",
    "properties": {
        "file": {"type": "array", "items": {"type": "string", "contentMediaType": "application/octet-stream"}},
        "confidence": {"type": "number", "minimum": 0, "maximum": 1},
    },
    "required": ["file"],
}


def _describe_operation(operation: Operation) -> dict[str, Any]:
    content: dict[str, Any] = {}
    if operation.reply is not None:
        content = _as_json(operation.reply)
    elif operation.gives:
        content = {_JSON: {"schema": {"type": "object"}}}
    if operation.streams:
        event = {"$ref": _REF.format(model=operation.event.__name__)} if operation.event else {"type": "string"}
        content[_EVENTS] = {"schema": event}
    said = " ".join(filter(None, (operation.gives, f"Streamed: {operation.streams}" if operation.streams else "")))
    return {"description": said, "content": content}


def _as_json(model: type[BaseModel]) -> dict[str, Any]:
    return {_JSON: {"schema": {"$ref": _REF.format(model=model.__name__)}}}


def _in_path(path: str) -> list[dict[str, Any]]:
    names = [part[1:-1] for part in path.split("/") if part.startswith("{")]
    return [{"name": each, "in": "path", "required": True, "schema": {"type": "string"}} for each in names]


def _in_query(operation: Operation) -> list[dict[str, Any]]:
    return [
        {"name": name, "in": "query", "description": said, "schema": {"type": "string"}}
        for name, said in (operation.queries or {}).items()
    ]
