"""Bodies that are too large, and replies that nobody reads."""

import asyncio
from collections.abc import MutableMapping
from typing import Any

import pytest

from crag.runtime.slow_clients import RefusedError, bound_body, drop_when_unread


def test_a_body_is_counted_as_it_comes_and_not_as_it_is_announced() -> None:
    async def scenario() -> None:
        counted: list[int] = []
        parts = iter([(b"abc", True), (b"de", False)])

        async def receive() -> MutableMapping[str, Any]:
            body, more = next(parts)
            return {"type": "http.request", "body": body, "more_body": more}

        with pytest.raises(RefusedError, match="larger"):
            bound_body(receive, ["101"], 4, counted.append)

        bounded = bound_body(receive, ["2"], 4, counted.append)
        assert (await bounded())["body"] == b"abc" and counted == [3]
        with pytest.raises(RefusedError) as caught:
            await bounded()
        assert (caught.value.status, counted) == (413, [3])

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
