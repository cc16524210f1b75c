"""Whether the server lives, and whether it is ready to be asked: for whatever watches over it."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from starlette.responses import JSONResponse, Response

from crag.core.errors import CragError

if TYPE_CHECKING:
    from crag.server.serving import Call, Serving

_log = logging.getLogger(__name__)


def warm(serving: Serving) -> None:
    """Load the models. What fails is logged, and the server does not become ready."""
    try:
        serving.engine.embedder.embed(["ready"])
        list(serving.engine.grade("ready?", ["ready"]))
    except CragError as error:
        _log.error("the models can't be loaded: %s", error)
        return
    serving.ready.set()


async def alive(call: Call) -> Response:
    """The process answers."""
    return JSONResponse({"status": "ok"})


async def ready(call: Call) -> Response:
    """The models are loaded, and the server is not about to end."""
    serving = call.serving
    if serving.gate.closing or not serving.ready.is_set():
        said = "ending" if serving.gate.closing else "loading"
        return JSONResponse({"status": said}, 503, {"Retry-After": "2"})
    return JSONResponse({"status": "ready"})
