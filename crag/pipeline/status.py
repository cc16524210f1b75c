"""What is on and what is off, each with its reason in words: the sentences on a provider plan."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from crag.core.config import AppConfig
from crag.core.errors import ModelError, ProviderError
from crag.core.makers import name_in_sentence
from crag.core.settings import Settings
from crag.pipeline.resolve import Missing, ProviderPlan, Service
from crag.providers.registry import FOLDER, GGUF, LOCAL, Unusable, key_variables, unusable
from crag.runtime.provider import WebProvider
from crag.text.formats import format_size


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderStatus:
    """Whether something is on, and the reason in words."""

    name: str
    on: bool
    detail: str


def problem(missing: Missing) -> ProviderError:
    """Why something that was chosen can't be used, and what to do."""
    provider = missing.provider
    title = provider.title if provider else missing.name
    server = (provider.server or title) if provider else ""
    match missing.reason:
        case "unknown":
            said = f"There is no provider called {missing.name!r} here.", "Choose another in Settings, or install it."
        case "no-model" if provider == GGUF:
            said = "No model file is chosen.", "Choose one in Settings, or set CRAG_LLM_MODEL to its path."
        case "no-model":
            said = "No model is chosen.", "Choose one in Settings, or set CRAG_LLM_MODEL."
        case "no-key":
            known = key_variables()
            variables = (known.get(provider.name) or known[provider.key]) if provider else ("",)
            said = f"{title} needs a key.", f"Enter it in Settings, or set {variables[-1]}."
        case "no-address":
            said = f"The {server} server has no address.", "Enter it in Settings."
        case "bad-address":
            example = provider.example if provider else ""
            said = f"{missing.address!r} is no address of a {server} server.", f"Write it as {example}."
        case "not-allowed":
            host = urlsplit(missing.address).hostname
            said = f"{host} is not among the servers that may be used here.", "Ask your administrator."
        case "no-folder":
            said = "No folder of pages is set.", "Name it in Settings, or set CRAG_WEB_FOLDER."
        case "no-file":
            said = f"There is no model file {missing.file}.", "Check its path in Settings, or CRAG_LLM_MODEL."
        case "no-gguf":
            said = f"{missing.file} is no GGUF file.", "Choose a model file whose name ends in .gguf."
        case "cut-off":
            has, whole = format_size(missing.has), f" of {format_size(missing.needs)}" if missing.needs else ""
            said = f"{missing.file} is cut off: {has}{whole} are there.", "Download or copy it again."
        case "no-chat":
            said = f"{missing.file} holds no model that converses.", "Choose one made for chat: often named instruct."
        case "no-memory":
            needs, free = format_size(missing.needs), format_size(missing.has)
            said = f"{missing.file} needs about {needs} of memory; {free} are free.", "Choose a smaller model file."
        case "no-extra":
            said = "What runs model files is not installed.", "Install it: pip install xllamacpp, and restart."
        case "no-language-model":
            said = "The evaluator is to be a language model, and none is set.", "Set one in Settings."
    return ProviderError(*said)


def model_status(name: str, load: Callable[[], str]) -> ProviderStatus:
    """The state of a local model; `load` returns its id."""
    try:
        return ProviderStatus(name=name, on=True, detail=f"{load()}, on this machine")
    except ModelError as error:
        return ProviderStatus(name=name, on=False, detail=str(error))


def storage_statuses(config: AppConfig) -> list[ProviderStatus]:
    """Where documents are kept and what finds their chunks: host names at most, of an address that holds a password."""
    database = (
        urlsplit(config.storage.database_url).hostname or "another machine" if config.storage.database_url else ""
    )
    milvus = urlsplit(config.storage.milvus_uri).hostname
    if config.storage.index != "milvus":
        index = "FAISS and tantivy, on this machine"
    else:
        index = f"Milvus, at {milvus}" if milvus else "Milvus Lite, on this machine"
    return [
        ProviderStatus(
            name="Records", on=True, detail=f"PostgreSQL, at {database}" if database else "SQLite, on this machine"
        ),
        ProviderStatus(name="Chunk index", on=True, detail=index),
    ]


def outside_statuses(plan: ProviderPlan, place: Callable[[Path], str] = str) -> list[ProviderStatus]:
    """The language model, what grades and writes, the web, and plug-ins that can't be used. Nothing is called.

    `place` names a folder.
    """
    said = [_model(plan), _grading(plan), _answers(plan), _web(plan, place)]
    return [*said, *(ProviderStatus(name="Plug-in", on=False, detail=_plug_in(each)) for each in unusable())]


def parts_in_words(settings: Settings, plan: ProviderPlan, *, evaluator: str, generator: str) -> str:
    """What grades, writes and searches under these settings: models and host names, no other address and no key.

    `evaluator` and `generator` name the local parts. Raises ProviderError for a service that is chosen and can't be
    used: what would be measured then is something else.
    """
    if plan.missing:
        raise problem(plan.missing[0])
    grades = name_in_sentence(plan.grader.endpoint.id) if plan.grader.provider != LOCAL else evaluator
    if settings.evaluator == "none":
        grades = "nothing"
    writes = name_in_sentence(plan.writer.endpoint.id) if plan.writer else generator
    web = ", then ".join(_describe_web(each, plan) for each in plan.webs) or "off"
    return f"Graded by {grades}; written by {writes}; web: {web if settings.web_on else 'not searched'}."


def _describe_web(web: Service[WebProvider], plan: ProviderPlan) -> str:
    if web.provider != FOLDER:
        return web.provider.name
    return plan.given_web or f"folder {plan.folder.name if plan.folder else 'none'}"


def _model(plan: ProviderPlan) -> ProviderStatus:
    missing_for, on = plan.missing_for("answer"), plan.model is not None
    detail = name_in_sentence(plan.model.endpoint.id) if plan.model else "none is set; local models do the work"
    if plan.model and (file := plan.model.endpoint.file):
        detail = f"{detail}, in about {format_size(file.memory)} of memory; nothing leaves it"
    return ProviderStatus(name="Language model", on=on, detail=str(problem(missing_for)) if missing_for else detail)


def _grading(plan: ProviderPlan) -> ProviderStatus:
    by, missing_for = plan.grader, plan.missing_for("evaluate")
    if by.provider.needs == "model":
        detail = "by the language model; the local evaluator stands by"
    elif by.provider != LOCAL:
        who = name_in_sentence(by.endpoint.id) if by.provider.server else by.provider.title
        detail = f"by {who}; the local evaluator stands by"
    elif missing_for is not None and missing_for.reason == "no-language-model":
        detail = "by the local evaluator, until the language model is on"
    else:
        detail = "by the local evaluator" + (f". {problem(missing_for)}" if missing_for else "")
    return ProviderStatus(name="Grading", on=True, detail=detail)


def _answers(plan: ProviderPlan) -> ProviderStatus:
    detail = "extractive: quotes the best sentences, no language model"
    if plan.writer:
        detail = "written by the language model, each sentence checked"
    return ProviderStatus(name="Answers", on=True, detail=detail)


def _web(plan: ProviderPlan, place: Callable[[Path], str]) -> ProviderStatus:
    missing_for, on = plan.missing_for("search"), bool(plan.webs)
    detail = _on(plan.webs[0], plan, place) if on else "off"
    if plan.asks:
        detail += "; each query waits for a yes"
    if missing_for is not None:
        detail = f"{detail}. {problem(missing_for)}" if on else str(problem(missing_for))
    return ProviderStatus(name="Web search", on=on, detail=detail)


def _on(web: Service[WebProvider], plan: ProviderPlan, place: Callable[[Path], str]) -> str:
    if web.provider == FOLDER:
        return plan.given_web or f"folder: {place(plan.folder) if plan.folder else None}"
    where = f" at {web.host}" if web.provider.server else ""
    return f"{web.provider.title}{where}" + (", with a key" if web.endpoint.key else "")


def _plug_in(each: Unusable) -> str:
    """What is wrong with what another package registered."""
    why = {
        "fails": f"it fails when it is loaded ({each.detail})",
        "nonsense": f"it is no record of a provider ({each.detail})",
        "name-taken": f"its name, {each.detail}, is taken by another provider",
    }[each.reason]
    return f"{each.entry}, of the package {each.package}, is not used: {why}"
