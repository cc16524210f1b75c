"""The quantities that quotas limit, and the sentences about them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from math import ceil
from typing import Literal

from crag.core.errors import CragError, DayLimitError, QuotaError, RoomError
from crag.text.formats import count

Period = Literal["minute", "hour", "day", ""]
"""Within which an amount is counted; empty: it is what there is."""
Level = Literal["workspace", "server"]
LEVELS: tuple[Level, Level] = ("workspace", "server")

PERIODS: tuple[Period, ...] = ("minute", "hour", "day")


@dataclass(frozen=True, slots=True)
class Quantity:
    """Something that a quota limits, counted in `unit`: within a `period`, or, without one, what is stored now."""

    name: str
    title: str
    unit: str
    period: Period = ""

    @property
    def own(self) -> str:
        """The setting of its limit for one workspace."""
        return f"library_{self._setting}"

    @property
    def all(self) -> str:
        """The setting of its limit for all workspaces together."""
        return f"all_{self._setting}"

    @property
    def _setting(self) -> str:
        return f"{self.name}_{self.period}" if self.period else self.name


QUANTITIES: Mapping[str, Quantity] = {
    each.name: each
    for each in (
        Quantity("documents", "Documents", "document"),
        Quantity("mb", "On the disk", "MB"),
        Quantity("questions", "Questions", "question", "minute"),
        Quantity("files", "Files added", "file", "hour"),
        Quantity("calls", "Outside calls", "outside call", "day"),
        Quantity("dollars", "Dollars", "$", "day"),
    )
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Bound:
    """A limit and how much of it is taken; `most` 0: there is no limit."""

    level: Level
    most: float
    used: float = 0.0

    @property
    def left(self) -> float:
        """How much may still be taken; infinite without a limit."""
        return max(0.0, self.most - self.used) if self.most else math.inf

    @property
    def share(self) -> float:
        """How much of it is taken, from 0; 0 without a limit."""
        return self.used / self.most if self.most else 0.0


def decide(bounds: Sequence[Bound], wanted: float) -> Bound | None:
    """The limit that does not let so much more in; None where all do."""
    return next((each for each in bounds if each.left < wanted), None)


def amount_left(bounds: Sequence[Bound]) -> float:
    """How much all of them let in."""
    return min((each.left for each in bounds), default=math.inf)


def period_of(period: Period, now: datetime, latest: date = date.min) -> str:
    """What names the minute, hour or day of a moment in UTC; a day is none before the `latest` that was seen."""
    moment = now.astimezone(UTC)
    if period == "day":
        return max(moment.date(), latest).isoformat()
    return moment.strftime("%Y-%m-%dT%H:%M" if period == "minute" else "%Y-%m-%dT%H")


def over_at(period: Period, named: str) -> datetime:
    """When the minute, hour or day of that name is over."""
    start = datetime.fromisoformat(named if period != "hour" else f"{named}:00").replace(tzinfo=UTC)
    return start + {"minute": timedelta(minutes=1), "hour": timedelta(hours=1)}.get(period, timedelta(days=1))


_RAISE = "your administrator can raise the limit in Settings, Limits"
_PER = {"minute": "this minute", "hour": "this hour", "day": "today"}
_UNITS = (("hour", 3600), ("minute", 60))


def number(quantity: Quantity, value: float) -> str:
    """An amount without its unit: "1,200", "$3.50"."""
    return f"${value:,.2f}" if quantity.unit == "$" else f"{value:,.0f}"


def amount(quantity: Quantity, value: float) -> str:
    """An amount with its unit: "1,200 files", "$3.50", "12 MB"."""
    match quantity.unit:
        case "$":
            return number(quantity, value)
        case "MB":
            return f"{value:,.0f} MB"
        case unit:
            return count(int(value), unit)


def soon(seconds: float) -> str:
    """A time to come: "23 s", "4 minutes", "5 hours"."""
    for unit, length in _UNITS:
        if seconds > 1.5 * length:
            return count(ceil(seconds / length), unit)
    return f"{max(1, ceil(seconds))} s"


def refusal(quantity: Quantity, bound: Bound, within: str, now: datetime, more: float = 1) -> CragError:
    """The error where a limit is reached, in the minute, hour or day of the name `within`; `more` was wanted."""
    own = bound.level == "workspace"
    most = amount(quantity, bound.most)
    if not quantity.period:
        said = f"{'This workspace' if own else 'All workspaces here together'} may hold {most}"
        rest = f"; {amount(quantity, more)} more {'do' if more > 1 else 'does'} not fit." if more > 1 else "."
        helps = "Delete what is no longer needed" if own else "Delete documents of yours that are no longer needed"
        return RoomError(
            f"{said}, and {'has' if own else 'have'} {number(quantity, bound.used)}{rest}", f"{helps}; {_RAISE}."
        )
    wait = max(1, ceil((over_at(quantity.period, within) - now).total_seconds()))
    if quantity.period == "day":
        level = "This workspace's" if own else "The whole server's"
        return DayLimitError(
            f"{level} limit of {most} a day is reached.",
            f"It is free again in {soon(wait)}, at midnight UTC; {_RAISE}.",
        )
    where = "this workspace" if own else "all workspaces here together"
    if quantity.name == "questions":
        text, helps = (
            f"{where.capitalize()} may be asked {most} a minute, and {'was' if own else 'were'} asked as many.",
            "Ask again",
        )
    else:
        text, helps = f"{most} an hour may be added to {where}, and no more are left.", "Add the rest"
    return QuotaError(text, f"{helps} in {soon(wait)}; {_RAISE}.", retry_after=wait)


def nearly(quantity: Quantity, bound: Bound) -> str:
    """The line where most of a limit is used."""
    level = "" if bound.level == "workspace" else " of all workspaces here"
    per = f" {_PER[quantity.period]}" if quantity.period else ""
    if bound.left <= 0:
        return f"The limit{level} is reached: {amount(quantity, bound.most)}{per}."
    return f"{number(quantity, bound.used)} of {amount(quantity, bound.most)}{level} are used{per}."
