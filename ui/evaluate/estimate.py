"""What an evaluation may cost, said before it begins: model calls and web searches, counted from the settings. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from crag.core.config import AppConfig
from crag.core.settings import Settings
from crag.pipeline.resolve import ProviderPlan
from crag.text.formats import money

_SENTENCES = 4
"""Of an answer that a model writes: each may be checked by a call. A usual number, not a limit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Calls:
    """Outside calls of one question, at least and at most; `searches` at most."""

    least: int = 0
    most: int = 0
    searches: int = 0


def without_outside(config: AppConfig, providers: ProviderPlan) -> AppConfig:
    """The same without the webs that lie outside; a folder of pages stays."""
    local = [each.provider.name for each in providers.webs if not each.provider.leaves]
    return config.changed(web=local[0] if local and config.providers.web != "off" else "off", web_fallback="none")


def calls(settings: Settings, providers: ProviderPlan, limit: int) -> Calls:
    """What one question takes of models and webs under these settings, with nothing remembered of earlier runs.

    `limit`: the calls that one may cost.
    """
    model, searches = providers.model is not None, bool(settings.web_on and providers.webs)
    grader = providers.grader.provider
    grading = 0
    if settings.evaluator != "none" and grader.calls != "none":
        grading = settings.k if grader.calls == "chunk" and settings.evaluator == "chunk" else 1
    again = settings.max_rewrites if settings.loop_on and settings.evaluator != "none" else 0
    sources = settings.k + (settings.web_results if searches else 0)
    written = providers.writer is not None
    most = grading * (1 + again)
    most += (again + searches) * model  # each new query is written by the model
    most += sources * (model and settings.strip_judge == "llm")
    most += written + _SENTENCES * (settings.verify and grader.calls != "none")
    return Calls(least=min(grading + written, most), most=min(most, limit), searches=int(searches))


def sentence(plans: Sequence[Settings], questions: int, providers: ProviderPlan, limit: int) -> str:
    """What the evaluation of so many questions with each of these settings may take, in words."""
    each = [calls(settings, providers, limit) for settings in plans]
    least, most = (questions * sum(getattr(one, name) for one in each) for name in ("least", "most"))
    searches = questions * sum(one.searches for one in each) if providers.outside_webs else 0
    said = []
    if most:
        span = f"{least:,} to {most:,}" if least != most else f"{most:,}"
        said.append(f"about {span} model calls (grades of earlier runs are remembered and cost none)")
    if searches:
        price = providers.outside_webs[0].price
        cost = f", {money(searches * price.call)} in all" if price is not None and price.call else ""
        said.append(f"up to {searches:,} web searches, with the pages they lead to{cost}")
    if not said or not providers.leaving:
        return "Everything runs on this machine: no outside calls, no cost."
    return f"Estimated: {' and '.join(said)}."
