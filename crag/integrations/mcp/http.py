"""The server over HTTP (streamable): for programs of this machine, or with tokens for those of others."""

from __future__ import annotations

import asyncio
import json
import types
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager

import uvicorn
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings
from mcp.types import INVALID_REQUEST
from starlette.applications import Starlette
from starlette.datastructures import Headers
from starlette.middleware import Middleware
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from crag.admin.access import FOREIGN, WANTED, Access, Arrivals, Caller, foreign, foreign_origin
from crag.integrations.mcp.server import LibraryServer
from crag.runtime.limits import Shares
from crag.runtime.processes import IDLE_SECONDS, listening, room_for_files
from crag.runtime.transfer import BodyError, Pace, bound_body, drop_when_unread

PATH = "/mcp"
BODY = 24_000_000
"""Bytes of the largest body: a document of the largest size in Base64, and room for the rest."""
BODIES = 256_000_000
"""Bytes of all requests under way, shared between the tokens."""
REQUESTS = 512
"""Messages under way, shared between the tokens. Streams that a session listens to don't count."""
SESSIONS, LEAST_SESSIONS = 1_000, 16
"""Sessions at once, in equal parts for the tokens, and the smallest part."""
GRACE = 5
"""Seconds that replies have to go out once the server stops."""


def app(server: LibraryServer, access: Access) -> Starlette:
    """The application; `access` says who may use it, and of which workspace."""
    sessions = Sessions(server, access)
    gate = Middleware(Gate, access=access, arrivals=server.state.arrivals)
    return Starlette(routes=[Route(PATH, sessions)], middleware=[gate], lifespan=sessions.run)


class Sessions:
    """The sessions of all tokens: a session manager of the SDK for each, so that none is known to another token, and no
    token opens more than its part.
    """

    def __init__(self, server: LibraryServer, access: Access) -> None:
        self._managers: dict[int, StreamableHTTPSessionManager] = {}
        for caller in access.everyone:
            server.streamable_http_app(
                max_request_body_size=BODY,
                max_sessions=max(LEAST_SESSIONS, SESSIONS // len(access.everyone)),
                # The gate checks Host and Origin: with tokens any host may be right, and the audit log notes a refusal.
                transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),
            )
            self._managers[caller.number] = server.session_manager

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._managers[scope["state"]["caller"].number].handle_request(scope, receive, send)

    @asynccontextmanager
    async def run(self, app: Starlette) -> AsyncIterator[None]:
        """The lifespan of all managers."""
        async with AsyncExitStack() as running:
            for manager in self._managers.values():
                await running.enter_async_context(manager.run())
            yield


class _RefusedError(Exception):
    """The request is not let in. `status`: as HTTP has it."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


class Gate:
    """Middleware before the protocol: checks the token, the origin, and how much a request brings at once.

    It refuses with an error of JSON-RPC, and leaves the caller in the state of the request.
    """

    def __init__(self, app: ASGIApp, access: Access, arrivals: Arrivals, pace: Pace = Pace()) -> None:  # noqa: B008
        self._app, self._access, self._arrivals, self._pace = app, access, arrivals, pace
        self._bodies = Shares(BODIES, access.callers, least=BODY)
        self._requests = Shares(REQUESTS, access.callers)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        started = False

        async def sent(message: Message) -> None:
            nonlocal started
            started = True
            await send(message)

        try:
            caller = await self._caller(Headers(scope=scope))
            scope.setdefault("state", {})["caller"] = caller
            with self._requests.borrow(caller.number) as more, self._bodies.borrow(caller.number) as hold:
                if scope["method"] == "POST" and not more(1):
                    raise _RefusedError(429, "This token has too many requests under way. Wait for replies.")
                read, write = drop_when_unread(receive, sent, self._pace.unread)
                await self._app(scope, bound_body(read, BODY, self._pace, hold), write)
        except (_RefusedError, BodyError) as error:
            if not started:
                await _refusal(error.status, str(error))(scope, receive, send)

    async def _caller(self, headers: Headers) -> Caller:
        hosts, origins = headers.getlist("host"), headers.getlist("origin")
        asks = self._access.asks
        if why := (FOREIGN if foreign_origin(hosts, origins) else "") if asks else foreign(hosts, origins):
            await asyncio.to_thread(self._arrivals.turned_away, why)
            raise _RefusedError(403, why)
        caller = self._access.caller(headers.getlist("authorization"))
        if self._arrivals.news(caller):
            await asyncio.to_thread(self._arrivals.came, caller)
        if caller is None:
            raise _RefusedError(401, WANTED)
        return caller


def _refusal(status: int, message: str) -> Response:
    headers = {"Cache-Control": "no-store", "Connection": "close"}
    if status == 401:
        headers["WWW-Authenticate"] = "Bearer"
    body = json.dumps({"jsonrpc": "2.0", "id": None, "error": {"code": INVALID_REQUEST, "message": message}})
    return Response(body, status, headers, media_type="application/json")


def serve(server: LibraryServer, access: Access, host: str, port: int, announce: Callable[[str], None]) -> None:
    """Serve until a signal comes; every run is then ended and stored. `announce` gets the address.

    Port 0: one that is free. Raises SettingsError where the address can't be had, or without tokens where other
    machines could reach it.
    """
    access.check_address(host)
    room_for_files()
    held = listening(host, port)
    config = uvicorn.Config(
        app(server, access),
        http="h11",
        loop="asyncio",
        log_config=None,
        access_log=False,
        server_header=False,
        ws="none",
        timeout_keep_alive=IDLE_SECONDS,
        timeout_graceful_shutdown=GRACE,
    )
    name = f"[{host}]" if ":" in host else host
    announce(f"http://{name}:{held.getsockname()[1]}{PATH}")
    _Uvicorn(config, server).run(sockets=[held])


class _Uvicorn(uvicorn.Server):
    """Ends the runs as soon as it is asked to stop, so that their clients still hear of it."""

    def __init__(self, config: uvicorn.Config, server: LibraryServer) -> None:
        super().__init__(config)
        self._library_server = server

    def handle_exit(self, sig: int, frame: types.FrameType | None) -> None:
        self._library_server.stop()
        super().handle_exit(sig, frame)
