"""Slow clients: a body that drips, and a reply that nobody reads."""

import asyncio
from collections.abc import MutableMapping
from typing import Any

import pytest

from crag.runtime.slow_clients import Pace, RefusedError, bound_body, drop_when_unread


def test_a_body_must_go_on_come_at_a_rate_and_end() -> None:
    pace = Pace(still=20, whole=300, rate=1_000)
    assert pace.deadline(100.0, 0, 100.0) == 120.0
    assert pace.deadline(100.0, 5_000, 119.0) == 125.0, "5,000 bytes in 25 seconds are too few"
    assert pace.deadline(100.0, 10**6, 200.0) == 220.0, "it came fast, and stands still now"
    assert pace.deadline(100.0, 10**9, 399.0) == 400.0


def test_a_body_that_drips_is_given_up_however_regular_it_is() -> None:
    async def scenario() -> None:
        async def drip() -> MutableMapping[str, Any]:
            await asyncio.sleep(0.001)
            return {"type": "http.request", "body": b"x", "more_body": True}

        receive = bound_body(drip, (), 10_000, lambda size: True, Pace(still=0.05, whole=1e6, rate=1e9))
        with pytest.raises(RefusedError) as caught:
            while True:
                await receive()
        assert caught.value.status == 408

    asyncio.run(scenario())


def test_a_body_is_counted_as_it_comes_and_not_as_it_is_announced() -> None:
    async def scenario() -> None:
        counted: list[int] = []
        parts = iter([(b"abc", True), (b"de", False)])

        async def receive() -> MutableMapping[str, Any]:
            body, more = next(parts)
            return {"type": "http.request", "body": body, "more_body": more}

        def hold(size: int) -> bool:
            counted.append(size)
            return sum(counted) < 5

        with pytest.raises(RefusedError, match="larger"):
            bound_body(receive, ["101"], 100, hold)

        bounded = bound_body(receive, ["9"], 100, hold, Pace())
        assert (await bounded())["body"] == b"abc" and counted == [3]
        with pytest.raises(RefusedError) as caught:
            await bounded()
        assert (caught.value.status, counted) == (429, [3, 2])

    asyncio.run(scenario())


def test_a_client_that_reads_nothing_has_gone_for_the_application() -> None:
    async def scenario() -> None:
        never, sent = asyncio.Event(), list[MutableMapping[str, Any]]()

        async def receive() -> MutableMapping[str, Any]:
            await never.wait()
            return {}

        async def send(message: MutableMapping[str, Any]) -> None:
            sent.append(message)
            if len(sent) == 2:
                await never.wait()

        read, write = drop_when_unread(receive, send, 0.01)
        listening = asyncio.create_task(read())
        for _ in range(4):
            await write({"type": "http.response.body"})
        assert await listening == await read() == {"type": "http.disconnect"}
        assert len(sent) == 2, "nothing more is sent"

    asyncio.run(scenario())
