"""The words and signs that every drawing shares: an action's icon, seconds, sizes, times, counts."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from crag.core.filters import filter_of
from crag.core.settings import Settings, meta
from crag.core.strategies import STRATEGIES, Strategy
from crag.core.types import Action, Chunk, Citation, Step
from crag.export.html.safe_text import markdown
from crag.ingest.files import NAMES
from crag.text.formats import MONTHS
from crag.text.formats import count as count
from crag.text.formats import format_duration as format_duration
from crag.text.formats import format_size as format_size

ICONS = {Action.CORRECT: "●", Action.AMBIGUOUS: "◐", Action.INCORRECT: "○"}
"""A shape for each action, used for nothing else, so that colour never speaks alone."""

STEPS: dict[Step, str] = {
    "contextualize": "In context",
    "retrieve": "Retrieve",
    "evaluate": "Evaluate",
    "act": "Action",
    "refine": "Refine",
    "rewrite": "Rewrite",
    "search": "Search",
    "answer": "Answer",
    "verify": "Verify",
}


def about(strategy: Strategy, changes: Mapping[str, Any]) -> str:
    """What a strategy does, the design that it reproduces, linked where it is published, and a person's changes to it.

    Of a saved configuration, what it changes of its strategy. As Markdown.
    """
    own = f"With your {count(len(changes), 'setting')}: {', '.join(describe_settings(changes))}." if changes else ""
    if strategy.base:
        said = ", ".join(changed(strategy.base, strategy.settings)) or "as published"
        return markdown(f"Saved in this library: {STRATEGIES[strategy.base].title}, {said}. {own}".strip())
    title = markdown(strategy.source)
    source = f"[{title}]({strategy.link})" if strategy.link else title
    return f"{markdown(strategy.help)} Source: {source}. {markdown(own)}".strip()


def kind(media: str) -> str:
    """What a document's bytes are, with a capital; an unknown kind as it is."""
    name = NAMES.get(media, media)  # type: ignore[call-overload]
    return str(name[:1].upper() + name[1:])


def ended(said: str) -> str:
    """Words with a full stop, if they have none; nothing of nothing."""
    said = said.strip()
    return said if not said or said.endswith((".", "…", "!", "?")) else f"{said}."


def sentence(said: str) -> str:
    """Words as a sentence: with a capital and a full stop; nothing of nothing."""
    said = ended(said)
    return said[:1].upper() + said[1:]


def moment(iso: str, zone: str = " UTC") -> str:
    """An ISO 8601 time as "21 Nov 2026 17:20 UTC"; the text itself where it is none."""
    then = _read_moment(iso)
    return f"{then.day} {MONTHS[then.month - 1]} {then.year} {then:%H:%M}{zone}" if then else iso


def _read_moment(iso: str) -> datetime | None:
    """An ISO 8601 time in UTC, which one without a zone is in; None for another text."""
    try:
        then = datetime.fromisoformat(iso)
    except ValueError:
        return None
    return (then if then.tzinfo else then.replace(tzinfo=UTC)).astimezone(UTC)


def strategy(name: str) -> str:
    """A strategy's title; one that is no longer there keeps its own name."""
    return STRATEGIES[name].title if name in STRATEGIES else name


def changed(strategy: str, settings: Settings) -> list[str]:
    """The settings that are not the strategy's own, as "upper threshold 0.5"; none of a strategy no longer there."""
    own = STRATEGIES[strategy].settings if strategy in STRATEGIES else settings
    values = {name: getattr(settings, name) for name in Settings.model_fields}
    return describe_settings({name: value for name, value in values.items() if value != getattr(own, name)})


def describe_settings(settings: Mapping[str, Any]) -> list[str]:
    """Settings with their values, as "upper threshold 0.5"."""
    labels = {name: str(meta(Settings, name)["label"]) for name in settings}
    return [f"{labels[name][:1].lower()}{labels[name][1:]} {value_text(value)}" for name, value in settings.items()]


def value_text(value: object) -> str:
    """A setting's value as a person reads it."""
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, tuple | list):
        return "+".join(str(each) for each in value) or "none"
    return str(filter_of(value) if isinstance(value, Mapping) else value) or "none"


def place(found: Chunk | Citation) -> str:
    """Where in its document a person finds it, in short: "p. 3"; empty for the web."""
    return found.place or (f"p. {found.page}" if found.page else "")


def ago(moment: str) -> str:
    """How long ago an ISO 8601 time was; the text itself where it is none."""
    if (then := _read_moment(moment)) is None:
        return moment
    seconds = max(0.0, (datetime.now(UTC) - then).total_seconds())
    if seconds < 60:
        return "just now"
    for length, name in ((86400, "day"), (3600, "hour"), (60, "minute")):
        if seconds >= length:
            return f"{count(int(seconds // length), name)} ago"
    return moment
