"""Server-sent events: what one looks like, and that a stream in which nothing happens shows that it lives."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator

import pytest

from crag.integrations.http.ask import format_sse, with_heartbeat


def test_an_event_is_one_line_of_data_whatever_it_holds() -> None:
    said = format_sse({"text": "a\nb\r\u2028\x85\ndata: [DONE]\n\n"}, "token", 3)
    head, _, data = said.partition("data: ")
    assert head == "event: token\nid: 3\n"
    assert len(data.splitlines()) == 2 and data.endswith("\n\n")
    assert json.loads(data)["text"].startswith("a\nb\r\u2028")


def test_a_stream_that_waits_beats_and_leaves_nothing_running() -> None:
    async def scenario() -> None:
        go, closed = asyncio.Event(), asyncio.Event()

        async def items() -> AsyncIterator[int]:
            try:
                yield 1
                await go.wait()
                yield 2
                raise ValueError("so it ends")
            finally:
                closed.set()

        found: list[int | None] = []
        with pytest.raises(ValueError, match="so it ends"):
            async for each in with_heartbeat(items(), 0.001):
                found.append(each)
                if found.count(None) == 2:
                    go.set()
        assert [each for each in found if each] == [1, 2]
        assert found.count(None) >= 2

        go.clear()
        closed.clear()
        waiting = with_heartbeat(items(), 0.001)
        assert [await anext(waiting), await anext(waiting)] == [1, None]
        await waiting.aclose()  # type: ignore[attr-defined]
        await asyncio.wait_for(closed.wait(), 60)

    asyncio.run(scenario())
