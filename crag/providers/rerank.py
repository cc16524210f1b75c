"""A reranking model behind the /v1/rerank form that Jina, Cohere, vLLM, llama.cpp and others share."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from crag.core.errors import BusyError, KeyRejectedError, ProviderError, ReplyError
from crag.providers.endpoint import Endpoint
from crag.runtime.circuits import Service
from crag.runtime.usage import UsageTracker
from crag.text.characters import read_json, whole_text

SECONDS = 30.0
CHARS = 8_000
"""How much of a text is sent."""


class Reranker:
    """One run's use of a reranking server."""

    def __init__(self, endpoint: Endpoint, meter: UsageTracker) -> None:
        """`endpoint.base_url` ends before /rerank, usually in /v1. Raises ProviderError where it is missing."""
        if not endpoint.base_url:
            raise ProviderError("A reranker needs the address of its server.", "Enter it in Settings.")
        self._endpoint, self._meter, self.id = endpoint, meter, endpoint.id

    def rerank(self, query: str, texts: Sequence[str]) -> list[float]:
        """One finite score a text, in order. Raises ProviderError, CancelledError."""
        from crag.providers.chat import translate_error  # only now: OpenAI's client takes half a second to load

        where = self._endpoint
        with self._meter.call(
            where.provider,
            where.model,
            service=Service(self.id, where.line),
            translate=lambda error: translate_error(error, self.id),
        ) as call:
            reply = self._meter.wait_for(lambda: self._sent(query, texts), min(SECONDS, call.seconds))
            return _scores(reply, len(texts), self.id)

    async def _sent(self, query: str, texts: Sequence[str]) -> Any:
        import httpx

        from crag.runtime.connection import BoundedClient

        headers = {"Authorization": f"Bearer {self._endpoint.key.get_secret_value()}"} if self._endpoint.key else {}
        documents = [whole_text(text[:CHARS]) for text in texts]
        body = {"model": self._endpoint.model, "query": whole_text(query), "documents": documents}
        async with BoundedClient(timeout=httpx.Timeout(SECONDS, connect=5.0), follow_redirects=False) as client:
            address = f"{str(self._endpoint.base_url).rstrip('/')}/rerank"
            response = await client.post(address, json=body, headers=headers)
        if response.status_code in (401, 403):
            raise KeyRejectedError(f"does not accept the key (status {response.status_code}).", who=self.id)
        if response.status_code == 429 or response.status_code >= 500:
            raise BusyError(f"failed (status {response.status_code}).", who=self.id)
        if response.status_code != 200:
            raise ProviderError(f"refused the request (status {response.status_code}).", who=self.id)
        try:
            return read_json(response.content)
        except (ValueError, RecursionError) as failure:
            raise ReplyError("gave a reply that is no JSON.", who=self.id) from failure


def _scores(reply: Any, count: int, name: str) -> list[float]:
    """One score a text. Raises ReplyError for anything less."""
    rows = reply.get("results", reply.get("data")) if isinstance(reply, dict) else reply
    found: dict[int, float] = {}
    for row in rows if isinstance(rows, list) else []:
        place = row.get("index") if isinstance(row, dict) else None
        score = row.get("relevance_score", row.get("score")) if isinstance(row, dict) else None
        if isinstance(place, int) and isinstance(score, (int, float)) and math.isfinite(score):
            found[place] = float(score)
    if sorted(found) != list(range(count)):
        raise ReplyError("did not score every text.", who=name)
    return [found[place] for place in range(count)]
