"""What a request passes on its way: rates, limits, a client that goes, and work that is stopped."""

import asyncio
import threading
from collections.abc import AsyncIterator
from typing import Any

import pytest
from starlette.requests import ClientDisconnect, Request
from starlette.types import Message

from crag.admin.access import Access, Caller
from crag.engine import Engine
from crag.integrations.http.app import app
from crag.integrations.http.serving import HttpCall, Limits, ServerState

pytestmark = pytest.mark.anyio

ONE = Caller(number=1, workspace="alpha")


def _request(messages: AsyncIterator[Message], headers: dict[str, str] | None = None) -> Request:
    async def receive() -> Message:
        return await anext(messages)

    raw = [(name.lower().encode(), value.encode()) for name, value in (headers or {}).items()]
    return Request({"type": "http", "method": "POST", "path": "/", "query_string": b"", "headers": raw}, receive)


async def test_a_client_that_goes_stops_the_work_that_was_for_it(engine: Engine) -> None:
    begun = asyncio.Event()

    async def messages() -> AsyncIterator[Message]:
        await begun.wait()
        yield {"type": "http.disconnect"}

    serving, loop = ServerState(engine, Access(), Limits()), asyncio.get_running_loop()
    call = HttpCall(serving, _request(messages()), ONE)

    def job() -> bool:
        loop.call_soon_threadsafe(begun.set)
        return call.cancel.wait(30)

    assert await call.work(job)
    await serving.work.ended()


async def test_a_body_is_read_no_further_than_it_may_be(engine: Engine) -> None:
    application = app(engine, Access(), Limits(json_bytes=100))

    async def post(**more: str) -> tuple[int, dict[bytes, bytes], int]:
        """The status, the headers, and how many parts of an endless body were taken."""
        headers = {"host": "localhost", "content-type": "application/json", **more}
        taken, start = 0, dict[str, Any]()
        raw = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
        scope = {"type": "http", "method": "POST", "path": "/v1/rerank", "query_string": b"", "headers": raw}

        async def receive() -> Message:
            nonlocal taken
            taken += 1
            return {"type": "http.request", "body": b" " * 40, "more_body": True}

        async def send(message: Message) -> None:
            nonlocal start
            start = message if message["type"] == "http.response.start" else start

        await application(scope, receive, send)
        return start["status"], dict(start["headers"]), taken

    for more, parts in (({"content_length": "101"}, 0), ({}, 3)):
        status, headers, taken = await post(**more)
        assert (status, headers[b"connection"], taken) == (413, b"close", parts)


async def test_who_waits_for_a_turn_and_goes_leaves_the_queue(engine: Engine) -> None:
    serving, release = ServerState(engine, Access(), Limits(at_once=1)), threading.Event()
    going, staying = asyncio.Event(), asyncio.Event()

    async def messages(gone: asyncio.Event) -> AsyncIterator[Message]:
        await gone.wait()
        yield {"type": "http.disconnect"}

    def call(gone: asyncio.Event) -> HttpCall:
        return HttpCall(serving, _request(messages(gone)), ONE)

    first = asyncio.create_task(call(staying).work(lambda: release.wait(30)))
    second = asyncio.create_task(call(going).work(lambda: pytest.fail("nobody waits for this")))
    await asyncio.sleep(0)
    going.set()
    with pytest.raises(ClientDisconnect):
        await second
    release.set()
    assert await first
    await serving.work.ended()
