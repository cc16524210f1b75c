"""Which documents a purge takes out: the conditions, as a command line says them, and what each says of a document."""

from __future__ import annotations

import argparse
import math
import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, NoReturn

from crag.core.errors import SettingsError
from crag.core.filters.where import Filter, check, parse
from crag.core.metadata import Fields, known_fields
from crag.core.settings import days_of
from crag.core.trace import Track
from crag.core.types import Document

KEEP = "keep"
"""The field that, when true, keeps a document from every purge; one that was brought back has it."""

_NEEDED = "Give one of --older-than 30d, --not-used-for 30d, --confidence-below 0.5, --score-below 0.3, --unverified, "
_NEEDED += "--where FILTER."


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """What is known of a document when a purge looks at it; `fields` are all that it has."""

    document: Document
    fields: Fields
    track: Track


@dataclass(frozen=True, slots=True, kw_only=True)
class Due:
    """A document that a purge takes out, and why, in words."""

    document: Document
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Conditions:
    """A document goes that meets all that are given. Ages are days, `confidence_below` and `score_below` lie in 0..1.

    `not_used_for`: no answer rested on it for so long, nor was it added since. `score_below`: the mean of its chunks'
    grades; one that was never graded does not meet it. Raises SettingsError where no condition is given.
    """

    older_than: int | None = None
    not_used_for: int | None = None
    confidence_below: float | None = None
    score_below: float | None = None
    unverified: bool = False
    where: Filter | None = None

    def __post_init__(self) -> None:
        given = (self.older_than, self.not_used_for, self.confidence_below, self.score_below, self.where)
        if not self.unverified and all(each is None for each in given):
            raise SettingsError("A purge needs a condition: without one it would take everything out.", _NEEDED)

    def why(self, of: Standing, now: datetime) -> str:
        """Why this document goes; nothing where it stays."""
        met: list[tuple[bool, str]] = []
        age, track, confidence = _days(of.document.added_at, now), of.track, of.fields["confidence"]
        if self.older_than is not None:
            met.append((age > self.older_than, f"added {math.floor(age)} days ago"))
        if self.not_used_for is not None:
            idle = min(age, _days(track.last_used, now)) if track.last_used else age
            said = f"last used {math.floor(idle)} days ago" if track.last_used else "never used"
            met.append((idle > self.not_used_for, said))
        if self.confidence_below is not None:
            low = isinstance(confidence, int | float) and confidence < self.confidence_below
            met.append((low, f"confidence {confidence:g}" if low else ""))
        if self.score_below is not None:
            mean = track.mean_score
            low = mean is not None and mean < self.score_below
            met.append((low, f"mean score {mean:.2f} of {track.graded}" if low else ""))
        if self.unverified:
            met.append((of.fields["verified"] is not True, "unverified"))
        if self.where is not None:
            met.append((self.where.matches(of.fields), f"meets {self.where}"))
        kept = of.fields.get(KEEP) is True or not all(holds for holds, _ in met)
        return "" if kept else ", ".join(said for _, said in met)


def due(conditions: Conditions, library: Sequence[Standing], now: datetime) -> list[Due]:
    """The documents that go, in their order. Raises FilterError for a filter that asks for what no document has."""
    if conditions.where is not None and library:
        check(conditions.where, known_fields(each.fields for each in library))
    return [Due(document=each.document, why=why) for each in library if (why := conditions.why(each, now))]


def conditions_of(text: str) -> Conditions:
    """The conditions that a line says in the words of the command: `--older-than 90d --unverified`.

    Raises SettingsError, and FilterError for a bad filter.
    """
    parser = _Parser(add_help=False, allow_abbrev=False)
    parser.add_argument("--unverified", action="store_true")
    for name in _READERS:
        parser.add_argument(f"--{name.replace('_', '-')}")
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise SettingsError("A quotation mark in the conditions of the purge is not closed.", "Close it.") from error
    given = vars(parser.parse_args(words))
    try:
        return Conditions(**{name: _READERS.get(name, bool)(said) for name, said in given.items() if said is not None})
    except ValueError as error:
        raise SettingsError(f"The conditions of the purge can't be read: {error}.", _NEEDED) from error


class _Parser(argparse.ArgumentParser):
    """Raises where argparse would end the program."""

    def error(self, message: str) -> NoReturn:
        raise SettingsError(f"The conditions of the purge can't be read: {message}.", _NEEDED)


def _share(text: str) -> float:
    """A number from 0 to 1. Raises ValueError."""
    try:
        share = float(text)
    except ValueError:
        share = math.nan
    if not 0 <= share <= 1:
        raise ValueError(f"{text!r} is no number from 0 to 1")
    return share


def _days(at: str, now: datetime) -> float:
    """Days since a time of the records (ISO 8601; UTC where it says no zone)."""
    moment = datetime.fromisoformat(at)
    return (now - (moment if moment.tzinfo else moment.replace(tzinfo=UTC))).total_seconds() / 86_400


_READERS: dict[str, Callable[[str], Any]] = {
    **dict.fromkeys(("older_than", "not_used_for"), days_of),
    **dict.fromkeys(("confidence_below", "score_below"), _share),
    "where": lambda said: parse(said) if said else None,
}
"""How each condition that has a value is read."""
