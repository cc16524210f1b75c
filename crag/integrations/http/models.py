"""The models that a request may name, in OpenAI's form, and texts graded and put in order by the evaluator."""

from __future__ import annotations

import secrets
from typing import Any, Literal

from fastapi import APIRouter
from pydantic import BaseModel, Field, field_validator

from crag.core.errors import CancelledError
from crag.core.model_ids import about
from crag.core.strategies import STRATEGIES
from crag.core.types import Grade
from crag.export.records import is_none
from crag.integrations.calls import Call, in_turn
from crag.integrations.http.problems import Problem
from crag.integrations.http.serving import CurrentCall, GuardedRoute, RequestModel
from crag.pipeline.request import QUESTION_CHARS

CHAT, RERANK = "crag", "crag-rerank"
DEFAULT_STRATEGY = "balanced"
_MOST_RANKED = 1_000
_TOGETHER = 64
"""Texts that are graded between two looks at whether the client is still there."""

router = APIRouter(route_class=GuardedRoute)


class Model(BaseModel):
    """A name that a request may give as its model. `kind` is what it is for; one that chats means a strategy."""

    id: str
    object: Literal["model"] = "model"
    created: Literal[0] = 0
    owned_by: Literal["crag"] = "crag"
    kind: Literal["chat", "rerank"]


class ModelList(BaseModel):
    object: Literal["list"] = "list"
    data: list[Model]


def strategies() -> dict[str, str]:
    """The strategy of each model that chats: `crag` is the default one's, `crag-NAME` that of the name."""
    return {CHAT: DEFAULT_STRATEGY, **{f"{CHAT}-{name}": name for name in STRATEGIES}}


def _models() -> list[Model]:
    chats = [Model(id=id, kind="chat") for id in strategies()]
    return [*chats, Model(id=RERANK, kind="rerank")]


def unknown(model: str, kind: str) -> Problem:
    """What is said of a model that there is not, or that is of another kind.

    A name of somebody else's model is refused, too: the reply would pass for that model's.
    """
    known = ", ".join(each.id for each in _models() if each.kind == kind)
    said = f"There is no {kind} model {model[:100]!r} here. There is: {known}."
    return Problem(404, "model_not_found", said, param="model")


@router.get("/v1/models", summary="List the models")
async def list_models(call: CurrentCall) -> ModelList:
    return ModelList(data=_models())


@router.get("/v1/models/{id}", summary="A model")
async def one(id: str, call: CurrentCall) -> Model:
    found = next((each for each in _models() if each.id == id), None)
    if found is None:
        raise Problem(404, "model_not_found", f"There is no model {id[:100]!r} here; GET /v1/models lists them.")
    return found


class Reranking(RequestModel):
    """What is asked. `max_chunks_per_doc`, `priority` and the like of other makers are passed over."""

    model: str = RERANK
    query: str = Field(min_length=1, max_length=QUESTION_CHARS)
    documents: list[str] = Field(min_length=1, max_length=_MOST_RANKED)
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


class RankedText(BaseModel):
    """A text by its place among those sent, and its calibrated relevance, 0..1."""

    index: int
    relevance_score: float
    document: dict[str, str] | None = Field(None, exclude_if=is_none, description="With `return_documents`: the text.")


class Ranking(BaseModel):
    """Texts, best first. Those of one score stand in the order in which they were sent."""

    id: str = Field(default_factory=lambda: secrets.token_hex(16))
    object: Literal["list"] = "list"
    model: str
    results: list[RankedText]
    meta: dict[str, Any] = {"api_version": {"version": "2"}, "billed_units": {"search_units": 0}}
    usage: dict[str, int] = {"total_tokens": 0}


@router.post("/v1/rerank", summary="Order texts by their relevance")
@router.post("/v2/rerank", summary="Order texts by their relevance")
@router.post("/rerank", summary="Order texts by their relevance")
@in_turn
def rerank(asked: Reranking, call: CurrentCall) -> Ranking:
    """The best `top_n` texts, or all. Where one could not be graded, the request fails: left out or at 0, it would
    pass for irrelevant.
    """
    if asked.model not in (RERANK, call.engine.evaluator.id):
        raise unknown(asked.model, "rerank")
    grades = _grade_texts(call, asked.query, asked.documents)
    scored = sorted(((grade.score or 0.0, -place) for place, grade in enumerate(grades)), reverse=True)
    results = [
        RankedText(
            index=-place,
            relevance_score=score,
            document={"text": asked.documents[-place]} if asked.return_documents else None,
        )
        for score, place in scored[: asked.top_n]
    ]
    return Ranking(model=asked.model, results=results)


def _grade_texts(call: Call, query: str, texts: list[str]) -> list[Grade]:
    """A grade with a score for each text. Raises CancelledError, and Problem 502 where a text has no score."""
    grades: list[Grade] = []
    call.note_keys()
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
