"""The HTTP server as a process: a socket, and an end in good order when it is told to end."""

from __future__ import annotations

import asyncio
import logging
import socket

import python_multipart  # noqa: F401  (starlette reads forms with it; missing, it should be told at the start)
import uvicorn
from starlette.applications import Starlette

from crag.integrations.http.serving import ServerState
from crag.runtime.listening import IDLE_SECONDS

_MORE = 30
"""Seconds that are left to requests which were told to end, before their connections are cut."""


class Server(uvicorn.Server):
    """Told to end (SIGTERM, Ctrl-C), it takes nothing new, lets what is under way go on for a while, then stops it.

    What is stopped ends by itself: a run is stored as it is then.
    """

    def __init__(self, app: Starlette) -> None:
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
