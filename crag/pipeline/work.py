"""The work of a server in threads: so much of it at once, in turns between its callers, ended with the server."""

from __future__ import annotations

import asyncio
import contextvars
import logging
import threading
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator
from contextlib import aclosing
from typing import TypeVar

from crag.core.errors import BusyError, CancelledError
from crag.runtime.fair_queue import FairQueue, QueueTicket
from crag.runtime.limits import Shares

T = TypeVar("T")


async def follow_run(
    run: Iterator[T], cancel: threading.Event, ended: Callable[[], None] = lambda: None
) -> AsyncGenerator[T, None]:
    """The items of `run` as they come; then what it raised, if it did.

    `run` works in a thread of its own, in the context of the caller who asks for the first item. Who stops listening
    sets
    `cancel` by that: the thread then takes the run to its own end, so that it is stored. `ended` is called in that
    thread, once, when nothing of the run works any more.
    """
    loop = asyncio.get_running_loop()
    items: asyncio.Queue[tuple[T | None, BaseException | None, bool]] = asyncio.Queue()

    def report(item: T | None, error: BaseException | None, last: bool) -> None:
        try:
            loop.call_soon_threadsafe(items.put_nowait, (item, error, last))
        except RuntimeError:  # the loop is closed: nobody listens any more
            cancel.set()

    def work() -> None:
        error: BaseException | None = None
        try:
            for item in run:
                report(item, None, False)
        except BaseException as raised:  # noqa: BLE001 (it is raised where the items are awaited)
            error = raised
        finally:
            ended()
            report(None, error, True)

    threading.Thread(target=contextvars.copy_context().run, args=(work,), name="crag-run").start()
    over = False
    try:
        while True:
            item, error, over = await items.get()
            if error is not None:
                raise error
            if over:
                return
            yield item  # type: ignore[misc]
    finally:
        if not over:
            cancel.set()


Report = Callable[[str], Awaitable[None]]
"""Takes a sentence about how far the work is."""

log = logging.getLogger(__name__)


async def _no_report(said: str) -> None:
    """For callers that hear nothing while they wait."""


class Work:
    """At most `at_once` pieces of work, each in a thread; the others wait in turns. Belongs to one event loop.

    A turn lasts as long as the thread works, so a client that sends or reads slowly holds none. Where there are several
    callers, none has all turns, and none all places to wait.
    """

    def __init__(self, at_once: int, waiting: int, callers: int = 1) -> None:
        self._at_once, self._turns, self._waiting = at_once, FairQueue(at_once), Shares(waiting, callers)
        self._each = max(1, at_once - 1) if callers > 1 else at_once
        self._under_way: set[threading.Event] = set()
        self._idle = asyncio.Event()
        self._idle.set()
        self.closing = False
        """Whether no more work is taken."""

    def working(self, cancel: threading.Event) -> bool:
        """Whether a thread works that heeds this event."""
        return cancel in self._under_way

    async def follow(
        self, run: Iterator[T], cancel: threading.Event, *, caller: int = 0, report: Report = _no_report
    ) -> AsyncGenerator[T, None]:
        """The items of `run` as they come. It works in a thread and heeds `cancel`.

        Who stops listening sets that event. `report` hears of the waiting. Raises BusyError where too much of the
        caller
        waits, CancelledError once the server stops, and what `run` raises.
        """
        turn = await self._turn(caller, report)
        self._under_way.add(cancel)
        self._idle.clear()
        loop = asyncio.get_running_loop()

        def ended() -> None:
            try:
                loop.call_soon_threadsafe(self._left, turn, cancel)
            except RuntimeError:
                log.warning("work ended after the server had")

        async with aclosing(follow_run(run, cancel, ended)) as items:
            async for item in items:
                yield item

    async def done(
        self, call: Callable[[], T], cancel: threading.Event, *, caller: int = 0, report: Report = _no_report
    ) -> T:
        """What `call` returns, which works in a thread. Raises as `follow` does."""

        def once() -> Iterator[T]:
            yield call()

        async with aclosing(self.follow(once(), cancel, caller=caller, report=report)) as items:
            [returned] = [item async for item in items]
            return returned

    def close(self) -> None:
        """Take no more work. What waits for its turn is refused when that comes."""
        self.closing = True

    def stop(self) -> int:
        """Take no more work, and end what is under way: how many pieces. Callable from a signal handler."""
        self.close()
        under_way = list(self._under_way)
        for cancel in under_way:
            cancel.set()
        return len(under_way)

    async def ended(self, within: float | None = None) -> None:
        """Waits until nothing is under way any more, for so many seconds at most."""
        try:
            await asyncio.wait_for(self._idle.wait(), within)
        except TimeoutError:
            log.warning("%d runs had not ended %s seconds after the server", len(self._under_way), within)

    async def _turn(self, caller: int, report: Report) -> QueueTicket:
        if not self._waiting.take(caller):
            said = f"{self._waiting.held(caller)} requests wait here already."
            raise BusyError(said, "Ask again in a moment, and fewer at once.")
        try:
            running, waiting = self._turns.counts
            if running >= self._at_once:
                await report(f"Waits for its turn; {waiting} wait before it.")  # a client may read this slowly
            came = asyncio.Event()
            turn = self._turns.join(str(caller), self._each, came.set)
            try:
                await came.wait()
                if self.closing:
                    raise CancelledError("The server is about to end.", "Ask again when it runs.")
            except BaseException:
                turn.leave()
                raise
        finally:
            self._waiting.give_back(caller)
        return turn

    def _left(self, turn: QueueTicket, cancel: threading.Event) -> None:
        self._under_way.discard(cancel)
        turn.leave()
        if not self._under_way:
            self._idle.set()
