"""The work of a server: turns between callers, and an end in good order."""

from __future__ import annotations

import asyncio
import threading

import pytest

from crag.core.errors import BusyError, CancelledError
from crag.runtime.jobs import WorkQueue


async def settle() -> None:
    """Every task has gone as far as it can without a thread."""
    for _ in range(5):
        await asyncio.sleep(0)


def test_one_caller_s_work_never_holds_all_turns_and_the_rest_waits_in_order() -> None:
    async def scenario() -> None:
        work, release, order = WorkQueue(2, 8, callers=2), threading.Event(), list[str]()

        def job(name: str) -> str:
            order.append(name)
            assert release.wait(30)
            return name

        def begun(name: str, caller: int) -> asyncio.Task[str]:
            return asyncio.create_task(work.done(lambda: job(name), threading.Event(), caller=caller))

        mine = [begun(f"mine {number}", 1) for number in range(4)]
        await settle()
        assert await asyncio.wait_for(work.done(lambda: "other", threading.Event(), caller=2), 30) == "other"
        assert order == ["mine 0"]
        release.set()
        assert await asyncio.gather(*mine) == ["mine 0", "mine 1", "mine 2", "mine 3"] == order
        await work.ended()

    asyncio.run(scenario())


def test_one_caller_s_requests_never_take_all_places_to_wait() -> None:
    async def scenario() -> None:
        work, release = WorkQueue(1, 4, callers=2), threading.Event()

        def begun(caller: int) -> asyncio.Task[bool]:
            return asyncio.create_task(work.done(lambda: release.wait(30), threading.Event(), caller=caller))

        mine = [begun(1) for _ in range(5)]
        await settle()
        with pytest.raises(BusyError, match="4 requests wait here already"):
            await begun(1)
        other = begun(2)
        await settle()
        mine[1].cancel()  # its place to wait is free again
        await settle()
        release.set()
        assert await asyncio.gather(mine[0], *mine[2:], other) == [True] * 5

    asyncio.run(scenario())


def test_work_that_nobody_listens_to_leaves_its_turn_to_others() -> None:
    """A reader of a stream that stops in the middle: the thread goes on to the end by itself."""

    async def scenario() -> None:
        work, cancel = WorkQueue(1, 4), threading.Event()
        stream = work.follow(iter(range(1000)), cancel)
        assert await anext(stream) == 0
        assert await asyncio.wait_for(work.done(lambda: "next", threading.Event()), 30) == "next"
        assert not cancel.is_set()
        assert [item async for item in stream] == list(range(1, 1000))

    asyncio.run(scenario())


def test_what_waits_when_the_server_ends_is_refused_and_what_works_is_stopped() -> None:
    async def scenario() -> None:
        work, cancel = WorkQueue(1, 4), threading.Event()
        first = asyncio.create_task(work.done(lambda: cancel.wait(30), cancel))
        waiting = asyncio.create_task(work.done(lambda: pytest.fail("the server ends"), threading.Event()))
        await settle()
        assert work.working(cancel) and work.stop() == 1
        assert await first
        with pytest.raises(CancelledError, match="about to end"):
            await waiting
        with pytest.raises(CancelledError, match="about to end"):
            await work.done(lambda: None, threading.Event())
        await work.ended(30)

    asyncio.run(scenario())
