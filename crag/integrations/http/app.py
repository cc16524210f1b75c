"""The HTTP server as one application of FastAPI, and the process that serves it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from fastapi import APIRouter, FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.responses import JSONResponse

import crag
from crag.admin.access import Access
from crag.core.errors import CragError
from crag.engine import Engine
from crag.integrations.calls import Server
from crag.integrations.http import ask, chat, documents, models
from crag.integrations.http.problems import ProblemReply, problem_response
from crag.integrations.http.serving import Guard, Limits, ServerState

_log = logging.getLogger(__name__)

_ABOUT = (
    "Corrective RAG over one's own documents: retrieval is graded, corrected and cited. A token is for one library, "
    "which is all that its requests see. Errors have the form of OpenAI's."
)
free = APIRouter()
"""What anybody may ask at any time, without a token."""


@free.get("/healthz", summary="Whether the server is there")
async def alive(request: Request) -> Response:
    """The process answers, and could open a file; 503 where not."""
    if request.app.state.serving.health.failing():
        return JSONResponse({"status": "failing", "problem": "Too many files are open."}, 503)
    return JSONResponse({"status": "ok"})


@free.get("/readyz", summary="Whether it can answer at once")
async def ready(request: Request) -> Response:
    """The models are loaded, records and index can be reached, and the server is not about to end; 503 where not."""
    serving: ServerState = request.app.state.serving
    lacking = await asyncio.to_thread(
        serving.health.lacking, models=serving.ready.is_set(), closing=serving.work.closing
    )
    if lacking:
        said = {"closing": "ending", "models": "loading"}.get(lacking[0], "not ready")
        return JSONResponse({"status": said, "lacking": lacking}, 503, {"Retry-After": "2"})
    return JSONResponse({"status": "ready"})


@free.get("/metrics", summary="Metrics for Prometheus")
async def metrics(request: Request) -> Response:
    """Its text form, for who may have it; 401 or 404 for others."""
    serving: ServerState = request.app.state.serving
    return await asyncio.to_thread(serving.scraping.reply, request, serving.metrics)


class Application(FastAPI):
    """The application, whose description has the form of a streamed chunk, too."""

    def openapi(self) -> dict[str, Any]:
        if self.openapi_schema is None:
            schemas = super().openapi()["components"]["schemas"]
            chunk = chat.ChatChunk.model_json_schema(mode="serialization", ref_template="#/components/schemas/{model}")
            schemas |= {**chunk.pop("$defs"), "ChatChunk": chunk}
        return super().openapi()


def app(engine: Engine, access: Access, limits: Limits | None = None) -> FastAPI:
    """The application. Closing the engine is left to its owner.

    Its own end waits for the work that is under way.
    """
    serving = ServerState(engine, access, limits or Limits.of(engine.config))

    @asynccontextmanager
    async def alive(_: FastAPI) -> AsyncIterator[None]:
        warming = asyncio.create_task(asyncio.to_thread(_warm, serving))
        yield
        serving.work.close()
        await asyncio.wait({warming})
        await serving.work.ended()

    made = Application(
        title="CRAG Explorer",
        version=crag.__version__,
        description=_ABOUT,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        responses={"default": {"model": ProblemReply, "description": "A refusal or a failure."}},
        exception_handlers=dict.fromkeys(
            (HTTPException, CragError, RequestValidationError, ClientDisconnect), problem_response
        ),
        lifespan=alive,
    )
    made.add_middleware(Guard, serving=serving)
    for router in (chat.router, ask.router, models.router, documents.router, documents.uploads, free):
        made.include_router(router)
    made.state.serving = serving
    return made


def _warm(serving: ServerState) -> None:
    """Load the models. What fails is logged, and the server does not become ready."""
    try:
        serving.engine.embedder.embed(["ready"])
        list(serving.engine.grade("ready?", ["ready"]))
    except CragError as error:
        _log.error("the models can't be loaded: %s", error)
        return
    serving.ready.set()


def server(app: FastAPI) -> Server:
    """What serves the application."""
    serving: ServerState = app.state.serving
    limits = serving.limits
    return Server(app, serving.work, limits.connections, grace=limits.grace_seconds, more=30)
