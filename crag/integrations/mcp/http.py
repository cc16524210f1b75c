"""The server over HTTP (streamable): for programs of this machine, or with tokens for those of others."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager

from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings
from mcp.types import INVALID_REQUEST
from starlette.applications import Starlette
from starlette.datastructures import Headers
from starlette.middleware import Middleware
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from crag.admin.access import Access, Arrivals, Door
from crag.integrations.mcp.server import LibraryServer
from crag.integrations.process import Server
from crag.runtime.limits import Pace, RefusedError, Shares, bound_body, drop_when_unread

PATH = "/mcp"
BODY = 24 * 2**20
"""Bytes of the largest body: a document of the largest size in Base64, and room for the rest."""
BODIES = 256 * 2**20
"""Bytes of all requests under way, shared between the tokens."""
REQUESTS = 512
"""Messages under way, shared between the tokens. Streams that a session listens to don't count."""
SESSIONS, LEAST_SESSIONS = 1_000, 16
"""Sessions at once, in equal parts for the tokens, and the smallest part."""


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


class Gate:
    """Middleware before the protocol: checks the token, the origin, and how much a request brings at once.

    It refuses with an error of JSON-RPC, and leaves the caller in the state of the request.
    """

    def __init__(self, app: ASGIApp, access: Access, arrivals: Arrivals, pace: Pace = Pace()) -> None:  # noqa: B008
        self._app, self._door, self._pace = app, Door(access, arrivals), pace
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
            headers = Headers(scope=scope)
            await self._door.check_origin(headers.getlist("host"), headers.getlist("origin"))
            caller = await self._door.admit(headers.getlist("authorization"))
            scope.setdefault("state", {})["caller"] = caller
            with self._requests.borrow(caller.number) as more, self._bodies.borrow(caller.number) as hold:
                if scope["method"] == "POST" and not more(1):
                    raise RefusedError(429, "busy", "This token has too many requests under way.", "Wait for replies.")
                read, write = drop_when_unread(receive, sent, self._pace.unread)
                lengths = headers.getlist("content-length")
                await self._app(scope, bound_body(read, lengths, BODY, hold, self._pace), write)
        except RefusedError as error:
            if not started:
                await _refusal(error)(scope, receive, send)


def _refusal(error: RefusedError) -> Response:
    fault = {"code": INVALID_REQUEST, "message": str(error)}
    headers = {"Cache-Control": "no-store", "Connection": "close", **error.headers}
    return JSONResponse({"jsonrpc": "2.0", "id": None, "error": fault}, error.status, headers)


def serve(server: LibraryServer, access: Access, host: str, port: int, announce: Callable[[str], None]) -> None:
    """Serve until a signal comes; every run is then ended and stored. `announce` gets the address.

    Port 0: one that is free. Raises SettingsError where the address can't be had, or without tokens where other
    machines could reach it.
    """
    access.check_address(host)
    Server(app(server, access), server.state.work).listen(host, port, lambda at: announce(at + PATH))
