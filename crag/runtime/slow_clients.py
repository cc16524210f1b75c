"""What a slow client can do to a server: bodies have limits of size and time, and a client that reads nothing has gone.

For every application of ASGI: `crag serve`, `crag mcp --http` and the app.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, MutableMapping, Sequence
from dataclasses import dataclass
from typing import Any

from crag.core.errors import CragError
from crag.runtime.processes import UNREAD_SECONDS

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """How slowly a client may send and read, in seconds."""

    still: float = 20.0
    """Without a byte of the body."""
    whole: float = 300.0
    """For the whole body."""
    rate: float = 1_000.0
    """Bytes a second that a body brings on average, once `still` is over."""
    unread: float = UNREAD_SECONDS
    """Without reading anything of a reply."""

    def deadline(self, began: float, received: int, now: float) -> float:
        """When the next bytes of a body must have come that began at a time and has brought this many bytes."""
        return min(now + self.still, began + self.still + received / self.rate, began + self.whole)


class RefusedError(CragError, reason="input"):
    """A request is refused at once, however much of it is still to come. `status` is HTTP's, `code` for programs."""

    def __init__(
        self, status: int, code: str, cause: str, remedy: str, headers: Mapping[str, str] | None = None
    ) -> None:
        """`headers`: of the reply."""
        super().__init__(cause, remedy)
        self.status, self.code, self.headers = status, code, dict(headers or {})


def bound_body(
    receive: Receive, lengths: Sequence[str], most: int, hold: Callable[[int], bool], pace: Pace | None = None
) -> Receive:
    """`receive` until the body is there. Both raise RefusedError where the body is too large or too slow.

    `lengths`: the Content-Length headers, which are believed only where they are too much. `hold` says of each
    part that has come whether there is room for its bytes.
    """

    def refuse(status: int, code: str, cause: str, remedy: str) -> RefusedError:
        return RefusedError(status, code, cause, remedy, {"Connection": "close"})  # some of the body is unread

    too_large = refuse(413, "too_large", f"The body is larger than {most / 2**20:,.0f} MB.", "Send less at once.")
    if any(length.isdecimal() and int(length[:20]) > most for length in lengths):
        raise too_large
    received, whole = 0, False
    clock = asyncio.get_running_loop().time
    began = clock()

    async def bounded() -> Message:
        nonlocal received, whole
        if whole:
            return await receive()
        try:
            async with asyncio.timeout_at(pace.deadline(began, received, clock()) if pace else None):
                message = await receive()
        except TimeoutError as error:
            raise refuse(408, "slow", "The body did not come in time.", "Send it again, and faster.") from error
        size = len(message.get("body", b""))
        received += size
        whole = not message.get("more_body", False)
        if received > most:
            raise too_large
        if not hold(size):
            cause = "Requests of this token bring too many bytes at once."
            raise refuse(429, "too_many_bytes", cause, "Wait for replies before you send more.")
        return message

    return bounded


def drop_when_unread(receive: Receive, send: Send, seconds: float) -> tuple[Receive, Send]:
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
