"""Outside calls from synchronous code that can be given up: by Stop, by a time limit, in the middle of a reply.

A blocked read of a socket can't be ended from another thread, a task of an event loop can: the connection is closed
at once and the server sees it. So every outside call runs on one event loop in one background thread.
"""

from __future__ import annotations

import asyncio
import contextvars
import queue
import threading
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Generator
from concurrent.futures import Future
from contextlib import closing
from functools import cache
from typing import Any, TypeVar

from crag.core.errors import CancelledError, UnreachableError

T = TypeVar("T")
BEAT = 0.05
"""Seconds between two looks at whether Stop was pressed."""
_END = object()


class Clock:
    """The time that outside calls have, and the pauses between them. A test's own need not make anybody wait."""

    def now(self) -> float:
        """Seconds since some moment."""
        return time.monotonic()

    def timer(self, seconds: float) -> Callable[[], bool]:
        """Says whether `seconds` are over, counted from now."""
        ends = self.now() + seconds
        return lambda: self.now() > ends

    async def pause(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


CLOCK = Clock()


def wait_for(
    work: Callable[[], Coroutine[Any, Any, T]], *, seconds: float, cancel: threading.Event, clock: Clock = CLOCK
) -> T:
    """What the coroutine returns. Raises what it raises, UnreachableError after `seconds`, CancelledError on Stop."""

    async def once() -> AsyncIterator[T]:
        yield await work()

    with closing(iterate(once, seconds=seconds, cancel=cancel, clock=clock)) as found:
        return next(found)


def iterate(
    work: Callable[[], AsyncIterator[T]], *, seconds: float, cancel: threading.Event, clock: Clock = CLOCK
) -> Generator[T, None, None]:
    """The items as they come. Raises as `wait_for` does. Closing the iterator ends the call."""
    items: queue.SimpleQueue[Any] = queue.SimpleQueue()

    async def pumped() -> None:
        async for item in work():
            items.put(item)

    future = _submit(pumped)
    future.add_done_callback(lambda _: items.put(_END))
    over = clock.timer(seconds)
    try:
        while True:
            try:
                item = items.get(timeout=BEAT)
            except queue.Empty:
                _check(over, seconds, cancel)
                continue
            if item is _END:
                future.result()
                return
            yield item
            _check(over, seconds, cancel)
    finally:
        future.cancel()


def _submit(work: Callable[[], Coroutine[Any, Any, T]]) -> Future[T]:
    """The coroutine on the loop, in the caller's context: tracing finds what a call belongs to by it."""
    context = contextvars.copy_context()

    async def inside() -> T:
        return await asyncio.get_running_loop().create_task(work(), context=context)

    return asyncio.run_coroutine_threadsafe(inside(), _loop())


def _check(over: Callable[[], bool], seconds: float, cancel: threading.Event) -> None:
    if cancel.is_set():
        raise CancelledError("The run was stopped.")
    if over():
        raise UnreachableError(f"There was no complete reply within {seconds:.1f} seconds.")


@cache
def _loop() -> asyncio.AbstractEventLoop:
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, name="outside-calls", daemon=True).start()
    return loop
