"""One call of a program to a server: the library that it may see, its turn, and how the process serves and ends."""

from __future__ import annotations

import asyncio
import logging
import socket
import threading
from collections.abc import AsyncGenerator, Callable, Coroutine, Iterator
from functools import partial, wraps
from typing import Any, ClassVar, TypeVar

import uvicorn
from starlette.types import ASGIApp

from crag.admin.access import Arrivals, Caller
from crag.core.protocols import RunRequest
from crag.core.trace import Trace
from crag.engine import Engine, Workspace
from crag.runtime.jobs import WorkQueue
from crag.runtime.processes import IDLE_SECONDS, listening, room_for_files, share_heaps
from crag.storage.library import Library

_log = logging.getLogger(__name__)


class Server(uvicorn.Server):
    """On a signal to end (SIGTERM, Ctrl-C), it takes no more work, lets what is under way go on for `grace` seconds,
    then stops it.

    What is stopped ends by itself: a run is stored as it is then. Its replies have `more` seconds to go out before
    their connections are cut.
    """

    def __init__(self, app: ASGIApp, work: WorkQueue, connections: int, *, grace: float = 0.0, more: int = 5) -> None:
        """`connections`: at once, idle ones too; more are refused."""
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
                limit_concurrency=connections,
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


T = TypeVar("T")


class Call:
    """One call. `cancel` is set when nobody waits for it any more; what works for it ends by that."""

    via: ClassVar[str]
    """How runs came in, for the history of runs."""

    def __init__(
        self, engine: Engine, caller: Caller, workspace: Workspace, queue: WorkQueue, arrivals: Arrivals
    ) -> None:
        """`workspace`: the only one that this call may see."""
        self.engine, self.caller, self.workspace = engine, caller, workspace
        self.cancel = threading.Event()
        self._queue, self._arrivals = queue, arrivals

    @property
    def library(self) -> Library:
        return self.engine.library(self.workspace)

    @property
    def client(self) -> str:
        """What the program that calls names itself. Nobody vouches for it."""
        return ""

    def note_keys(self) -> None:
        """Called before the engine is asked for what may leave the machine with the owner's keys."""
        self._arrivals.sends(self.caller, lambda: self.engine.resolve_providers().keys)

    def run(self, question: str, strategy: str, **more: Any) -> RunRequest:
        """The run that this call asks for."""
        return RunRequest(
            question, strategy, self.workspace, cancel=self.cancel, via=self.via, client=self.client, **more
        )

    def trace(self, request: RunRequest) -> Trace:
        """The whole run. Raises as `Engine.trace`."""
        self.note_keys()
        return self.engine.trace(request)

    async def _report_place(self, waiting: int) -> None:
        await self.report(f"Waits for its turn; {waiting} wait before it.")

    async def report(self, sentence: str) -> None:
        """Tell the program about the progress, where it can hear it."""

    async def work(self, job: Callable[[], T]) -> T:
        """What `job` returns, which works in a thread in the caller's turn. Raises as `WorkQueue.done` does."""
        return await self._queue.done(job, self.cancel, caller=self.caller.number, report=self._report_place)

    def follow(self, items: Iterator[T]) -> AsyncGenerator[T, None]:
        """The items as they come, made in a thread in the caller's turn. Raises as `WorkQueue.follow` does."""
        return self._queue.follow(items, self.cancel, caller=self.caller.number, report=self._report_place)


def in_turn(work: Callable[..., T]) -> Callable[..., Coroutine[Any, Any, T]]:
    """An endpoint or a tool that works in a thread, in the turn of its `call`."""

    @wraps(work)
    async def waiting(**given: Any) -> T:
        result: T = await given["call"].work(partial(work, **given))
        return result

    return waiting
