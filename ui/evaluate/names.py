"""How evaluations are named, on screen and in files. Pure."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from crag.analysis.evaluate import Evaluation
from crag.export.html import words

_ENDING = re.compile(r"\.(csv|tsv|txt|jsonl|ndjson|json)$")
_FEW = 2
"""So many changed settings fit into a name."""


def name(evaluation: Evaluation) -> str:
    """The strategy, and what is changed about it."""
    differs = words.changed(evaluation.strategy, evaluation.settings)
    if not differs:
        return words.strategy(evaluation.strategy)
    said = ", ".join(differs) if len(differs) <= _FEW else f"{len(differs)} settings changed"
    return f"{words.strategy(evaluation.strategy)} ({said})"


def names(evaluations: Sequence[Evaluation]) -> dict[str, str]:
    """A name for each id, with its time where several would be called alike."""
    plain = {each.id: name(each) for each in evaluations}
    often = Counter(plain.values())
    timed = {
        each.id: f"{plain[each.id]}, {words.moment(each.started_at, zone='')}"
        if often[plain[each.id]] > 1
        else plain[each.id]
        for each in evaluations
    }
    seen: Counter[str] = Counter()
    unique = {}
    for id, called in timed.items():
        seen[called] += 1
        unique[id] = called if seen[called] == 1 else f"{called} #{seen[called]}"
    return unique


def file_name(*parts: str) -> str:
    """A name for a download, without ending, made of these parts, in letters, digits and hyphens."""
    stems = ["-".join(re.findall(r"[a-z0-9]+", _ENDING.sub("", part.lower())))[:40] for part in parts]
    return f"crag-{'-'.join(filter(None, stems)) or 'evaluation'}"
