"""Workspaces: each person's own, and those that are shared with people by name or with a group."""

from __future__ import annotations

import hashlib
import re
import secrets
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Literal, get_args

from sqlalchemy import ColumnElement, Connection, delete, func, insert, or_, select, update

from crag.admin.audit import AuditLog, refusals_noted
from crag.admin.people import EMAIL, Person
from crag.admin.roles import ROLES, Actor, Role, check, higher, lower
from crag.admin.store import links, members, people, workspaces
from crag.core.errors import InputError, NotFoundError
from crag.storage.database import Database
from crag.storage.store import put
from crag.text.formats import iso_now, one_line

Kind = Literal["person", "group"]
"""How somebody is let in: by themselves, or with all of a group that the provider of their sign-in names."""

MOST_OWNED, MOST_MEMBERS = 100, 500
"""Workspaces that one person may make, and members of one."""
_TITLE, _GROUP = 80, 200
"""Characters of each, at most."""
_LIBRARY = "'s library"
_NAME = re.compile(r"[a-z0-9-]{1,61}")
_GIVEN: tuple[Role, ...] = ROLES[:-1]
"""What a membership may give; who administers is said of a person, for all workspaces."""
_USED_EVERY = timedelta(minutes=10)
_CHANGED = "Somebody else has changed this meanwhile."


@dataclass(frozen=True, slots=True, kw_only=True)
class Workspace:
    """`name`: of its library. `owner`: the id of a person, or nothing. Times are ISO 8601 in UTC."""

    name: str
    title: str
    owner: str
    made_at: str
    used_at: str

    @property
    def personal(self) -> bool:
        """Whether it is somebody's first, own one, which nobody needs to make."""
        return self.name.startswith("u-")


@dataclass(frozen=True, slots=True, kw_only=True)
class Shared:
    """A workspace, and what the person who asks may do in it."""

    workspace: Workspace
    role: Role


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """`who`: the id of a person, an e-mail of one who never came, or a group. `shown`: how people call them."""

    kind: Kind
    who: str
    role: Role
    made_at: str
    shown: str


def own_name(id: str) -> str:
    """The name of the library that is a person's own; it tells nothing of the person."""
    return "u-" + hashlib.sha256(f"crag person {id}".encode()).hexdigest()[:40]


class Workspaces:
    """Thread-safe; several processes may share the store. Every method raises StorageError.

    What changes one asks whether who does it may, and is in the audit log, done or refused.
    """

    def __init__(self, store: Database, audit: AuditLog) -> None:
        self._store, self._audit = store, audit

    # Who may enter what

    def of(self, person: Person) -> list[Shared]:
        """All that the person may enter: their own first, the others by title. For who administers: all there are."""
        with self._store.read() as connection:
            everywhere = _select(connection)
            given = _read_memberships(connection, person)
        own = own_name(person.id)
        found = [
            Shared(workspace=each, role=role)
            for each in everywhere
            if (role := _role(person, each, given.get(each.name, ()))) is not None
        ]
        return sorted(found, key=lambda each: (each.workspace.name != own, each.workspace.title.casefold()))

    def role_in(self, person: Person, name: str) -> Role | None:
        """What a person may do in a workspace; None: they may not enter it, or there is none of this name."""
        return next((each.role for each in self.of(person) if each.workspace.name == name), None)

    def own(self, person: Person) -> Workspace:
        """The person's own workspace, made when they first come. Where others shared by their e-mail, it is theirs."""
        name = own_name(person.id)
        with self._store.read() as connection:
            found = _select(connection, name)
            waiting = (bool(person.email) and connection.scalar(_waiting(select(func.count()), person))) or 0
        if found and not waiting:
            return found[0]
        with self._store.write() as connection:
            _take_over(connection, person)
            return _select_or_insert(connection, _build_workspace(name, _own_title(person), person.id))

    # Making and changing them

    def make(self, title: str, by: Actor) -> Workspace:
        """A workspace more, whose owner made it. Raises InputError for a bad title, and where there are too many."""
        made = _build_workspace(
            f"s-{secrets.token_hex(20)}", _parse_name(title, "The title of a workspace", _TITLE), by.id
        )
        with self._store.write() as connection:
            held = select(func.count()).select_from(workspaces).where(workspaces.c.owner == by.id)
            if by.id and (connection.scalar(held) or 0) > MOST_OWNED:
                raise InputError(
                    f"One person may have {MOST_OWNED} workspaces.", "Delete one that is no longer needed."
                )
            connection.execute(insert(workspaces).values(asdict(made)))
        self._audit.note("workspace", by.name, workspace=made.name, what="made", detail=made.title)
        return made

    def adopt(self, name: str, title: str, by: Actor) -> Workspace:
        """Enter a library that was there before anybody signed in; only who administers may. Raises as `rename`."""
        with refusals_noted(self._audit, by, "workspace", name, "adopt"):
            check(by, "", "")
        if not _NAME.fullmatch(name):
            raise InputError(
                "That is no name of a library that can be shared.", "Back it up, and restore it under another name."
            )
        made = _build_workspace(name, _parse_name(title, "The title of a workspace", _TITLE), "")
        with self._store.write() as connection:
            if (found := _select_or_insert(connection, made)) is not made:
                return found
        self._audit.note("workspace", by.name, workspace=name, what="adopted", detail=made.title)
        return made

    def rename(self, name: str, title: str, by: Actor) -> None:
        """Raises InputError, NotFoundError, AccessError."""
        title = _parse_name(title, "The title of a workspace", _TITLE)
        with refusals_noted(self._audit, by, "workspace", name, "rename"), self._store.write() as connection:
            before = _find(connection, name)
            check(by, name, before.owner)
            connection.execute(update(workspaces).where(workspaces.c.name == name).values(title=title))
        self._audit.note("workspace", by.name, workspace=name, what="renamed", detail=f"{before.title} → {title}")

    def hand_over(self, name: str, owner: str, by: Actor) -> None:
        """Another person, by id, is the owner from now on. Raises as `rename`."""
        with refusals_noted(self._audit, by, "workspace", name, "hand over"), self._store.write() as connection:
            before = _find(connection, name)
            check(by, name, before.owner)
            to = connection.execute(select(people.c.email, people.c.name).where(_is(owner))).one_or_none()
            if to is None:
                raise NotFoundError("There is no such person.")
            connection.execute(update(workspaces).where(workspaces.c.name == name).values(owner=owner))
        self._audit.note("workspace", by.name, workspace=name, what="handed over", detail=to.email or to.name)

    def delete(self, name: str, by: Actor) -> None:
        """Nobody may enter it any more, and its links end. Its library is removed by `Engine.remove`.

        Raises NotFoundError, AccessError.
        """
        with refusals_noted(self._audit, by, "workspace", name, "delete"), self._store.write() as connection:
            before = _find(connection, name)
            check(by, name, before.owner)
            for table in (members, links):
                connection.execute(delete(table).where(table.c.workspace == name))
            connection.execute(delete(workspaces).where(workspaces.c.name == name))
        self._audit.note("workspace", by.name, workspace=name, what="deleted", detail=before.title)

    def used(self, name: str) -> None:
        """Remember that somebody is in it; to the nearest minutes, so that it costs a write now and then only."""
        now = datetime.now(UTC)
        recent = (now - _USED_EVERY).isoformat(timespec="seconds")
        with self._store.read() as connection:
            at = connection.scalar(select(workspaces.c.used_at).where(workspaces.c.name == name))
        if at is not None and at < recent:
            with self._store.write() as connection:
                said = now.isoformat(timespec="seconds")
                connection.execute(update(workspaces).where(workspaces.c.name == name).values(used_at=said))

    def get(self, name: str) -> Workspace:
        """Raises NotFoundError."""
        with self._store.read() as connection:
            return _find(connection, name)

    def all(self) -> list[Workspace]:
        """Every workspace, the one used last first."""
        with self._store.read() as connection:
            return sorted(_select(connection), key=lambda each: each.used_at, reverse=True)

    # Members

    def members(self, name: str) -> list[Member]:
        """Those it is shared with, without its owner; people first, by what they are called."""
        with self._store.read() as connection:
            asked = select(members, people.c.email, people.c.name).outerjoin(people, people.c.id == members.c.who)
            rows = connection.execute(asked.where(members.c.workspace == name)).all()
        found = [
            Member(kind=row.kind, who=row.who, role=row.role, made_at=row.made_at, shown=_label_member(row))
            for row in rows
        ]
        return sorted(found, key=lambda each: (each.kind != "person", each.shown.casefold()))

    def member_counts(self) -> dict[str, int]:
        """How many members each workspace has; none for those that have none."""
        c = members.c
        with self._store.read() as connection:
            found = connection.execute(select(c.workspace, func.count()).group_by(c.workspace)).all()
        return {name: many for name, many in found}

    def share(
        self, name: str, kind: Kind, who: str, role: Role, by: Actor, *, was: Role | Literal[""] | None = ""
    ) -> None:
        """Let somebody in, or change what they may do there. A person is named by id or e-mail, a group as it is.

        `was`: the role that who changes it saw, None where there was none: where another was faster, it is refused.
        Raises InputError, NotFoundError, AccessError.
        """
        if kind not in get_args(Kind) or role not in _GIVEN:
            raise InputError("A member is a person or a group, who reads, asks or edits.", "Choose one of these.")
        with refusals_noted(self._audit, by, "share", name, "share"), self._store.write() as connection:
            space = _find(connection, name)
            check(by, name, space.owner)
            who = _person(connection, who) if kind == "person" else _parse_name(who, "The name of a group", _GROUP)
            if kind == "person" and who == space.owner:
                raise InputError("The owner has a workspace without being a member.", "Name somebody else.")
            held = _read_roles(connection, name)
            before = held.get((kind, who))
            if was != "" and before != was:
                raise InputError(_CHANGED, "Look at it again, then decide again.")
            if before is None and len(held) >= MOST_MEMBERS:
                raise InputError(f"A workspace may have {MOST_MEMBERS} members.", "Share it with a group instead.")
            row = {"workspace": name, "kind": kind, "who": who, "role": role, "made_at": iso_now()}
            put(connection, members, [row])
            shown = _member_name(connection, who)
        said = f"{before or 'not let in'} → {role}"
        self._audit.note("share", by.name, workspace=name, what=f"{kind} {shown}", detail=said)

    def unshare(self, name: str, kind: Kind, who: str, by: Actor) -> None:
        """Let somebody in no longer; members may leave by themselves. Raises NotFoundError, AccessError."""
        with refusals_noted(self._audit, by, "share", name, "unshare"), self._store.write() as connection:
            space = _find(connection, name)
            if not (kind == "person" and by.id and who == by.id):
                check(by, name, space.owner)
            shown = _member_name(connection, who)
            gone = connection.execute(delete(members).where(_membership(name, kind, who))).rowcount
        if not gone:
            raise NotFoundError("That is no member of this workspace any more.")
        self._audit.note("share", by.name, workspace=name, what=f"{kind} {shown}", detail="let in no longer")


def _parse_name(said: str, what: str, most: int) -> str:
    """Words that a person gave, on one line. Raises InputError for none and for more than `most` characters."""
    line = one_line(said[: 4 * most], most + 1)
    if not 1 <= len(line) <= most:
        raise InputError(f"{what} has 1 to {most} characters.", "Write it again.")
    return line


def _role(person: Person, workspace: Workspace, given: Iterable[Role]) -> Role | None:
    """A membership never gives more than the person may do at all; the owner has at least an editor's membership."""
    if person.role == "admin":
        return "admin"
    best: Role | None = "editor" if person.id and workspace.owner == person.id else None
    for each in given:
        best = each if best is None else higher(best, each)
    return None if best is None else lower(person.role, best)


def _read_memberships(connection: Connection, person: Person) -> dict[str, list[Role]]:
    """What memberships give the person, by workspace."""
    c = members.c
    mine: ColumnElement[bool] = (c.kind == "person") & (c.who == person.id)
    groups = list(person.groups)
    if groups:
        mine = or_(mine, (c.kind == "group") & c.who.in_(groups))
    found: dict[str, list[Role]] = {}
    for where, role in connection.execute(select(c.workspace, c.role).where(mine)):
        if role in _GIVEN:
            found.setdefault(where, []).append(role)
    return found


def _person(connection: Connection, who: str) -> str:
    """The id of a person who is named by id or e-mail; the e-mail, while nobody has it. Raises InputError."""
    if connection.scalar(select(people.c.id).where(_is(who))) is not None:
        return who
    said = who.strip().lower()
    if not EMAIL.fullmatch(said) or not said.isprintable():
        raise InputError("That is no e-mail address.", "Write it as name@example.org.")
    found = connection.scalars(
        select(people.c.id).where(func.lower(people.c.email) == said, people.c.removed_at == "")
    ).all()
    return found[0] if len(found) == 1 else said


def _take_over(connection: Connection, person: Person) -> None:
    """What was shared with the e-mail of somebody who had never come is shared with the person from now on."""
    for row in connection.execute(_waiting(select(members), person)).all():
        mine = _membership(row.workspace, "person", person.id)
        if connection.scalar(select(members.c.role).where(mine)) is None:
            moved = {"workspace": row.workspace, "kind": "person", "who": person.id}
            connection.execute(insert(members).values({**moved, "role": row.role, "made_at": row.made_at}))
        connection.execute(delete(members).where(_membership(row.workspace, "person", row.who)))


def _waiting(asked: Any, person: Person) -> Any:
    c = members.c
    return asked.select_from(members).where(c.kind == "person", c.who == person.email.lower())


def _find(connection: Connection, name: str) -> Workspace:
    found = _select(connection, name)
    if not found:
        raise NotFoundError("There is no such workspace.", "It may have been deleted: reload the page.")
    return found[0]


def _select(connection: Connection, name: str | None = None) -> list[Workspace]:
    """All workspaces, or at most the one of this name."""
    wanted = select(workspaces) if name is None else select(workspaces).where(workspaces.c.name == name)
    return [Workspace(**row) for row in connection.execute(wanted).mappings()]


def _select_or_insert(connection: Connection, made: Workspace) -> Workspace:
    """The workspace of this name as it is stored; if there is none, this one is."""
    if found := _select(connection, made.name):
        return found[0]
    connection.execute(insert(workspaces).values(asdict(made)))
    return made


def _read_roles(connection: Connection, name: str) -> dict[tuple[str, str], Role]:
    rows = connection.execute(select(members.c.kind, members.c.who, members.c.role).where(members.c.workspace == name))
    return {(kind, who): role for kind, who, role in rows}


def _member_name(connection: Connection, who: str) -> str:
    found = connection.execute(select(people.c.email, people.c.name).where(_is(who))).one_or_none()
    return (found.email or found.name) if found is not None else who


def _label_member(row: Any) -> str:
    """The label of a member. The id of a withdrawn invitation no longer names anybody."""
    by_name = row.kind == "group" or "@" in row.who
    return row.who if by_name else row.email or row.name or "somebody who was removed"


def _is(id: str) -> Any:
    return (people.c.id == id) & (people.c.removed_at == "")


def _membership(name: str, kind: str, who: str) -> Any:
    c = members.c
    return (c.workspace == name) & (c.kind == kind) & (c.who == who)


def _own_title(person: Person) -> str:
    """As others read it, within the length of a title."""
    owner_name = _parse_name(person.name or person.email or "Somebody", "A name", 500)
    return f"{owner_name[: _TITLE - len(_LIBRARY)]}{_LIBRARY}"


def _build_workspace(name: str, title: str, owner: str) -> Workspace:
    now = iso_now()
    return Workspace(name=name, title=title, owner=owner, made_at=now, used_at=now)
