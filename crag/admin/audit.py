"""The audit log: who signed in, deleted, changed a setting, shared or used a key, and what was refused them."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from typing import Literal

from sqlalchemy import delete, func, insert, select

from crag.admin.roles import Actor
from crag.admin.store import audit
from crag.core.errors import AccessError, StorageError
from crag.runtime.limits import Buckets
from crag.storage.database import Database
from crag.text.formats import one_line

AuditedAct = Literal[
    "sign-in",
    "sign-out",
    "refused",
    "delete",
    "setting",
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


_UNPROVEN = 60
"""At most this many refusals and acts of strangers a minute are stored."""
STRANGER = "visitor"
"""How the log names a person without a name: anyone who holds the key of a library, or nothing."""


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

    def __init__(self, store: Database, now: Callable[[], float] = time.monotonic) -> None:
        """`now` counts seconds, for the bound on entries."""
        self._store, self._unproven = store, Buckets(_UNPROVEN, now)
        self._lock, self._left_out = threading.Lock(), 0

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

        What is refused, or done by strangers, too often is counted, and reported with the next that is stored.
        """
        if refused or who == STRANGER or who.startswith("link "):
            late = self._unproven.take("") > 0
            with self._lock:
                left_out, self._left_out = self._left_out, self._left_out + 1 if late else 0
            if late:
                return
            detail = f"{_line(detail)} (after {left_out:,} that are not listed)" if left_out else detail
        at = datetime.now(UTC).isoformat(timespec="milliseconds")
        texts = {"who": who, "workspace": workspace, "what": what, "detail": detail}
        entry = Entry(at=at, act=act, refused=refused, **{name: _line(text) for name, text in texts.items()})
        said = "refused" if refused else "done"
        _log.info("%s %s by %r in %r: %r %r", act, said, entry.who, entry.workspace, entry.what, entry.detail)
        try:
            with self._store.write() as connection:
                connection.execute(insert(audit).values(asdict(entry)))
        except StorageError as error:
            _log.warning("the entry above is in this log alone: %s", error.message)

    def entries(
        self, limit: int = 500, *, workspace: str | None = None, who: str = "", act: str = ""
    ) -> Iterator[Entry]:
        """Newest first. Raises StorageError."""
        c = audit.c
        wanted = select(c.at, c.who, c.act, c.workspace, c.what, c.detail, c.refused)
        if workspace is not None:
            wanted = wanted.where(c.workspace == workspace)
        for condition, given in ((c.who == who, who), (c.act == act, act)):
            wanted = wanted.where(condition) if given else wanted
        with self._store.read() as connection:
            rows = connection.execute(wanted.order_by(c.number.desc()).limit(limit)).mappings().all()
        yield from (Entry(**row) for row in rows)

    def names(self) -> tuple[list[str], list[str]]:
        """The people and the workspaces that the log names, each in order. Raises StorageError."""
        with self._store.read() as connection:
            who, where = (
                list(connection.scalars(select(column).distinct().order_by(column).limit(_NAMED)))
                for column in (audit.c.who, audit.c.workspace)
            )
        return who, where

    def tidy(self, days: int) -> int:
        """Removes entries older than `days` (0: none for their age), and more than a file can bear; how many."""
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


@contextmanager
def refusals_noted(log: AuditLog, by: Actor, act: AuditedAct, workspace: str, what: str) -> Iterator[None]:
    """Has an AccessError of the block in the audit log, after whatever the block wrote is undone."""
    try:
        yield
    except AccessError:
        log.note(act, by.name, workspace=workspace, what=what, refused=True)
        raise


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
    return one_line(text, 300)
