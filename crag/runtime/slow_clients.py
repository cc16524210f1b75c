"""What a client can do to a server: bodies have limits of size, and a client that reads nothing has gone.

For every application of ASGI: `crag serve`, `crag mcp --http` and the app.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, MutableMapping, Sequence
from typing import Any

from crag.core.errors import CragError
from crag.runtime.processes import UNREAD_SECONDS

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]


class RefusedError(CragError, reason="input"):
    """A request is refused at once, however much of it is still to come. `status` is HTTP's, `code` for programs."""

    def __init__(
        self, status: int, code: str, cause: str, remedy: str, headers: Mapping[str, str] | None = None
    ) -> None:
        """`headers`: of the reply."""
        super().__init__(cause, remedy)
        self.status, self.code, self.headers = status, code, dict(headers or {})


def bound_body(
    receive: Receive, lengths: Sequence[str], most: int, hold: Callable[[int], object] = lambda size: None
) -> Receive:
    """`receive` until the body is there. Both raise RefusedError where the body is larger than `most` bytes.

    `lengths`: the Content-Length headers, which are believed only where they are too much. `hold` takes the bytes of
    each part that has come, and may raise, too.
    """
    cause, close = f"The body is larger than {most / 2**20:,.0f} MB.", {"Connection": "close"}  # some of it is unread
    too_large = RefusedError(413, "too_large", cause, "Send less at once.", close)
    if any(length.isdecimal() and int(length[:20]) > most for length in lengths):
        raise too_large
    received = 0

    async def bounded() -> Message:
        nonlocal received
        message = await receive()
        size = len(message.get("body", b""))
        received += size
        if received > most:
            raise too_large
        hold(size)
        return message

    return bounded


def drop_when_unread(receive: Receive, send: Send, seconds: float = UNREAD_SECONDS) -> tuple[Receive, Send]:
    """Both for an application whose client counts as gone once it has read nothing of a reply for this many seconds."""
    gone = asyncio.Event()

    async def sent(message: Message) -> None:
        if gone.is_set():
            return
        try:
            async with asyncio.timeout(seconds):
                await send(message)
        except TimeoutError:
            gone.set()

    async def received() -> Message:
        coming, leaving = asyncio.ensure_future(receive()), asyncio.ensure_future(gone.wait())
        try:
            await asyncio.wait({coming, leaving}, return_when=asyncio.FIRST_COMPLETED)
            return coming.result() if coming.done() else {"type": "http.disconnect"}
        finally:
            coming.cancel()
            leaving.cancel()

    return received, sent
