"""The process of a server for programs: where it listens, and how it ends."""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Callable

import uvicorn
from starlette.types import ASGIApp

from crag.runtime.jobs import WorkQueue
from crag.runtime.processes import IDLE_SECONDS, listening, room_for_files, share_heaps

_log = logging.getLogger(__name__)


class Server(uvicorn.Server):
    """On a signal to end (SIGTERM, Ctrl-C), it takes no more work, lets what is under way go on for `grace` seconds,
    then stops it.

    What is stopped ends by itself: a run is stored as it is then. Its replies have `more` seconds to go out before
    their connections are cut.
    """

    def __init__(self, app: ASGIApp, work: WorkQueue, *, grace: float = 0.0, more: int = 5) -> None:
        self._work, self._grace = work, grace
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
                timeout_graceful_shutdown=int(grace) + more,
            )
        )

    def listen(self, host: str, port: int, announce: Callable[[str], None]) -> None:
        """Serve there until a signal comes. `announce` gets the address; port 0 is any free one.

        Raises SettingsError where the address can't be had.
        """
        room_for_files()
        share_heaps()
        with listening(host, port) as held:
            announce(f"http://{f'[{host}]' if ':' in host else host}:{held.getsockname()[1]}")
            self.run(sockets=[held])

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._work.close()
        stopping = asyncio.get_running_loop().call_later(self._grace, self._stop)
        try:
            await super().shutdown(sockets)
        finally:
            stopping.cancel()
            self._stop()

    def _stop(self) -> None:
        if stopped := self._work.stop():
            _log.info("stopping %d requests that are under way", stopped)
