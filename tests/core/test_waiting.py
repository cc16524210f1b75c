"""Calls that can be given up: results, errors, time limits, Stop, and the context that tracing needs."""

import asyncio
import contextvars
import threading
from collections.abc import AsyncIterator

import pytest

from crag.core.errors import CancelledError, UnreachableError
from crag.runtime.waiting import BEAT, iterate, wait_for

SPOT: contextvars.ContextVar[str] = contextvars.ContextVar("spot", default="nowhere")


class Slow:
    """Work that takes long, and remembers that it was ended."""

    def __init__(self) -> None:
        self.begun, self.ended = threading.Event(), threading.Event()

    async def run(self) -> str:
        self.begun.set()
        try:
            await asyncio.sleep(60)
        finally:
            self.ended.set()
        return "late"

    async def items(self) -> AsyncIterator[int]:
        yield 1
        yield 2
        await self.run()


@pytest.mark.parametrize("beats", [0.9, 1.0, 1.1])
def test_work_that_ends_about_a_beat_later_or_times_out_itself_is_heard(beats: float) -> None:
    async def late(fails: bool) -> int:
        await asyncio.sleep(beats * BEAT)
        if fails:
            raise TimeoutError("its own")
        return 7

    assert wait_for(lambda: late(False), seconds=30, cancel=threading.Event()) == 7
    with pytest.raises(TimeoutError, match="its own"):
        wait_for(lambda: late(True), seconds=30, cancel=threading.Event())


def test_after_its_seconds_the_work_is_ended() -> None:
    slow = Slow()
    with pytest.raises(UnreachableError, match=r"0\.1 seconds"):
        wait_for(slow.run, seconds=0.1, cancel=threading.Event())
    assert slow.ended.wait(60)


def test_stop_ends_the_work() -> None:
    slow, stop = Slow(), threading.Event()
    threading.Thread(target=lambda: (slow.begun.wait(60), stop.set())).start()
    with pytest.raises(CancelledError):
        wait_for(slow.run, seconds=30, cancel=stop)
    assert slow.ended.wait(60)


def test_items_come_one_by_one_and_a_time_limit_keeps_those_that_came() -> None:
    slow, seen = Slow(), list[int]()
    with pytest.raises(UnreachableError):
        for item in iterate(slow.items, seconds=0.2, cancel=threading.Event()):
            seen.append(item)
    assert seen == [1, 2]
    assert slow.ended.wait(60)


def test_closing_the_iterator_ends_the_work() -> None:
    slow = Slow()
    items = iterate(slow.items, seconds=30, cancel=threading.Event())
    assert next(items) == 1
    slow.begun.wait(60)
    items.close()
    assert slow.ended.wait(60)


def test_the_work_runs_in_the_caller_s_context() -> None:
    async def where() -> str:
        return SPOT.get()

    async def places() -> AsyncIterator[str]:
        yield SPOT.get()

    SPOT.set("here")
    assert wait_for(where, seconds=5, cancel=threading.Event()) == "here"
    assert list(iterate(places, seconds=5, cancel=threading.Event())) == ["here"]
