"""The server over standard input and output, for the program that started it. Nothing but protocol goes out there."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import threading
from collections.abc import AsyncIterator
from typing import Any, cast

import anyio
import mcp_types as types
from mcp.server.stdio import stdio_server
from mcp.shared.message import SessionMessage

from crag.integrations.mcp.service import Service

LINE_BYTES = 32 * 1024 * 1024
"""The longest message; a longer one is answered with an error and not held in memory."""
_BAD = "That line is no message of JSON-RPC in UTF-8 of at most 32 MB."

log = logging.getLogger(__name__)


def serve(service: Service) -> None:
    """Serves until the input ends or a signal comes; every run is then ended and stored."""
    asyncio.run(_serve(service))


async def _serve(service: Service) -> None:
    loop, lines = asyncio.get_running_loop(), _Lines()
    # The SDK takes standard output and turns what else is written there to standard error.
    async with stdio_server(stdin=cast(Any, lines)) as (given, out), anyio.create_task_group() as tasks:
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, lines.end)
        into, messages = anyio.create_memory_object_stream[SessionMessage | Exception]()
        tasks.start_soon(_sift_messages, given, into, out)
        await service.server.run(messages, out, service.server.create_initialization_options())
        tasks.cancel_scope.cancel()


async def _sift_messages(given: Any, into: Any, out: Any) -> None:
    """Hands messages on; what is none is answered with an error, as it can't be known which request it was."""
    wrong = types.JSONRPCError(jsonrpc="2.0", id=None, error=types.ErrorData(code=types.PARSE_ERROR, message=_BAD))
    async with given, into:
        async for each in given:
            if isinstance(each, Exception):
                await out.send(SessionMessage(wrong))
            else:
                await into.send(each)


class _Lines:
    """The lines of standard input as they come. A thread reads them, so that a signal can end the waiting for one."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._lines: asyncio.Queue[str | None] = asyncio.Queue()
        self._room = threading.Semaphore(8)
        self._input = os.fdopen(os.dup(0), "rb", closefd=False)
        nothing = os.open(os.devnull, os.O_RDONLY)
        os.dup2(nothing, 0)  # a child process must not read the messages
        os.close(nothing)
        threading.Thread(target=self._read, name="standard input", daemon=True).start()

    def end(self) -> None:
        """As if the input had ended."""
        self._lines.put_nowait(None)

    async def __aiter__(self) -> AsyncIterator[str]:
        while (line := await self._lines.get()) is not None:
            yield line
            self._room.release()

    def _read(self) -> None:
        while line := self._input.readline(LINE_BYTES):
            if len(line) == LINE_BYTES and not line.endswith(b"\n"):
                while (rest := self._input.readline(LINE_BYTES)) and not rest.endswith(b"\n"):
                    pass
                line = b"too long"
            if line.strip():
                self._room.acquire()
                self._tell(line.decode("utf-8", "replace"))
        self._tell(None)

    def _tell(self, line: str | None) -> None:
        try:
            self._loop.call_soon_threadsafe(self._lines.put_nowait, line)
        except RuntimeError:
            log.debug("a message came after the server's end")
