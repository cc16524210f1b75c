"""What every HTTP request passes before the protocol sees it: who it is, where it comes from, how much it brings."""

from __future__ import annotations

import asyncio
import json

import mcp_types as types
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from mcp.server.streamable_http import MCP_SESSION_ID_HEADER
from mcp.shared.inbound import MCP_PROTOCOL_VERSION_HEADER
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS
from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from crag.admin.access import FOREIGN, WANTED, Access, Arrivals, Caller, foreign, foreign_origin
from crag.integrations.mcp.sessions import Sessions
from crag.runtime.limits import Shares
from crag.runtime.transfer import BodyError, Pace, bound_body, drop_when_unread, too_large

CALLER = "crag.caller"
"""Where the request's scope has its Caller."""
BODY = 24_000_000
"""Bytes of the largest body: what a document of the largest size is in Base64, and room for the rest."""
BODIES = 256_000_000
"""Bytes of all requests that are under way, shared between the tokens."""
REQUESTS = 512
"""Messages that are under way at once, shared between the tokens. Streams that a session listens to don't count."""
SESSIONS = 1_000
"""Sessions at once, shared between the tokens. For one more of a token, an idle one of the same token ends."""


class _RefusedError(Exception):
    """The request is not let in."""

    def __init__(self, status: int, said: str) -> None:
        super().__init__(said)
        self.status, self.said = status, said


class Gate:
    """Lets a request to the application in `app`, or refuses it with an error of JSON-RPC."""

    def __init__(self, app: ASGIApp, access: Access, arrivals: Arrivals, pace: Pace = Pace()) -> None:  # noqa: B008
        self._app, self._access, self._arrivals, self._pace = app, access, arrivals, pace
        self._bodies = Shares(BODIES, access.callers, least=BODY)
        self._requests = Shares(REQUESTS, access.callers)
        self._sessions = Sessions(SESSIONS, access.callers)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers, started = Headers(scope=scope), False

        async def sent(message: Message) -> None:
            nonlocal started
            started = True
            await send(message)

        try:
            scope[CALLER] = caller = await self._caller(headers)
            # By this the SDK binds a session to the token that opened it.
            scope["user"] = AuthenticatedUser(AccessToken(token="", client_id=str(caller.number), scopes=[]))
            length = headers.get("content-length", "")
            if length.isascii() and length.isdigit() and (len(length) >= 18 or int(length) > BODY):
                raise too_large(BODY)
            with self._requests.borrow(caller.number) as more, self._bodies.borrow(caller.number) as hold:
                if scope["method"] == "POST" and not more(1):
                    raise _RefusedError(429, "This token has too many requests under way. Wait for replies.")
                read, write = drop_when_unread(receive, sent, self._pace.unread)
                await self._serve(caller.number, headers, scope, bound_body(read, BODY, self._pace, hold), write)
        except (_RefusedError, BodyError) as error:
            if not started:
                await _refusal(error.status, str(error))(scope, receive, send)

    async def _serve(self, caller: int, headers: Headers, scope: Scope, receive: Receive, send: Send) -> None:
        """The request, counted among those of its session, or as one that opens a session."""
        id = headers.get(MCP_SESSION_ID_HEADER, "")
        oldest = HANDSHAKE_PROTOCOL_VERSIONS[0]
        opens = not id and headers.get(MCP_PROTOCOL_VERSION_HEADER, oldest) in HANDSHAKE_PROTOCOL_VERSIONS
        if opens and not await self._sessions.reserve(caller, lambda idle: self._end(idle, scope)):
            raise _RefusedError(429, "This token has as many sessions as it may, and all are in use. End one of them.")
        opened = ""

        async def sent(message: Message) -> None:
            nonlocal opened
            if message["type"] == "http.response.start":
                status = message["status"]
                if opens and status < 400:
                    opened = Headers(raw=message["headers"]).get(MCP_SESSION_ID_HEADER, "")
                    if opened:
                        self._sessions.add(caller, opened)
                elif status == 404 or (scope["method"] == "DELETE" and status < 400):
                    self._sessions.forget(caller, id)
            await send(message)

        try:
            with self._sessions.using(caller, id):
                await self._app(scope, receive, sent)
        finally:
            if opened:
                self._sessions.leave(caller, opened)
            elif opens:
                self._sessions.release(caller)

    async def _end(self, id: str, scope: Scope) -> None:
        """End an idle session the way its client would: by a DELETE, from the token that this request has."""
        headers = [(MCP_SESSION_ID_HEADER.encode(), id.encode())]

        async def receive() -> Message:
            return {"type": "http.request", "body": b"", "more_body": False}

        async def send(message: Message) -> None:
            """The reply is for nobody."""

        await self._app({**scope, "method": "DELETE", "headers": headers}, receive, send)

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


def _refusal(status: int, said: str) -> Response:
    headers = {"Cache-Control": "no-store", "Connection": "close"}
    if status == 401:
        headers["WWW-Authenticate"] = "Bearer"
    body = json.dumps({"jsonrpc": "2.0", "id": None, "error": {"code": types.INVALID_REQUEST, "message": said}})
    return Response(body, status, headers, media_type="application/json")
