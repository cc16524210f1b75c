"""Limits in memory: a token bucket, and shares of a total that callers borrow.

What a slow client can do to a server: bodies have limits of size and time, and a client that reads nothing has gone.

For every application of ASGI: `crag serve`, `crag mcp --http` and the app.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections import Counter, OrderedDict
from collections.abc import Awaitable, Callable, Hashable, Iterator, Mapping, MutableMapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from crag.core.errors import CragError
from crag.runtime.processes import UNREAD_SECONDS

_MOST = 10_000
"""Those who came longest ago are forgotten: their buckets are full again."""


class Buckets:
    """Thread-safe. `harsh`: who goes on asking while refused waits until they have stopped for a moment."""

    def __init__(self, rate: int, now: Callable[[], float] = time.monotonic, *, harsh: bool = False) -> None:
        self._rate, self._now, self._harsh = rate, now, harsh
        self._left: OrderedDict[Hashable, tuple[float, float]] = OrderedDict()
        self._lock = threading.Lock()

    def take(self, who: Hashable) -> float:
        """One request: 0 where it may be made, else the seconds until one may."""
        with self._lock:
            at = self._now()
            left, since = self._left.pop(who, (float(self._rate), at))
            left = min(float(self._rate), left + (at - since) * self._rate / 60)
            free = left >= 1
            self._left[who] = (left - 1 if free else 0.0 if self._harsh else left), at
            if len(self._left) > _MOST:
                self._left.popitem(last=False)
            return 0.0 if free else (1 - left) * 60 / self._rate


class Shares:
    """Requests, bytes or places that callers hold for a while. Belongs to one event loop.

    A caller may use what the others leave free. Its own part, an equal part of the whole, is always free for it:
    where one caller holds everything, the others still get their parts. So all together never hold twice the whole,
    or `least` for each caller if that is more.
    """

    def __init__(self, whole: int, callers: int = 1, *, each: int = 0, least: int = 1) -> None:
        """`each`: the most of one caller, 0 for no such limit. `least`: the smallest part of a caller."""
        self._whole, self._each = whole, each
        self._part = max(least, whole // max(1, callers))
        self._held: Counter[Hashable] = Counter()

    def held(self, caller: Hashable) -> int:
        """What a caller holds now."""
        return self._held[caller]

    def take(self, caller: Hashable, amount: int = 1) -> bool:
        """Take so much more for a caller; False where that is too much, and nothing is taken."""
        own = self._held[caller] + amount
        if self._each and own > self._each:
            return False
        if own > self._part and self._held.total() + amount > self._whole:
            return False
        self._held[caller] = own
        return True

    def give_back(self, caller: Hashable, amount: int = 1) -> None:
        """Free what a caller took."""
        self._held[caller] -= amount
        if not self._held[caller]:
            del self._held[caller]

    @contextmanager
    def borrow(self, caller: Hashable) -> Iterator[Callable[[int], bool]]:
        """A function that takes so much more for a caller. The end of the block frees all of it."""
        taken = 0

        def more(amount: int) -> bool:
            nonlocal taken
            if not self.take(caller, amount):
                return False
            taken += amount
            return True

        try:
            yield more
        finally:
            self.give_back(caller, taken)


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
