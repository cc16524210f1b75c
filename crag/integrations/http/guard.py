"""What every request passes before its endpoint: origin, token, rate, number of requests, kind and size of its body."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Coroutine
from contextlib import ExitStack
from typing import Any

from fastapi import Request, Response
from fastapi.routing import APIRoute
from pydantic import TypeAdapter
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from crag.integrations.http.problems import Problem, problem_response
from crag.integrations.http.serving import ServerState
from crag.runtime.transfer import bound_body, drop_when_unread

_log = logging.getLogger("crag.integrations.http.access")

HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}
_ANY: TypeAdapter[Any] = TypeAdapter(Any)
JSON, FORM = "application/json", "multipart/form-data"


class Guard:
    """Middleware around everything: refuses pages of other sites, adds the headers, reports what failed, writes the
    line of the log.

    The line has method, route, status, milliseconds, and the number of the token: a route as it is declared, not the
    path that was sent, because in that a caller may write anything. What a request holds is in its state, and freed
    once its reply is sent.
    """

    def __init__(self, app: ASGIApp, serving: ServerState) -> None:
        self._app, self._serving = app, serving

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began, status = time.perf_counter(), 0
        if scope["method"] == "HEAD":
            scope = {**scope, "method": "GET"}  # of its reply, the server leaves the body out
        state = scope.setdefault("state", {})
        receive, send = drop_when_unread(receive, send, self._serving.limits.pace.unread)

        async def sent(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        try:
            with ExitStack() as state["held"]:
                headers, door = Headers(scope=scope), self._serving.door
                if not door.access.asks:  # a program with a token may be a page of its own
                    await door.check_origin(headers.getlist("host"), headers.getlist("origin"))
                await self._app(scope, receive, sent)
        except ClientDisconnect:
            pass
        except Exception as error:
            if status:
                raise
            await (await problem_response(Request(scope), error))(scope, receive, sent)
        finally:
            _log.info(
                "%s %s %s %.0f ms token %s",
                scope["method"][:10] if scope["method"].isalpha() else "-",
                getattr(scope.get("route"), "path", "-"),
                status or "-",
                (time.perf_counter() - began) * 1000,
                state["caller"].number if "caller" in state else "-",
            )


class BoundedRequest(Request):
    """A request with JSON that is checked as it is parsed: depth, half surrogate pairs, endless numbers."""

    async def json(self) -> Any:
        """The body. Raises ValidationError."""
        return _ANY.validate_json(await self.body())


class GuardedRoute(APIRoute):
    """A route for callers with a token; it looks at all else before the body is read, which FastAPI does first."""

    kinds: tuple[str, ...] = (JSON,)
    """Of bodies."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()

        async def guarded(request: Request) -> Response:
            return await handle(await self._admit(request))

        return guarded

    async def _admit(self, request: Request) -> Request:
        """The request, which holds its place until its reply is sent. Raises Problem."""
        serving: ServerState = request.app.state.serving
        caller = request.state.caller = await serving.door.admit(request.headers.getlist("authorization"))
        serving.rates.take(caller)
        if serving.work.closing:
            raise Problem(503, "ending", "The server is about to end.", headers={"Retry-After": "5"})
        request.state.held.enter_context(serving.requests.hold(caller))
        return BoundedRequest(request.scope, self._bound(request)) if request.method == "POST" else request

    def _bound(self, request: Request) -> Receive:
        """What receives the body, as far as it may come. Raises Problem for one of another kind."""
        serving: ServerState = request.app.state.serving
        limits, headers = serving.limits, request.headers
        kind = headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind not in self.kinds:
            if FORM in self.kinds:
                said = f"Send a form ({FORM}) with the file, or JSON with text or base64."
                raise Problem(415, "no_form", said)
            raise Problem(415, "not_json", f"Send JSON, with the header Content-Type: {JSON}.")
        if headers.get("content-encoding", "identity").lower() != "identity":
            raise Problem(415, "encoded", "Send the body as it is, without Content-Encoding.")
        most, shares = (limits.upload_bytes, serving.uploads) if kind == FORM else (limits.json_bytes, serving.bodies)
        hold = request.state.held.enter_context(shares.borrow(request.state.caller.number))
        return bound_body(request.receive, headers.getlist("content-length"), most, hold, limits.pace)


class UploadRoute(GuardedRoute):
    """A route whose body may be a form, too."""

    kinds = (JSON, FORM)
