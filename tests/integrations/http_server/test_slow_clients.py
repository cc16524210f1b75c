"""Clients that send or read slowly: the requests of another token are served meanwhile."""

import asyncio
import json
from functools import partial
from typing import Any

import pytest
from starlette.types import Message

from crag.admin.access import Access
from crag.engine import Engine
from crag.integrations.http import serving
from crag.integrations.http.app import app
from crag.integrations.http.serving import Limits
from crag.runtime.slow_clients import drop_when_unread
from tests.support.http_server import OTHER, TOKEN

pytestmark = pytest.mark.anyio


async def posted(application: Any, token: str, path: str, body: dict[str, Any], unread: asyncio.Event | None) -> int:
    """The status of a reply, once it is whole. With `unread`, its reader stops after the head until that is set."""
    data, status, begun = json.dumps(body).encode(), 0, False
    headers = [(b"host", b"localhost"), (b"authorization", f"Bearer {token}".encode())]
    scope = {
        **{"type": "http", "asgi": {"version": "3.0"}, "method": "POST", "path": path, "query_string": b""},
        **{"headers": [*headers, (b"content-type", b"application/json")], "client": ("127.0.0.1", 1)},
    }

    async def receive() -> Message:
        nonlocal begun
        if begun:
            await asyncio.Event().wait()
        begun = True
        return {"type": "http.request", "body": data, "more_body": False}

    async def send(message: Message) -> None:
        nonlocal status
        if message["type"] == "http.response.start":
            status = message["status"]
        elif unread is not None:
            await unread.wait()

    await application(scope, receive, send)
    return status


async def test_a_stream_that_is_not_read_holds_no_turn(engine: Engine) -> None:
    application = app(engine, Access([(TOKEN, "alpha"), (OTHER, "beta")]), Limits(at_once=2))
    read = asyncio.Event()
    asked = {"question": "Who is hired?", "stream": True}
    streams = [asyncio.create_task(posted(application, TOKEN, "/v1/ask", asked, read)) for _ in range(4)]
    ranked = {"query": "q", "documents": ["a"]}
    for token in (OTHER, TOKEN):
        assert await asyncio.wait_for(posted(application, token, "/v1/rerank", ranked, None), 60) == 200
    assert not any(stream.done() for stream in streams)
    read.set()
    assert await asyncio.gather(*streams) == [200] * 4
    await application.state.serving.work.ended()


async def test_a_stream_that_is_never_read_ends(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serving, "drop_when_unread", partial(drop_when_unread, seconds=0.01))
    application = app(engine, Access([(TOKEN, "alpha")]), Limits())
    asked = {"question": "Who is hired?", "stream": True}
    await asyncio.wait_for(posted(application, TOKEN, "/v1/ask", asked, asyncio.Event()), 60)
    await application.state.serving.work.ended()
