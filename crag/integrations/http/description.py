"""What the server offers: its OpenAPI description, made from the models that check requests."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from html import escape
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel
from pydantic.json_schema import models_json_schema
from starlette.responses import HTMLResponse, JSONResponse, Response

import crag
from crag.analysis.monitoring.scraping import Scrape
from crag.core.errors import CragError
from crag.integrations.http import ask, chat, documents, embeddings, models, rerank, search
from crag.integrations.http.chat import ChatChunk, ChatCompletion, ChatRequest
from crag.integrations.http.serving import Body, Call, Endpoint

if TYPE_CHECKING:
    from crag.integrations.http.app import Served
    from crag.integrations.http.serving import ServerState

_STYLE = (
    "body{font:16px/1.5 system-ui,sans-serif;max-width:56rem;margin:2rem auto;padding:0 1rem;"
    "color-scheme:light dark}code,pre{font:14px/1.5 ui-monospace,monospace}pre{overflow-x:auto}"
    "td{padding:.2rem 1rem .2rem 0;vertical-align:top}"
)
_DIGEST = base64.b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()
POLICY = (
    f"default-src 'none'; style-src 'sha256-{_DIGEST}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)

_CHAT = """curl ADDRESS/v1/chat/completions \\
  -H "Authorization: Bearer $TOKEN" -H "Content-Type: application/json" \\
  -d '{"model": "crag", "messages": [{"role": "user", "content": "What does the report say of hiring?"}]}'"""


async def front(call: Call) -> Response:
    """The page: what there is, and a first request. It says nothing of any library."""
    known = operations()
    rows = [
        f"<tr><td><code>{each.method} {each.path}</code></td><td>{escape(known[each.endpoint].summary)}</td></tr>"
        for each in call.request.app.state.served
        if each.endpoint in known
    ]
    return HTMLResponse(
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>CRAG Explorer for programs</title>'
        f'<meta name="viewport" content="width=device-width"><style>{_STYLE}</style></head><body><main>'
        f"<h1>CRAG Explorer for programs</h1><p>Version {escape(crag.__version__)}. This server answers questions from "
        "documents, with every retrieval graded, corrected and cited. It speaks the protocol of OpenAI's clients: give "
        "them this address with <code>/v1</code> behind it, a token as the key, and <code>crag</code> as the model.</p>"
        f"<table>{''.join(rows)}</table><h2>A first question</h2><pre><code>{escape(_CHAT)}</code></pre>"
        '<p>All of it for programs: <a href="openapi.json">openapi.json</a></p></main></body></html>',
        headers={"content-security-policy": POLICY},
    )


_log = logging.getLogger(__name__)


def warm(serving: ServerState) -> None:
    """Load the models. What fails is logged, and the server does not become ready."""
    try:
        serving.engine.embedder.embed(["ready"])
        list(serving.engine.grade("ready?", ["ready"]))
    except CragError as error:
        _log.error("the models can't be loaded: %s", error)
        return
    serving.ready.set()


async def alive(call: Call) -> Response:
    """The process answers, and could open a file."""
    if problem := call.serving.health.failing():
        return JSONResponse({"status": "failing", "problem": problem}, 503)
    return JSONResponse({"status": "ok"})


async def ready(call: Call) -> Response:
    """The models are loaded, records and index can be reached, and the server is not about to end."""
    serving = call.serving
    lacking = await asyncio.to_thread(
        serving.health.lacking, models=serving.ready.is_set(), closing=serving.work.closing
    )
    if lacking:
        said = {"closing": "ending", "models": "loading"}.get(lacking[0], "not ready")
        return JSONResponse({"status": said, "lacking": lacking}, 503, {"Retry-After": "2"})
    return JSONResponse({"status": "ready"})


async def metrics(call: Call) -> Response:
    """What Prometheus reads, for who may have it."""
    request, serving = call.request, call.serving
    headers = {name: request.headers.getlist(name) for name in request.headers}
    asked = Scrape(headers=headers, peer=request.client.host if request.client else "")
    reply = await asyncio.to_thread(serving.scraping.reply, asked, serving.metrics)
    return Response(reply.body, reply.status, dict(reply.headers))


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
    """How every refusal and failure is reported, also as an event of a stream that fails in the middle."""

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
_EVENT_STREAM = "The run's own events, each under its number; the last, trace, is the whole run."


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
            streams=_EVENT_STREAM,
        ),
        ask.run: Operation(summary="A stored run", gives=_RUN),
        ask.events: Operation(
            summary="A stored run, replayed", gives="", streams=f"{_EVENT_STREAM} Last-Event-ID says which were seen."
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
        alive: Operation(summary="Whether the server is there", gives="That it is."),
        metrics: Operation(
            summary="Metrics for Prometheus", gives="Its text form, for who may have it; 401 or 404 for others."
        ),
        ready: Operation(summary="Whether it can answer at once", gives="That it can; 503 where not."),
        describe_api: Operation(summary="This description", gives="OpenAPI 3.1."),
    }


async def describe_api(call: Call) -> Response:
    """The description."""
    return JSONResponse(document(call.request.app.state.served))


@cache
def document(served: Sequence[Served]) -> dict[str, Any]:
    """OpenAPI 3.1 of these routes, those of programs alone."""
    known = operations()
    described = [(each, known[each.endpoint]) for each in served if each.endpoint in known]
    paths: dict[str, dict[str, Any]] = {}
    for each, operation in described:
        paths.setdefault(each.path, {})[each.method.lower()] = _operation(each, operation)
    return {
        "openapi": "3.1.0",
        "info": {"title": "CRAG Explorer", "version": crag.__version__, "description": _ABOUT},
        "security": [{"token": []}],
        "paths": paths,
        "components": {
            "schemas": _schemas([operation for _, operation in described]),
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
            "responses": {_PROBLEM: {"description": ProblemReply.__doc__, "content": _as_json(ProblemReply)}},
        },
    }


def _schemas(described: Sequence[Operation]) -> dict[str, Any]:
    bodies = {each.body for each in described if each.body}
    replies = {each for operation in described for each in (operation.reply, operation.event) if each} | {ProblemReply}
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
