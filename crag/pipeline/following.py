"""A run followed from asynchronous code: the engine works in a thread, and its events are awaited one by one."""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections.abc import AsyncGenerator, Callable, Iterator
from typing import TypeVar

T = TypeVar("T")


async def follow_run(
    run: Iterator[T], cancel: threading.Event, ended: Callable[[], None] = lambda: None
) -> AsyncGenerator[T, None]:
    """The items of `run` as they come; then what it raised, if it did.

    `run` works in a thread of its own, in the context of whoever asks for the first item. Who stops listening sets
    `cancel` by that: the thread then takes the run to its own end, so that it is stored. `ended` is called in that
    thread, once, when nothing of the run works any more.
    """
    loop = asyncio.get_running_loop()
    items: asyncio.Queue[tuple[T | None, BaseException | None, bool]] = asyncio.Queue()

    def told(item: T | None, error: BaseException | None, last: bool) -> None:
        try:
            loop.call_soon_threadsafe(items.put_nowait, (item, error, last))
        except RuntimeError:  # the loop is closed: nobody listens any more
            cancel.set()

    def work() -> None:
        error: BaseException | None = None
        try:
            for item in run:
                told(item, None, False)
        except BaseException as raised:  # noqa: BLE001 (it is raised where the items are awaited)
            error = raised
        finally:
            ended()
            told(None, error, True)

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
