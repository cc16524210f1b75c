"""The HTTP server as one application: a table of routes, and what every request passes before its endpoint."""

from __future__ import annotations

import asyncio
import logging
import socket
import time
from collections.abc import AsyncIterator
from contextlib import ExitStack, asynccontextmanager
from dataclasses import dataclass

import python_multipart  # noqa: F401 - starlette reads forms with it; a missing package is reported at the start
import uvicorn
from fastapi import FastAPI
from starlette.datastructures import MutableHeaders
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect, Request
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from crag.admin.access import WANTED, Access, Caller, foreign
from crag.core.errors import CragError
from crag.engine import Engine
from crag.integrations.http import ask, chat, description, documents, embeddings, models, rerank, search
from crag.integrations.http.problems import Problem, problem_response
from crag.integrations.http.serving import Call, Endpoint, Limits, ServerState
from crag.runtime.processes import IDLE_SECONDS
from crag.runtime.transfer import drop_when_unread

_log = logging.getLogger("crag.integrations.http.access")

HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}


class Edge:
    """Adds the headers and writes the line: method, route, status, milliseconds, and the number of the token.

    A route as the table has it, not the path that was sent: in that, a caller may write anything.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began, status = time.perf_counter(), 0
        state = scope.setdefault("state", {})

        async def sent(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        try:
            await self._app(scope, receive, sent)
        finally:
            method = scope["method"] if scope["method"].isalpha() else "-"
            _log.info(
                "%s %s %s %.0f ms token %s",
                *(method[:10], state.get("route", "-"), status or "-"),
                *((time.perf_counter() - began) * 1000, state.get("caller", "-")),
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class Served:
    """A path, a method, and what answers there. `free`: anybody may ask at any time, without a token."""

    method: str
    path: str
    endpoint: Endpoint
    free: bool = False


ROUTES: tuple[Served, ...] = (
    Served(method="GET", path="/healthz", endpoint=description.alive, free=True),
    Served(method="GET", path="/readyz", endpoint=description.ready, free=True),
    Served(method="GET", path="/metrics", endpoint=description.metrics, free=True),
    Served(method="GET", path="/v1/models", endpoint=models.list_models),
    Served(method="GET", path="/v1/models/{id}", endpoint=models.one),
    Served(method="POST", path="/v1/chat/completions", endpoint=chat.completions),
    Served(method="POST", path="/v1/ask", endpoint=ask.ask),
    Served(method="GET", path="/v1/runs/{id}", endpoint=ask.run),
    Served(method="GET", path="/v1/runs/{id}/events", endpoint=ask.events),
    Served(method="GET", path="/openapi.json", endpoint=description.describe_api, free=True),
    Served(method="GET", path="/", endpoint=description.front, free=True),
    *(Served(method="POST", path=path, endpoint=rerank.rerank) for path in ("/v1/rerank", "/v2/rerank", "/rerank")),
    Served(method="POST", path="/v1/embeddings", endpoint=embeddings.embeddings),
    Served(method="POST", path="/v1/search", endpoint=search.search),
    Served(method="GET", path="/v1/documents", endpoint=documents.list_documents),
    Served(method="POST", path="/v1/documents", endpoint=documents.add_documents),
    Served(method="GET", path="/v1/documents/{id}", endpoint=documents.one),
    Served(method="DELETE", path="/v1/documents/{id}", endpoint=documents.delete_document),
)


def app(engine: Engine, access: Access, limits: Limits | None = None) -> FastAPI:
    """The application. Closing the engine is left to its owner.

    To end, a server calls `app.state.serving.work.close()`, then `serving.stop()` when it can wait no
    longer; the application's own end waits for the work that is under way.
    """
    serving = ServerState.of(engine, access, limits or Limits.of(engine.config))

    @asynccontextmanager
    async def alive(_: FastAPI) -> AsyncIterator[None]:
        warming = asyncio.create_task(asyncio.to_thread(description.warm, serving))
        yield
        serving.work.close()
        await asyncio.wait({warming})
        await serving.work.ended()

    made = FastAPI(
        openapi_url=None,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,  # it would answer before any token is looked at, under any Host
        routes=[Route(each.path, AuthenticatedRoute(serving, each), methods=[each.method]) for each in ROUTES],
        middleware=[Middleware(Edge)],
        exception_handlers={
            kind: problem_response for kind in (Problem, CragError, HTTPException, ClientDisconnect, Exception)
        },
        lifespan=alive,
    )
    made.state.serving, made.state.served = serving, ROUTES
    return made


_ANYBODY = Caller(number=0, workspace="")


class AuthenticatedRoute:
    """What stands before an endpoint: who asks, and whether it is one request too many."""

    def __init__(self, serving: ServerState, served: Served) -> None:
        self._serving, self._served = serving, served

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        receive, send = drop_when_unread(receive, send, self._serving.limits.pace.unread)
        request = Request(scope, receive, send)
        request.state.route = self._served.path
        serving, headers = self._serving, request.headers
        if not serving.access.asks and (why := foreign(headers.getlist("host"), headers.getlist("origin"))):
            await asyncio.to_thread(serving.arrivals.turned_away, why)
            raise Problem(403, "foreign", why)
        if self._served.free:
            await self._reply(Call(serving=serving, request=request, caller=_ANYBODY), send)
            return
        caller = serving.access.caller(headers.getlist("authorization"))
        if serving.arrivals.news(caller):
            await asyncio.to_thread(serving.arrivals.came, caller)
        if caller is None:
            raise Problem(401, "invalid_token", WANTED, headers={"WWW-Authenticate": "Bearer"})
        request.state.caller = caller.number
        serving.rates.take(caller)
        if serving.work.closing:
            raise Problem(503, "ending", "The server is about to end.", headers={"Retry-After": "5"})
        with serving.requests.hold(caller), ExitStack() as held:
            await self._reply(Call(serving=serving, request=request, caller=caller, held=held), send)

    async def _reply(self, call: Call, send: Send) -> None:
        response = await self._served.endpoint(call)
        await response(call.request.scope, call.request.receive, send)


_MORE = 30
"""Seconds that are left to stopped requests before their connections are cut."""


class Server(uvicorn.Server):
    """On a signal to end (SIGTERM, Ctrl-C), it takes nothing new, lets what is under way go on for a while, then stops
    it.

    What is stopped ends by itself: a run is stored as it is then.
    """

    def __init__(self, app: FastAPI) -> None:
        self._serving: ServerState = app.state.serving
        super().__init__(
            uvicorn.Config(
                app,
                http="h11",
                loop="asyncio",
                ws="none",
                lifespan="on",
                log_config=None,
                log_level=logging.WARNING,
                access_log=False,
                proxy_headers=False,
                server_header=False,
                timeout_keep_alive=IDLE_SECONDS,
                timeout_graceful_shutdown=int(self._serving.limits.grace_seconds) + _MORE,
            )
        )

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._serving.work.close()
        grace = self._serving.limits.grace_seconds
        stopping = asyncio.get_running_loop().call_later(grace, self._serving.stop)
        try:
            await super().shutdown(sockets)
        finally:
            stopping.cancel()
            self._serving.stop()
