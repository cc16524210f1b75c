"""people: List who signed in to the app, invite somebody, change a role, remove somebody.

The role shown is the one that counts, with the setting that gives it where one does. The app may run meanwhile: it
follows within seconds. This is also the way in for the first admin, and back in for one
who locked everybody out.
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, cast

from crag.admin.roles import ROLES, Role
from crag.cli.output import Output, plain
from crag.core.config import AppConfig
from crag.core.errors import SettingsError

if TYPE_CHECKING:
    from crag.admin.people import Person

_BY = "command line"
_ROLES = ROLES[1:]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("action", choices=["list", "invite", "role", "remove"], help="what to do")
    parser.add_argument("who", nargs="?", metavar="PERSON", help="an e-mail, or an id of the list")
    parser.add_argument("role", nargs="?", metavar="ROLE", choices=_ROLES, help=", ".join(_ROLES))
    parser.add_argument(
        "--was", metavar="ROLE", choices=_ROLES, help="change the role only if it still is this one, as you saw it"
    )


def run(options: argparse.Namespace, output: Output) -> int:
    """What became of the person, or everybody."""
    if options.action != "list" and not options.who:
        raise SettingsError("Nobody is named.", "Give an e-mail, or an id of: people list.")
    if options.action in ("invite", "role") and not options.role:
        raise SettingsError("No role is named.", f"Give one of {', '.join(_ROLES)}.")
    if options.was and options.action != "role":
        raise SettingsError("--was goes with a change of a role.", "Leave it out.")
    from crag.admin.people import people_of  # only now: it loads SQLAlchemy

    with people_of(AppConfig.from_environment()) as people:
        if options.action == "list":
            for person in people.all():
                _show(person, output)
        elif options.action == "remove":
            people.remove(options.who, by=_BY)
            output.note(f"{plain(options.who)} is out.")
        elif options.action == "invite":
            _show(people.invite(options.who, cast(Role, options.role), by=_BY), output)
        else:
            _show(people.change_role(options.who, cast(Role, options.role), by=_BY, was=options.was), output)
    return 0


def _show(person: Person, output: Output) -> None:
    if output.json:
        said = {"id": person.id, "email": person.email, "name": person.name, "role": person.role}
        said["source"] = person.source or "stored"
        times = {"made_at": person.made_at, "seen_at": person.seen_at, "removed_at": person.removed_at}
        output.record({**said, "standing": person.standing, "groups": list(person.groups), **times})
        return
    by = f" ({plain(person.source)})" if person.source else ""
    role = "removed" if person.removed_at else f"{person.role}{by}"
    seen = f"last seen {person.seen_at[:16]}" if person.seen_at else "invited"
    output.line(f"{person.id}  {plain(person.called)}  {role}, {seen}")
