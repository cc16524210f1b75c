"""The quantities that quotas limit, and the sentences about them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from math import ceil
from typing import Literal

from crag.core.errors import CragError, DayLimitError, QuotaError, RoomError
from crag.messages.wording import count

__all__ = [
    "PERIODS",
    "QUANTITIES",
    "Bound",
    "Period",
    "Quantity",
    "amount",
    "amount_left",
    "day_limit",
    "decide",
    "full",
    "nearly",
    "number",
    "over_at",
    "period_of",
    "soon",
    "too_many",
]

Period = Literal["minute", "hour", "day", ""]
"""Within which an amount is counted; empty: it is what there is."""
Level = Literal["workspace", "server"]

PERIODS: tuple[Period, ...] = ("minute", "hour", "day")


@dataclass(frozen=True, slots=True, kw_only=True)
class Quantity:
    """Something limited: `own` and `all` name the settings for one workspace and for the whole server.

    `all` is empty where only a workspace has a limit. `noun` is what it is counted in, after a number.
    """

    name: str
    title: str
    noun: str
    own: str
    all: str = ""
    period: Period = ""


QUANTITIES: Mapping[str, Quantity] = {
    each.name: each
    for each in (
        Quantity(name="documents", title="Documents", noun="documents", own="library_documents", all="all_documents"),
        Quantity(name="chunks", title="Chunks", noun="chunks", own="library_chunks", all="all_chunks"),
        Quantity(name="mb", title="On the disk", noun="MB", own="library_mb", all="all_mb"),
        Quantity(
            name="files",
            title="Files added",
            noun="files",
            own="library_files_hour",
            all="all_files_hour",
            period="hour",
        ),
        Quantity(
            name="upload_mb",
            title="Upload",
            noun="MB",
            own="library_upload_mb_hour",
            all="all_upload_mb_hour",
            period="hour",
        ),
        Quantity(name="runs", title="Runs at once", noun="runs", own="library_runs_at_once", all="runs_at_once"),
        Quantity(name="sessions", title="Tabs open", noun="tabs", own="library_sessions", all="all_sessions"),
        Quantity(
            name="questions",
            title="Questions",
            noun="questions",
            own="library_questions_minute",
            all="all_questions_minute",
            period="minute",
        ),
        Quantity(
            name="calls",
            title="Outside calls",
            noun="outside calls",
            own="library_calls_day",
            all="all_calls_day",
            period="day",
        ),
        Quantity(
            name="dollars",
            title="Dollars",
            noun="dollars",
            own="library_dollars_day",
            all="all_dollars_day",
            period="day",
        ),
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
    """So much, before "of 1,200 files": "7", "$3.50"."""
    return f"${value:,.2f}" if quantity.name == "dollars" else f"{value:,.0f}"


def amount(quantity: Quantity, value: float) -> str:
    """So much of it: "1,200 files", "$3.50", "12 MB"."""
    if quantity.name == "dollars":
        return number(quantity, value)
    if quantity.noun == "MB":
        return f"{value:,.0f} MB"
    return count(int(value), quantity.noun.removesuffix("s"))


def soon(seconds: float) -> str:
    """A time to come: "23 s", "4 minutes", "5 hours"."""
    for unit, length in _UNITS:
        if seconds > 1.5 * length:
            return count(ceil(seconds / length), unit)
    return f"{max(1, ceil(seconds))} s"


def too_many(what: str, bound: Bound, within: str, now: datetime, wanted: float = 1) -> CragError:
    """What is said where more is asked or added in a minute or an hour than may be."""
    quantity = QUANTITIES[what]
    wait = max(1, ceil((over_at(quantity.period, within) - now).total_seconds()))
    said = f"{amount(quantity, bound.most)} {'an' if quantity.period == 'hour' else 'a'} {quantity.period}"
    where = "this workspace" if bound.level == "workspace" else "all workspaces here together"
    if wanted > bound.most:
        return RoomError(
            f"This file has {amount(quantity, wanted)}; {said} may be added to {where}.",
            f"Add a smaller one; {_RAISE}.",
        )
    if what == "questions":
        text = f"{where.capitalize()} may be asked {said}, and {_verb(bound)} asked as many."
        return QuotaError(text, f"Ask again in {soon(wait)}; {_RAISE}.", retry_after=wait)
    text = f"{said} may be added to {where}, and no more {_fit(bound, what)}."
    return QuotaError(text, f"Add the rest in {soon(wait)}; {_RAISE}.", retry_after=wait)


def full(what: str, bound: Bound, more: float = 1) -> RoomError:
    """What is said where a workspace, or all together, hold as much as they may."""
    quantity = QUANTITIES[what]
    own = bound.level == "workspace"
    said = f"{'This workspace' if own else 'All workspaces here together'} may hold {amount(quantity, bound.most)}"
    has = f"and {'has' if own else 'have'} {bound.used:,.0f}"
    much = f"; {more:,.0f} more would be too many." if more > 1 else "."
    helps = "Delete what is no longer needed" if own else "Delete what is no longer needed, where that is yours"
    return RoomError(f"{said}, {has}{much}", f"{helps}; {_RAISE}.")


def day_limit(what: str, bound: Bound, within: str, now: datetime) -> DayLimitError:
    """What is said where a run may make no more outside calls today."""
    quantity = QUANTITIES[what]
    level = "This workspace's" if bound.level == "workspace" else "The whole server's"
    wait = (over_at("day", within) - now).total_seconds()
    return DayLimitError(
        f"{level} limit of {amount(quantity, bound.most)} a day is reached.",
        f"It is free again in {soon(wait)}, at midnight UTC; {_RAISE}.",
    )


def _verb(bound: Bound) -> str:
    return "was" if bound.level == "workspace" else "were"


def _fit(bound: Bound, what: str) -> str:
    return "are left" if what == "files" else "is left"


def nearly(quantity: Quantity, bound: Bound) -> str:
    """What is said where most of a limit is used."""
    level = "" if bound.level == "workspace" else " of all workspaces here"
    per = f" {_PER[quantity.period]}" if quantity.period else ""
    used = number(quantity, bound.used)
    if bound.left <= 0:
        return f"The limit{level} is reached: {amount(quantity, bound.most)}{per}."
    return f"{used} of {amount(quantity, bound.most)}{level} are used{per}."
