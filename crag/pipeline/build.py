"""Builds a run's parts from its provider plan: outside services first, local parts where they fail or are absent.

Parts that other programs bring, checked against what a run relies on: whatever else they do is a failure of theirs.

This is the one boundary at which their exceptions and their wrong values become errors of ours, with the part's name.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import ConfigDict, TypeAdapter, ValidationError

from crag.core import events as ev
from crag.core.config import AppConfig, Keys
from crag.core.errors import CragError, ProviderError, ReplyError, RetrieverError, WebSearchError
from crag.core.protocols import (
    Chat,
    Generator,
    RetrievalEvaluator,
    Retriever,
    Rewriter,
    RunRequest,
    SetGrader,
    StripGrader,
    WebSearch,
)
from crag.core.settings import Settings
from crag.core.types import Answer, Chunk, Grade, Passage, RetrievedChunk, Step, Strip, Unread, WebPage
from crag.evaluation.adaptation import adapt
from crag.evaluation.grading import CachedStripGrader, GradeBatch, GradingService
from crag.evaluation.llm import LLM
from crag.evaluation.refinement import LlmStripSelector
from crag.generation.conversation.model import LlmContextualizer
from crag.generation.conversation.rules import RuleContextualizer
from crag.generation.extractive import ExtractiveGenerator
from crag.generation.llm import LlmGenerator
from crag.generation.verification import CitationVerifier
from crag.pipeline.context import EventEmitter, RunContext
from crag.pipeline.fallback import (
    FallbackContextualizer,
    FallbackGenerator,
    FallbackRewriter,
    FallbackWeb,
    LibraryRetriever,
)
from crag.pipeline.guiding import Guide
from crag.pipeline.resolve import ProviderPlan, problem, resolve_providers
from crag.providers.endpoint import Endpoint
from crag.providers.registry import LOCAL, PROVIDERS
from crag.providers.rerank import Reranker
from crag.retrieval.rewriting import KeywordRewriter, LlmRewriter
from crag.runtime.provider import EvaluatorParts, EvaluatorProvider, WebParts, WebProvider
from crag.runtime.usage import Budget, QuotaGuard, UsageTracker
from crag.runtime.waiting import Clock
from crag.storage.documents import Documents
from crag.storage.library import Library
from crag.web.fetching import PageFetcher
from crag.web.folder import FolderWeb
from crag.web.webpage import usable_address

if TYPE_CHECKING:
    from crag.providers.chat import ChatModel

_log = logging.getLogger(__name__)

ELSEWHERE = "Choose another in Settings, or ask who made it."
T = TypeVar("T")
_ALWAYS = ConfigDict(revalidate_instances="always", allow_inf_nan=False)
_CHUNKS: TypeAdapter[list[RetrievedChunk]] = TypeAdapter(list[RetrievedChunk], config=_ALWAYS)
_PAGES: TypeAdapter[list[WebPage]] = TypeAdapter(list[WebPage], config=_ALWAYS)
_GRADES: TypeAdapter[list[Grade]] = TypeAdapter(list[Grade], config=_ALWAYS)
_ANSWERS: TypeAdapter[list[Answer]] = TypeAdapter(list[Answer], config=_ALWAYS)


def guard_web(provider: WebProvider, parts: WebParts) -> WebSearch:
    """The provider's web. Raises ProviderError where it can't be made."""
    if provider in PROVIDERS:
        made = provider.make(parts)
        if made is not parts.folder or isinstance(made, FolderWeb):
            return made
        return GuardedWeb(made, f"The web {name_of(made)}", name=made.name, id=made.id, leaves=made.leaves)
    with _theirs(ProviderError, f"{provider.title} can't be used"):
        made = provider.make(parts)
        return GuardedWeb(
            made, provider.title, name=provider.name, id=f"{provider.name}:{made.id}", leaves=provider.leaves
        )


def guard_plugin_evaluator(
    provider: EvaluatorProvider, make: Callable[[EvaluatorParts], RetrievalEvaluator], parts: EvaluatorParts
) -> RetrievalEvaluator:
    """The provider's evaluator, made by `make`. Raises ProviderError where it can't be made."""
    if provider in PROVIDERS:
        return make(parts)
    with _theirs(ProviderError, f"{provider.title} can't be used"):
        made = make(parts)
        return GuardedEvaluator(
            made, provider.title, id=f"{provider.name}:{made.id}", calls_models=provider.calls == "chunk"
        )


@contextmanager
def _theirs(kind: type[ProviderError], what: str) -> Iterator[None]:
    """Whatever another package raises, as an error of ours that says `what`."""
    try:
        yield
    except CragError:
        raise
    except Exception as error:
        _log.warning("%s", what, exc_info=error)
        raise kind(f"{what} ({type(error).__name__}).", ELSEWHERE) from error


def _check_values(adapter: TypeAdapter[T], found: Any, kind: type[ProviderError], title: str) -> T:
    """The values with every field checked. Raises `kind` where one has the wrong form."""
    try:
        return adapter.validate_python(found)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(str(each) for each in first["loc"])
        raise kind(f"{title} returned a value that can't be used ({place}: {first['msg']}).", ELSEWHERE) from None


def name_of(part: object) -> str:
    """What a part that came as an object is called in messages."""
    return str(getattr(part, "by", "") or getattr(part, "name", "") or getattr(part, "id", "") or type(part).__name__)


def guard_evaluator(
    evaluator: RetrievalEvaluator, report: Callable[[ProviderError], None] = lambda error: None
) -> GuardedEvaluator:
    """An evaluator that was given as an object, under its own id. `report` gets its first failure."""
    guarded = GuardedEvaluator(
        evaluator, f"The evaluator {evaluator.id}", id=evaluator.id, calls_models=evaluator.calls_models
    )
    guarded.report = report
    return guarded


class GuardedRetriever:
    """Chunks and nothing else, whatever the retriever returns. Raises RetrieverError."""

    def __init__(self, retriever: Retriever) -> None:
        self._retriever, self._title = retriever, f"The retriever {name_of(retriever)}"

    def search(self, query: str, k: int) -> list[RetrievedChunk]:
        with _theirs(RetrieverError, f"{self._title} failed"):
            found = list(self._retriever.search(query, k))
        if not all(isinstance(each, RetrievedChunk) for each in found):
            raise RetrieverError(f"{self._title} returned something else than chunks.", ELSEWHERE)
        return _check_values(_CHUNKS, found, RetrieverError, self._title)


class GuardedRewriter:
    """A query that is text. Raises ProviderError."""

    def __init__(self, rewriter: Rewriter) -> None:
        self._rewriter, self._title = rewriter, f"The rewriter {name_of(rewriter)}"
        self.by = name_of(rewriter)

    def rewrite(
        self, question: str, *, max_keywords: int, failed: Sequence[Chunk] = (), tried: Sequence[str] = ()
    ) -> str:
        with _theirs(ProviderError, f"{self._title} failed"):
            query = self._rewriter.rewrite(question, max_keywords=max_keywords, failed=failed, tried=tried)
        if not isinstance(query, str) or not query.strip():
            raise ReplyError(f"{self._title} returned no query.", ELSEWHERE)
        return query


class GuardedGenerator:
    """Text in pieces, then an Answer. Raises ProviderError."""

    def __init__(self, generator: Generator) -> None:
        self._generator, self._title = generator, f"The generator {name_of(generator)}"
        self.by = name_of(generator)

    def answer(
        self, question: str, knowledge: Sequence[Strip], sources: dict[str, Chunk | WebPage], settings: Settings
    ) -> Iterator[str | Answer]:
        with _theirs(ProviderError, f"{self._title} failed"):
            for piece in self._generator.answer(question, knowledge, sources, settings):
                if not isinstance(piece, str | Answer):
                    raise ReplyError(f"{self._title} returned something else than text.", ELSEWHERE)
                if isinstance(piece, Answer):
                    yield _check_values(_ANSWERS, [piece], ReplyError, self._title)[0]
                    return
                yield piece
        raise ReplyError(f"{self._title} returned no answer.", ELSEWHERE)


class GuardedWeb:
    """A web provider of another program, under the name and with the promise that its record gives."""

    def __init__(self, web: WebSearch, title: str, *, name: str, id: str, leaves: bool) -> None:
        self._web, self._title = web, title
        self.name, self.leaves, self.id = name, leaves, id
        self.problems: tuple[Unread, ...] = ()

    def search(self, query: str, max_results: int) -> list[WebPage]:
        """At most `max_results` pages, each with an address that a browser may be sent to. Raises ProviderError."""
        self.problems = ()
        with _theirs(WebSearchError, f"{self._title} failed"):
            found = list(self._web.search(query, max_results))
            if found and not any(isinstance(page, WebPage) for page in found):
                raise WebSearchError(f"{self._title} returned something else than pages.", ELSEWHERE)
            pages = [page for page in found if isinstance(page, WebPage) and usable_address(page.url) == page.url]
            self.problems = tuple(
                each if isinstance(each, Unread) else Unread(why=str(each)) for each in self._web.problems
            )
        pages = _check_values(_PAGES, pages[:max_results], WebSearchError, self._title)
        return [replace(page, provider=self.name, rank=rank) for rank, page in enumerate(pages, 1)]


class GuardedEvaluator:
    """One grade a passage, whatever is raised or left out: what is missing has failed."""

    def __init__(self, evaluator: RetrievalEvaluator, title: str, *, id: str, calls_models: bool) -> None:
        self._evaluator, self._title = evaluator, title
        self.id, self.calls_models = id, calls_models
        self.report: Callable[[ProviderError], None] | None = None
        """Gets the first failure, once."""

    def grade(self, question: str, passages: Sequence[Passage]) -> Iterator[Grade]:
        waiting, why, who = {passage.id for passage in passages}, f"{self._title} gave no grade.", ""
        try:
            with _theirs(ProviderError, f"{self._title} failed"):
                for grade in self._evaluator.grade(question, passages):
                    if isinstance(grade, Grade) and grade.passage_id in waiting:
                        [grade] = _check_values(_GRADES, [grade], ReplyError, self._title)
                        waiting.remove(grade.passage_id)
                        yield replace(grade, evaluator=self.id)
        except ProviderError as error:
            why, who = error.cause, error.who
            self._report(error)
        if waiting:
            self._report(ReplyError(why, ELSEWHERE))
        yield from (self._failed(passage.id, why, who) for passage in passages if passage.id in waiting)

    def grade_joint(self, question: str, passages: Sequence[Passage]) -> Grade:
        try:
            with _theirs(ProviderError, f"{self._title} failed"):
                grade = self._evaluator.grade_joint(question, passages)
            if not isinstance(grade, Grade) or grade.passage_id != "joint":
                raise ReplyError(f"{self._title} gave no grade.", ELSEWHERE)
            [grade] = _check_values(_GRADES, [grade], ReplyError, self._title)
        except ProviderError as error:
            self._report(error)
            return self._failed("joint", error.cause, error.who)
        return replace(grade, evaluator=self.id)

    def _report(self, error: ProviderError) -> None:
        report, self.report = self.report, None
        if report is not None:
            report(error)

    def _failed(self, passage_id: str, why: str, who: str = "") -> Grade:
        return Grade(passage_id=passage_id, score=None, error=why, who=who, evaluator=self.id)


Problems = list[tuple[Step, ProviderError]]
"""What was chosen and can't be used, with the step that does without it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Local:
    """The parts that need no service. `folder`: the pages that stand in for the web, None where there are none."""

    evaluator: RetrievalEvaluator
    rewriter: Rewriter
    generator: Generator
    folder: WebSearch | None


@dataclass(frozen=True, slots=True)
class _Given:
    """Anybody's retriever. Chunks of documents that the library does not hold are marked as of another store."""

    retriever: Retriever
    documents: Documents

    def search(self, query: str, k: int) -> list[RetrievedChunk]:
        found = self.retriever.search(query, k)
        here = self.documents.names([each.chunk.document_id for each in found]) if found else {}
        return [
            each if each.chunk.document_id in here else replace(each, chunk=replace(each.chunk, elsewhere=True))
            for each in found
        ]


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
    inner, adapted = local.evaluator, adapt(local.evaluator, library.labels.adaptation())

    def failed(error: ProviderError) -> None:
        emitter.enqueue(ev.Failed.of(error, meter.step, emitter.now()))

    checked = guard_evaluator(inner, failed)
    grades = GradeBatch(library.cache)
    scorer = GradingService(checked, grades)
    own = scorer if adapted is inner else GradingService(guard_evaluator(adapted, failed), grades)
    outside = _evaluators(plan, chat, local.evaluator, meter, problems)

    def report(failed: Grade) -> None:
        error = ProviderError(failed.error or "", who=failed.who)
        event = ev.Failed.of(error, meter.step, emitter.now(), "local evaluator", scorer.id)
        emitter.enqueue(replace(event, reason=failed.fault or event.reason))

    evaluator, support = (GradingService(each, grades, checked, report) for each in outside) if outside else (own, None)
    rules = RuleContextualizer()
    rewriter = local.rewriter if isinstance(local.rewriter, KeywordRewriter) else GuardedRewriter(local.rewriter)
    rewriters = [LlmRewriter(chat), rewriter] if chat else [rewriter]
    webs = _webs(plan, config, meter, local.folder, problems)
    allowed = (request.allowed or _refused) if config.providers.ask_before_web else None
    hours = float(config.providers.web_cache_hours)
    retriever: Retriever = LibraryRetriever(library, settings, emitter)
    if request.retriever is not None:
        retriever = _Given(GuardedRetriever(request.retriever), library.documents)
    about = partial(library.about, where=settings.where, min_confidence=settings.min_confidence)
    reached = plan.webs if settings.web_on else resolve_providers(config, keys, given_web=given_web).webs
    writer = LlmGenerator(chat) if chat and plan.writer else None
    generator: Generator = local.generator
    if not isinstance(generator, ExtractiveGenerator):
        generator = GuardedGenerator(generator)
    # What else the library holds is no help where it is not what was searched.
    guide = None if request.retriever else Guide(about, retriever, checked, web=bool(reached))
    parts = RunContext(
        settings=settings,
        wanted=request.wanted,
        retriever=retriever,
        evaluator=evaluator,
        strip_evaluator=scorer if outside else None,
        strip_grader=CachedStripGrader(inner, grades) if isinstance(inner, StripGrader) else None,
        set_grader=adapted if isinstance(adapted, SetGrader) and not outside else None,
        hold_grades=grades.hold,
        selector=LlmStripSelector(chat) if chat else None,
        rewriter=FallbackRewriter(rewriters, emitter),
        web=FallbackWeb(webs, emitter, meter, memory=library.cache, hours=hours, allowed=allowed) if webs else None,
        generator=FallbackGenerator(writer, generator, emitter) if writer else generator,
        contextualizer=FallbackContextualizer(LlmContextualizer(chat, rules), rules, emitter) if chat else rules,
        verifier=CitationVerifier(scorer, support),
        meter=meter,
        emitter=emitter,
        guide=guide,
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
    given = config.providers
    fetcher = PageFetcher(allow_private=given.private_addresses, clock=meter.clock) if given.fetch_pages else None
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
