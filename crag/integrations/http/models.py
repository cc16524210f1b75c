"""GET /v1/models: the names that a request may give as its model, in OpenAI's form."""

from __future__ import annotations

from typing import Any

from starlette.responses import JSONResponse, Response

from crag.core.strategies import STRATEGIES
from crag.integrations.http.problems import Problem
from crag.integrations.http.serving import Call

CHAT, RERANK, EMBED = "crag", "crag-rerank", "crag-embed"
DEFAULT_STRATEGY = "balanced"


def strategies() -> dict[str, str]:
    """The strategy of each model that chats: `crag` is the default one's, `crag-NAME` that of the name."""
    return {CHAT: DEFAULT_STRATEGY, **{f"{CHAT}-{name}": name for name in STRATEGIES}}


def records() -> list[dict[str, Any]]:
    """All models, as OpenAI's list has them; `kind` says what each is for."""
    kinds = {**dict.fromkeys(strategies(), "chat"), RERANK: "rerank", EMBED: "embedding"}
    return [{"id": id, "object": "model", "created": 0, "owned_by": "crag", "kind": kind} for id, kind in kinds.items()]


def unknown(model: str, kind: str) -> Problem:
    """What is said of a model that there is not, or that is of another kind.

    A name of somebody else's model is refused, too: the reply would pass for that model's.
    """
    known = ", ".join(each["id"] for each in records() if each["kind"] == kind)
    said = f"There is no {kind} model {model[:100]!r} here. There is: {known}."
    return Problem(404, "model_not_found", said, param="model")


async def list_models(call: Call) -> Response:
    return JSONResponse({"object": "list", "data": records()})


async def one(call: Call) -> Response:
    id = call.request.path_params["id"]
    for record in records():
        if record["id"] == id:
            return JSONResponse(record)
    raise Problem(404, "model_not_found", f"There is no model {id[:100]!r} here; GET /v1/models lists them.")
