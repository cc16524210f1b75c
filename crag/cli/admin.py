"""The commands for who runs the app: limits, people and the audit log."""

from __future__ import annotations

from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from typing import Annotated, Literal, cast

from typer import Argument, Context, Option

from crag.admin import quantities
from crag.admin.audit import AuditedAct
from crag.admin.people import Person, people_of
from crag.admin.quotas import Standing
from crag.admin.roles import ROLES, Role
from crag.cli.options import opened
from crag.cli.output import Output, plain
from crag.core.config import AppConfig
from crag.core.errors import SettingsError
from crag.core.fields import days_of

_WHO = "command line"
_MOST = 1_000_000
_Given = Literal["viewer", "editor", "admin"]


def limits(
    ctx: Context,
    output: Output,
    workspace: Annotated[
        str, Option(metavar="NAME", help="show or change the limits of this one; without it, those of all")
    ] = "",
    change: Annotated[
        list[str] | None,
        Option(
            metavar="NAME=VALUE",
            help="change a limit, by the name of its setting; 0: no limit, empty: as it was before. Repeatable",
        ),
    ] = None,
    begin_day: Annotated[
        bool,
        Option(
            "--begin-day", help="count calls and dollars to today again, after the clock stood ahead and was set right"
        ),
    ] = False,
) -> int:
    """One line a limit."""
    wanted = [_parse_change(each) for each in change or ()]
    with opened(ctx) as engine:
        quotas, audit = engine.teams.quotas, engine.teams.audit
        if begin_day:
            quotas.usage.begin_day()
            audit.note("limit", _WHO, what="the day restarted")
        for name, value in wanted:
            seen = quotas.overrides.all().get((workspace, name))
            quotas.change(workspace, name, value, seen=seen.edition if seen else 0, by=_WHO)
            said = "as before" if value is None else f"{value:g}"
            audit.note("limit", _WHO, workspace=workspace, what=name, detail=said)
        quotas.check(workspace)
        for each in quotas.standing(workspace):
            _show_limit(each, workspace, output)
    return 0


def _parse_change(given: str) -> tuple[str, float | None]:
    name, equals, value = given.partition("=")
    try:
        if not equals:
            raise ValueError
        return name.strip(), float(value) if value.strip() else None
    except ValueError:
        raise SettingsError(
            f"--change {given[:80]}: no limit and value.", "Write --change NAME=VALUE, as library_documents=500."
        ) from None


def _show_limit(standing: Standing, workspace: str, output: Output) -> None:
    """The workspace's own limit, or that of each workspace, and that of all together."""
    quantity = standing.quantity
    own = (quantity.own, standing.own, standing.own_change)
    for name, bound, change in (own, (quantity.all, standing.all, standing.all_change)):
        if workspace and name == quantity.all:
            continue
        counted = bool(workspace) or name == quantity.all
        by = change.by if change is not None and change.value is not None else ""
        most = quantities.amount(quantity, bound.most) if bound.most else "no limit"
        used = f", {quantities.amount(quantity, bound.used)} used" if counted else ""
        record = {"limit": name, "workspace": workspace, "most": bound.most or None}
        output.show(
            {**record, "used": bound.used if counted else None, "changed_by": by or None},
            f"{name:<26} {most}{used}{f', changed by {plain(by)}' if by else ''}",
        )


def people(
    action: Annotated[Literal["list", "invite", "role", "remove"], Argument(help="what to do")],
    output: Output,
    who: Annotated[str, Argument(metavar="PERSON", help="an e-mail, or an id of the list")] = "",
    role: Annotated[_Given | None, Argument(metavar="ROLE", help=", ".join(ROLES[1:]))] = None,
    was: Annotated[
        _Given | None, Option(metavar="ROLE", help="change the role only if it still is this one, as you saw it")
    ] = None,
) -> int:
    """The role shown is the one that counts, with the setting that gives it where one does. The app may run meanwhile:
    it follows within seconds. This is also the way in for the first admin, and for one who locked everybody out.
    """
    if action != "list" and not who:
        raise SettingsError("Nobody is named.", "Give an e-mail, or an id of: people list.")
    if action in ("invite", "role") and not role:
        raise SettingsError("No role is named.", f"Give one of {', '.join(ROLES[1:])}.")
    if was and action != "role":
        raise SettingsError("--was goes with a change of a role.", "Leave it out.")
    with people_of(AppConfig.from_environment()) as found:
        if action == "list":
            for person in found.all():
                _show_person(person, output)
        elif action == "remove":
            found.remove(who, by=_WHO)
            output.note(f"{plain(who)} is out.")
        elif action == "invite":
            _show_person(found.invite(who, cast(Role, role), by=_WHO), output)
        else:
            _show_person(found.change_role(who, cast(Role, role), by=_WHO, was=was), output)
    return 0


def _show_person(person: Person, output: Output) -> None:
    by = f" ({plain(person.source)})" if person.source else ""
    role = "removed" if person.removed_at else f"{person.role}{by}"
    seen = f"last seen {person.seen_at[:16]}" if person.seen_at else "invited"
    said = {"id": person.id, "email": person.email, "name": person.name, "role": person.role}
    times = {"made_at": person.made_at, "seen_at": person.seen_at, "removed_at": person.removed_at}
    more = {"source": person.source or "stored", "standing": person.standing, "groups": list(person.groups)}
    output.show({**said, **more, **times}, f"{person.id}  {plain(person.called)}  {role}, {seen}")


def audit(
    ctx: Context,
    output: Output,
    since: Annotated[
        str, Option(metavar="WHEN", help="from this day or moment in UTC on, as 2026-11-01, or an age, as 7d or 2w")
    ] = "",
    who: Annotated[str, Option(metavar="NAME", help="by this person, token or link alone")] = "",
    act: Annotated[AuditedAct | None, Option(help="of this kind alone")] = None,
    workspace: Annotated[str | None, Option(metavar="NAME", help="in this workspace alone")] = None,
    limit: Annotated[int, Option(min=0, metavar="N", help="how many entries, the newest first; 0: all")] = 500,
) -> int:
    """One line an entry, the oldest first, as a log is read."""
    after = _moment(since) if since else ""
    with opened(ctx) as engine:
        entries = engine.teams.audit.entries(limit or _MOST, workspace=workspace, who=who, act=act or "", since=after)
        found = list(entries)
    for each in reversed(found):
        where = f" in {each.workspace}" if each.workspace else ""
        detail = f": {each.detail}" if each.detail else ""
        refused = output.paint(" refused", "red") if each.refused else ""
        said = plain(f"{each.who}{where}  {each.what}{detail}")
        output.show(asdict(each), f"{each.at[:19]}  {each.act:<9}{refused} {said}")
    if not found:
        output.note("The audit log has no such entry.")
    return 0


def _moment(said: str) -> str:
    """Raises SettingsError for what is neither a day, a moment nor an age."""
    try:
        if said[-1:] in "dw":
            moment = datetime.now(UTC) - timedelta(days=days_of(said))
        else:
            moment = datetime.fromisoformat(said)
    except (ValueError, OverflowError) as error:
        raise SettingsError(f"--since {said}: that is no day.", "Write 2026-11-01, or an age as 7d or 2w.") from error
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC).isoformat(timespec="milliseconds")
