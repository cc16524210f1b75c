"""The audit log: who signed in, deleted, changed a setting, shared or used a key, and what was refused them."""

from __future__ import annotations

import logging
import threading
import time
from collections import OrderedDict, deque
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Literal

from sqlalchemy import delete, func, insert, select

from crag.admin.store import audit
from crag.core.errors import StorageError
from crag.storage.records import Records

__all__ = ["AuditLog", "AuditRateLimiter", "AuditedAct", "Entry", "format_setting"]

AuditedAct = Literal[
    "sign-in",
    "sign-out",
    "refused",
    "delete",
    "setting",
    "limit",
    "key",
    "role",
    "remove",
    "workspace",
    "share",
    "link",
    "token",
    "backup",
    "restore",
    "scrape",
]
"""setting: of the program. key: one was entered, forgotten or used for a server; never its value."""


_SAME_SECONDS = 60.0
"""A refusal like the one before it is stored again after so long."""
_MINUTE, _REFUSALS, _STRANGERS = 60.0, 60, 240
"""Of all refusals, and of all that strangers do, so many a minute at most are stored."""
_KINDS = 5000
STRANGER = "visitor"
"""How the log names who has no name: anyone who holds the key of a library, or nothing."""


@dataclass(slots=True)
class _Kind:
    at: float
    left_out: int = 0


class AuditRateLimiter:
    """What was stored lately, of this process. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kinds: OrderedDict[tuple[str, str, str, bool], _Kind] = OrderedDict()
        self._refusals: deque[float] = deque(maxlen=_REFUSALS)
        self._strangers: deque[float] = deque(maxlen=_STRANGERS)

    def passed(self, who: str, act: str, workspace: str, refused: bool) -> int | None:
        """How many like this were left out before it, which is stored; None where it is left out itself.

        What people with a name do, and are not refused, is always stored.
        """
        stranger = who == STRANGER or who.startswith("link ")
        if not refused and not stranger:
            return 0
        now, key = time.monotonic(), (who, act, "" if stranger else workspace, refused)
        with self._lock:
            kind = self._kinds.get(key)
            all_of_them = self._refusals if refused else self._strangers
            full = len(all_of_them) == all_of_them.maxlen and now - all_of_them[0] < _MINUTE
            again = refused and kind is not None and now - kind.at < _SAME_SECONDS
            if kind is not None and (full or again):
                kind.left_out += 1
                return None
            if full:
                self._remember(key, _Kind(now, 1))
                return None
            all_of_them.append(now)
            left_out = kind.left_out if kind is not None else 0
            self._remember(key, _Kind(now))
            return left_out

    def _remember(self, key: tuple[str, str, str, bool], kind: _Kind) -> None:
        self._kinds[key] = kind
        self._kinds.move_to_end(key)
        while len(self._kinds) > _KINDS:
            self._kinds.popitem(last=False)


_log = logging.getLogger("crag.audit")

MOST = 1_000_000
"""Entries that are kept, whatever their age: some 300 MB."""
_NAMED, _VALUE = 2000, 120


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One line. `who`: a person's e-mail or name, "owner", "command line", "token 2", "link …" or "visitor"."""

    at: str
    who: str
    act: AuditedAct
    workspace: str = ""
    what: str = ""
    detail: str = ""
    refused: bool = False


class AuditLog:
    """Entries are added and, after the time that the operator sets, removed; never changed. Thread-safe."""

    def __init__(self, store: Records) -> None:
        self._store, self._floods = store, AuditRateLimiter()

    def note(
        self,
        act: AuditedAct,
        who: str,
        *,
        workspace: str = "",
        what: str = "",
        detail: str = "",
        refused: bool = False,
    ) -> None:
        """Adds an entry. Where it can't be stored it is logged all the same: what was done stays done.

        What is refused, or done by strangers, again and again is counted, and reported with the next of its kind.
        """
        entry = Entry(
            at=datetime.now(UTC).isoformat(timespec="milliseconds"),
            who=_line(who),
            act=act,
            workspace=_line(workspace),
            what=_line(what),
            detail=_line(detail),
            refused=refused,
        )
        left_out = self._floods.passed(_line(who), act, workspace, refused)
        if left_out is None:
            return
        if left_out:
            entry = replace(entry, detail=_line(f"{entry.detail} (and {left_out:,} more like it before)"))
        said = "refused" if refused else "done"
        _log.info("%s %s by %r in %r: %r %r", act, said, entry.who, entry.workspace, entry.what, entry.detail)
        try:
            with self._store.write() as connection:
                connection.execute(
                    insert(audit).values(
                        at=entry.at,
                        who=entry.who,
                        act=entry.act,
                        workspace=entry.workspace,
                        what=entry.what,
                        detail=entry.detail,
                        refused=entry.refused,
                    )
                )
        except StorageError as error:
            _log.warning("the entry above is in this log alone: %s", error.message)

    def entries(
        self, limit: int = 500, *, workspace: str | None = None, who: str = "", act: str = "", since: str = ""
    ) -> Iterator[Entry]:
        """Newest first; `since` a moment, ISO 8601 in UTC. Raises StorageError."""
        c = audit.c
        wanted = select(c.at, c.who, c.act, c.workspace, c.what, c.detail, c.refused)
        if workspace is not None:
            wanted = wanted.where(c.workspace == workspace)
        if who:
            wanted = wanted.where(c.who == who)
        if act:
            wanted = wanted.where(c.act == act)
        if since:
            wanted = wanted.where(c.at >= since)
        with self._store.read() as connection:
            rows = connection.execute(wanted.order_by(c.number.desc()).limit(limit)).all()
        for at, by, what_act, where, what, detail, refused in rows:
            yield Entry(at=at, who=by, act=what_act, workspace=where, what=what, detail=detail, refused=refused)

    def names(self) -> tuple[list[str], list[str]]:
        """The people and the workspaces that the log names, each in order. Raises StorageError."""
        with self._store.read() as connection:
            who = connection.scalars(select(audit.c.who).distinct().order_by(audit.c.who).limit(_NAMED)).all()
            where = connection.scalars(
                select(audit.c.workspace).distinct().order_by(audit.c.workspace).limit(_NAMED)
            ).all()
        return list(who), list(where)

    def tidy(self, days: int) -> int:
        """Removes entries older than so many days (0: none for their age), and more than a file can bear; how many."""
        with self._store.read() as connection:
            last, oldest = connection.execute(select(func.max(audit.c.number), func.min(audit.c.at))).one()
        if last is None:
            return 0
        before = (datetime.now(UTC) - timedelta(days=days)).isoformat(timespec="milliseconds") if days else ""
        if oldest >= before and last <= MOST:
            return 0
        with self._store.write() as connection:
            old = (audit.c.at < before) | (audit.c.number <= last - MOST)
            return connection.execute(delete(audit).where(old)).rowcount


def format_setting(value: object) -> str:
    """A setting's value as the log has it: of an address only where it leads, never what may be a secret in it."""
    if isinstance(value, tuple | list | set | frozenset):
        return _line(", ".join(map(format_setting, value))) or "none"
    text = "" if value is None else str(value)
    if "://" in text:
        return _line(" ".join(map(_place, text.split())))
    return _line(text)[:_VALUE] or "none"


def _place(word: str) -> str:
    """An address without user, password, path and query; any other word as it is."""
    scheme, found, rest = word.partition("://")
    if not found:
        return word
    host = rest.replace("\\", "/").partition("/")[0].partition("?")[0].partition("#")[0]
    return f"{scheme}://{host.rpartition('@')[2]}"


def _line(text: str) -> str:
    """On one line, of a bounded length: what others named may hold anything."""
    return " ".join("".join(sign if sign.isprintable() else " " for sign in text).split())[:300]
