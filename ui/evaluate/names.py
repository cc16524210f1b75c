"""How evaluations are named, on screen and in files. Pure."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

from crag.core.settings import Settings
from crag.evaluation.evaluate import Evaluation
from crag.strategies import STRATEGIES
from ui.kit import words

__all__ = ["changed", "file_name", "name", "names", "title"]

_ENDING = re.compile(r"\.(csv|tsv|txt|jsonl|ndjson|json)$")
_FEW = 2
"""So many changed settings fit into a name."""


def title(strategy: str) -> str:
    """A strategy's name on screen; one that is no longer there keeps its own."""
    return STRATEGIES[strategy].title if strategy in STRATEGIES else strategy


def changed(strategy: str, settings: Settings) -> list[str]:
    """The settings that are not the strategy's own, as "upper 0.5"."""
    own: dict[str, Any] = STRATEGIES[strategy].settings.model_dump() if strategy in STRATEGIES else {}
    return [
        f"{name} {_value(value)}" for name, value in settings.model_dump().items() if name in own and value != own[name]
    ]


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, tuple | list):
        return "+".join(str(each) for each in value) or "none"
    return str(value)


def name(evaluation: Evaluation) -> str:
    """The strategy, and what is changed about it."""
    differs = changed(evaluation.strategy, evaluation.settings)
    if not differs:
        return title(evaluation.strategy)
    said = ", ".join(differs) if len(differs) <= _FEW else f"{len(differs)} settings changed"
    return f"{title(evaluation.strategy)} ({said})"


def names(evaluations: Sequence[Evaluation]) -> dict[str, str]:
    """A name for each id, with its time where several would be called alike."""
    plain = {each.id: name(each) for each in evaluations}
    often = Counter(plain.values())
    timed = {
        each.id: f"{plain[each.id]}, {_time(each)}" if often[plain[each.id]] > 1 else plain[each.id]
        for each in evaluations
    }
    seen: Counter[str] = Counter()
    unique = {}
    for id, called in timed.items():
        seen[called] += 1
        unique[id] = called if seen[called] == 1 else f"{called} #{seen[called]}"
    return unique


def _time(evaluation: Evaluation) -> str:
    return words.moment(evaluation.started_at).removesuffix(" UTC")


def file_name(*parts: str) -> str:
    """A name for a download, without ending, made of these parts, in letters, digits and hyphens."""
    stems = ["-".join(re.findall(r"[a-z0-9]+", _ENDING.sub("", part.lower())))[:40] for part in parts]
    return f"crag-{'-'.join(filter(None, stems)) or 'evaluation'}"
