"""An embedding model behind any server that speaks the OpenAI protocol: OpenAI's own, Ollama, vLLM and others."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from crag.core.errors import ProviderError, ReplyError
from crag.providers.endpoint import OPENAI, Endpoint
from crag.runtime.circuits import Service
from crag.runtime.usage import Budget, PendingCall, UsageTracker
from crag.text.characters import whole_text

if TYPE_CHECKING:
    from openai import AsyncOpenAI

TEXTS, PARALLEL = 32, 4
"""Texts in one request, and requests at the same time."""
CHARS = 8_000
"""How much of a text is sent: about as many tokens as OpenAI's models read, of a script with a token a letter."""
CONNECT, SILENCE = 5.0, 120.0
"""Seconds for a connection, and without a byte after which it counts as dead: a small server takes a minute or more."""
BUDGET = Budget(calls=100_000, tokens=10**12, seconds=600.0)
"""What embedding some texts outside a run may take. The dollars of a day limit it, too."""


class _Server:
    """A connection, which all share who use one endpoint; what is wrong with it, if it can't be used."""

    def __init__(self, endpoint: Endpoint, problem: ProviderError | None) -> None:
        self.endpoint, self.problem = endpoint, problem
        self.dimension = 0
        """0 until the first reply."""
        self._client: AsyncOpenAI | None = None

    def client(self) -> AsyncOpenAI:
        """Made when it is first needed, for the library takes half a second to load. Raises ProviderError."""
        if self.problem is not None:
            raise self.problem
        if self._client is None:
            import httpx
            from openai import AsyncOpenAI

            from crag.runtime.connection import BoundedClient

            key = self.endpoint.key
            # No redirects: a key goes to the address it was given for and nowhere else. Any: it is typed for a fork.
            connection: Any = BoundedClient(follow_redirects=False)
            patience: Any = httpx.Timeout(SILENCE, connect=CONNECT)
            made = AsyncOpenAI(
                # Never left out: the client would take another from the environment, and send the key there.
                base_url=self.endpoint.base_url or OPENAI,
                api_key=key.get_secret_value() if key else "none",
                max_retries=0,
                timeout=patience,
                http_client=connection,
            )
            # Nor whose key it is: that would be shown to every server.
            made.organization = made.project = None
            self._client = made
        return self._client


class ServerEmbedder:
    """Embeds by a server. Safe to share. `metered` gives what one run uses.

    Its id names provider, model and host: vectors of another server are not mixed with these, for a model of the same
    name may be another there. What a server replies is made to unit length.
    """

    at_once = TEXTS * PARALLEL
    """Texts that are worth giving it together."""

    def __init__(
        self,
        endpoint: Endpoint,
        meter: Callable[[], UsageTracker] = lambda: UsageTracker(BUDGET),
        problem: ProviderError | None = None,
        *,
        server: _Server | None = None,
    ) -> None:
        """`meter` gives what admits and records the calls of one `embed`. `problem`: why it can't be used; every use
        raises it."""
        self.id, self._meter = endpoint.id, meter
        self._server = server or _Server(endpoint, problem)

    def metered(self, meter: UsageTracker) -> ServerEmbedder:
        """The same, its calls within one run."""
        return ServerEmbedder(self._server.endpoint, lambda: meter, server=self._server)

    @property
    def problem(self) -> ProviderError | None:
        """Why it can't be used."""
        return self._server.problem

    @property
    def dimension(self) -> int:
        """The length of its vectors, for which it is asked once. Raises ProviderError."""
        if not self._server.dimension:
            self.embed(["length"])
        return self._server.dimension

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Shape (len(texts), dimension), float32, rows of length 1. Raises ProviderError, CancelledError."""
        if not texts:
            return np.zeros((0, self.dimension), np.float32)
        self._server.client()
        meter, calls = self._meter(), set[PendingCall]()
        try:
            parts = meter.wait_for(lambda: self._all(texts, meter, calls), max(meter.left(), 1.0))
        finally:
            for call in tuple(calls):
                call.given_up()
        found = np.concatenate(parts)
        if self._server.dimension not in (0, found.shape[1]):
            raise ReplyError("gave vectors of another length than before.", who=self.id)
        self._server.dimension = found.shape[1]
        return found

    async def _all(
        self, texts: Sequence[str], meter: UsageTracker, calls: set[PendingCall]
    ) -> list[NDArray[np.float32]]:
        room = asyncio.Semaphore(PARALLEL)

        async def some(at: int) -> NDArray[np.float32]:
            async with room:
                return await self._some(texts[at : at + TEXTS], meter, calls)

        tasks = [asyncio.create_task(some(at)) for at in range(0, len(texts), TEXTS)]
        try:
            return await asyncio.gather(*tasks)
        finally:
            for task in tasks:
                task.cancel()

    async def _some(self, texts: Sequence[str], meter: UsageTracker, calls: set[PendingCall]) -> NDArray[np.float32]:
        """The vectors of one request, tried again where that may help."""
        from crag.providers.chat import translate_error, wait_to_retry

        where, number = self._server.endpoint, 0
        while True:
            number += 1
            try:
                with meter.call(
                    where.provider,
                    where.model,
                    service=Service(self.id, where.line),
                    attempt=number,
                    others=calls,
                    translate=lambda error: translate_error(error, self.id),
                ) as call:
                    reply = await self._server.client().embeddings.create(
                        model=where.model, input=[_sent(text) for text in texts]
                    )
                    call.input_tokens, call.output_tokens = (reply.usage.prompt_tokens, 0) if reply.usage else (None, 0)
                    return _unit_rows(reply.data, len(texts), self.id)
            except ProviderError as failure:
                await wait_to_retry(failure, number, meter.clock)


def _sent(text: str) -> str:
    """A text as servers take it: OpenAI's refuses empty ones."""
    sent = whole_text(text[:CHARS])
    return sent if sent.strip() else "."


def _unit_rows(data: Iterable[Any], count: int, name: str) -> NDArray[np.float32]:
    """A vector of length 1 for each text, in order. Raises ReplyError for anything less."""
    rows = {each.index: each.embedding for each in data}
    try:
        found = np.array([rows[at] for at in range(count)], np.float32)
    except (KeyError, TypeError, ValueError) as error:
        raise ReplyError("did not give a vector for every text.", who=name) from error
    lengths = np.linalg.norm(found, axis=1, keepdims=True) if found.ndim == 2 else np.zeros(1)
    if len(rows) != count or not np.isfinite(lengths).all() or not lengths.all():
        raise ReplyError("gave vectors that can't be compared.", who=name)
    return np.asarray(found / lengths, np.float32)
