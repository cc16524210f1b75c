"""The outermost layer of the server: asks who calls and how much they bring, and adds the headers to every answer."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from crag.analysis.monitoring.health import Health
from crag.runtime.origins import Foreign, Origins
from crag.runtime.slow_clients import RefusedError, bound_body
from ui.app import open_tabs
from ui.app.open_tabs import HeldUploads, OpenTabs
from ui.server.body_limits import BODY_MB, Body, Uploads
from ui.server.connection_limit import Caller, Full, Seats, caller
from ui.server.full_page import describe_limit, refusing, waiting, wants_page
from ui.server.headers import Header, values, with_headers
from ui.server.health_routes import Watch
from ui.server.signing import LOGOUT, ROUTES, Signing

_MEDIA = "/media/"
_UPLOAD = "/_stcore/upload_file/"


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """What the edge goes by from one start to the next. `base`: the path that the app lies under, "" or "/path".

    `signing`: where people sign in. `cookie` says, by the cookies that a browser sent, one that it has to send from
    now on, or "". `tabs`: which are open. `held`: the files that Streamlit has taken in. `untaken` hears of each file
    that a session could not send, and why.
    """

    callers: Origins
    headers: Sequence[Header]
    health: Health
    uploads: Uploads
    seats: Seats
    tabs: OpenTabs
    held: HeldUploads
    watch: Watch
    upload_mb: int = 200
    metrics: bool = False
    base: str = ""
    signing: Signing | None = None
    cookie: Callable[[str], str] = lambda sent: ""
    untaken: Callable[[str, str], object] = lambda session, why: None


class Edge:
    """ASGI middleware around all of Streamlit."""

    def __init__(self, app: ASGIApp, rules: Rules) -> None:
        self._app, self._rules = app, rules
        self._refusals = RefusalLog()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        address = str((scope.get("server") or ("",))[0])
        refusal = explain(self._rules.callers.refuse(values(scope, b"host"), values(scope, b"origin"), address))
        if scope["type"] == "websocket":
            await (self._close(scope, receive, send, refusal) if refusal else self._open(scope, receive, send))
            return
        armed = self._armed(send, self._cookies(scope))
        if refusal:
            self._refusals.note(scope, refusal)
            await _answer(403, refusal)(scope, receive, armed)
        elif wants_page(scope, self._path(scope)) and (full := await self._full(caller(scope))) is not None:
            await waiting(full)(scope, receive, armed)
        else:
            await self._serve(scope, receive, armed)

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        rules, path = self._rules, self._path(scope)
        if path.rstrip("/") == "/_stcore/metrics" and not rules.metrics:
            await _answer(404, "Not Found")(scope, receive, send)
            return
        if path.startswith(_MEDIA):
            # Streamlit serves pictures and files there to all who know an address. The app puts none there: a page's
            # pictures are part of what its tab is sent, and its files lie at /files, for their owner alone.
            await _answer(404, "Not Found")(scope, receive, send)
            return
        if path == "/metrics":
            await (await rules.watch.metrics(scope))(scope, receive, send)
            return
        if path == "/readyz":
            await (await rules.watch.ready())(scope, receive, send)
            return
        if path == "/healthz" and scope["method"] in ("GET", "HEAD"):
            # What a new start does not cure is no reason to be restarted by a prober. Streamlit's own address says
            # no more than that it serves: a browser asks it first, and must get in to see what is the matter.
            if await asyncio.to_thread(rules.health.failing):
                await _answer(503, "Too many files are open.")(scope, receive, send)
                return
            whole = f"{rules.base}/_stcore/health"
            scope = {**scope, "path": whole, "raw_path": whole.encode()}
        upload = path.startswith(_UPLOAD)
        if rules.signing is not None and path in ROUTES:
            send = rules.signing.watched(scope, path, send)
        elif rules.signing is not None and upload and not await rules.signing.may_upload(scope):
            await _answer(403, "Only people who have signed in and may add documents can upload files.")(
                scope, receive, send
            )
            return
        await self._within_size(scope, receive, send, upload=upload)

    async def _within_size(self, scope: Scope, receive: Receive, send: Send, *, upload: bool) -> None:
        rules, path = self._rules, self._path(scope)
        session, _, file = path.removeprefix(_UPLOAD).partition("/") if upload else ("", "", "")
        most = (rules.upload_mb + BODY_MB if upload else BODY_MB) * 2**20
        body = Body(rules.uploads, session) if upload else Body()
        answering = False

        async def watched(message: Message) -> None:
            nonlocal answering
            answering = True
            if upload and message["type"] == "http.response.start" and message["status"] < 300:
                if scope["method"] == "PUT":
                    rules.held.keep(session, file, body.size)
                elif scope["method"] == "DELETE":
                    rules.held.forget(session, file)
            body.finish()  # a file that Streamlit holds by now counts once
            await send(message)

        try:
            if rules.signing is not None and path in ROUTES:
                rules.signing.check(scope, path)
                if path == LOGOUT:
                    await rules.signing.leave(scope)
            lengths = values(scope, b"content-length")
            bounded = bound_body(receive, lengths, most, body.hold)
            for length in lengths:
                body.announce(length)
            await self._app(scope, bounded, watched)
        except RefusedError as refused:
            if answering:
                raise
            if upload:
                rules.untaken(session, str(refused))
            await _answer(refused.status, str(refused))(scope, receive, send)
        finally:
            body.finish()

    def _cookies(self, scope: Scope) -> tuple[Header, ...]:
        sent = "; ".join(values(scope, b"cookie"))
        said = self._rules.cookie(sent)
        return ((b"set-cookie", said.encode()),) if said else ()

    def _armed(self, send: Send, cookies: tuple[Header, ...]) -> Send:
        async def arming(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = [*with_headers(message.get("headers", ()), self._rules.headers), *cookies]
                if self._rules.signing is not None:
                    headers = self._rules.signing.secured(headers)
                message = {**message, "headers": headers}
            await send(message)

        return arming

    async def _full(self, who: Caller) -> Full | None:
        """Why a tab has to wait. The limits may have to be read again, which keeps nobody else waiting."""
        most = await asyncio.to_thread(self._rules.seats.most)
        return self._rules.seats.full(who, most)

    async def _open(self, scope: Scope, receive: Receive, send: Send) -> None:
        """A tab, for as long as it is open, if there is a place for it."""
        who = caller(scope)
        if (full := await self._full(who)) is not None:
            await self._close(scope, receive, send, describe_limit(full), full)
            return
        with self._rules.seats.taken(who), self._rules.tabs.opened() as tab:
            await self._app(_let_in(scope, tab), receive, send)

    async def _close(self, scope: Scope, receive: Receive, send: Send, refusal: str, full: Full | None = None) -> None:
        """Refuse a websocket before it is open: the browser is answered 403, or 503 where there is no place."""
        if full is None:
            self._refusals.note(scope, refusal)
        await receive()
        if "websocket.http.response" in scope.get("extensions", {}):
            said = {"content-type": "text/plain; charset=utf-8", **(refusing(full) if full is not None else {})}
            headers = with_headers(
                [(name.encode(), value.encode()) for name, value in said.items()], self._rules.headers
            )
            status = 403 if full is None else 503
            await send({"type": "websocket.http.response.start", "status": status, "headers": headers})
            await send({"type": "websocket.http.response.body", "body": refusal.encode()})
        else:
            await send({"type": "websocket.close", "code": 1008 if full is None else 1013})

    def _path(self, scope: Scope) -> str:
        """Below the app's own."""
        return str(scope["path"]).removeprefix(self._rules.base)


def _let_in(scope: Scope, tab: str) -> Scope:
    """The request for a connection as Streamlit is to see it: with the tab's name, and as one of its own pages.

    The page's owner has been checked. Streamlit would ask again wherever a proxy has changed the Host, and look this
    machine's address up outside for that.
    """
    host = next((urlsplit(each).netloc for each in values(scope, b"origin")), "")
    ours = [(open_tabs.HEADER.encode(), tab.encode()), *([(b"host", host.encode("latin-1"))] if host else [])]
    return {**scope, "headers": with_headers(scope["headers"], ours)}


def _answer(status: int, line: str) -> PlainTextResponse:
    close = {"connection": "close"} if status in (413, 503) else {}
    return PlainTextResponse(line + "\n", status_code=status, headers={"cache-control": "no-store", **close})


LOG = logging.getLogger(__name__)
_LOGGED = 20
"""Refusals of a minute that have a line each. Strangers can't fill the log, and never silence it."""
_SECONDS = 60.0
_REMEDIES = {
    Foreign.HOST: "Behind a proxy set CRAG_WORKSPACES=private, or name all hosts in STREAMLIT_SERVER_ALLOWED_HOSTS, "
    "blanks between them; then start again.",
    Foreign.PAGE: "Its owner can name theirs in STREAMLIT_SERVER_CORS_ALLOWED_ORIGINS.",
    Foreign.NETWORK: "To serve others, start it with --server.address.",
}


def explain(why: Foreign | None) -> str:
    """The refusal, and what the server's owner can do; "" where there is none."""
    return f"{why} {_REMEDIES[why]}" if why else ""


def _later(job: Callable[[], None]) -> None:
    asyncio.get_running_loop().call_later(_SECONDS, job)


class RefusalLog:
    """Belongs to one event loop. `later` calls a function when a minute is over."""

    def __init__(self, later: Callable[[Callable[[], None]], object] = _later) -> None:
        self._later = later
        self._seen = 0
        self._more: Counter[str] = Counter()

    def note(self, scope: Scope, why: str) -> None:
        """A request was refused."""
        self._seen += 1
        if self._seen == 1:
            self._later(self._sum_up)
        if self._seen > _LOGGED:
            self._more[why] += 1
            return
        host, origin = (" ".join(values(scope, name))[:100] for name in (b"host", b"origin"))
        LOG.warning("Refused: host %r, origin %r. %s", host, origin, why)

    def _sum_up(self) -> None:
        for why, count in self._more.items():
            LOG.warning("Refused within a minute: %d more requests. %s", count, why)
        self._seen = 0
        self._more.clear()
