"""What every reply passes on its way out: headers that browsers obey, and a line of the log without any content."""

from __future__ import annotations

import logging
import time

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

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
