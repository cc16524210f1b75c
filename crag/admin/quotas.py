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

from sqlalchemy import delete, exists, insert, select, update

from crag.admin import quantities
from crag.admin.quantities import QUANTITIES, Bound, Quantity, decide
from crag.admin.store import limits, workspaces
from crag.admin.usage_store import SERVER, DailyBudget, DailyLimits, Refused, UsageStore, Want
from crag.core.config import SETTINGS, AppConfig
from crag.core.errors import CragError, InputError, NotFoundError, StorageError
from crag.providers.prices import Price, usable
from crag.storage.library import Library
from crag.storage.records import Records

__all__ = ["Admission", "ChangedError", "Intake", "Override", "Overrides", "Quotas", "Standing", "check_value"]

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

    def __init__(self, store: Records) -> None:
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
        c, at = limits.c, datetime.now(UTC).isoformat(timespec="seconds")
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

    def forget(self, workspace: str) -> None:
        """A workspace that is gone has no limits of its own."""
        with self._store.write() as connection:
            connection.execute(delete(limits).where(limits.c.workspace == workspace))


def check_value(workspace: str, name: str, value: float) -> float:
    """A limit's value. Raises as `Overrides.put` does."""
    own = {each.own for each in QUANTITIES.values()}
    every = own | {each.all for each in QUANTITIES.values() if each.all}
    if name not in (own if workspace else every):
        said = ", ".join(sorted(own if workspace else every))
        raise InputError(
            f"{name[:80]!r} is no limit {'of a workspace' if workspace else 'here'}.", f"There is: {said}."
        )
    whole = SETTINGS[name].model_fields[name].annotation is int and math.isfinite(value) and value == int(value)
    given = AppConfig.of(**{name: int(value) if whole else value})
    return float(given.get(name))


_log = logging.getLogger(__name__)

_BELIEVED = 5.0
"""Seconds for which changed limits are believed to be as they were read; another process's change holds from then."""
_SHARE = 1 / 20
"""Of a minute's questions, one process takes no more than this ahead."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """One quantity in a workspace: its own limit and the server's, None where there is none of that kind.

    Amounts as they are used now; `most` 0 stands for no limit. `counted`: whether it is known here what is used of it.
    `own_change` and `all_change`: who changed it last.
    """

    quantity: Quantity
    own: Bound
    all: Bound | None
    counted: bool = True
    own_change: Override | None = None
    all_change: Override | None = None

    @property
    def near(self) -> Bound | None:
        """The bound of which most is used, where that is 80 % or more."""
        worst = max((each for each in (self.own, self.all) if each), key=lambda bound: bound.share)
        return worst if worst.share >= 0.8 else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Admission:
    """One run before the limits: `tenant` waits in the queue with `each` of it at once."""

    quotas: Quotas
    workspace: str
    tenant: str
    each: int
    daily_budget: DailyBudget

    def admit(self) -> None:
        """One question. Raises QuotaError where it is one too many in this minute."""
        self.quotas.ask(self.workspace)
        self.quotas.touched(self.workspace)


class Quotas:
    """Thread-safe. A library in a folder of its own, outside the data folder, has the server's limits alone."""

    def __init__(
        self,
        store: Records,
        config: Callable[[], AppConfig],
        known: Callable[[str], bool] = lambda workspace: True,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        """`known` says whether a library of a name is stored."""
        self.ledger, self._config, self._known = UsageStore(store, now), config, known
        self.overrides = Overrides(store)
        self._lock = threading.Lock()
        self._changed: Mapping[tuple[str, str], Override] = {}
        self._read_at = -_BELIEVED
        self._near: dict[str, tuple[float, list[Standing]]] = {}
        self._priced: tuple[tuple[str, ...], Mapping[str, Price] | None] = (), None
        """The entries of the configuration, and the table that they make."""
        self.taken: Callable[[Path | str], tuple[float, float]] = lambda library: (0.0, 0.0)
        """Megabytes that a library takes on the disk, and all of them: see `crag.storage.storage_quota`."""
        self.opened: Callable[[str], float] | None = None
        """Browser tabs that are open on a workspace, and with "" in all, where this process serves any."""
        self.touched: Callable[[str], None] = lambda workspace: None
        """Called with each workspace that is used."""
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

        Raises as `Overrides.put`, and NotFoundError for a workspace that is none.
        """
        self.check(workspace)
        made = self.overrides.put(workspace, name, value, seen=seen, by=by)
        with self._lock:
            self._read_at = -_BELIEVED
        return made

    def check(self, workspace: str) -> None:
        """Raises NotFoundError for a workspace that is none; "" is the whole server."""
        if workspace and not (workspace == "default" or self.overrides.named(workspace) or self._known(workspace)):
            raise NotFoundError(f"There is no workspace {workspace[:80]!r}.", "Check its name.")

    def standing(self, workspace: str, library: Library | None = None) -> list[Standing]:
        """Every limit of a workspace and what is used of it. Raises StorageError."""
        own, all = self._amounts(workspace), self._amounts(SERVER)
        if library is not None and library.exists:
            documents, chunks = library.size
            own |= {"documents": documents, "chunks": chunks}
            own["mb"], all["mb"] = self.taken(library.place)
        for what in ("documents", "chunks"):
            all[what] = self.ledger.held(what, besides=workspace) + own.get(what, 0.0)
        uncounted = {"runs"}  # nobody needs it: who is one too many waits a moment
        if self.opened is None:
            uncounted.add("sessions")
        else:
            own["sessions"], all["sessions"] = self.opened(workspace), self.opened(SERVER)
        changed = self._changes()
        return [
            Standing(
                quantity=each,
                counted=name not in uncounted,
                own=Bound(level="workspace", most=self.most(each.own, workspace), used=own.get(name, 0.0)),
                all=Bound(level="server", most=self.most(each.all), used=all.get(name, 0.0)) if each.all else None,
                own_change=changed.get((workspace, each.own)),
                all_change=changed.get((SERVER, each.all)),
            )
            for name, each in QUANTITIES.items()
        ]

    def megabytes(self, library: Path | str) -> tuple[float, float]:
        """How much one library, by its folder or schema, and all of them may take on the disk."""
        name = library.name if isinstance(library, Path) else library.removeprefix("w_")
        return self.most("library_mb", name), self.most("all_mb")

    def near(self, workspace: str, library: Library | None = None) -> list[Standing]:
        """The limits of which a workspace has used most, as they were some seconds ago. Raises StorageError."""
        at, found = self._near.get(workspace, (-_BELIEVED, []))
        if time.monotonic() >= at + _BELIEVED:
            found = [each for each in self.standing(workspace, library) if each.near]
            with self._lock:
                kept = {who: seen for who, seen in self._near.items() if time.monotonic() < seen[0] + _BELIEVED}
                self._near = {**kept, workspace: (time.monotonic(), found)}
        return found

    def _amounts(self, workspace: str) -> dict[str, float]:
        """What is used in the minute, the hour and the day that it is."""
        return {what: amount for amounts in self.ledger.used(workspace).values() for what, amount in amounts.items()}

    def _changes(self) -> Mapping[tuple[str, str], Override]:
        with self._lock:
            if time.monotonic() < self._read_at + _BELIEVED:
                return self._changed
        try:
            found = self.overrides.all()
        except StorageError as error:
            _log.warning("limits are believed to be as they were: %s", error.message)
            found = self._changed
        with self._lock:
            self._changed, self._read_at = found, time.monotonic()
            return self._changed

    # What is admitted

    def run(self, workspace: str | Path) -> Admission:
        """What one run is admitted by; its daily budget is settled at the end."""
        name, tenant = (workspace, workspace) if isinstance(workspace, str) else (SERVER, str(workspace.absolute()))
        return Admission(
            quotas=self,
            workspace=name,
            tenant=tenant,
            each=int(self.most("library_runs_at_once", name)),
            daily_budget=self.daily_budget(name),
        )

    def daily_budget(self, workspace: str = SERVER) -> DailyBudget:
        """What is spent of the day's calls and dollars."""
        spendable = DailyLimits(
            calls=self._limits("calls", workspace),
            dollars=self._limits("dollars", workspace),
            prices=self._prices(),
        )
        return DailyBudget(self.ledger, workspace, spendable)

    def ask(self, workspace: str) -> None:
        """Counts one question. Raises QuotaError, with when one may be asked again."""
        own, all = self._limits("questions", workspace)
        if not own and not all:
            return
        minute = self.ledger.now().astimezone(UTC).strftime("%Y-%m-%dT%H:%M")
        with self._lock:
            self._ahead = {who: ahead for who, ahead in self._ahead.items() if ahead[0] == minute}
            _, left, taken = self._ahead.get(workspace, (minute, 0, 0))
            if left:
                self._ahead[workspace] = minute, left - 1, taken
                return
        # As many ahead as were asked so far: one who asks once takes one, one who asks often seldom goes to the disk.
        want = Want(least=1, most=max(1, taken), share=_SHARE, own=own, all=all)
        outcome = self.ledger.reserve(workspace, "minute", {"questions": want})
        if isinstance(outcome, Refused):
            raise quantities.too_many(outcome.what, outcome.bound, outcome.within, self.ledger.now())
        granted = int(outcome.granted["questions"])
        with self._lock:
            _, left, taken = self._ahead.get(workspace, (minute, 0, 0))
            self._ahead[workspace] = minute, left + granted - 1, taken + granted

    def intake(self, workspace: str | Path, library: Library) -> Intake:
        """What the files of one upload are admitted by."""
        name = workspace if isinstance(workspace, str) else SERVER
        self.touched(name)
        limits = {what: self._limits(what, name) for what in ("documents", "chunks", "files", "upload_mb")}
        return Intake(self.ledger, name, library, limits)

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


_BELIEVED_INTAKE = 5.0
"""Seconds for which it is believed what the workspace holds, beside what is added here."""
_MB = 1_000_000


class Intake:
    """For one thread. What others add to the same workspace within five seconds may come on top of its limit."""

    def __init__(
        self, ledger: UsageStore, workspace: str, library: Library, limits: Mapping[str, tuple[float, float]]
    ) -> None:
        """`limits` by quantity: the workspace's and the server's, 0 for none."""
        self._ledger, self._workspace, self._library, self._limits = ledger, workspace, library, limits
        self._held: dict[str, float] = {}
        self._others: dict[str, float] = {}
        self._looked = -_BELIEVED_INTAKE
        self._added = False

    def begin(self, size: int) -> None:
        """A new file of so many bytes is about to be read. Raises QuotaError and RoomError."""
        self._check("documents", 1)
        self._check("chunks", 1)
        wanted = {"files": 1.0, "upload_mb": size / _MB}
        wants = {
            what: Want(least=amount, most=amount, whole=False, own=self._limits[what][0], all=self._limits[what][1])
            for what, amount in wanted.items()
        }
        if not any(want.own or want.all for want in wants.values()):
            return
        outcome = self._ledger.reserve(self._workspace, "hour", wants)
        if isinstance(outcome, Refused):
            now, amount = self._ledger.now(), wanted[outcome.what]
            raise quantities.too_many(outcome.what, outcome.bound, outcome.within, now, amount)

    def fits(self, documents: int, chunks: int) -> None:
        """So much is about to be stored. Raises RoomError."""
        self._check("documents", documents)
        self._check("chunks", chunks)

    def stored(self, documents: int, chunks: int) -> None:
        """So much was stored."""
        self._added = True
        if self._held:
            self._held["documents"] += documents
            self._held["chunks"] += chunks

    def end(self) -> None:
        """Nothing more comes: what the workspace holds now is noted for the sums of all."""
        if self._added and self._workspace != SERVER:
            documents, chunks = self._library.size
            self._ledger.hold(self._workspace, {"documents": documents, "chunks": chunks})

    def _check(self, what: str, more: float) -> None:
        own, all = self._limits[what]
        if not more or not (own or all):
            return
        if (bound := decide(self._bounds(what), more)) is not None:
            self._looked = -_BELIEVED_INTAKE  # something may have been deleted since
            if (bound := decide(self._bounds(what), more)) is not None:
                raise quantities.full(what, bound, more)

    def _bounds(self, what: str) -> tuple[Bound, Bound]:
        if time.monotonic() >= self._looked + _BELIEVED_INTAKE:
            documents, chunks = self._library.size if self._library.exists else (0, 0)
            self._held = {"documents": documents, "chunks": chunks}
            self._others = {each: self._elsewhere(each) for each in self._held}
            self._looked = time.monotonic()
        own, all = self._limits[what]
        held = self._held[what]
        return (
            Bound(level="workspace", most=own, used=held),
            Bound(level="server", most=all, used=held + self._others[what]),
        )

    def _elsewhere(self, what: str) -> float:
        if not self._limits[what][1]:
            return 0.0
        try:
            return self._ledger.held(what, besides=self._workspace)
        except StorageError:
            return self._others.get(what, 0.0)
