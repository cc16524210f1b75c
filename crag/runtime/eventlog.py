"""Events as lines of JSON, and back; events of a later build as far as this one knows them."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import fields
from typing import Annotated, get_args

from pydantic import Field, TypeAdapter

from crag.core.events import Event

__all__ = ["event_from_json", "event_to_json", "events_from_jsonl", "events_to_jsonl"]

_EVENT: TypeAdapter[Event] = TypeAdapter(Annotated[Event, Field(discriminator="kind")])
_KINDS = {part.default for each in get_args(Event) for part in fields(each) if part.name == "kind"}


def event_to_json(event: Event) -> str:
    """One event as one line of JSON."""
    return _EVENT.dump_json(event).decode()


def event_from_json(line: str | bytes) -> Event:
    """The event of one line; Skipped where it is of a kind not known here.

    Raises pydantic.ValidationError on anything that is not exactly an event.
    """
    try:
        found = json.loads(line)
    except ValueError:
        return _EVENT.validate_json(line)
    if isinstance(found, dict):
        kind = found.get("kind")
        if isinstance(kind, str) and kind not in _KINDS:
            found = {"kind": "skipped", "name": kind, "at": found.get("at")}
    return _EVENT.validate_python(found)


def events_to_jsonl(events: Iterable[Event]) -> str:
    """One event a line, in order, each line ended."""
    return "".join(event_to_json(event) + "\n" for event in events)


def events_from_jsonl(text: str) -> list[Event]:
    """The inverse of `events_to_jsonl`."""
    return [event_from_json(line) for line in text.split("\n") if line]
