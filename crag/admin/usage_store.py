"""The quantities that quotas limit, and what is used of each by minute, hour and day, in the teams' store."""

from __future__ import annotations

import logging
import math
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from itertools import product
from math import ceil, floor
from typing import Literal, TypeVar

from sqlalchemy import Connection, delete, select

from crag.admin.store import usage
from crag.core.errors import CragError, DayLimitError, QuotaError, RoomError, StorageError
from crag.core.types import Call
from crag.providers.prices import Price, sum_calls
from crag.storage.database import Database
from crag.storage.store import put
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


_log = logging.getLogger(__name__)

SERVER = ""
"""Where the sums of all workspaces stand."""
_LATEST = "latest day"
"""The day that was seen last, as a count of days: a clock that is set back does not begin a new one."""
_BELIEVED = 31
"""Days. A clock that stood further ahead than that was wrong, and what it said is not enforced."""
_KEPT = 40
"""Days for which a day's use is kept."""
_Amounts = dict[tuple[str, str], float]
"""By workspace and what is counted."""
T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Want:
    """At least `least` of something, `most` to be ahead, under the limits of the workspace and of the server.

    Of what is left no more than `share` is granted, beyond the least: others want some, too. `whole`: it is counted.
    """

    least: float
    most: float
    share: float = 1.0
    whole: bool = True
    own: float = 0.0
    all: float = 0.0

    def bounds(self, own: float, all: float) -> tuple[Bound, Bound]:
        """The limits with what is used of each."""
        return Bound(level="workspace", most=self.own, used=own), Bound(level="server", most=self.all, used=all)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reserved:
    """What was granted of each, in the minute, hour or day named `within`."""

    within: str
    granted: Mapping[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused:
    """Nothing was granted: of `what`, this limit is reached."""

    within: str
    what: str
    bound: Bound


class UsageStore:
    """The table of what is used. Thread-safe.

    Where it can't be reached, this process counts for itself until it can: a full disk must not end the work, nor open
    every limit.
    """

    def __init__(self, store: Database, now: Callable[[], datetime] = lambda: datetime.now(UTC)) -> None:
        self._store, self.now = store, now
        self._aside: dict[tuple[str, str, str], float] = {}
        """What was counted here while the store could not be written to."""
        self._lock = threading.Lock()
        self._alone = False
        """Whether the log says already that use can't be stored at present: once, however long it lasts."""

    def reserve(self, workspace: str, period: Period, wants: Mapping[str, Want]) -> Reserved | Refused:
        """All of these, or none. One transaction."""

        def work(within: str, amounts: _Amounts) -> Reserved | Refused:
            granted: dict[str, float] = {}
            for what, want in wants.items():
                bounds = want.bounds(amounts[workspace, what], amounts[SERVER, what])
                if (bound := decide(bounds, want.least)) is not None:
                    return Refused(within=within, what=what, bound=bound)
                ahead = min(want.most, amount_left(bounds) * want.share)
                granted[what] = max(want.least, floor(ahead) if want.whole else ahead)
            _add(amounts, granted)
            return Reserved(within=within, granted=granted)

        return self._booked(period, "", {workspace, SERVER}, set(wants), work)

    def add(self, workspace: str, within: str, more: Mapping[str, float]) -> None:
        """So much more was used on that day ("": today), or less, where amounts are below 0."""
        if any(more.values()):
            self._booked(
                "" if within else "day", within, {workspace, SERVER}, set(more), lambda _, amounts: _add(amounts, more)
            )

    def used(self, workspace: str) -> dict[str, dict[str, float]]:
        """What is used of each, now: of this minute, hour and day by their names. Raises StorageError."""
        c, found = usage.c, dict[str, dict[str, float]]()
        with self._store.read() as connection:
            for period in PERIODS:
                within = self._within(connection, period, note=False)
                there = (c.workspace == workspace) & (c.day == within)
                found[within] = {
                    what: amount for what, amount in connection.execute(select(c.what, c.amount).where(there))
                }
        return found

    def today(self) -> date:
        """The day that use is counted to. Raises StorageError."""
        with self._store.read() as connection:
            return date.fromisoformat(self._within(connection, "day", note=False))

    def begin_day(self) -> None:
        """Hold to the clock again, after it stood ahead and was set right. Raises StorageError."""
        with self._store.write() as connection:
            connection.execute(delete(usage).where(usage.c.workspace == SERVER, usage.c.what == _LATEST))

    def _booked(
        self, period: Period, within: str, workspaces: set[str], whats: set[str], work: Callable[[str, _Amounts], T]
    ) -> T:
        """What `work` makes of the amounts, which are stored as it leaves them."""
        try:
            with self._store.write() as connection:
                if period:
                    within = self._within(connection, period)
                before = _read(connection, within, workspaces, whats)
                after = dict.fromkeys(product(workspaces, whats), 0.0) | before
                outcome = work(within, after)
                _write(connection, within, before, after)
            self._alone = False
            return outcome
        except StorageError as error:
            if not self._alone:
                _log.warning("use is counted by this process alone: %s", error.message)
            self._alone = True
        with self._lock:
            within = within or (period_of(period, self.now()) if period else "")
            today = period_of("day", self.now())
            self._aside = {key: amount for key, amount in self._aside.items() if key[0][:10] in ("", today)}
            here = {(who, what): self._aside.get((within, who, what), 0.0) for who, what in product(workspaces, whats)}
            outcome = work(within, here)
            self._aside.update({(within, who, what): amount for (who, what), amount in here.items()})
            return outcome

    def _within(self, connection: Connection, period: Period, *, note: bool = True) -> str:
        """The minute, hour or day it is."""
        now = self.now()
        if period != "day":
            return period_of(period, now)
        before, today = _read(connection, "", {SERVER}, {_LATEST}), now.astimezone(UTC).date()
        latest = date.fromordinal(max(1, int(before.get((SERVER, _LATEST), 1))))
        if latest > today + timedelta(days=_BELIEVED):
            latest = date.min
        within = max(today, latest)
        if note and within != latest:
            _write(connection, "", before, {(SERVER, _LATEST): float(within.toordinal())})
        return within.isoformat()


def _add(amounts: _Amounts, more: Mapping[str, float]) -> None:
    """To the workspace's and to those of all."""
    for who, what in amounts:
        amounts[who, what] = max(0.0, amounts[who, what] + more.get(what, 0.0))


def _read(connection: Connection, within: str, workspaces: set[str], whats: set[str]) -> _Amounts:
    c = usage.c
    there = (c.day == within) & c.workspace.in_(workspaces) & c.what.in_(whats)
    return {
        (who, what): amount
        for who, what, amount in connection.execute(select(c.workspace, c.what, c.amount).where(there))
    }


def _write(connection: Connection, within: str, before: _Amounts, after: _Amounts) -> None:
    """Store what changed. The first amount of a minute, hour or day removes those that are no longer kept."""
    c = usage.c
    changed = {key: amount for key, amount in after.items() if amount != before.get(key, 0.0)}
    rows = [{"workspace": who, "day": within, "what": what, "amount": n} for (who, what), n in changed.items()]
    if rows:
        put(connection, usage, rows)
    new = [what for who, what in changed if who == SERVER and (who, what) not in before]
    if within and new:
        connection.execute(delete(usage).where(c.what.in_(new), c.day != "", c.day < _oldest(within)))


def _oldest(within: str) -> str:
    """The oldest minute, hour or day that is kept beside this one."""
    if len(within) > len("2026-01-01"):
        return within
    return (date.fromisoformat(within) - timedelta(days=_KEPT)).isoformat()


_AHEAD = 16
"""Calls that are reserved at once."""
_PARTS = 100
"""Of a day's dollars, such a part is reserved at once."""
_SHARE = 1 / 8
"""Of what is left of a day, no more than this is reserved ahead."""
_LEAST = 1e-6
"""Dollars: whether there are any left."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DailyLimits:
    """A day's limits, of the workspace and of the whole server; 0: none. `prices` by model or provider."""

    calls: tuple[float, float] = (0.0, 0.0)
    dollars: tuple[float, float] = (0.0, 0.0)
    prices: Mapping[str, Price]


class DailyBudget:
    """One run's. Thread-safe. It is released when the run is over.

    Calls can't go over the limit. What a call costs is known when it has ended, so each that is under way counts as
    much as the dearest so far: dollars go over it by the first calls of a run at most, which it makes side by side.
    """

    def __init__(self, usage: UsageStore, workspace: str, limits: DailyLimits) -> None:
        self._usage, self._workspace, self._of = usage, workspace, limits
        self._lock = threading.Lock()
        self._within = ""
        self._granted = {"calls": 0.0, "dollars": 0.0}
        self._used = {"calls": 0.0, "dollars": 0.0}
        self._open, self._dearest = 0, 0.0
        self._refused: CragError | None = None

    def __enter__(self) -> DailyBudget:
        return self

    def __exit__(self, *_: object) -> None:
        self.release()

    def take(self) -> None:
        """One call more. Raises DayLimitError; once it did, it does so to the end of the run."""
        with self._lock:
            if self._refused is None:
                self._reserve()
            if self._refused is not None:
                raise self._refused
            self._used["calls"] += 1
            self._open += 1

    def paid(self, call: Call) -> None:
        cost = sum_calls([call], self._of.prices).dollars
        with self._lock:
            self._open -= 1
            self._used["dollars"] += cost
            self._dearest = max(self._dearest, cost)

    def release(self) -> None:
        """What was reserved and not used is given back, what was used beyond it is counted."""
        with self._lock:
            self._release()

    def _reserve(self) -> None:
        wants: dict[str, Want] = {}
        if any(self._of.calls) and self._used["calls"] >= self._granted["calls"]:
            own, all = self._of.calls
            wants["calls"] = Want(least=1, most=_AHEAD, share=_SHARE, own=own, all=all)
        own, all = self._of.dollars
        short = self._used["dollars"] + self._open * self._dearest - self._granted["dollars"]
        if (own or all) and short >= 0:
            part = min(each for each in (own, all) if each) / _PARTS
            wants["dollars"] = Want(
                least=short + _LEAST, most=short + part, share=_SHARE, whole=False, own=own, all=all
            )
        if not wants:
            return
        outcome = self._usage.reserve(self._workspace, "day", wants)
        if isinstance(outcome, Refused):
            self._refused = refusal(QUANTITIES[outcome.what], outcome.bound, outcome.within, self._usage.now())
            return
        if self._within not in ("", outcome.within):
            self._release()  # the day before
        self._within = outcome.within
        for what, amount in outcome.granted.items():
            self._granted[what] += amount

    def _release(self) -> None:
        more = {what: self._used[what] - self._granted[what] for what in self._used}
        self._usage.add(self._workspace, self._within, more)
        self._used, self._granted = dict.fromkeys(self._used, 0.0), dict.fromkeys(self._granted, 0.0)
