"""Server-sent events: how one is written, how a stream shows that it lives, and what ends a run nobody listens to."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from typing import Any, TypeVar

from starlette.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

T = TypeVar("T")

HEARTBEAT = ": still working\n\n"
HEARTBEAT_SECONDS = 15.0


def format_sse(data: Any, event: str = "", id: int | None = None) -> str:
    """One event, its data as JSON on one line. In ASCII: some readers end a line at more than its end."""
    lines = [f"event: {event}"] if event else []
    lines += [f"id: {id}"] if id is not None else []
    return "\n".join([*lines, f"data: {json.dumps(data)}", "", ""])


async def with_heartbeat(items: AsyncIterator[T], seconds: float = HEARTBEAT_SECONDS) -> AsyncIterator[T | None]:
    """The items as they come, and None as often as so many seconds pass without one."""
    following: asyncio.Future[T] | None = None
    try:
        while True:
            following = asyncio.ensure_future(anext(items))
            while not (await asyncio.wait({following}, timeout=seconds))[0]:
                yield None
            try:
                item = following.result()
            except StopAsyncIteration:
                return
            yield item
    finally:
        if following is not None:
            following.cancel()


class EventStream(StreamingResponse):
    """A stream of events; `ended` is called once it is over, also where its reader went away in the middle."""

    def __init__(self, events: AsyncIterator[str], ended: Callable[[], None] = lambda: None) -> None:
        # X-Accel-Buffering: a proxy in front is not to hold events back.
        headers = {"cache-control": "no-store", "x-accel-buffering": "no"}
        super().__init__(events, media_type="text/event-stream", headers=headers)
        self._ended = ended

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._ended()
