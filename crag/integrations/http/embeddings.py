"""POST /v1/embeddings: texts as vectors of the local embedding model, in OpenAI's form."""

from __future__ import annotations

import base64
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, field_validator
from starlette.responses import JSONResponse, Response

from crag.core.errors import CancelledError
from crag.core.protocols import QuestionEmbedder
from crag.integrations.http.models import EMBED, unknown
from crag.integrations.http.problems import Problem
from crag.integrations.http.serving import Body, Call

MOST = 2_048
_TOGETHER = 64
"""Texts embedded between two looks at whether the client is still there."""


class Embedding(Body):
    """What is asked. `input_type`, which OpenAI's form does not have: whether the texts are to be found, or to find."""

    model: str = EMBED
    input: list[str] = Field(min_length=1, max_length=MOST)
    encoding_format: Literal["float", "base64"] = "float"
    dimensions: int | None = None
    input_type: Literal["document", "query", "search_document", "search_query", "passage"] = "document"

    @field_validator("input", mode="before")
    @classmethod
    def _texts(cls, given: Any) -> Any:
        items = [given] if isinstance(given, str) else given
        if not isinstance(items, list) or any(not isinstance(each, str | int | list) for each in items):
            raise ValueError("a text or a list of texts is needed")
        if any(not isinstance(each, str) for each in items):
            raise ValueError(
                "send text: numbers of tokens mean nothing to this model (check_embedding_ctx_length=False)"
            )
        return items


async def embeddings(call: Call) -> Response:
    """One vector of length 1 a text, in order. Nothing is billed, so `usage` counts nothing."""
    asked = await call.body(Embedding)
    embedder = call.engine.embedder
    if asked.model not in (EMBED, embedder.id):
        raise unknown(asked.model, "embedding")
    if asked.dimensions not in (None, embedder.dimension):
        said = f"dimensions: the vectors of this model have {embedder.dimension} numbers, no other count."
        raise Problem(422, "invalid_field", said, param="dimensions")
    return await call.work(lambda: _reply(call, asked))


def _reply(call: Call, asked: Embedding) -> Response:
    vectors: list[Any] = []
    for first in range(0, len(asked.input), _TOGETHER):
        if call.cancel.is_set():
            raise CancelledError("It was stopped before all texts were embedded.")
        found = _embed(call, asked, asked.input[first : first + _TOGETHER])
        if asked.encoding_format == "base64":
            vectors += [base64.b64encode(row.astype("<f4").tobytes()).decode() for row in found]
        else:
            vectors += found.tolist()
    data = [{"object": "embedding", "index": place, "embedding": vector} for place, vector in enumerate(vectors)]
    usage = {"prompt_tokens": 0, "total_tokens": 0}
    return JSONResponse({"object": "list", "data": data, "model": asked.model, "usage": usage})


def _embed(call: Call, asked: Embedding, texts: list[str]) -> NDArray[np.float32]:
    embedder = call.engine.embedder
    if asked.input_type in ("query", "search_query") and isinstance(embedder, QuestionEmbedder):
        return np.stack([embedder.embed_question(text) for text in texts])
    return embedder.embed(texts)
