"""The outermost layer of the server: asks who calls and how much they bring, and adds the headers to every answer."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from crag.analysis.monitoring.health import Health
from crag.runtime.origins import Origins
from crag.runtime.transfer import RefusedError, bound_body
from ui.server.body_limits import BODY_MB, Body, Uploads
from ui.server.connection_limit import Caller, Full, Seats, caller
from ui.server.full_page import refusing, told, waiting, wants_page
from ui.server.headers import Header, values, with_headers
from ui.server.health_routes import Watch
from ui.server.refusals import RefusalLog, explain
from ui.server.signing import LOGOUT, ROUTES, Signing, cookies_of

_MEDIA = "/media/"
_UPLOAD = "/_stcore/upload_file/"


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """What the edge goes by from one start to the next. `base`: the path that the app lies under, "" or "/path".

    `signing`: where people sign in. `cookies`: each says, by the cookies that a browser sent, one that it is told to
    send from now on, or "". `media`: whether who has these cookies may have the picture or download of this path; None:
    all who know its address may.
    `untaken` hears of each file that a session could not send, and why.
    """

    callers: Origins
    headers: Sequence[Header]
    health: Health
    uploads: Uploads
    seats: Seats
    watch: Watch
    upload_mb: int = 200
    metrics: bool = False
    base: str = ""
    signing: Signing | None = None
    cookies: Sequence[Callable[[str], str]] = ()
    media: Callable[[str, Mapping[str, str]], bool] | None = None
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
        if path == "/metrics":
            await (await rules.watch.metrics(scope))(scope, receive, send)
            return
        if path == "/readyz":
            await (await rules.watch.ready())(scope, receive, send)
            return
        if path == "/healthz" and scope["method"] in ("GET", "HEAD"):
            # What a new start does not cure is no reason to be restarted by whoever asks. Streamlit's own address says
            # no more than that it serves: a browser asks it first, and must get in to be told what is the matter.
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
        scope, send = await self._own_media(scope, path, send)
        await self._within_size(scope, receive, send, upload=upload)

    async def _within_size(self, scope: Scope, receive: Receive, send: Send, *, upload: bool) -> None:
        rules, path = self._rules, self._path(scope)
        session = path.removeprefix(_UPLOAD).partition("/")[0] if upload else ""
        most = (rules.upload_mb + BODY_MB if upload else BODY_MB) * 2**20
        body = Body(rules.uploads, session) if upload else Body()
        begun = False

        async def watched(message: Message) -> None:
            nonlocal begun
            begun = True
            body.finish()  # else a file that Streamlit keeps by now would count twice while this is sent
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
            if begun:
                raise
            if upload:
                rules.untaken(session, str(refused))
            await _answer(refused.status, str(refused))(scope, receive, send)
        finally:
            body.finish()

    async def _own_media(self, scope: Scope, path: str, send: Send) -> tuple[Scope, Send]:
        """As it is for who may have it, and kept by no cache that others share; for others a file that there is not."""
        allowed = self._rules.media
        if allowed is None or not path.startswith(_MEDIA) or scope["method"] == "OPTIONS":
            return scope, send
        if not await asyncio.to_thread(allowed, path, cookies_of(scope)):
            none = f"{self._rules.base}{_MEDIA}none"
            return {**scope, "path": none, "raw_path": none.encode()}, send

        async def private(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = with_headers(message.get("headers", ()), [(b"cache-control", b"private")])
                message = {**message, "headers": headers}
            await send(message)

        return scope, private

    def _cookies(self, scope: Scope) -> tuple[Header, ...]:
        sent = "; ".join(values(scope, b"cookie"))
        said = (make(sent) for make in self._rules.cookies)
        return tuple((b"set-cookie", each.encode()) for each in said if each)

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
        """Why a tab has to wait. The limits may have to be read anew, which keeps nobody else waiting."""
        most = await asyncio.to_thread(self._rules.seats.most)
        return self._rules.seats.full(who, most)

    async def _open(self, scope: Scope, receive: Receive, send: Send) -> None:
        """A tab, for as long as it is open, if there is a place for it."""
        who = caller(scope)
        if (full := await self._full(who)) is not None:
            await self._close(scope, receive, send, told(full), full)
            return
        with self._rules.seats.taken(who):
            await self._app(scope, receive, send)

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


def _answer(status: int, line: str) -> PlainTextResponse:
    close = {"connection": "close"} if status in (413, 503) else {}
    return PlainTextResponse(line + "\n", status_code=status, headers={"cache-control": "no-store", **close})
