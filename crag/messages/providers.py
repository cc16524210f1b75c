"""Sentences about providers: what is on and what is off, each with its reason, and what calls cost."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from crag.core.config import AppConfig, Keys
from crag.core.errors import ModelError
from crag.core.model_ids import name_in_sentence
from crag.core.trace import Trace
from crag.engine import Engine
from crag.pipeline.resolve import Missing, ProviderPlan, problem
from crag.providers.embedding import ServerEmbedder
from crag.providers.prices import Prices, Spent, sum_calls
from crag.providers.registry import LOCAL, Unusable, unusable
from crag.text.formats import count, format_duration, money
from crag.web.folder import FOLDER


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderStatus:
    """Whether something is on, and the reason in words."""

    name: str
    on: bool
    detail: str


def describe_providers(
    engine: Engine, config: AppConfig | None = None, keys: Keys | None = None, place: Callable[[Path], str] = str
) -> list[ProviderStatus]:
    """What is on and off under `config` and `keys` (the engine's own, if not given). `place` names a folder."""
    return [
        _describe_embedding(engine),
        _describe_local("Retrieval evaluator", lambda: engine.evaluator.id),
        *describe_storage(config or engine.config),
        *describe_plan(engine.resolve_providers(config, keys), place),
    ]


def _describe_embedding(engine: Engine) -> ProviderStatus:
    embedder = engine.embedder
    if not isinstance(embedder, ServerEmbedder):
        return _describe_local("Embedding model", lambda: embedder.id)
    detail = str(embedder.problem or name_in_sentence(embedder.id))
    return ProviderStatus(name="Embedding model", on=embedder.problem is None, detail=detail)


def embedding_sentence(plan: ProviderPlan) -> str:
    """Where the text of documents is sent when they are added; empty where it stays here."""
    return f"The text of what you add is sent to {plan.embedding.host}, which embeds it." if plan.embedding else ""


def _describe_local(name: str, load: Callable[[], str]) -> ProviderStatus:
    """The state of a local model; `load` returns its id."""
    try:
        return ProviderStatus(name=name, on=True, detail=f"{load()}, on this machine")
    except ModelError as error:
        return ProviderStatus(name=name, on=False, detail=str(error))


def describe_storage(config: AppConfig) -> list[ProviderStatus]:
    """Where records and the chunk index are. Of an address, which may hold a password, its host alone."""
    records, index = "SQLite, on this machine", "FAISS and tantivy, on this machine"
    if config.storage.database_url:
        records = f"PostgreSQL, at {urlsplit(config.storage.database_url).hostname or 'another machine'}"
    if config.storage.index == "milvus":
        milvus = urlsplit(config.storage.milvus_uri).hostname
        index = f"Milvus, at {milvus}" if milvus else "Milvus Lite, on this machine"
    return [
        ProviderStatus(name="Records", on=True, detail=records),
        ProviderStatus(name="Chunk index", on=True, detail=index),
    ]


def describe_plan(plan: ProviderPlan, place: Callable[[Path], str] = str) -> list[ProviderStatus]:
    """The language model, what grades and writes, the web, and plug-ins that can't be used. Nothing is called."""
    answers = "extractive: quotes the best sentences, no language model"
    if plan.writer:
        answers = "written by the language model, each sentence checked"
    return [
        _describe_model(plan),
        ProviderStatus(name="Grading", on=True, detail=_describe_grading(plan)),
        ProviderStatus(name="Answers", on=True, detail=answers),
        ProviderStatus(name="Web search", on=bool(plan.webs), detail=_describe_web(plan, place)),
        *(ProviderStatus(name="Plug-in", on=False, detail=_describe_plugin(each)) for each in unusable()),
    ]


def _describe_model(plan: ProviderPlan) -> ProviderStatus:
    missing, detail = plan.missing_for("answer"), "none is set; local models do the work"
    if missing:
        detail = str(problem(missing))
    elif plan.model:
        detail = name_in_sentence(plan.model.endpoint.id)
        if plan.model.endpoint.file:
            detail += ", on this machine; nothing leaves it"
    return ProviderStatus(name="Language model", on=plan.model is not None, detail=detail)


def _describe_grading(plan: ProviderPlan) -> str:
    by, missing = plan.grader, plan.missing_for("evaluate")
    if by.provider.needs == "model":
        return "by the language model; the local evaluator stands by"
    if by.provider != LOCAL:
        who = name_in_sentence(by.endpoint.id) if by.provider.server else by.provider.title
        return f"by {who}; the local evaluator stands by"
    if missing is not None and missing.reason == "no-language-model":
        return "by the local evaluator, until the language model is on"
    return _join("by the local evaluator", missing)


def _describe_web(plan: ProviderPlan, place: Callable[[Path], str]) -> str:
    missing = plan.missing_for("search")
    if not plan.webs:
        return str(problem(missing)) if missing else "off"
    web = plan.webs[0]
    if web.provider == FOLDER:
        detail = plan.given_web or f"folder: {place(plan.folder) if plan.folder else 'none'}"
    else:
        where = f" at {web.host}" if web.provider.server else ""
        detail = f"{web.provider.title}{where}" + (", with a key" if web.endpoint.key else "")
    return _join(detail + ("; you approve each query" if plan.asks else ""), missing)


def _join(detail: str, missing: Missing | None) -> str:
    return f"{detail}. {problem(missing)}" if missing else detail


def _describe_plugin(each: Unusable) -> str:
    """What is wrong with what another package registered."""
    why = {
        "fails": f"it fails when it is loaded ({each.detail})",
        "nonsense": f"it is not a provider record ({each.detail})",
        "name-taken": f"another provider has its name, {each.detail}",
    }[each.reason]
    return f"{each.entry}, of the package {each.package}, is not used: {why}"


def cost_text(spent: Spent) -> str:
    """The cost of calls: "$0.0012", "at least $0.0012", or why it is not known."""
    if spent.unknown and not spent.dollars:
        return "no price known" if spent.unpriced else "tokens not counted"
    return f"at least {money(spent.dollars)}" if spent.unknown else money(spent.dollars)


def figures_of(trace: Trace, prices: Prices) -> list[tuple[str, str]]:
    """What a run took, each as a number and what it counts. The last is the cost, which says itself what it is."""
    whole, grades = sum_calls(trace.calls, prices), [grade for each in trace.rounds for grade in each.made]
    remembered = sum(grade.cached for grade in grades)
    models = [count(whole.calls - whole.searches, "model call")] if whole.calls else []
    failed = [count(whole.failed, "failed call")] if whole.failed else []
    more = f", {remembered:,} remembered" if remembered else ""
    searches, graded = count(len(trace.searches), "web search", "es"), count(len(grades), "grade")
    counted = [each.partition(" ") for each in (*models, searches, f"{graded}{more}", *failed)]
    found = [(format_duration(trace.seconds), "in all"), *((number, what) for number, _, what in counted)]
    if not whole.calls:
        return [*found, ("", "local models: no cost")]
    tokens = tokens_text(whole)
    return [*found, *([(tokens, "tokens")] if tokens else []), (cost_text(whole), "")]


def tokens_text(spent: Spent) -> str:
    """Tokens in and out, as far as the provider counted; empty where it counted none."""
    given, written = spent.input_tokens, spent.output_tokens
    return f"{given:,} → {written:,}" if given or written else ""
