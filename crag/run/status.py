"""What is on and what is off, each with its reason in words."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from crag.core.config import AppConfig
from crag.core.errors import CragError, ModelError, ProviderError
from crag.core.keys import Keys
from crag.core.makers import named
from crag.core.settings import Settings
from crag.run.wiring import chat_endpoint, rerank_endpoint

__all__ = ["ProviderStatus", "loaded", "outside_statuses", "parts_in_words"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderStatus:
    """Whether something is on, and the reason in words."""

    name: str
    on: bool
    detail: str


def loaded(name: str, load: Callable[[], str]) -> ProviderStatus:
    """The state of a local model; `load` returns its id."""
    try:
        return ProviderStatus(name=name, on=True, detail=f"{load()}, on this machine")
    except ModelError as error:
        return ProviderStatus(name=name, on=False, detail=str(error))


def outside_statuses(config: AppConfig, keys: Keys, given_web: str = "") -> list[ProviderStatus]:
    """The language model, what grades and writes, and the web. Nothing is called: it says what would be tried."""
    model = _model(config, keys)
    return [model, _grading(config, keys, model.on), _answers(config, model.on), _web(config, keys, given_web)]


def parts_in_words(
    settings: Settings, config: AppConfig, keys: Keys, *, evaluator: str, generator: str, given_web: str = ""
) -> str:
    """What grades, writes and searches under these settings: models and host names, no other address and no key.

    `evaluator` and `generator` name the local parts. Raises ProviderError for a service that is chosen and can't be
    used: what would be measured then is something else.
    """
    chat = named(chat_endpoint(config, keys).id) if config.llm != "none" else ""
    if config.evaluator == "llm" and not chat:
        raise ProviderError("The evaluator is to be a language model, and none is set.", "Set one in Settings.")
    grades = {"local": evaluator, "llm": chat}.get(config.evaluator) or named(rerank_endpoint(config, keys).id)
    if settings.evaluator == "none":
        grades = "nothing"
    writes = chat if chat and config.writer != "extractive" else generator
    return f"Graded by {grades}; written by {writes}; web: {_web_in_words(settings, config, keys, given_web)}."


def _web_in_words(settings: Settings, config: AppConfig, keys: Keys, given: str) -> str:
    if not settings.web_on:
        return "not searched"
    chosen = [config.web, *([config.web_fallback] if config.web_fallback not in ("none", config.web) else [])]
    if config.web == "off":
        return given or "off"
    if "tavily" in chosen and keys.tavily is None:
        raise ProviderError("Tavily needs a key.", "Enter it in Settings, or set TAVILY_API_KEY.")
    folder = config.web_folder.name if config.web_folder else "none"
    return ", then ".join(f"folder {folder}" if name == "folder" else name for name in chosen)


def _model(config: AppConfig, keys: Keys) -> ProviderStatus:
    if config.llm == "none":
        return ProviderStatus(name="Language model", on=False, detail="none is set; local models do the work")
    try:
        endpoint = chat_endpoint(config, keys)
    except ProviderError as error:
        return ProviderStatus(name="Language model", on=False, detail=str(error))
    return ProviderStatus(name="Language model", on=True, detail=named(endpoint.id))


def _grading(config: AppConfig, keys: Keys, model: bool) -> ProviderStatus:
    name = "Grading"
    match config.evaluator:
        case "llm" if model:
            return ProviderStatus(name=name, on=True, detail="by the language model; the local evaluator stands by")
        case "llm":
            return ProviderStatus(name=name, on=True, detail="by the local evaluator, until the language model is on")
        case "reranker":
            try:
                detail = f"by {named(rerank_endpoint(config, keys).id)}; the local evaluator stands by"
            except CragError as error:
                detail = f"by the local evaluator. {error}"
            return ProviderStatus(name=name, on=True, detail=detail)
        case _:
            return ProviderStatus(name=name, on=True, detail="by the local evaluator")


def _answers(config: AppConfig, model: bool) -> ProviderStatus:
    if model and config.writer != "extractive":
        return ProviderStatus(name="Answers", on=True, detail="written by the language model, each sentence checked")
    detail = "extractive: quotes the best sentences, no language model"
    return ProviderStatus(name="Answers", on=True, detail=detail)


def _web(config: AppConfig, keys: Keys, given: str) -> ProviderStatus:
    match config.web:
        case _ if given:
            on, detail = True, given
        case "folder" if config.web_folder is not None:
            on, detail = True, f"folder: {config.web_folder}"
        case "folder":
            on, detail = False, "no folder of pages is set"
        case "tavily" if keys.tavily is None:
            on, detail = False, "Tavily needs a key: enter it in Settings, or set TAVILY_API_KEY"
        case "tavily":
            on, detail = True, "Tavily, with a key"
        case "duckduckgo":
            on, detail = True, "DuckDuckGo"
        case _:
            on, detail = False, "off"
    if on and config.ask_before_web and config.web != "folder":
        detail += "; each query waits for a yes"
    return ProviderStatus(name="Web search", on=on, detail=detail)
