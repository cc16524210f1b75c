"""GET /v1/runs/{id} and its events: a stored run of one's own workspace, as a whole and told again."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence

from starlette.responses import JSONResponse, Response

from crag.core.events import Event
from crag.core.trace import Trace
from crag.export.records import trace_record
from crag.integrations.http.ask import format_event
from crag.integrations.http.serving import Call
from crag.integrations.http.sse import EventStream, format_sse


async def run(call: Call) -> Response:
    """The whole run."""
    id = call.request.path_params["id"]
    return JSONResponse(await call.work(lambda: trace_record(call.engine.library(call.workspace).runs.trace(id))))


async def events(call: Call) -> Response:
    """Its events as they were told, each under its number; from the one after `Last-Event-ID`, where that is given."""
    id = call.request.path_params["id"]
    runs = call.engine.library(call.workspace).runs
    found = await call.work(lambda: runs.events(id))
    seen = call.request.headers.get("last-event-id", "")
    return EventStream(_stream_events(found, int(seen) if seen.isdecimal() and len(seen) < 10 else 0))


async def _stream_events(found: Sequence[Event], seen: int) -> AsyncIterator[str]:
    for number, event in enumerate(found, 1):
        if number > seen:
            yield format_event(number, event)
    yield format_sse(trace_record(Trace.from_events(found)), "trace", len(found) + 1)
