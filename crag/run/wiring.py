"""A run's parts, made from configuration and keys: outside services first, local parts where they fail or are none."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from crag.core import events as ev
from crag.core.config import AppConfig
from crag.core.errors import ProviderError
from crag.core.keys import Keys
from crag.core.meter import Budget, Meter
from crag.core.protocols import Chat, Generator, RetrievalEvaluator, Rewriter, WebSearch
from crag.core.settings import Settings
from crag.core.types import RetrievedChunk, Step
from crag.correct.rewriting import LlmRewriter
from crag.correct.selection import LlmStripSelector
from crag.correct.strips import StripRefiner
from crag.evaluator.cached import CachedEvaluator
from crag.evaluator.fallback import FallbackEvaluator
from crag.evaluator.llm import LlmEvaluator
from crag.evaluator.reranker import RerankEvaluator
from crag.generate.llm import LlmGenerator
from crag.generate.verification import CitationVerifier
from crag.library.library import Library
from crag.providers.endpoint import Endpoint
from crag.providers.rerank import Reranker
from crag.run.fallback import FallbackGenerator, FallbackRewriter, FallbackWeb
from crag.run.parts import Outlet, Parts, worked_around
from crag.web.fetching import PageFetcher
from crag.web.searching import DuckDuckGoSearch, TavilySearch

if TYPE_CHECKING:
    from crag.providers.chat import ChatModel

__all__ = ["Asked", "Local", "Problems", "chat_endpoint", "composed", "grader", "rerank_endpoint"]

Problems = list[tuple[Step, ProviderError]]
"""What was chosen and can't be used, with the step that does without it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Local:
    """The parts that need no service. `folder`: the pages that stand in for the web, None where there are none."""

    evaluator: RetrievalEvaluator
    rewriter: Rewriter
    generator: Generator
    folder: WebSearch | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What one run is asked with. `allowed` says whether a query may leave this machine; `began` as perf_counter."""

    settings: Settings
    config: AppConfig
    keys: Keys
    allowed: Callable[[str], bool] | None
    cancel: threading.Event
    began: float


@dataclass(frozen=True, slots=True)
class _Scoped:
    """The library as one run sees it: with that run's filters."""

    library: Library
    settings: Settings

    def search(self, query: str, k: int) -> list[RetrievedChunk]:
        return self.library.search(
            query, k, min_confidence=self.settings.min_confidence, half_life_days=self.settings.half_life_days
        )


def composed(asked: Asked, library: Library, local: Local) -> tuple[Parts, Problems]:
    """What the run works with, and what was chosen and can't be used."""
    config = asked.config
    problems: Problems = []
    outlet = Outlet(asked.began)
    meter = Meter(_budget(config), asked.cancel, lambda call: outlet.put_aside(ev.Called(call=call, at=outlet.now())))
    chat = _chat(config, asked.keys, meter, problems)
    scorer = CachedEvaluator(local.evaluator, library.cache)
    outside = _evaluators(config, asked.keys, chat, meter, problems)

    def behind(evaluator: RetrievalEvaluator) -> RetrievalEvaluator:
        def told(why: str) -> None:
            failed = worked_around(meter.step, ProviderError(why), "local evaluator", outlet.now())
            outlet.put_aside(failed)

        return CachedEvaluator(FallbackEvaluator(evaluator, scorer, told), library.cache)

    evaluator, support = (behind(each) for each in outside) if outside else (scorer, scorer)
    rewriters = [LlmRewriter(chat), local.rewriter] if chat else [local.rewriter]
    webs = _webs(config, asked.keys, meter, local.folder, problems)
    allowed = (asked.allowed or _refused) if config.ask_before_web else None
    hours = float(config.web_cache_hours)
    writer = LlmGenerator(chat) if chat and config.writer != "extractive" else None
    parts = Parts(
        settings=asked.settings,
        retriever=_Scoped(library, asked.settings),
        evaluator=evaluator,
        strip_evaluator=scorer if outside else None,
        refiner=StripRefiner(),
        selector=LlmStripSelector(chat) if chat else None,
        rewriter=FallbackRewriter(rewriters, outlet),
        web=FallbackWeb(webs, outlet, meter, memory=library.cache, hours=hours, allowed=allowed) if webs else None,
        generator=FallbackGenerator(writer, local.generator, outlet) if writer else local.generator,
        verifier=CitationVerifier(support),
        meter=meter,
        outlet=outlet,
    )
    return parts, problems


def grader(config: AppConfig, keys: Keys, local: RetrievalEvaluator) -> RetrievalEvaluator:
    """What grades texts outside a run: what is configured, with the local evaluator behind it. Raises ProviderError."""
    problems: Problems = []
    meter = Meter(_budget(config), step="evaluate")
    chat = _chat(config, keys, meter, problems) if config.evaluator == "llm" else None
    outside = _evaluators(config, keys, chat, meter, problems)
    if problems:
        raise problems[0][1]
    return FallbackEvaluator(outside[0], local) if outside else local


def _refused(query: str) -> bool:
    """Nobody is there to be asked."""
    return False


def _budget(config: AppConfig) -> Budget:
    return Budget(calls=config.run_calls, tokens=config.run_tokens, seconds=float(config.run_seconds))


def _chat(config: AppConfig, keys: Keys, meter: Meter, problems: Problems) -> Chat | None:
    if config.llm == "none":
        return None
    try:
        return _model(chat_endpoint(config, keys), config.parallel_calls).metered(meter)
    except ProviderError as error:
        problems.append(("answer", error))
        return None


def _evaluators(
    config: AppConfig, keys: Keys, chat: Chat | None, meter: Meter, problems: Problems
) -> tuple[RetrievalEvaluator, RetrievalEvaluator] | None:
    """What grades chunks and what checks sentences; None: the local evaluator does both."""
    try:
        if config.evaluator == "llm" and chat is not None:
            return LlmEvaluator(chat), LlmEvaluator(chat, task="support")
        if config.evaluator == "llm" and config.llm == "none":
            raise ProviderError("The evaluator is to be a language model, and none is set.", "Set one in Settings.")
        if config.evaluator == "reranker":
            reranker = RerankEvaluator(Reranker(rerank_endpoint(config, keys), meter))
            return reranker, reranker
    except ProviderError as error:
        problems.append(("evaluate", error))
    return None


def chat_endpoint(config: AppConfig, keys: Keys) -> Endpoint:
    """Where the chosen model is. Raises ProviderError, which says what is missing or wrong."""
    if not config.llm_model:
        raise ProviderError("No model is chosen.", "Choose one in Settings, or set CRAG_LLM_MODEL.")
    if config.llm == "openai":
        key = keys.llm or keys.openai
        if key is None:
            raise ProviderError("OpenAI needs a key.", "Enter it in Settings, or set OPENAI_API_KEY.")
        return Endpoint(provider="openai", model=config.llm_model, key=key)
    return Endpoint(
        provider="openai-compatible",
        model=config.llm_model,
        base_url=_server(config.llm_base_url, config, "model"),
        key=keys.llm,
    )


def rerank_endpoint(config: AppConfig, keys: Keys) -> Endpoint:
    """Where the chosen reranker is. Raises ProviderError, which says what is missing or wrong."""
    address = _server(config.rerank_base_url, config, "reranking")
    return Endpoint(provider="reranker", model=config.rerank_model, base_url=address, key=keys.rerank)


def _server(address: str, config: AppConfig, what: str) -> str:
    """A server's address, if it is one and may be used."""
    bare = address.strip().rstrip("/")
    if not bare:
        raise ProviderError(f"The {what} server has no address.", "Enter it in Settings.")
    try:
        found = urlsplit(bare)
        usable = found.scheme in ("http", "https") and found.hostname and found.port != 0
    except ValueError:  # half an IPv6 address, a port that is none
        usable = False
    if not usable or found.username or found.password:
        raise ProviderError(f"{address!r} is no address of a {what} server.", "Write it as http://host:port/v1.")
    if config.servers and bare not in {each.strip().rstrip("/") for each in config.servers}:
        raise ProviderError(
            f"{found.hostname} is not among the servers that may be used here.", "Ask who runs this program."
        )
    return bare


def _webs(config: AppConfig, keys: Keys, meter: Meter, folder: WebSearch | None, problems: Problems) -> list[WebSearch]:
    """The web providers in the order they are asked. A folder that the configuration does not name was given."""
    chosen = [config.web, config.web_fallback] if config.web_fallback != config.web else [config.web]
    found = [folder] if folder is not None and "folder" not in chosen else []
    for name in chosen if config.web != "off" else []:
        web = folder if name == "folder" else _outside_web(name, config, keys, meter, problems)
        found += [web] if web is not None else []
    return found


def _outside_web(name: str, config: AppConfig, keys: Keys, meter: Meter, problems: Problems) -> WebSearch | None:
    fetcher = PageFetcher(allow_private=config.private_addresses) if config.fetch_pages else None
    if name == "duckduckgo":
        return DuckDuckGoSearch(meter, fetcher)
    if name == "tavily" and keys.tavily is not None:
        return TavilySearch(keys.tavily, meter, fetcher, config.tavily_base_url or None)
    if name == "tavily":
        problems.append(
            ("search", ProviderError("Tavily needs a key.", "Enter it in Settings, or set TAVILY_API_KEY."))
        )
    return None


@lru_cache(maxsize=16)
def _model(endpoint: Endpoint, parallel: int) -> ChatModel:
    """One connection for each server, model and key."""
    from crag.providers.chat import ChatModel  # LangChain's client takes a second to load; only a model needs it

    return ChatModel(endpoint, parallel=parallel)
