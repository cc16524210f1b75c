"""The few words and signs that every drawing shares: an action's icon, seconds, sizes, ages, counts."""

from __future__ import annotations

from datetime import UTC, datetime

from crag.core.types import Action, Step

__all__ = ["ICONS", "STEPS", "ago", "count", "duration", "size", "verdict_of"]

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
