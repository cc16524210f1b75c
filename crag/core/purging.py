"""Which documents a purge takes out: the conditions, as a command line says them, and what each says of a document."""

from __future__ import annotations

import argparse
import math
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import NoReturn

from crag.core.errors import SettingsError
from crag.core.filters import Filter, check, filter_of
from crag.core.metadata import Fields, known_fields
from crag.core.settings import days_of
from crag.core.trace import Track
from crag.core.types import Document

KEEP = "keep"
"""The field that, when true, keeps a document from every purge; one that was brought back has it."""

_NEEDED = "Give one of --older-than 30d, --not-used-for 30d, --where FILTER."


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
    """A document goes that meets all that are given. Ages are days.

    `not_used_for`: no answer rested on it for so long, nor was it added since. Raises SettingsError where no condition
    is given.
    """

    older_than: int | None = None
    not_used_for: int | None = None
    where: Filter | None = None

    def __post_init__(self) -> None:
        if self.older_than is None and self.not_used_for is None and self.where is None:
            raise SettingsError("A purge needs a condition: without one it would take everything out.", _NEEDED)

    def why(self, of: Standing, now: datetime) -> str:
        """Why this document goes; nothing where it stays."""
        met: list[tuple[bool, str]] = []
        age, used = _days(of.document.added_at, now), of.track.last_used
        if self.older_than is not None:
            met.append((age > self.older_than, f"added {math.floor(age)} days ago"))
        if self.not_used_for is not None:
            idle = min(age, _days(used, now)) if used else age
            met.append((idle > self.not_used_for, f"last used {math.floor(idle)} days ago" if used else "never used"))
        if self.where is not None:
            met.append((self.where.matches(of.fields), f"meets {self.where}"))
        goes = of.fields.get(KEEP) is not True and all(holds for holds, _ in met)
        return ", ".join(said for _, said in met) if goes else ""


def due(conditions: Conditions, library: Sequence[Standing], now: datetime) -> list[Due]:
    """The documents that go, in their order. Raises FilterError for a filter that asks for what no document has."""
    if conditions.where is not None and library:
        check(conditions.where, known_fields(each.fields for each in library))
    return [Due(document=each.document, why=why) for each in library if (why := conditions.why(each, now))]


def conditions_of(text: str) -> Conditions:
    """The conditions that a line says in the words of the command: `--older-than 90d --where "verified = false"`.

    Raises SettingsError, and FilterError for a bad filter.
    """
    parser = _Parser(add_help=False, allow_abbrev=False)
    for name in ("--older-than", "--not-used-for"):
        parser.add_argument(name)
    parser.add_argument("--where", action="append")
    try:
        given = parser.parse_args(shlex.split(text))
        return Conditions(
            older_than=days_of(given.older_than) if given.older_than else None,
            not_used_for=days_of(given.not_used_for) if given.not_used_for else None,
            where=filter_of(given.where) if given.where else None,
        )
    except ValueError as error:
        raise SettingsError(f"The conditions of the purge can't be read: {error}.", _NEEDED) from error


class _Parser(argparse.ArgumentParser):
    """Raises where argparse would end the program."""

    def error(self, message: str) -> NoReturn:
        raise SettingsError(f"The conditions of the purge can't be read: {message}.", _NEEDED)


def _days(at: str, now: datetime) -> float:
    """Days since a time of the records (ISO 8601; UTC where it says no zone)."""
    moment = datetime.fromisoformat(at)
    return (now - (moment if moment.tzinfo else moment.replace(tzinfo=UTC))).total_seconds() / 86_400
