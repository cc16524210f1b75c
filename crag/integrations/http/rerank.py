"""POST /v1/rerank: texts in the order of their relevance, by the configured evaluator, in Jina's and Cohere's form."""

from __future__ import annotations

import secrets
from typing import Any

from pydantic import Field, field_validator
from starlette.responses import JSONResponse, Response

from crag.core.errors import CancelledError
from crag.core.types import Grade
from crag.integrations.http.models import RERANK, unknown
from crag.integrations.http.problems import Problem
from crag.integrations.http.serving import Body, Call
from crag.messages.wording import about
from crag.pipeline.admission import QUESTION_CHARS

MOST = 1_000
_TOGETHER = 64
"""Texts graded between two looks at whether the client is still there."""


class Reranking(Body):
    """What is asked. `max_chunks_per_doc`, `priority` and the like of other makers are passed over."""

    model: str = RERANK
    query: str = Field(min_length=1, max_length=QUESTION_CHARS)
    documents: list[str] = Field(min_length=1, max_length=MOST)
    top_n: int | None = Field(None, ge=1)
    return_documents: bool = False

    @field_validator("documents", mode="before")
    @classmethod
    def _texts(cls, given: Any) -> Any:
        texts = [
            each.get("text") if isinstance(each, dict) else each for each in (given if isinstance(given, list) else ())
        ]
        if not isinstance(given, list) or any(not isinstance(each, str) for each in texts):
            raise ValueError('a list is needed, each of it a text or {"text": …}')
        return texts


async def rerank(call: Call) -> Response:
    """The best `top_n` texts, or all: `index` is a text's place among those sent, `relevance_score` its calibrated
    relevance, 0..1. Texts of one score stand in the order in which they were sent.

    Where one could not be graded, the request fails: left out or at 0, it would pass for irrelevant.
    """
    asked = await call.body(Reranking)
    if asked.model not in (RERANK, call.engine.evaluator.id):
        raise unknown(asked.model, "rerank")
    grades = await call.work(lambda: _grade_texts(call, asked.query, asked.documents))
    scored = sorted(((grade.score or 0.0, -place) for place, grade in enumerate(grades)), reverse=True)
    results: list[dict[str, Any]] = [{"index": -place, "relevance_score": score} for score, place in scored]
    if asked.return_documents:
        results = [{**each, "document": {"text": asked.documents[each["index"]]}} for each in results]
    return JSONResponse(
        {
            "id": secrets.token_hex(16),
            "object": "list",
            "model": asked.model,
            "results": results[: asked.top_n],
            "meta": {"api_version": {"version": "2"}, "billed_units": {"search_units": 0}},
            "usage": {"total_tokens": 0},
        }
    )


def _grade_texts(call: Call, query: str, texts: list[str]) -> list[Grade]:
    """A grade with a score for each text. Raises Problem 502 where one has none."""
    grades: list[Grade] = []
    call.sends_keys()
    for first in range(0, len(texts), _TOGETHER):
        if call.cancel.is_set():
            raise CancelledError("It was stopped before all texts were graded.")
        grades += call.engine.grade(query, texts[first : first + _TOGETHER])
    failed = [(place, grade) for place, grade in enumerate(grades) if grade.score is None]
    if failed:
        place, grade = failed[0]
        said = f"{len(failed)} of {len(texts)} texts could not be graded, the first of them at index {place}: "
        raise Problem(502, "grade_failed", said + about(grade.error, grade.who))
    return grades
