"""people: List who signed in to the app, invite somebody, change a role, remove somebody.

The app may run meanwhile: it follows within seconds. This is also the way in for the first admin, and back in for one
who locked everybody out.
"""

from __future__ import annotations

import argparse
import json
from typing import TYPE_CHECKING, cast

from crag.cli.output import Output, plain
from crag.core.config import AppConfig
from crag.core.errors import SettingsError, StorageError
from crag.core.fields import meta
from crag.core.roles import Role
from crag.library.kept import CHOSEN, Kept
from crag.teams.audit import AuditLog
from crag.teams.people import GIVEN_ROLES, People, Person
from crag.teams.store import Store

if TYPE_CHECKING:
    from crag.library.postgres import Server

_BY = "command line"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("action", choices=["list", "invite", "role", "remove"], help="what to do")
    parser.add_argument("who", nargs="?", metavar="PERSON", help="an e-mail, or an id of the list")
    parser.add_argument("role", nargs="?", metavar="ROLE", choices=GIVEN_ROLES, help=", ".join(GIVEN_ROLES))


def run(options: argparse.Namespace, output: Output) -> int:
    """What became of the person, or everybody."""
    if options.action != "list" and not options.who:
        raise SettingsError("Nobody is named.", "Give an e-mail, or an id of: people list.")
    if options.action in ("invite", "role") and not options.role:
        raise SettingsError("No role is named.", f"Give one of {', '.join(GIVEN_ROLES)}.")
    from crag.library.records import server_at  # only now: it loads SQLAlchemy's other half

    config = AppConfig.from_environment()
    server = server_at(config.database_url)
    store = Store(config.data, server)
    try:
        config = _as_chosen(config, server)
        people = People(store, AuditLog(store), lambda: config)
        if options.action == "list":
            for person in people.all():
                _show(person, output)
        elif options.action == "remove":
            people.remove(options.who, by=_BY)
            output.note(f"{plain(options.who)} is out.")
        else:
            change = people.invite if options.action == "invite" else people.change_role
            _show(change(options.who, cast(Role, options.role), by=_BY), output)
    finally:
        store.close()
        if server is not None:
            server.close()
    return 0


def _as_chosen(config: AppConfig, server: Server | None) -> AppConfig:
    """With what was chosen in the app's Settings of people, where the environment does not say otherwise."""
    try:
        said = Kept(config.data, server).read(CHOSEN)
        chosen = json.loads(said) if said else {}
    except (StorageError, ValueError):
        return config
    fields = [name for name in AppConfig.model_fields if meta(AppConfig, name)["group"] == "people"]
    kept = {name: chosen[name] for name in fields if isinstance(chosen, dict) and name in chosen}
    given = {name: getattr(config, name) for name in config.model_fields_set}
    return AppConfig.from_environment({}, **{**kept, **given})


def _show(person: Person, output: Output) -> None:
    if output.json:
        said = {"id": person.id, "email": person.email, "name": person.name, "role": person.role}
        times = {"made_at": person.made_at, "seen_at": person.seen_at, "removed_at": person.removed_at}
        output.record({**said, "standing": person.standing, "groups": list(person.groups), **times})
        return
    by = " (by settings or group)" if person.fixed else ""
    role = "removed" if person.removed_at else f"{person.role}{by}"
    seen = f"last seen {person.seen_at[:16]}" if person.seen_at else "invited"
    output.line(f"{person.id}  {plain(person.called)}  {role}, {seen}")
