"""What every HTTP request passes before the protocol sees it: who it is, where it comes from, how much it brings."""

from __future__ import annotations

import asyncio
import json

import mcp_types as types
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from crag.core.access import FOREIGN, WANTED, Access, Arrivals, Caller, foreign, foreign_origin

CALLER = "crag.caller"
"""Where the request's scope has its Caller."""
MB = 1024 * 1024
BODY = 24 * MB
"""The largest body: what a document of the largest size is in Base64, and room for the rest."""
BODIES = 256 * MB
"""Of all requests that are under way."""
STILL = 20.0
"""Seconds that a body may stand still."""


class _RefusedError(Exception):
    """The body is not let in."""

    def __init__(self, status: int, said: str) -> None:
        super().__init__(said)
        self.status, self.said = status, said


class Gate:
    """Lets a request to the application in `app`, or refuses it with an error of JSON-RPC."""

    def __init__(self, app: ASGIApp, access: Access, arrivals: Arrivals) -> None:
        self._app, self._access, self._arrivals, self._under_way = app, access, arrivals, 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers, begun = Headers(scope=scope), False

        async def sent(message: Message) -> None:
            nonlocal begun
            begun = True
            await send(message)

        try:
            scope[CALLER] = caller = await self._caller(headers)
            # By this the SDK binds a session to the token that opened it.
            scope["user"] = AuthenticatedUser(AccessToken(token="", client_id=str(caller.number), scopes=[]))
            size = self._size(headers)
            self._under_way += size
            try:
                await self._app(scope, _bounded(receive), sent)
            finally:
                self._under_way -= size
        except _RefusedError as error:
            if not begun:
                await _refusal(error)(scope, receive, send)

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

    def _size(self, headers: Headers) -> int:
        """How many bytes the request may bring; where it doesn't say, as many as any."""
        said = headers.get("content-length", "")
        size = int(said) if said.isascii() and said.isdigit() and len(said) < 18 else 0
        if size > BODY or len(said) >= 18:
            raise _too_large()
        size = BODY if "transfer-encoding" in headers else size
        if self._under_way + size > BODIES:
            raise _RefusedError(503, "The server has more requests than it may take on. Try again in a moment.")
        return size


def _bounded(receive: Receive) -> Receive:
    """The same, until the body is there: not more of it than may be, and not too slowly."""
    got, whole = 0, False

    async def bounded() -> Message:
        nonlocal got, whole
        if whole:
            return await receive()
        try:
            async with asyncio.timeout(STILL):
                message = await receive()
        except TimeoutError as error:
            raise _RefusedError(408, f"Nothing of the body came for {STILL:g} seconds.") from error
        got += len(message.get("body", b""))
        whole = not message.get("more_body", False)
        if got > BODY:
            raise _too_large()
        return message

    return bounded


def _too_large() -> _RefusedError:
    return _RefusedError(413, f"The message is larger than {BODY // MB} MB. Split the document, or add it as a file.")


def _refusal(error: _RefusedError) -> Response:
    said = {"code": types.INVALID_REQUEST, "message": error.said}
    headers = {"Cache-Control": "no-store", "Connection": "close"}
    if error.status == 401:
        headers["WWW-Authenticate"] = "Bearer"
    body = json.dumps({"jsonrpc": "2.0", "id": None, "error": said})
    return Response(body, error.status, headers, media_type="application/json")
