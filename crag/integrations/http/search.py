"""POST /v1/search: the chunks of a workspace nearest to a query; nothing is graded."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field
from starlette.responses import JSONResponse, Response

from crag.core.request import SearchQuery
from crag.export.records import HitRecord
from crag.integrations.http.serving import Body, Call
from crag.pipeline.admission import QUESTION_CHARS


class Search(Body):
    """What is searched for. `where` is a filter over documents' fields, as of `crag search --where`."""

    query: str = Field(min_length=1, max_length=QUESTION_CHARS)
    k: int = Field(5, ge=1, le=100)
    where: str = Field("", max_length=2_000)
    mode: Literal["hybrid", "dense", "bm25"] = "hybrid"
    min_confidence: float = Field(0.0, ge=0, le=1)
    half_life_days: float = Field(0.0, ge=0)


async def search(call: Call) -> Response:
    """At most `k` chunks, best first, each as `HitRecord` has it; `similarity` is the ranking's, no relevance."""
    asked = await call.body(Search)

    def found() -> list[dict[str, Any]]:
        hits = call.engine.library(call.workspace).find(
            SearchQuery(
                asked.query,
                asked.k,
                mode=asked.mode,
                where=asked.where,
                min_confidence=asked.min_confidence,
                half_life_days=asked.half_life_days,
            )
        )
        return [HitRecord.of(hit).json_values() for hit in hits]

    return JSONResponse({"object": "list", "data": await call.work(found)})
