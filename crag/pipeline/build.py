"""Builds a run's parts from its provider plan: outside services first, local parts where they fail or are absent."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING

from crag.core import events as ev
from crag.core.config import AppConfig, Keys
from crag.core.errors import ProviderError
from crag.core.model_ids import Maker
from crag.core.protocols import (
    Chat,
    Embedder,
    Generator,
    RetrievalEvaluator,
    Retriever,
    Rewriter,
    RunRequest,
    SetGrader,
    StripGrader,
    WebSearch,
)
from crag.core.types import Grade, Step
from crag.evaluation.grading import CachedStripGrader, GradeBatch, GradingService
from crag.evaluation.llm import LLM
from crag.evaluation.refinement import LlmStripSelector
from crag.generation.conversation.brackets import BracketContextualizer
from crag.generation.conversation.model import LlmContextualizer
from crag.generation.extractive import ExtractiveGenerator
from crag.generation.llm import LlmGenerator
from crag.generation.reading import WholeReader
from crag.generation.verification import CitationVerifier
from crag.pipeline.context import EventEmitter, RunContext
from crag.pipeline.fallback import (
    FallbackContextualizer,
    FallbackGenerator,
    FallbackRewriter,
    FallbackWeb,
    LibraryRetriever,
)
from crag.pipeline.foreign_parts import (
    GuardedGenerator,
    GuardedRetriever,
    GuardedRewriter,
    guard_evaluator,
    guard_plugin_evaluator,
    guard_web,
)
from crag.pipeline.questions import LibraryQuestions
from crag.pipeline.resolve import ProviderPlan, problem, resolve_providers
from crag.providers.embedding import ServerEmbedder
from crag.providers.endpoint import Endpoint
from crag.providers.registry import LOCAL
from crag.providers.rerank import Reranker
from crag.retrieval.rewriting import KeywordRewriter, LlmRewriter
from crag.runtime.provider import EvaluatorParts, WebParts
from crag.runtime.usage import Budget, QuotaGuard, UsageTracker
from crag.runtime.waiting import Clock
from crag.storage.library import Library

if TYPE_CHECKING:
    from crag.providers.chat import ChatModel


Problems = list[tuple[Step, ProviderError]]
"""What was chosen and can't be used, with the step that does without it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Local:
    """The parts that need no service. `folder`: the pages that stand in for the web, None where there are none."""

    evaluator: RetrievalEvaluator
    rewriter: Rewriter
    generator: Generator
    folder: WebSearch | None


def build_pipeline(
    request: RunRequest,
    library: Library,
    local: Local,
    meter: UsageTracker,
    emitter: EventEmitter,
    given_web: str = "",
) -> tuple[RunContext, Problems]:
    """What the run works with, and what was chosen and can't be used.

    Outside calls pass `meter`. What a part reports goes to `emitter`. `given_web` names the engine's own web provider.
    """
    config, keys, settings = request.config or AppConfig(), request.keys or Keys(), request.effective_settings
    plan = resolve_providers(config, keys, settings, given_web=given_web)
    problems: Problems = [(each.step, problem(each)) for each in plan.missing]
    chat = _chat(plan, config, meter)
    inner = local.evaluator

    def failed(error: ProviderError) -> None:
        emitter.enqueue(ev.Failed.of(error, meter.step, emitter.now()))

    checked = guard_evaluator(inner, failed)
    grades = GradeBatch(library.cache)
    scorer = GradingService(checked, grades)
    outside = _evaluators(plan, chat, local.evaluator, meter, problems)

    def report(failed: Grade) -> None:
        error = ProviderError(failed.error or "", who=failed.who)
        event = ev.Failed.of(error, meter.step, emitter.now(), "local evaluator", scorer.id)
        emitter.enqueue(replace(event, reason=failed.fault or event.reason))

    evaluator, support = scorer, None
    if outside:
        evaluator, support = (GradingService(each, grades, checked, report) for each in outside)
    brackets = BracketContextualizer()
    rewriter = local.rewriter if isinstance(local.rewriter, KeywordRewriter) else GuardedRewriter(local.rewriter)
    # A model file needs a minute for what rules do at once.
    rewriters = [LlmRewriter(chat), rewriter] if chat and Maker.of(chat.id).provider != "gguf" else [rewriter]
    webs = _webs(plan, config, meter, local.folder, problems)
    allowed = (request.allowed or _refused) if config.providers.ask_before_web else None
    hours = float(config.providers.web_cache_hours)
    retriever: Retriever = LibraryRetriever(library, settings, emitter, metered_embedder(library.embedder, meter))
    if request.retriever is not None:
        retriever = GuardedRetriever(request.retriever, library.documents)
    reached = plan.webs if settings.web_on else resolve_providers(config, keys, given_web=given_web).webs
    writer = LlmGenerator(chat) if chat and plan.writer else None
    generator: Generator = local.generator
    if not isinstance(generator, ExtractiveGenerator):
        generator = GuardedGenerator(generator)
    parts = RunContext(
        settings=settings,
        wanted=request.wanted,
        retriever=retriever,
        evaluator=evaluator,
        strip_evaluator=scorer if outside else None,
        strip_grader=CachedStripGrader(inner, grades) if isinstance(inner, StripGrader) else None,
        set_grader=inner if isinstance(inner, SetGrader) and not outside else None,
        store_grades=grades.store,
        selector=LlmStripSelector(chat) if chat else None,
        rewriter=FallbackRewriter(rewriters, emitter),
        web=FallbackWeb(webs, emitter, meter, memory=library.cache, hours=hours, allowed=allowed) if webs else None,
        generator=FallbackGenerator(writer, generator, emitter) if writer else generator,
        reader=WholeReader(chat) if chat and writer else None,
        questions=None if request.retriever else LibraryQuestions(library, settings, one_only=writer is None),
        contextualizer=FallbackContextualizer(LlmContextualizer(chat), brackets, emitter) if chat else brackets,
        verifier=CitationVerifier(scorer, support, meter.check),
        meter=meter,
        emitter=emitter,
        # Without help where the library is not what was searched.
        web_offered=None if request.retriever else bool(reached),
    )
    return parts, problems


def grader(
    config: AppConfig, keys: Keys, local: RetrievalEvaluator, clock: Clock, allowance: QuotaGuard
) -> RetrievalEvaluator:
    """What grades texts outside a run: what is configured, with the local evaluator behind it. Raises ProviderError."""
    plan = resolve_providers(config, keys)
    meter = UsageTracker(budget_of(config), step="evaluate", clock=clock, allowance=allowance)
    missing_for = plan.missing_for("evaluate") or (
        plan.missing_for("answer") if config.providers.evaluator == LLM.name else None
    )
    if missing_for is not None:
        raise problem(missing_for)
    problems: Problems = []
    outside = _evaluators(plan, _chat(plan, config, meter), local, meter, problems)
    if problems:
        raise problems[0][1]
    return GradingService(outside[0], fallback=local) if outside else local


def metered_embedder(embedder: Embedder, meter: UsageTracker) -> Embedder:
    """The same embedder, with the calls of a server's within one run."""
    return embedder.metered(meter) if isinstance(embedder, ServerEmbedder) else embedder


def _refused(query: str) -> bool:
    """Nobody is there to be asked."""
    return False


def budget_of(config: AppConfig) -> Budget:
    """What one run may spend on outside calls."""
    limits = config.limits
    return Budget(calls=limits.run_calls, tokens=limits.run_tokens, seconds=float(limits.run_seconds))


def _chat(plan: ProviderPlan, config: AppConfig, meter: UsageTracker) -> Chat | None:
    return _model(plan.model.endpoint, config.limits.parallel_calls).metered(meter) if plan.model else None


def _evaluators(
    plan: ProviderPlan, chat: Chat | None, local: RetrievalEvaluator, meter: UsageTracker, problems: Problems
) -> tuple[RetrievalEvaluator, RetrievalEvaluator] | None:
    """What grades chunks and what checks sentences; None: the local evaluator does both."""
    provider, endpoint = plan.grader.provider, plan.grader.endpoint
    if provider == LOCAL:
        return None
    parts = EvaluatorParts(
        meter=meter,
        local=local,
        chat=chat,
        reranker=Reranker(endpoint, meter) if provider.needs == "reranker" else None,
        key=endpoint.key,
        address=endpoint.base_url or "",
    )
    try:
        grades = guard_plugin_evaluator(provider, provider.make, parts)
        return grades, guard_plugin_evaluator(provider, provider.checks, parts) if provider.checks else grades
    except ProviderError as error:
        problems.append(("evaluate", error))
        return None


def _webs(
    plan: ProviderPlan, config: AppConfig, meter: UsageTracker, folder: WebSearch | None, problems: Problems
) -> list[WebSearch]:
    """The web providers in the order they are asked."""
    given, fetcher = config.providers, None
    if plan.webs and given.fetch_pages:
        from crag.web.fetching import PageFetcher  # a client of HTTP, which only a search of the web needs

        fetcher = PageFetcher(allow_private=given.private_addresses, clock=meter.clock)
    found: list[WebSearch] = []
    for each in plan.webs:
        endpoint = each.endpoint
        parts = WebParts(meter=meter, fetcher=fetcher, key=endpoint.key, address=endpoint.base_url or "", folder=folder)
        try:
            found.append(guard_web(each.provider, parts))
        except ProviderError as error:
            problems.append(("search", error))
    return found


@lru_cache(maxsize=16)
def _model(endpoint: Endpoint, parallel: int) -> ChatModel:
    """One connection for each server, model and key."""
    from crag.providers.chat import ChatModel  # LangChain's client takes a second to load; only a model needs it

    return ChatModel(endpoint, parallel=parallel)
