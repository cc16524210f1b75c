"""Whether the server lives, and whether it is ready to be asked: for whatever watches over it."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

from starlette.responses import JSONResponse, Response

from crag.analysis.monitoring.scraping import Scrape
from crag.core.errors import CragError

if TYPE_CHECKING:
    from crag.integrations.http.serving import Call, ServerState

_log = logging.getLogger(__name__)


def warm(serving: ServerState) -> None:
    """Load the models. What fails is logged, and the server does not become ready."""
    try:
        serving.engine.embedder.embed(["ready"])
        list(serving.engine.grade("ready?", ["ready"]))
    except CragError as error:
        _log.error("the models can't be loaded: %s", error)
        return
    serving.ready.set()


async def alive(call: Call) -> Response:
    """The process answers, and could open a file."""
    if problem := call.serving.health.failing():
        return JSONResponse({"status": "failing", "problem": problem}, 503)
    return JSONResponse({"status": "ok"})


async def ready(call: Call) -> Response:
    """The models are loaded, records and index can be reached, and the server is not about to end."""
    serving = call.serving
    lacking = await asyncio.to_thread(
        serving.health.lacking, models=serving.ready.is_set(), closing=serving.work.closing
    )
    if lacking:
        said = {"closing": "ending", "models": "loading"}.get(lacking[0], "not ready")
        return JSONResponse({"status": said, "lacking": lacking}, 503, {"Retry-After": "2"})
    return JSONResponse({"status": "ready"})


async def metrics(call: Call) -> Response:
    """What Prometheus reads, for who may have it."""
    request, serving = call.request, call.serving
    headers = {name: request.headers.getlist(name) for name in request.headers}
    asked = Scrape(headers=headers, peer=request.client.host if request.client else "")
    reply = await asyncio.to_thread(serving.scraping.reply, asked, serving.metrics)
    return Response(reply.body, reply.status, dict(reply.headers))
