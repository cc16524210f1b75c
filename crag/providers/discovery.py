"""What a model server offers, which ones run on this machine, and whether a chosen model does its work."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import httpx
from pydantic import BaseModel, Field

from crag.core.errors import CragError, KeyRejectedError, ProviderError, ReplyError
from crag.providers.endpoint import OPENAI, Endpoint
from crag.providers.gguf_server import server_of
from crag.providers.rerank import Reranker
from crag.runtime.connection import BoundedClient
from crag.runtime.usage import Budget, UsageTracker
from crag.runtime.waiting import CLOCK, Clock, wait_for
from crag.text.characters import read_json

LOCAL_SERVERS: Mapping[str, str] = {
    "Ollama": "http://127.0.0.1:11434/v1",
    "LM Studio": "http://127.0.0.1:1234/v1",
    "vLLM": "http://127.0.0.1:8000/v1",
    "llama.cpp": "http://127.0.0.1:8080/v1",
}
"""The addresses at which local servers are found unless set otherwise."""
SECONDS = 6.0
KNOCK = 0.7
"""Seconds within which a server of this machine must answer to be offered."""
TRIAL_SECONDS, FILE_SECONDS = 30.0, 120.0
"""Within which a model must reply: one behind a server, and one that this machine runs and has loaded."""
REMEMBERED = 20.0
"""Seconds for which what was found on this machine holds."""
EMBEDS = ("embed", "bge-", "minilm", "gte-", "e5-")
"""Parts of the names of models that make vectors of texts."""
NO_CHAT = (*EMBEDS, "whisper", "tts", "dall-e", "moderation", "rerank", "realtime", "transcribe", "image", "sora")
"""Parts of the names of models that hold no conversation."""


@dataclass(frozen=True, slots=True)
class Trial:
    """How one small request went: seconds it took, and tokens as the server counted them."""

    seconds: float
    tokens: int | None


class _Sum(BaseModel):
    sum: int = Field(description="the sum")


@dataclass(frozen=True, slots=True)
class LocalServer:
    """A server of this machine that answers: what it usually is, its address, and its models by what they do."""

    name: str
    address: str
    models: tuple[str, ...]
    embeddings: tuple[str, ...]


class LocalServers:
    """Which servers of this machine answer, for who does not wait: a thread looks, and again once that is long ago."""

    def __init__(
        self,
        usual: Mapping[str, str] = LOCAL_SERVERS,
        clock: Clock = CLOCK,
        start: Callable[[Callable[[], None]], object] = lambda work: threading.Thread(target=work, daemon=True).start(),
    ) -> None:
        """`usual`: names and addresses. `start` begins a look in a thread of its own."""
        self._usual, self._clock, self._start = usual, clock, start
        self._lock, self._looking = threading.Lock(), False
        self._looked_at: float | None = None
        self._found: tuple[LocalServer, ...] | None = None

    def found(self, *, again: bool = False) -> tuple[LocalServer, ...] | None:
        """Those of the last look; None until the first is over. Begins one where that is long ago, or `again`."""
        with self._lock:
            old = self._looked_at is None or self._clock.now() - self._looked_at > REMEMBERED
            begins = (old or again) and not self._looking
            self._looking = self._looking or begins
        if begins:
            self._start(self._look)
        return self._found

    def _look(self) -> None:
        try:
            found = tuple(running_servers(self._usual))
        except CragError:
            found = ()
        with self._lock:
            self._found, self._looked_at, self._looking = found, self._clock.now(), False


def list_models(endpoint: Endpoint) -> list[str]:
    """The names of the server's chat models, in order. Raises ProviderError."""
    _load_client()
    base = (endpoint.base_url or OPENAI).rstrip("/")
    names = wait_for(lambda: _names(base, endpoint, SECONDS), seconds=SECONDS + 1, cancel=threading.Event())
    return _of_kind(names, NO_CHAT, holds=False)


def running_servers(usual: Mapping[str, str] = LOCAL_SERVERS) -> list[LocalServer]:
    """Every usual server of this machine that answers now and has models. Waits for three seconds at most."""

    async def knocked() -> list[list[str]]:
        async def one(address: str) -> list[str]:
            try:
                return await _names(address, Endpoint(provider="local", model=""), KNOCK, proxied=False)
            except ProviderError:
                return []

        return await asyncio.gather(*(one(address) for address in usual.values()))

    _load_client()
    found = wait_for(knocked, seconds=KNOCK * 4, cancel=threading.Event())
    return [
        LocalServer(name, address, tuple(_of_kind(names, NO_CHAT, holds=False)), tuple(_of_kind(names, EMBEDS)))
        for (name, address), names in zip(usual.items(), found, strict=True)
        if names
    ]


def _load_client() -> None:
    """Load OpenAI's client, which only a server needs: here, as nothing else is answered while the loop loads it."""
    import crag.providers.chat  # noqa: F401


def _of_kind(names: Sequence[str], parts: Sequence[str], *, holds: bool = True) -> list[str]:
    """Those that hold one of the parts, or none of them, in order."""
    return sorted(name for name in names if any(part in name.lower() for part in parts) is holds)


def try_model(endpoint: Endpoint) -> Trial:
    """Asks the model for one small object, as grading does. Raises ProviderError, which says what is wrong."""
    from crag.providers.chat import ChatModel  # LangChain's client takes a second to load; only a model needs it

    began = time.monotonic()
    if endpoint.file:  # loading it takes as long as it takes
        server_of(endpoint.file, endpoint.mark, endpoint.threads).place().result()
    used: list[int] = []
    meter = UsageTracker(
        Budget(calls=6, seconds=FILE_SECONDS if endpoint.file else TRIAL_SECONDS),
        listener=lambda call: used.append((call.input_tokens or 0) + (call.output_tokens or 0)),
    )
    chat = ChatModel(endpoint).metered(meter)
    chat.parsed(
        _Sum,
        [("system", "Reply with a JSON object and nothing else."), ("human", 'What is 2 + 3? {"sum": …}')],
        max_tokens=200,
    )
    return Trial(time.monotonic() - began, sum(used) or None)


def try_reranker(endpoint: Endpoint) -> Trial:
    """Has two short texts scored. Raises ProviderError, which says what is wrong."""
    began = time.monotonic()
    Reranker(endpoint, UsageTracker(Budget(calls=1, seconds=TRIAL_SECONDS))).rerank(
        "When was the bridge opened?", ["It opened in 1890.", "Bread is baked daily."]
    )
    return Trial(time.monotonic() - began, None)


async def _names(base: str, endpoint: Endpoint, seconds: float, *, proxied: bool = True) -> list[str]:
    """The names of all its models. `proxied`: by way of the proxy that the environment names, if it names one.

    Raises ProviderError.
    """
    from crag.providers.chat import translate_error

    headers = {"Authorization": f"Bearer {endpoint.key.get_secret_value()}"} if endpoint.key else {}
    meter = UsageTracker(Budget(calls=1, seconds=seconds))
    with meter.call(endpoint.provider, translate=lambda error: translate_error(error, base)):
        try:
            async with BoundedClient(timeout=seconds, follow_redirects=False, trust_env=proxied) as client:
                response = await client.get(f"{base}/models", headers=headers)
        except (httpx.InvalidURL, ValueError):
            # No such address, or no such key: what the client says would repeat it.
            raise ProviderError("can't be asked.", "Check the address and the key.", who=base) from None
        if response.status_code in (401, 403):
            raise KeyRejectedError(f"does not accept the key (status {response.status_code}).", who=base)
        if response.status_code != 200:
            problem = f"has no list of models (status {response.status_code})."
            raise ProviderError(problem, "Type the model's name.", who=base)
        try:
            reply: Any = read_json(response.content)
            # A server of this program itself has no models of its own.
            return [str(row["id"]) for row in reply["data"] if row.get("owned_by") != "crag"]
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise ReplyError("gave no list of models.", "Type the model's name.", who=base) from error
