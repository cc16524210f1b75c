"""What the server does at once: so many pieces of work, each followed to its end, and all ended with the server."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator
from contextlib import aclosing
from typing import TypeVar

from crag.core.errors import BusyError, CancelledError
from crag.run.following import followed

T = TypeVar("T")
Told = Callable[[str], Awaitable[None]]
"""Takes a sentence about how far the work is."""

WAITING = 256
"""Pieces of work that may wait for their turn; more are refused."""
LAST = 30.0
"""Seconds that runs have to come to their end, once the server stops."""

log = logging.getLogger(__name__)


class Work:
    """At most `at_once` pieces of work, each in a thread of its own; the others wait in order. Belongs to one loop."""

    def __init__(self, at_once: int) -> None:
        self._places = asyncio.Semaphore(at_once)
        self._waiting = 0
        self._under_way: set[threading.Event] = set()
        self._idle = asyncio.Event()
        self._idle.set()
        self._stopping = False

    async def follow(self, begin: Callable[[threading.Event], Iterator[T]], told: Told) -> AsyncGenerator[T, None]:
        """What `begin` yields, as it comes; it works in a thread and heeds the event that it is given.

        Who stops listening sets that event. The place is free again when the thread has ended, whoever listens.
        Raises BusyError where too many wait, CancelledError once the server stops, and what `begin` raises.
        """
        await self._admitted(told)
        cancel, loop = threading.Event(), asyncio.get_running_loop()
        self._under_way.add(cancel)
        self._idle.clear()

        def ended() -> None:
            try:
                loop.call_soon_threadsafe(self._left, cancel)
            except RuntimeError:
                log.warning("a run ended after the server had")

        async with aclosing(followed(begin(cancel), cancel, ended)) as items:
            async for item in items:
                yield item

    async def done(self, call: Callable[[], T], told: Told) -> T:
        """What `call` returns, which works in a thread. Raises as `follow` does."""

        def once(cancel: threading.Event) -> Iterator[T]:
            yield call()

        async with aclosing(self.follow(once, told)) as items:
            return await anext(items)

    def stop(self) -> None:
        """Take no more work, and end what is under way; callable from a signal handler."""
        self._stopping = True
        for cancel in list(self._under_way):
            cancel.set()

    async def ended(self) -> None:
        """Waits until nothing is under way any more, but not for ever."""
        try:
            await asyncio.wait_for(self._idle.wait(), LAST)
        except TimeoutError:
            log.warning("%d runs had not ended %.0f seconds after the server", len(self._under_way), LAST)

    async def _admitted(self, told: Told) -> None:
        if self._waiting >= WAITING:
            raise BusyError(f"{self._waiting} requests wait here already.", "Ask again in a moment, and fewer at once.")
        if self._places.locked():
            await told(f"Waits for its turn; {self._waiting} wait before it.")
        self._waiting += 1
        try:
            await self._places.acquire()
        finally:
            self._waiting -= 1
        if self._stopping:
            self._places.release()
            raise CancelledError("The server is stopping.", "Ask again when it runs.")

    def _left(self, cancel: threading.Event) -> None:
        self._under_way.discard(cancel)
        self._places.release()
        if not self._under_way:
            self._idle.set()
