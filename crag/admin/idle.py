"""Private workspaces that nobody uses: warned of with a date, kept as soon as they are used, removed when it has come.

A clock that jumps must not remove anything. So the date alone removes nothing: the warning must have been seen to stand
on different days, and between two of them this process must itself have lived half a day.
"""

from __future__ import annotations

import logging
import re
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, replace
from datetime import UTC, date, datetime
from typing import Literal

from sqlalchemy import Connection, delete, insert, select

from crag.admin.audit import AuditLog
from crag.admin.quotas import Overrides
from crag.admin.store import usage
from crag.core.config import AppConfig
from crag.core.errors import CragError
from crag.storage.records import Records

_log = logging.getLogger(__name__)

_PRIVATE = re.compile(r"[pu]-[0-9a-f]{40}")
"""The library of a browser's key, and a person's own. What was made to be shared goes by hand alone."""
_LIVED = 12 * 3600.0
"""Seconds between two looks that count, by a clock that nobody sets."""
_BELIEVED = 60.0
"""Seconds for which the end of a workspace is believed."""
_FIELDS = ("used", "warned", "ends", "looked", "looks")


@dataclass(frozen=True, slots=True, kw_only=True)
class Life:
    """What is known of one workspace; days as counts of days, 0: none.

    It was `used` last on a day, `warned` on another that it `ends` on a third. On `looks` days, the latest of
    them `looked`, the warning was seen to stand.
    """

    used: int = 0
    warned: int = 0
    ends: int = 0
    looked: int = 0
    looks: int = 0


def judge_idle(life: Life, today: int, *, idle_days: int, warn_days: int, lived: bool) -> Life | Literal["over"]:
    """What becomes of a workspace on a day. `lived`: half a day has really gone by since the last look that counted.

    Never before was it used: that begins today.
    """
    if not idle_days or not life.used:
        return Life(used=life.used or today)
    if today - life.used < idle_days or today < life.warned:
        return Life(used=life.used)  # used since; or the clock was wrong when it was warned of
    if not life.ends:
        return replace(life, warned=today, ends=today + warn_days, looked=today, looks=0)
    if not lived or today <= life.looked:
        return life
    seen = replace(life, looked=today, looks=life.looks + 1)
    return "over" if today >= life.ends and seen.looks >= (warn_days + 1) // 2 else seen


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """An idle workspace that will be removed, on which day, and when it was used last."""

    workspace: str
    used: date
    ends: date


class Idle:
    """Thread-safe; several processes may look after the same workspaces."""

    def __init__(
        self,
        store: Records,
        config: Callable[[], AppConfig],
        audit: AuditLog,
        remove: Callable[[str], None],
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
        lived: Callable[[], float] = time.monotonic,
    ) -> None:
        """`remove` removes a library whole. `lived` counts seconds and is never set."""
        self._store, self._config, self._audit, self._remove = store, config, audit, remove
        self._overrides = Overrides(store)
        self._now, self._lived = now, lived
        self._lock = threading.Lock()
        self._touched: dict[str, int] = {}
        self._counted: dict[str, float] = {}
        """When, by `lived`, this process counted a look at each that is warned of."""
        self._ends: dict[str, tuple[float, date | None]] = {}

    def touch(self, workspace: str) -> None:
        """It is used: it will not end. What can't be noted is logged."""
        today = self._today()
        if (
            not self._config().quotas.idle_days
            or not _PRIVATE.fullmatch(workspace)
            or self._touched.get(workspace) == today
        ):
            return
        try:
            self.keep(workspace)
        except CragError as error:
            _log.warning("that %s is used was not noted: %s", workspace, error.message)

    def keep(self, workspace: str) -> None:
        """It counts as used today, whether it was or not. Raises StorageError."""
        today = self._today()
        with self._store.write() as connection:
            _put(connection, workspace, Life(used=today))
        with self._lock:
            self._touched = {**(self._touched if len(self._touched) < 10_000 else {}), workspace: today}
            self._ends.pop(workspace, None)

    def endings(self) -> list[Ending]:
        """The workspaces that have a warning, the one that ends first at the beginning. Raises StorageError."""
        if not self._config().quotas.idle_days:
            return []
        c, lives = usage.c, dict[str, dict[str, int]]()
        with self._store.read() as connection:
            rows = connection.execute(select(c.workspace, c.what, c.amount).where(c.day == "", c.what.in_(_FIELDS)))
            for workspace, what, amount in rows:
                lives.setdefault(workspace, {})[what] = int(amount)
        found = [
            Ending(workspace=name, used=date.fromordinal(life["used"]), ends=date.fromordinal(life["ends"]))
            for name, life in lives.items()
            if life.get("ends") and life.get("used")
        ]
        return sorted(found, key=lambda each: (each.ends, each.workspace))

    def ends(self, workspace: str) -> date | None:
        """The day on which an idle workspace ends, if nobody uses it before. Raises StorageError."""
        if not self._config().quotas.idle_days or not _PRIVATE.fullmatch(workspace):
            return None
        with self._lock:
            at, found = self._ends.get(workspace, (0.0, None))
            if at and time.monotonic() < at + _BELIEVED:
                return found
        with self._store.read() as connection:
            life = _life(connection, workspace)
        found = date.fromordinal(life.ends) if life.ends else None
        with self._lock:
            self._ends = {**(self._ends if len(self._ends) < 10_000 else {}), workspace: (time.monotonic(), found)}
        return found

    def look(self, workspaces: Iterable[str], stop: threading.Event) -> None:
        """Warns of those that are idle, and removes those whose day has come. What fails is logged and tried again."""
        if not self._config().quotas.idle_days:
            return
        for workspace in filter(_PRIVATE.fullmatch, workspaces):
            if stop.is_set():
                return
            try:
                self._look(workspace)
            except CragError as error:
                _log.warning("the workspace %s was left as it is: %s", workspace, error.message)

    def _look(self, workspace: str) -> None:
        quotas, today, at = self._config().quotas, self._today(), self._lived()
        lived = at - self._counted.setdefault(workspace, at) >= _LIVED
        with self._store.write() as connection:
            before = _life(connection, workspace)
            after = judge_idle(before, today, idle_days=quotas.idle_days, warn_days=quotas.warn_days, lived=lived)
            if after != before and after != "over":
                _put(connection, workspace, after)
        if after == "over":
            # While it is removed nobody can begin to use it unseen: anyone who does meets a library that is closed.
            self._remove(workspace)
            with self._store.write() as connection:
                connection.execute(delete(usage).where(usage.c.workspace == workspace))
            self._overrides.forget(workspace)
            ended = f"not used since {date.fromordinal(before.used)}, warned of on {date.fromordinal(before.warned)}"
            self._audit.note("remove", "the program", workspace=workspace, what="idle workspace", detail=ended)
            self._counted.pop(workspace, None)
        elif after.looked != before.looked:
            self._counted[workspace] = at
            if not before.ends:
                said = f"not used since {date.fromordinal(after.used)}, ends on {date.fromordinal(after.ends)}"
                self._audit.note("workspace", "the program", workspace=workspace, what="warned of its end", detail=said)

    def _today(self) -> int:
        return self._now().astimezone(UTC).date().toordinal()


def _life(connection: Connection, workspace: str) -> Life:
    c = usage.c
    there = (c.workspace == workspace) & (c.day == "") & c.what.in_(_FIELDS)
    rows = connection.execute(select(c.what, c.amount).where(there))
    return Life(**{what: int(amount) for what, amount in rows})


def _put(connection: Connection, workspace: str, life: Life) -> None:
    c = usage.c
    connection.execute(delete(usage).where((c.workspace == workspace) & (c.day == "") & c.what.in_(_FIELDS)))
    known = {what: day for what, day in asdict(life).items() if day}
    if known:
        rows = [{"workspace": workspace, "day": "", "what": what, "amount": day} for what, day in known.items()]
        connection.execute(insert(usage), rows)
