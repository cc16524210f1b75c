"""A run's outside parts, made from configuration and keys; and what is missing where they can't be."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from urllib.parse import urlsplit

from crag.core import events as ev
from crag.core.config import AppConfig
from crag.core.errors import ProviderError, SettingsError
from crag.core.keys import Keys
from crag.core.meter import Budget, Call, Meter
from crag.core.protocols import Chat, Generator, RetrievalEvaluator, Rewriter, WebSearch
from crag.correct.fetching import PageFetcher
from crag.correct.rewriting import LlmRewriter
from crag.correct.searching import DuckDuckGoSearch, TavilySearch
from crag.evaluator.fallback import FallbackEvaluator
from crag.evaluator.llm import LlmEvaluator
from crag.evaluator.reranker import RerankEvaluator
from crag.generate.llm import LlmGenerator
from crag.providers.chat import ChatModel, Endpoint
from crag.providers.rerank import Reranker

__all__ = ["Outside", "chat_endpoint", "metered", "outside"]


@dataclass(frozen=True, kw_only=True)
class Outside:
    """None: the local part does that work. `problems` say what was chosen and can't be used."""

    evaluator: RetrievalEvaluator | None = None
    rewriter: Rewriter | None = None
    generator: Generator | None = None
    webs: tuple[WebSearch, ...] = ()
    problems: tuple[ProviderError, ...] = ()


def metered(config: AppConfig, aside: deque[ev.Event], now: Callable[[], float], cancel: threading.Event) -> Meter:
    """A meter with the configured budget, which puts every call beside the run's own events."""
    budget = Budget(calls=config.run_calls, tokens=config.run_tokens, seconds=float(config.run_seconds))

    def heard(call: Call) -> None:
        aside.append(ev.Called(call=call, at=now()))

    return Meter(budget, cancel, heard)


def outside(
    config: AppConfig, keys: Keys, meter: Meter, local: RetrievalEvaluator, told: Callable[[str], None]
) -> Outside:
    """What `config` chooses and `keys` allow. `told` hears it when the local evaluator steps in."""
    problems: list[ProviderError] = []
    chat: Chat | None = None
    if config.llm != "none":
        try:
            chat = _model(chat_endpoint(config, keys), config.parallel_calls).metered(meter)
        except ProviderError as error:
            problems.append(error)
    evaluator: RetrievalEvaluator | None = None
    try:
        if config.evaluator == "llm" and chat is not None:
            evaluator = LlmEvaluator(chat)
        elif config.evaluator == "llm" and config.llm == "none":
            raise ProviderError("The evaluator is to be a language model, and none is set.", "Set one in Settings.")
        elif config.evaluator == "reranker":
            evaluator = RerankEvaluator(Reranker(_rerank_endpoint(config, keys), meter))
    except ProviderError as error:
        problems.append(error)
    web: WebSearch | None = None
    try:
        web = _web(config, keys, meter)
    except ProviderError as error:
        problems.append(error)
    return Outside(
        evaluator=FallbackEvaluator(evaluator, local, told) if evaluator else None,
        rewriter=LlmRewriter(chat) if chat else None,
        generator=LlmGenerator(chat) if chat and config.writer != "extractive" else None,
        webs=(web,) if web else (),
        problems=tuple(problems),
    )


def chat_endpoint(config: AppConfig, keys: Keys) -> Endpoint:
    """Where the chosen model is. Raises ProviderError, which says what is missing, and SettingsError."""
    if not config.llm_model:
        raise ProviderError("No model is chosen.", "Choose one in Settings, or set CRAG_LLM_MODEL.")
    if config.llm == "openai":
        if keys.llm is None:
            raise ProviderError("OpenAI needs a key.", "Enter it in Settings, or set OPENAI_API_KEY.")
        return Endpoint(provider="openai", model=config.llm_model, key=keys.llm)
    return Endpoint(
        provider="openai-compatible",
        model=config.llm_model,
        base_url=_server(config.llm_base_url, config, "model"),
        key=keys.llm,
    )


def _rerank_endpoint(config: AppConfig, keys: Keys) -> Endpoint:
    address = _server(config.rerank_base_url, config, "reranking")
    return Endpoint(provider="reranker", model=config.rerank_model, base_url=address, key=keys.rerank)


def _server(address: str, config: AppConfig, what: str) -> str:
    """A server's address, if it is one and may be used."""
    found = urlsplit(address.strip())
    if not address.strip():
        raise ProviderError(f"The {what} server has no address.", "Enter it in Settings.")
    if found.scheme not in ("http", "https") or not found.hostname or found.username or found.password:
        raise SettingsError(f"{address!r} is no address of a {what} server.", "Write it as http://host:port/v1.")
    if config.servers and address.rstrip("/") not in {each.rstrip("/") for each in config.servers}:
        raise ProviderError(
            f"{found.hostname} is not among the servers that may be used here.", "Ask who runs this program."
        )
    return address.strip().rstrip("/")


def _web(config: AppConfig, keys: Keys, meter: Meter) -> WebSearch | None:
    fetcher = PageFetcher(allow_private=config.private_addresses) if config.fetch_pages else None
    match config.web:
        case "tavily":
            if keys.tavily is None:
                raise ProviderError("Tavily needs a key.", "Enter it in Settings, or set TAVILY_API_KEY.")
            return TavilySearch(keys.tavily, meter, fetcher)
        case "duckduckgo":
            return DuckDuckGoSearch(meter, fetcher)
        case _:
            return None


@lru_cache(maxsize=16)
def _model(endpoint: Endpoint, parallel: int) -> ChatModel:
    """One connection for each server, model and key."""
    return ChatModel(endpoint, parallel=parallel)
