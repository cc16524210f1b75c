"""The words and signs that every drawing shares: an action's icon, who did what, seconds, sizes, times, counts."""

from __future__ import annotations

import re
from datetime import UTC, datetime

from crag.core.types import Action, Step
from crag.providers import registry

__all__ = [
    *("ICONS", "STEPS", "ago", "count", "duration", "ended", "maker", "moment", "plain", "sentence", "size"),
    *("verdict_of", "web"),
]

ICONS = {Action.CORRECT: "✓", Action.AMBIGUOUS: "≈", Action.INCORRECT: "✕"}
"""A shape for each action, so that colour never speaks alone."""

STEPS: dict[Step, str] = {
    "retrieve": "Retrieve",
    "evaluate": "Evaluate",
    "act": "Action",
    "refine": "Refine",
    "rewrite": "Rewrite",
    "search": "Search",
    "answer": "Answer",
    "verify": "Verify",
}


_MONTHS = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split()
_SERVED = ("openai-compatible", "openai", "reranker")
_ID = re.compile(r"(?:(?:llm|reranker):)?(?:openai-compatible|openai|reranker):\S*[^\s.,;:!?)]")
"""An id of a model or evaluator in a sentence, without the punctuation after it."""


def maker(id: str) -> str:
    """Who graded, wrote or rewrote, from its id: "qwen, at 127.0.0.1:8080"; an unknown id as it is."""
    model, place = _served(id)
    return f"{model}, at {place}" if place else model


def plain(sentence: str) -> str:
    """A message of the engine with the ids in it as words: "qwen at 127.0.0.1:8080 did not reply in time."."""
    return _ID.sub(lambda found: " at ".join(filter(None, _served(found.group()))), sentence)


def _served(id: str) -> tuple[str, str]:
    """A model's name and its place; no place where it needs no server.

    Forms: PROVIDER:MODEL, with @HOST where it is not the provider's own server; before it llm: and after it the
    version of the prompt where it grades; before it reranker: where it reranks.
    """
    if re.fullmatch(r"local-\d+", id):
        return "the local evaluator", ""
    kind, _, rest = id.partition(":")
    if kind == "llm":
        rest = re.sub(r":[^:@]+(?::support)?$", "", rest)
    elif not (kind == "reranker" and rest.startswith("reranker:")):
        rest = id
    provider, _, name = rest.partition(":")
    if provider not in _SERVED:
        return id or "the evaluator", ""
    if provider == "openai":
        return name, "OpenAI"
    model, _, host = name.rpartition("@")
    return model or "the model", host


def web(provider: str) -> str:
    """A web provider in words; an unknown one as it is."""
    return registry.title(provider)


def ended(said: str) -> str:
    """Words with a full stop, if they have none; nothing of nothing."""
    said = said.strip()
    return said if not said or said.endswith((".", "…", "!", "?")) else f"{said}."


def sentence(said: str) -> str:
    """Words as a sentence: begun large, with a full stop; nothing of nothing."""
    said = ended(said)
    return said[:1].upper() + said[1:]


def moment(iso: str) -> str:
    """An ISO 8601 time as "21 Nov 2026 17:20 UTC"; the text itself where it is none."""
    try:
        then = datetime.fromisoformat(iso)
    except ValueError:
        return iso
    then = (then if then.tzinfo else then.replace(tzinfo=UTC)).astimezone(UTC)
    return f"{then.day} {_MONTHS[then.month - 1]} {then.year} {then:%H:%M} UTC"


def verdict_of(score: float, upper: float, lower: float) -> Action:
    """What one score says by itself, for colouring a bar; the same bounds as the action trigger's."""
    if score >= upper:
        return Action.CORRECT
    return Action.INCORRECT if score < lower else Action.AMBIGUOUS


def count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" + ("" if number == 1 else "s")


def duration(seconds: float) -> str:
    """A time as a person reads it: 3 ms, 1.2 s, 2 min 5 s."""
    if seconds < 0.0095:
        return f"{seconds * 1000:.0f} ms" if seconds >= 0.001 else "<1 ms"
    if seconds < 1:
        return f"{round(seconds * 1000, -1 if seconds >= 0.1 else 0):.0f} ms"
    if seconds < 60:
        return f"{seconds:.1f} s"
    return f"{seconds // 60:.0f} min {seconds % 60:.0f} s"


def size(octets: int) -> str:
    if octets < 1_000_000:
        return f"{max(1, round(octets / 1000)):,} kB"
    return f"{octets / 1_000_000:.1f} MB"


def ago(moment: str) -> str:
    """How long ago an ISO 8601 time was; the text itself where it is none."""
    try:
        then = datetime.fromisoformat(moment)
    except ValueError:
        return moment
    if then.tzinfo is None:
        then = then.replace(tzinfo=UTC)
    seconds = max(0.0, (datetime.now(UTC) - then).total_seconds())
    if seconds < 60:
        return "just now"
    for length, name in ((86400, "day"), (3600, "hour"), (60, "minute")):
        if seconds >= length:
            return f"{count(int(seconds // length), name)} ago"
    return moment
