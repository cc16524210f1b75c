"""Links that let anyone who has one read a workspace, until they end. Each is shown once; its hash alone is stored."""

from __future__ import annotations

import hashlib
import re
import secrets
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from sqlalchemy import Connection, func, insert, select, update

from crag.admin.audit import AuditLog, refusals_noted
from crag.admin.roles import Actor, check
from crag.admin.store import links, people, workspaces
from crag.core.errors import AccessError, InputError, NotFoundError
from crag.storage.database import Database
from crag.text.formats import iso_now

LONGEST = 365
"""Days for which a link lets in, at most."""
MOST = 50
"""Links of one workspace that have not ended."""
_MAKER = func.coalesce(func.nullif(people.c.name, ""), people.c.email, links.c.made_by).label("made_by")
_OTHERS = (column for column in links.c if column is not links.c.made_by)
_LINKS = select(*_OTHERS, _MAKER, people.c.removed_at).outerjoin(people, people.c.id == links.c.made_by)
"""Links with what people call who made them, and when that one was removed."""
_BYTES = 32
_TOKEN = re.compile(r"[A-Za-z0-9_-]{43}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """`made_by`: who shared, as people call them; empty where they only hold the key. Times are ISO 8601 in UTC."""

    id: str
    workspace: str
    made_by: str
    made_at: str
    ends_at: str
    ended_at: str = ""

    @property
    def open(self) -> bool:
        """Whether it lets in now."""
        return not self.ended_at and iso_now() < self.ends_at


class Links:
    """Thread-safe; several processes may share the store. Every method raises StorageError."""

    def __init__(self, store: Database, audit: AuditLog) -> None:
        self._store, self._audit = store, audit

    def issue(self, workspace: str, days: int, by: Actor) -> tuple[Link, str]:
        """A link for this many days, and what stands in its address: 256 random bits, returned here and never again.

        Raises InputError outside 1 to `LONGEST` days and where there are too many, AccessError.
        """
        if not 1 <= days <= LONGEST:
            raise InputError(f"A link lets in for 1 to {LONGEST} days.", "Choose a time within that.")
        token, now = secrets.token_urlsafe(_BYTES), datetime.now(UTC)
        until = (now + timedelta(days=days)).isoformat(timespec="seconds")
        row = {
            "id": secrets.token_hex(8),
            "workspace": workspace,
            "made_by": by.id or by.name,
            "made_at": now.isoformat(timespec="seconds"),
            "ends_at": until,
        }
        with refusals_noted(self._audit, by, "link", workspace, "make"), self._store.write() as connection:
            check(by, workspace, _owner(connection, workspace))
            open_ = (links.c.workspace == workspace) & (links.c.ended_at == "") & (links.c.ends_at > iso_now())
            if (connection.scalar(select(func.count()).select_from(links).where(open_)) or 0) >= MOST:
                raise InputError(f"A workspace may have {MOST} links at once.", "End one first.")
            connection.execute(insert(links).values({**row, "hash": _hash(token), "ended_at": ""}))
        self._audit.note("link", by.name, workspace=workspace, what=f"link {row['id']}", detail=f"until {until}")
        return Link(**row), token

    def opened(self, token: str) -> Link:
        """The link that this opens. Raises AccessError, in the same words for one that ended and one never made.

        A link ends with its workspace, and with the person who made it. How many are tried is not limited: nobody
        guesses 256 random bits, and a limit for all strangers would shut out those who have a link.
        """
        if not _TOKEN.fullmatch(token):
            raise self._refused()
        with self._store.read() as connection:
            row = connection.execute(_LINKS.where(links.c.hash == _hash(token))).one_or_none()
        if row is None or row.removed_at or not (found := _link(row)).open:
            raise self._refused()
        return found

    def end(self, id: str, by: Actor) -> None:
        """Let nobody in by this link any more. Raises NotFoundError, AccessError."""
        with refusals_noted(self._audit, by, "link", "", f"end {id}"), self._store.write() as connection:
            row = connection.execute(select(links).where(links.c.id == id)).one_or_none()
            if row is None:
                raise NotFoundError("There is no such link.")
            check(by, row.workspace, _owner(connection, row.workspace))
            if row.ended_at:
                return
            connection.execute(update(links).where(links.c.id == id).values(ended_at=iso_now()))
        self._audit.note("link", by.name, workspace=row.workspace, what=f"link {id}", detail="ended")

    def of(self, workspace: str) -> list[Link]:
        """Those of a workspace that let in, the one that ends first, first."""
        c = links.c
        wanted = _LINKS.where(c.workspace == workspace, c.ended_at == "", c.ends_at > iso_now())
        with self._store.read() as connection:
            return [_link(row) for row in connection.execute(wanted.order_by(c.ends_at))]

    def _refused(self) -> AccessError:
        self._audit.note("link", "visitor", what="an address without a link that lets in", refused=True)
        return AccessError(
            "The link in the address lets nobody in: it has ended, or never was.", "Ask who sent it for another."
        )


def _owner(connection: Connection, workspace: str) -> str:
    """The id of a workspace's owner; empty for a library that has none."""
    return connection.scalar(select(workspaces.c.owner).where(workspaces.c.name == workspace)) or ""


def _link(row: object) -> Link:
    """The link of a row of `_LINKS`."""
    return Link(**{name: getattr(row, name) for name in Link.__dataclass_fields__})


def _hash(token: str) -> str:
    return hashlib.sha256(f"crag link {token}".encode("utf-8", "surrogatepass")).hexdigest()
