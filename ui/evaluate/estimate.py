"""What an evaluation may cost, said before it begins: model calls and web searches, counted from the settings. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from crag.core.config import AppConfig
from crag.core.settings import Settings

__all__ = ["Calls", "calls", "outside_webs", "sentence", "without_outside"]

_SENTENCES = 4
"""Of an answer that a model writes: each may be checked by a call. A usual number, not a limit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Calls:
    """Outside calls of one question, at least and at most; `searches` at most."""

    least: int = 0
    most: int = 0
    searches: int = 0


def outside_webs(config: AppConfig) -> list[str]:
    """The web providers to which queries may leave this machine, in the order they are asked."""
    if config.web == "off":
        return []
    return [web for web in dict.fromkeys((config.web, config.web_fallback)) if web in ("tavily", "duckduckgo")]


def without_outside(config: AppConfig) -> AppConfig:
    """The same without the webs that lie outside; a folder of pages stays."""
    folder = config.web_folder is not None and "folder" in (config.web, config.web_fallback)
    return config.model_copy(update={"web": "folder" if folder else "off", "web_fallback": "none"})


def calls(settings: Settings, config: AppConfig) -> Calls:
    """What one question takes of models and webs under these settings, with nothing remembered of earlier runs."""
    model, searches = config.llm != "none", bool(settings.web_on) and config.web != "off"
    grading = _grading(settings, config, model)
    again = settings.max_rewrites if settings.loop_on and settings.evaluator != "none" else 0
    sources = settings.k + (settings.web_results if searches else 0)
    written = model and config.writer != "extractive"
    checked = settings.verify and (config.evaluator == "reranker" or (config.evaluator == "llm" and model))
    most = grading * (1 + again)
    most += (again + searches) * model  # each new query is written by the model
    most += sources * (model and settings.strip_judge == "llm")
    most += written + _SENTENCES * checked
    return Calls(least=min(grading + written, most), most=min(most, config.run_calls), searches=int(searches))


def _grading(settings: Settings, config: AppConfig, model: bool) -> int:
    """Calls that grade one retrieval."""
    if settings.evaluator == "none" or config.evaluator == "local" or (config.evaluator == "llm" and not model):
        return 0
    return settings.k if config.evaluator == "llm" and settings.evaluator == "chunk" else 1


def sentence(plans: Sequence[Settings], questions: int, config: AppConfig) -> str:
    """What the evaluation of so many questions with each of these settings may take, in words."""
    each = [calls(settings, config) for settings in plans]
    least, most = (questions * sum(getattr(one, name) for one in each) for name in ("least", "most"))
    searches = questions * sum(one.searches for one in each) if outside_webs(config) else 0
    said = []
    if most:
        span = f"{least:,} to {most:,}" if least != most else f"{most:,}"
        said.append(f"about {span} model calls (grades of earlier runs are remembered and cost none)")
    if searches:
        said.append(f"up to {searches:,} web searches, with the pages they lead to")
    if not said:
        return "Everything runs on this machine: no outside calls, no cost."
    return f"Estimated: {' and '.join(said)}."
