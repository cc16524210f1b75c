"""People who sign in: who they are by their provider's word, what they may do, and who was removed."""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any, Literal, cast

from sqlalchemy import Connection, Row, delete, insert, or_, select, update

from crag.admin.audit import AuditLog
from crag.admin.roles import ROLES, Role, higher
from crag.admin.store import open_store, people, sign_ins
from crag.core.config import AppConfig, PeopleSettings
from crag.core.errors import AccessError, InputError, NotFoundError, StorageError
from crag.storage.database import Database
from crag.storage.postgres import server_at
from crag.storage.store import put
from crag.storage.values import CHOSEN, IN_USE, KeyValueStore
from crag.text.formats import one_line

EMAIL = re.compile(r"[^@\s,;<>]{1,64}@[^@\s,;<>]{1,190}")
EMAIL_CLAIM = "email_verified"
"""The claim of OpenID Connect by which a provider says that it has verified a person's e-mail."""

_LONGEST, _GROUPS = 200, 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """Who somebody is, as their provider says: `subject` is one person at `issuer`, and no other ever.

    `email` is verified, or empty; `unverified` is an e-mail that gives nothing. The token has been checked before.
    """

    issuer: str
    subject: str
    name: str = ""
    email: str = ""
    groups: tuple[str, ...] = ()
    unverified: str = ""

    @classmethod
    def of(
        cls,
        claims: Mapping[str, Any],
        groups_claim: str = "groups",
        *,
        email_claim: str = EMAIL_CLAIM,
        trust_email: bool = False,
    ) -> Identity:
        """From the claims of an ID token. Raises AccessError where they name nobody.

        The e-mail counts where `email_claim` says that it is verified. `trust_email`: also where nothing is said.
        """
        issuer, subject = claims.get("iss"), claims.get("sub")
        if not (isinstance(issuer, str) and issuer and isinstance(subject, str) and subject):
            raise AccessError("The sign-in provider did not say who you are.", "Ask your administrator.")
        email = _line(claims.get("email")).lower()
        email = email if EMAIL.fullmatch(email) else ""
        verified = str(claims.get(email_claim, trust_email)).lower() in ("true", "1")
        names = (claims.get(each) for each in ("name", "preferred_username", "nickname"))
        return cls(
            issuer=issuer,
            subject=subject,
            name=next((_line(each) for each in names if _line(each)), ""),
            email=email if verified else "",
            groups=_groups(claims.get(groups_claim)),
            unverified="" if verified else email,
        )


def _line(value: Any) -> str:
    """The text of a claim; providers pass on what people typed."""
    return one_line(value, _LONGEST) if isinstance(value, str) else ""


def _groups(said: Any) -> tuple[str, ...]:
    """A list of names, or one name; of anything else none. In one order, so that they can be compared."""
    each = [said] if isinstance(said, str) else said if isinstance(said, list) else []
    return tuple(sorted({_line(one) for one in each[:_GROUPS] if _line(one)}))


GIVEN_ROLES: tuple[Role, ...] = ROLES[1:]
"""What a person can be; a reader is anyone who opens a link."""

Standing = Literal["here", "invited", "removed"]

_SEEN = timedelta(minutes=5)
"""So often at most the time is stored when somebody was seen."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Person:
    """One who signed in or is invited. `role`: what they may do at most, in any workspace.

    `source`: the setting that gives the role, so that it can't be lowered here; empty where it is stored with the
    person. Times are ISO 8601 in UTC.
    """

    id: str
    issuer: str
    subject: str
    name: str
    email: str
    groups: tuple[str, ...]
    role: Role
    source: str
    made_at: str
    seen_at: str
    removed_at: str

    @property
    def standing(self) -> Standing:
        return "removed" if self.removed_at else "here" if self.subject else "invited"

    @property
    def welcome(self) -> bool:
        """Whether they may come in."""
        return self.standing == "here" and self.role in GIVEN_ROLES

    @property
    def called(self) -> str:
        """As the audit log and other people name them."""
        return self.email or self.name or self.id


class People:
    """All people of one data folder or database. Thread-safe; several processes may share them.

    `settings` are asked again each time, so a changed one holds at once. Every method raises StorageError.
    """

    def __init__(self, store: Database, audit: AuditLog, settings: Callable[[], PeopleSettings]) -> None:
        self._store, self._audit, self._settings = store, audit, settings

    def all(self) -> list[Person]:
        """Everybody, in the order in which they came; invited and removed ones too."""
        with self._store.read() as connection:
            rows = connection.execute(select(people).order_by(people.c.made_at, people.c.id)).all()
        return [self._person(row) for row in rows]

    def get(self, id: str) -> Person:
        """By id or, where one alone has it, e-mail; so it is for all that take an id. Raises NotFoundError."""
        with self._store.read() as connection:
            return self._person(_row(connection, id))

    def of(self, issuer: str, subject: str) -> Person | None:
        """Anyone who signed in as this, removed ones too; None where nobody has."""
        with self._store.read() as connection:
            row = connection.execute(_as(issuer, subject)).one_or_none()
        return self._person(row) if row else None

    def admit(self, identity: Identity, *, new_sign_in: bool = True) -> Person:
        """Who signed in now: known, invited, or new and let in by the settings. What the token says is kept.

        Not `new_sign_in`: this sign-in was noted before, and what a later one said counts in its place.
        Raises AccessError for who was removed, or is neither invited nor let in.
        """
        now = _now()
        found = self.of(identity.issuer, identity.subject)
        if found is not None and not new_sign_in and identity.unverified and identity.unverified == found.email:
            # Its e-mail counted by an earlier rule, or counts by a later sign-in: only a new one can tell.
            raise AccessError("Your sign-in no longer confirms your e-mail address.", "Sign in again.")
        if found is not None and not new_sign_in:
            identity = replace(identity, name=found.name, email=found.email, groups=found.groups)
        if found is not None and not found.removed_at and not _differs(found, identity, now):
            return self._let_in(found)
        said: dict[str, Any] = {"name": identity.name, "email": identity.email, "groups": list(identity.groups)}
        said["seen_at"] = now
        with self._store.write() as connection:
            row = connection.execute(_as(identity.issuer, identity.subject)).one_or_none()
            if row is None and (row := self._invitation(connection, identity.email)) is not None:
                said |= {"issuer": identity.issuer, "subject": identity.subject}
            if row is None:
                id, new = _new_id(), self._settings().new_people
                if new == "none" and self._by_settings(identity.subject, identity.email, identity.groups) is None:
                    raise _not_invited(identity.unverified)
                said |= {"id": id, "issuer": identity.issuer, "subject": identity.subject, "made_at": now}
                connection.execute(insert(people).values(**said, role="" if new == "none" else new))
            else:
                id = row.id
                connection.execute(update(people).where(people.c.id == id).values(**said))
            person = self._person(_row(connection, id))
        return self._let_in(person, identity.unverified)  # refused or not, what was said of groups is stored

    def invite(self, email: str, role: Role, *, by: str) -> Person:
        """Let anyone who signs in with this e-mail in, as `role`; who was removed may come back.

        Raises InputError for what is no e-mail or no role, and where somebody has it already.
        """
        wanted = email.strip().lower()
        if not EMAIL.fullmatch(wanted):
            raise InputError("That is no e-mail address.", "Write it like name@example.org.")
        _check_role(role)
        with self._store.write() as connection:
            rows = connection.execute(select(people).where(people.c.email == wanted).order_by(people.c.made_at)).all()
            if any(not row.removed_at for row in rows):
                raise InputError(f"{wanted} is here or invited already.", "Change the role instead.")
            id = rows[-1].id if rows else _new_id()
            if rows:
                connection.execute(update(people).where(people.c.id == id).values(role=role, removed_at=""))
            else:
                texts = dict.fromkeys(("issuer", "name", "seen_at", "removed_at"), "")
                texts |= {"id": id, "subject": f"invited {wanted}", "email": wanted, "role": role, "made_at": _now()}
                connection.execute(insert(people).values(**texts, groups=[]))
            person = self._person(_row(connection, id))
        self._audit.note("role", by, what=person.called, detail=f"invited as {role}")
        return person

    def change_role(self, id: str, role: Role, *, by: str, was: Role | None = None) -> Person:
        """Give somebody another role. `was`: the one that who changes it saw; where another was faster, it is refused.

        Raises NotFoundError; InputError for that, and where settings, a group or being the last admin forbid it.
        """
        _check_role(role)
        with self._store.write() as connection:
            before = self._person(_row(connection, id))
            if before.removed_at:
                raise InputError(f"{before.called} was removed.", "Invite them again.")
            if was is not None and before.role != was:
                raise InputError(
                    f"{before.called} is {before.role} by now: somebody else has changed this meanwhile.",
                    "Look at it as it is now, then change it if it is still wrong. Nothing was overwritten.",
                )
            connection.execute(update(people).where(people.c.id == before.id).values(role=role))
            after = self._person(_row(connection, before.id))
            if after.role != role:
                raise InputError(
                    f"{before.called} is {after.role} by the program's settings ({after.source}).",
                    "Change the setting, or the group at the provider.",
                )
            self._check_admins(connection, before, after)
        self._audit.note("role", by, what=after.called, detail=f"{before.role} to {role}")
        return after

    def remove(self, id: str, *, by: str) -> None:
        """Shut somebody out from now on, whatever settings and groups say; their workspaces stay.

        An invitation is taken back. Raises NotFoundError, and InputError for the last admin.
        """
        with self._store.write() as connection:
            before = self._person(_row(connection, id))
            if before.removed_at:
                raise InputError(f"{before.called} was removed already.", "Reload the list.")
            if before.standing == "invited":
                connection.execute(delete(people).where(people.c.id == before.id))
            else:
                connection.execute(update(people).where(people.c.id == before.id).values(removed_at=_now()))
            self._check_admins(connection, before, None)
        self._audit.note("remove", by, what=before.called)

    # Sign-ins, each named by a hash of what the provider said

    def note_sign_in(self, sign_in: str, ends_at: str, *, by: str) -> None:
        """Notes a sign-in the first time that it is seen, by whichever process."""
        c = sign_ins.c
        with self._store.write() as connection:
            connection.execute(delete(sign_ins).where(c.ends_at < _now()))
            if connection.scalar(select(c.hash).where(c.hash == sign_in)) is not None:
                return
            connection.execute(insert(sign_ins).values(hash=sign_in, ends_at=ends_at, over=False))
        self._audit.note("sign-in", by)

    def sign_out(self, sign_in: str, ends_at: str, *, by: str) -> None:
        """From now on it is over wherever its cookie lies: in other tabs, and wherever that was copied to."""
        c = sign_ins.c
        with self._store.write() as connection:
            if not (over := connection.scalar(select(c.over).where(c.hash == sign_in))):
                put(connection, sign_ins, [{"hash": sign_in, "ends_at": ends_at, "over": True}])
        if not over:
            self._audit.note("sign-out", by)

    def signed_out(self, sign_in: str) -> bool | None:
        """Whether it is over; None where it has not been noted yet."""
        with self._store.read() as connection:
            return connection.scalar(select(sign_ins.c.over).where(sign_ins.c.hash == sign_in))

    # What settings say

    def _person(self, row: Row[Any]) -> Person:
        groups = tuple(str(each) for each in row.groups or ())
        given = cast(Role, row.role) if row.role in GIVEN_ROLES else None
        fixed, source = self._by_settings(row.subject, row.email, groups) or (None, "")
        roles = [each for each in (given, fixed) if each is not None]
        counts = fixed is not None and (given is None or ROLES.index(fixed) >= ROLES.index(given))
        names = ("id", "issuer", "name", "email", "made_at", "seen_at", "removed_at")
        return Person(
            **{name: getattr(row, name) for name in names},
            subject=row.subject if row.issuer else "",
            groups=groups,
            role=higher(roles[0], roles[-1]) if roles else "reader",
            source=source if counts else "",
        )

    def _by_settings(self, subject: str, email: str, groups: tuple[str, ...]) -> tuple[Role, str] | None:
        """The role that the settings give, and the setting that gives it."""
        settings = self._settings()
        named = {each.strip() for each in settings.admins}
        emails = {each.lower() for each in named if EMAIL.fullmatch(each)}
        # An entry that is an e-mail is no subject: a provider may let people choose theirs.
        if email in emails or (subject in named and subject.lower() not in emails):
            return "admin", "CRAG_ADMINS"
        if _in(settings.admins_group, groups):
            return "admin", f"CRAG_ADMINS_GROUP: {settings.admins_group}"
        return (
            ("editor", f"CRAG_EDITORS_GROUP: {settings.editors_group}") if _in(settings.editors_group, groups) else None
        )

    def _let_in(self, person: Person, unverified: str = "") -> Person:
        if person.removed_at:
            raise AccessError("You were removed from this program.", "Ask your administrator to invite you again.")
        if person.role == "reader":  # the group that let them in is gone
            raise _not_invited(unverified)
        return person

    def _invitation(self, connection: Connection, email: str) -> Row[Any] | None:
        if not email:
            return None
        mine = (people.c.email == email) & (people.c.issuer == "")
        return connection.execute(select(people).where(mine)).one_or_none()

    def _check_admins(self, connection: Connection, before: Person, after: Person | None) -> None:
        """Raises InputError where nobody would be left who may administer."""
        if before.role != "admin" or before.standing != "here" or (after and after.role == "admin"):
            return
        here = connection.execute(select(people).where(people.c.removed_at == "", people.c.issuer != "")).all()
        if not any(each.role == "admin" for each in map(self._person, here)):
            raise InputError(
                f"{before.called} is the last admin.", "Make somebody else admin first, or name one in CRAG_ADMINS."
            )


@contextmanager
def people_of(config: AppConfig) -> Iterator[People]:
    """The people of a data folder or database without an engine, by the settings that the app would go by.

    Raises CragError.
    """
    server = server_at(config.storage.database_url)
    store = open_store(config.storage.data, server)
    try:
        chosen = _as_chosen(config, KeyValueStore(config.storage.data, server))
        yield People(store, AuditLog(store), lambda: chosen.people)
    finally:
        store.close()
        if server is not None:
            server.close()


def settings_in_use(config: AppConfig) -> bytes:
    """What the app goes by for people, as it keeps it under IN_USE: its environment is not that of `crag people`."""
    return json.dumps(config.people.model_dump(), indent=2).encode() + b"\n"


def _as_chosen(config: AppConfig, kept: KeyValueStore) -> AppConfig:
    """With what the app was started with and what was chosen in its Settings, unless this environment differs."""
    chosen: dict[str, Any] = {}
    for place in (CHOSEN, IN_USE):
        try:
            said = json.loads(kept.read(place) or b"{}")
        except (StorageError, ValueError):
            continue
        chosen |= {name: said[name] for name in PeopleSettings.model_fields if isinstance(said, dict) and name in said}
    return AppConfig.of(**{**chosen, **config.flat(given=True)})


def _differs(person: Person, identity: Identity, now: str) -> bool:
    """Whether there is anything to be stored."""
    said = (identity.name, identity.email, identity.groups)
    seen = datetime.fromisoformat(person.seen_at) if person.seen_at else None
    late = seen is None or datetime.fromisoformat(now) - seen > _SEEN
    return late or said != (person.name, person.email, person.groups)


def _as(issuer: str, subject: str) -> Any:
    return select(people).where(people.c.issuer == issuer, people.c.subject == subject, people.c.issuer != "")


def _row(connection: Connection, id: str) -> Row[Any]:
    by_email = (people.c.email == id.strip().lower()) & (people.c.email != "")
    rows = connection.execute(select(people).where(or_(people.c.id == id, by_email)).limit(2)).all()
    if not rows:
        raise NotFoundError("There is no such person.", "Reload the list of people.")
    if len(rows) > 1:
        raise InputError("Several people have this e-mail.", "Name the person by id.")
    return rows[0]


def _check_role(role: Role) -> None:
    if role not in GIVEN_ROLES:
        raise InputError("That is no role.", f"One of {', '.join(GIVEN_ROLES)}.")


def _not_invited(unverified: str = "") -> AccessError:
    if not unverified:
        return AccessError("You are not invited to this program.", "Ask your administrator to invite you by e-mail.")
    return AccessError(
        f"You are not invited to this program, or your invitation does not count: your sign-in provider does not "
        f"confirm that {unverified} is your address.",
        "Verify the address at the provider and sign in again. If it is verified there, ask your administrator: this "
        "provider may have to be set as one whose e-mails are trusted.",
    )


def _new_id() -> str:
    return secrets.token_hex(8)


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def _in(group: str, groups: tuple[str, ...]) -> bool:
    return bool(group) and group in groups
