"""What every request passes before its endpoint, and what it is given.

It passes origin, token, rate, kind and size of its body, and gets the engine, the caller, and threads for what blocks.
"""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import AsyncGenerator, Callable, Coroutine
from dataclasses import dataclass
from functools import partial
from math import ceil
from typing import Annotated, Any, TypeVar

from fastapi import Depends, Path
from fastapi.routing import APIRoute
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
from pydantic import BaseModel, ConfigDict, TypeAdapter
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from crag.admin.access import Access, Arrivals, Caller, Door
from crag.analysis.monitoring.health import Health
from crag.analysis.monitoring.metrics import Metrics, standing
from crag.core.config import AppConfig
from crag.engine import Engine
from crag.integrations.calls import Call
from crag.integrations.http.problems import Problem, problem_response
from crag.integrations.scraping import Scraping, metrics_token
from crag.providers.prices import usable
from crag.runtime.jobs import WorkQueue
from crag.runtime.limits import Buckets
from crag.runtime.slow_clients import bound_body, drop_when_unread
from crag.storage.postgres import server_at

_MB = 2**20


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What one server allows. Sizes in bytes, times in seconds."""

    at_once: int = 8
    """Requests that are worked on side by side."""
    waiting: int = 64
    """Requests that wait for their turn besides."""
    connections: int = 1_024
    """At once, idle ones too; more are refused, whatever they ask."""
    rate: int = 600
    """Requests a minute of one token; 0: any number."""
    json_bytes: int = 10 * _MB
    upload_bytes: int = 101 * _MB
    grace_seconds: float = 10.0
    """How long requests may go on once the server is asked to end."""

    @classmethod
    def of(cls, config: AppConfig, **given: Any) -> Limits:
        """The limits that follow from a configuration; `given` ones, where not None, first."""
        chosen = {name: value for name, value in given.items() if value is not None}
        return cls(
            **{"at_once": config.limits.runs_at_once, "upload_bytes": (config.limits.max_file_mb + 1) * _MB, **chosen}
        )


class RequestModel(BaseModel):
    """Base of the bodies of requests. Fields of other makers' forms that mean nothing here are passed over."""

    model_config = ConfigDict(frozen=True, extra="ignore", strict=True, allow_inf_nan=False)


T = TypeVar("T")


class ServerState:
    """One server: its engine, who may use it, how much of it, and what is under way.

    `ready` is set once the models are loaded. `metrics`: None where nobody may read them.
    """

    def __init__(self, engine: Engine, access: Access, limits: Limits) -> None:
        callers, config = access.callers, engine.config
        self.engine, self.limits = engine, limits
        self.door = Door(access, Arrivals(engine.teams.audit.note))
        self.buckets = Buckets(limits.rate)
        self.work = WorkQueue(limits.at_once, limits.waiting, callers)
        self.ready = threading.Event()
        self.health = Health.of(config, server_at(config.storage.database_url))
        refused = partial(engine.teams.audit.note, "scrape", "visitor", what="/metrics", refused=True)
        self.scraping = Scraping(
            config.serving.metrics, metrics_token(), not access.asks, lambda why: refused(detail=why)
        )
        self.metrics: Metrics | None = None
        if self.scraping.on:
            sources = standing(lambda: engine, self.health, self.ready.is_set)
            self.metrics = Metrics(lambda: usable(config.providers.prices), sources)
            engine.watchers.append(self.metrics.watch)


class HttpCall(Call):
    """The call of one request. `cancel` is also set when its client has gone, and when the server stops what works."""

    via = "http"

    def __init__(self, serving: ServerState, request: Request, caller: Caller) -> None:
        super().__init__(serving.engine, caller, caller.workspace, serving.work, serving.door.arrivals)
        self._request = request

    @property
    def client(self) -> str:
        """Its X-Client-Name, or else the product that its User-Agent begins with."""
        headers = self._request.headers
        return headers.get("x-client-name", "").strip() or headers.get("user-agent", "").partition("/")[0].strip()

    async def work(self, job: Callable[[], T]) -> T:
        """As `Call.work`. Raises as `attend` does."""
        return await self.attend(super().work(job))

    async def attend(self, work: Coroutine[Any, Any, T]) -> T:
        """What `work` returns or raises.

        Where the client goes meanwhile, `cancel` is set, by which the work should end; what still waits for its turn is
        given up, and ClientDisconnect raised.
        """
        working, leaving = asyncio.ensure_future(work), asyncio.ensure_future(self._gone())
        try:
            await asyncio.wait({working, leaving}, return_when=asyncio.FIRST_COMPLETED)
            if not working.done():
                self._give_up(working)
            return await asyncio.shield(working)
        except asyncio.CancelledError:
            if not working.cancelled():
                raise
            raise ClientDisconnect from None
        finally:
            leaving.cancel()
            if not working.done():
                self._give_up(working)

    def _give_up(self, working: asyncio.Future[T]) -> None:
        self.cancel.set()
        if not self._queue.working(self.cancel):
            working.cancel()

    async def _gone(self) -> None:
        """Returns when the client has gone."""
        while (await self._request.receive())["type"] != "http.disconnect":
            pass


_BEARER = HTTPBearer(auto_error=False, scheme_name="token", description="A token is for one library.")


async def _call(
    request: Request, _: Annotated[HTTPAuthorizationCredentials | None, Depends(_BEARER)]
) -> AsyncGenerator[HttpCall, None]:
    """The call of a caller that the guard let in. Whatever still works for it is stopped once its reply is sent."""
    call = HttpCall(request.app.state.serving, request, request.state.caller)
    try:
        yield call
    finally:
        call.cancel.set()


CurrentCall = Annotated[HttpCall, Depends(_call)]
"""What an endpoint takes to get the call."""
Id = Annotated[str, Path(pattern=r"^[!-~]{1,128}$")]
"""Of a document or a run."""


_access_log = logging.getLogger("crag.integrations.http.access")

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
    path that was sent, because in that a caller may write anything.
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
        receive, send = drop_when_unread(receive, send)

        async def sent(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        try:
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
            _access_log.info(
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

    kind = JSON
    """Of bodies."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()

        async def guarded(request: Request) -> Response:
            return await handle(await self._admit(request))

        return guarded

    async def _admit(self, request: Request) -> Request:
        """The request, its body bounded. Raises Problem."""
        serving: ServerState = request.app.state.serving
        caller = request.state.caller = await serving.door.admit(request.headers.getlist("authorization"))
        rate = serving.limits.rate
        if rate and (seconds := serving.buckets.take(caller.number)) > 0:
            said = f"These were more than {rate} requests a minute. Try again in {ceil(seconds)} s."
            raise Problem(429, "rate_limit_exceeded", said, headers={"Retry-After": str(ceil(seconds))})
        if serving.work.closing:
            raise Problem(503, "ending", "The server is about to end.", headers={"Retry-After": "5"})
        return BoundedRequest(request.scope, self._bound(request)) if request.method == "POST" else request

    def _bound(self, request: Request) -> Receive:
        """What receives the body, as far as it may come. Raises Problem for one of another kind."""
        serving: ServerState = request.app.state.serving
        limits, headers = serving.limits, request.headers
        if headers.get("content-type", "").partition(";")[0].strip().lower() != self.kind:
            raise Problem(415, "other_kind", f"Send the body as {self.kind}, and name that in the header Content-Type.")
        if headers.get("content-encoding", "identity").lower() != "identity":
            raise Problem(415, "encoded", "Send the body as it is, without Content-Encoding.")
        most = limits.upload_bytes if self.kind == FORM else limits.json_bytes
        return bound_body(request.receive, headers.getlist("content-length"), most)


class UploadRoute(GuardedRoute):
    """A route whose body is a form."""

    kind = FORM
