"""What is limited, and whether more of it may be taken: values and pure decisions."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Literal

__all__ = ["PERIODS", "QUANTITIES", "Bound", "Period", "Quantity", "amount_left", "decide", "over_at", "period_of"]

Period = Literal["minute", "hour", "day", ""]
"""Within which an amount is counted; empty: it is what there is."""
Whose = Literal["workspace", "server"]

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

    whose: Whose
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
    begun = datetime.fromisoformat(named if period != "hour" else f"{named}:00").replace(tzinfo=UTC)
    return begun + {"minute": timedelta(minutes=1), "hour": timedelta(hours=1)}.get(period, timedelta(days=1))
