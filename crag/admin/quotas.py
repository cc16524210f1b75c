"""The limits of one engine: it asks here before a run begins and before a file is read, whichever program asks."""

from __future__ import annotations

import logging
import math
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from sqlalchemy import exists, insert, select, update

from crag.admin.store import limits, workspaces
from crag.admin.usage_store import (
    LEVELS,
    QUANTITIES,
    SERVER,
    Bound,
    DailyBudget,
    DailyLimits,
    Quantity,
    Refused,
    UsageStore,
    Want,
    decide,
    refusal,
)
from crag.core.config import SETTINGS, AppConfig
from crag.core.errors import CragError, InputError, NotFoundError, RoomError, StorageError
from crag.providers.prices import Price, usable
from crag.storage.database import Database
from crag.storage.library import Library
from crag.storage.places import StorageUse, Stored
from crag.text.formats import iso_now

_NONE = -1.0
"""The value of a limit that was changed and is as it is configured again: its edition goes on counting."""


class ChangedError(CragError, reason="input"):
    """Somebody else changed the same limit meanwhile. Nothing was changed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Override:
    """A limit as it was changed last. `value` None: as it is configured. `edition` counts changes, from 1."""

    value: float | None
    edition: int
    by: str
    at: str


class Overrides:
    """The changed limits of one store. Every method raises StorageError."""

    def __init__(self, store: Database) -> None:
        self._store = store

    def all(self) -> Mapping[tuple[str, str], Override]:
        """By workspace ("" for the whole server) and setting."""
        c = limits.c
        with self._store.read() as connection:
            rows = connection.execute(select(c.workspace, c.name, c.value, c.edition, c.changed_by, c.changed_at)).all()
        return {
            (workspace, name): Override(value=None if value < 0 else value, edition=edition, by=by, at=at)
            for workspace, name, value, edition, by, at in rows
        }

    def put(self, workspace: str, name: str, value: float | None, *, seen: int, by: str) -> Override:
        """Changes one limit, whose edition was `seen` before (0: it was never changed).

        Raises ChangedError where another one is there by now, SettingsError for a value that it can't have, InputError
        for a setting that is no limit of a workspace.
        """
        value = None if value is None else check_value(workspace, name, value)
        c, at = limits.c, iso_now()
        changed = {"value": _NONE if value is None else value, "changed_by": by, "changed_at": at}
        with self._store.write() as connection:
            there = (c.workspace == workspace) & (c.name == name)
            found = connection.execute(select(c.value, c.edition, c.changed_by).where(there)).one_or_none()
            if (found.edition if found else 0) != seen:
                now = "as it is configured" if found is None or found.value < 0 else f"{found.value:,g}"
                raise ChangedError(
                    f"{found.changed_by if found else 'Somebody'} changed this limit meanwhile; it is {now}.",
                    "Look at it as it is now, then change it if it is still wrong. Nothing was overwritten.",
                )
            if found is None:
                connection.execute(insert(limits).values(workspace=workspace, name=name, edition=1, **changed))
            else:
                connection.execute(update(limits).where(there).values(edition=seen + 1, **changed))
        return Override(value=value, edition=seen + 1, by=by, at=at)

    def named(self, workspace: str) -> bool:
        """Whether somebody made a workspace of this name."""
        with self._store.read() as connection:
            found = connection.scalar(select(exists().where(workspaces.c.name == workspace)))
        return bool(found)


def check_value(workspace: str, name: str, value: float) -> float:
    """A limit's value. Raises as `Overrides.put` does."""
    known = {each.own for each in QUANTITIES.values()} | {each.all for each in QUANTITIES.values() if not workspace}
    if name not in known:
        raise InputError(
            f"{name[:80]!r} is no limit {'of a workspace' if workspace else 'here'}.",
            f"There is: {', '.join(sorted(known))}.",
        )
    whole = SETTINGS[name].model_fields[name].annotation is int and math.isfinite(value) and value == int(value)
    given = AppConfig.of(**{name: int(value) if whole else value})
    return float(given.get(name))


_log = logging.getLogger(__name__)

_BELIEVED = 5.0
"""Seconds for which changed limits are believed to be as they were read; another process's change holds from then."""
MB = 1024 * 1024
_SHARE = 1 / 20
"""Of a minute's questions, one process takes no more than this ahead."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """One quantity in a workspace: its own limit and that of all together, each with what is used of it now.

    `own_change` and `all_change` say who changed the limit last.
    """

    quantity: Quantity
    own: Bound
    all: Bound
    own_change: Override | None = None
    all_change: Override | None = None

    @property
    def near(self) -> Bound | None:
        """The bound of which most is used, where that is 80 % or more."""
        worst = max(self.own, self.all, key=lambda bound: bound.share)
        return worst if worst.share >= 0.8 else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Admission:
    """One run before the limits: `tenant` waits in the queue."""

    quotas: Quotas
    workspace: str
    tenant: str
    daily_budget: DailyBudget

    def admit(self) -> None:
        """One question. Raises QuotaError where it is one too many in this minute."""
        self.quotas.ask(self.workspace)


class Quotas:
    """The six quotas of each workspace and of all together. Thread-safe.

    A library in a folder of its own, outside the data folder, has the workspace "": it has the limits of all alone.
    """

    def __init__(
        self,
        store: Database,
        config: Callable[[], AppConfig],
        stored: StorageUse,
        known: Callable[[str], bool] = lambda workspace: True,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        """`stored` counts what libraries hold; `known` says whether a library of a name is stored."""
        self.usage, self.stored = UsageStore(store, now), stored
        self._config, self._known = config, known
        self.overrides = Overrides(store)
        self._lock = threading.Lock()
        self._changed: Mapping[tuple[str, str], Override] = {}
        self._read_at = -_BELIEVED
        self._near: dict[str, tuple[float, list[Standing]]] = {}
        self._priced: tuple[tuple[str, ...], Mapping[str, Price] | None] = (), None
        """The entries of the configuration, and the table that they make."""
        self._ahead: dict[str, tuple[str, int, int]] = {}
        """By workspace: the minute, the questions that are left of those taken ahead in it, and how many were taken."""

    # What the limits are

    def most(self, name: str, workspace: str = SERVER) -> float:
        """The limit that a setting names, now: the workspace's own, else as it was changed for all, else configured."""
        changed = self._changes()
        for where in dict.fromkeys((workspace, SERVER)):
            found = changed.get((where, name))
            if found is not None and found.value is not None:
                return found.value
        return float(self._config().get(name))

    def change(self, workspace: str, name: str, value: float | None, *, seen: int, by: str) -> Override:
        """Changes a limit of a workspace, or with "" of the server; None: back to what is configured.

        Raises as `Overrides.put`, and NotFoundError for a workspace that does not exist.
        """
        self.check(workspace)
        made = self.overrides.put(workspace, name, value, seen=seen, by=by)
        with self._lock:
            self._read_at = -_BELIEVED
        return made

    def check(self, workspace: str) -> None:
        """Raises NotFoundError for a workspace that does not exist; "" is the whole server."""
        if workspace and not (workspace == "default" or self.overrides.named(workspace) or self._known(workspace)):
            raise NotFoundError(f"There is no workspace {workspace[:80]!r}.", "Check its name.")

    def standing(self, workspace: str) -> list[Standing]:
        """Every limit of a workspace and what is used of it. Raises StorageError."""
        here, everywhere, _ = self.stored.of(workspace, fresh=True)
        own, all = ({"documents": it.documents, "mb": it.bytes / MB} for it in (here, everywhere))
        own, all = ({**held, **self._amounts(who)} for held, who in ((own, workspace), (all, SERVER)))
        changed = self._changes()
        return [
            Standing(
                quantity=each,
                own=Bound(level="workspace", most=self.most(each.own, workspace), used=own.get(name, 0.0)),
                all=Bound(level="server", most=self.most(each.all), used=all.get(name, 0.0)),
                own_change=changed.get((workspace, each.own)),
                all_change=changed.get((SERVER, each.all)),
            )
            for name, each in QUANTITIES.items()
        ]

    def near(self, workspace: str) -> list[Standing]:
        """The limits of which a workspace has used most, as they were some seconds ago. Raises StorageError."""
        at, found = self._near.get(workspace, (-_BELIEVED, []))
        if time.monotonic() >= at + _BELIEVED:
            found = [each for each in self.standing(workspace) if each.near]
            with self._lock:
                kept = {who: seen for who, seen in self._near.items() if time.monotonic() < seen[0] + _BELIEVED}
                self._near = {**kept, workspace: (time.monotonic(), found)}
        return found

    def _amounts(self, workspace: str) -> dict[str, float]:
        """What is used in the minute, the hour and the day that it is."""
        return {what: amount for amounts in self.usage.used(workspace).values() for what, amount in amounts.items()}

    def _changes(self) -> Mapping[tuple[str, str], Override]:
        with self._lock:
            if time.monotonic() < self._read_at + _BELIEVED:
                return self._changed
        try:
            found = self.overrides.all()
        except StorageError as error:
            _log.warning("limits stay as they were: %s", error.message)
            found = self._changed
        with self._lock:
            self._changed, self._read_at = found, time.monotonic()
            return self._changed

    # What is admitted

    def run(self, workspace: str | Path) -> Admission:
        """Admits one run; its daily budget is released at the end."""
        name, tenant = (workspace, workspace) if isinstance(workspace, str) else (SERVER, str(workspace.absolute()))
        return Admission(quotas=self, workspace=name, tenant=tenant, daily_budget=self.daily_budget(name))

    def daily_budget(self, workspace: str = SERVER) -> DailyBudget:
        """What is spent of the day's calls and dollars."""
        limits = DailyLimits(
            calls=self._limits("calls", workspace), dollars=self._limits("dollars", workspace), prices=self._prices()
        )
        return DailyBudget(self.usage, workspace, limits)

    def ask(self, workspace: str) -> None:
        """Counts one question. Raises QuotaError, with when one may be asked again."""
        own, all = self._limits("questions", workspace)
        if not own and not all:
            return
        minute = self.usage.now().astimezone(UTC).strftime("%Y-%m-%dT%H:%M")
        with self._lock:
            self._ahead = {who: ahead for who, ahead in self._ahead.items() if ahead[0] == minute}
            _, left, taken = self._ahead.get(workspace, (minute, 0, 0))
            if left:
                self._ahead[workspace] = minute, left - 1, taken
                return
        # As many ahead as were asked so far: one who asks once takes one, one who asks often seldom goes to the disk.
        want = Want(least=1, most=max(1, taken), share=_SHARE, own=own, all=all)
        granted = int(self._reserve(workspace, "questions", want))
        with self._lock:
            _, left, taken = self._ahead.get(workspace, (minute, 0, 0))
            self._ahead[workspace] = minute, left + granted - 1, taken + granted

    def add_file(self, workspace: str) -> None:
        """Counts one file. Raises QuotaError, with when one may be added again."""
        own, all = self._limits("files", workspace)
        if own or all:
            self._reserve(workspace, "files", Want(least=1, most=1, own=own, all=all))

    def check_documents(self, workspace: str, library: Library) -> None:
        """Raises RoomError where the library, or all together, may take no document more."""
        limits = self._limits("documents", workspace)
        if not any(limits):
            return

        def used(fresh: bool) -> tuple[float, float]:
            here = library.documents.count()
            counted, total, _ = self.stored.of(workspace, fresh_total=fresh) if limits[1] else (Stored(), Stored(), 0)
            return here, total.documents - counted.documents + here

        self._check_stored("documents", limits, 1, used)

    def check_growth(self, workspace: str, more: int = 0, *, makes: bool = False) -> None:
        """Raises RoomError where a library may not take `more` bytes, or, where it `makes` one, no more may be made."""
        count = 0

        def used(fresh: bool) -> tuple[float, float]:
            nonlocal count
            here, total, count = self.stored.of(workspace, fresh=fresh or more > 0, fresh_total=fresh or makes)
            return here.bytes / MB, total.bytes / MB

        self._check_stored("mb", self._limits("mb", workspace), max(more, 1) / MB, used)
        most = self._config().limits.libraries
        if makes and 0 < most <= count:
            raise RoomError(
                f"There are {count:,} libraries here, and there may be no more than {most:,}.",
                "Ask your administrator to remove old ones, or to raise CRAG_LIBRARIES.",
            )

    def _check_stored(
        self, what: str, limits: tuple[float, float], more: float, used: Callable[[bool], tuple[float, float]]
    ) -> None:
        """Refuses `more` than two limits leave. `used(fresh)` counts what is stored under each."""
        for fresh in (False, True):  # something may have been deleted since all were counted
            bounds = [
                Bound(level=level, most=most, used=amount)
                for level, most, amount in zip(LEVELS, limits, used(fresh), strict=True)
            ]
            bound = decide(bounds, more)
            if bound is None:
                return
            if fresh:
                raise refusal(QUANTITIES[what], bound, "", self.usage.now(), more)

    def intake(self, workspace: str | Path, library: Library) -> Intake:
        """Admits the files of one upload."""
        name = workspace if isinstance(workspace, str) else SERVER
        return Intake(quotas=self, workspace=name, library=library)

    def _reserve(self, workspace: str, what: str, want: Want) -> float:
        quantity = QUANTITIES[what]
        outcome = self.usage.reserve(workspace, quantity.period, {what: want})
        if isinstance(outcome, Refused):
            raise refusal(quantity, outcome.bound, outcome.within, self.usage.now())
        return outcome.granted[what]

    def _prices(self) -> Mapping[str, Price]:
        """What calls cost, made once for as long as the configuration has the same."""
        entries, prices = self._priced
        if prices is None or entries != self._config().providers.prices:
            entries = self._config().providers.prices
            prices = usable(entries)
            self._priced = entries, prices
        return prices

    def _limits(self, what: str, workspace: str) -> tuple[float, float]:
        """A workspace's limit and the server's. What lies outside the data folder has none of a workspace."""
        quantity = QUANTITIES[what]
        return self.most(quantity.own, workspace) if workspace else 0.0, self.most(quantity.all)


@dataclass(frozen=True, slots=True, kw_only=True)
class Intake:
    """Admits the files of one upload to a library."""

    quotas: Quotas
    workspace: str
    library: Library

    def begin(self) -> None:
        """A new file is about to be read. Raises QuotaError and RoomError."""
        self.fits()
        self.quotas.add_file(self.workspace)

    def fits(self) -> None:
        """One more document is about to be stored. Raises RoomError."""
        self.quotas.check_documents(self.workspace, self.library)
