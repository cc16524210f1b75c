"""The commands of who runs the program: limits, workspaces, people, audit, backup, restore."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, cast

from typer import Argument, Context, Option

from crag.admin.archive import Archive
from crag.admin.audit import AuditedAct
from crag.admin.backups import Created, audit_refusals, create_backup, restore_backup, undo_restore
from crag.admin.people import Person, people_of
from crag.admin.roles import ROLES, Role
from crag.cli.options import interruptible, opened
from crag.cli.output import Options, Output, plain
from crag.core.config import AppConfig
from crag.core.errors import CragError, InputError, NotFoundError, SettingsError
from crag.core.settings import days_of

if TYPE_CHECKING:
    from crag.admin.workspaces import Workspace
    from crag.storage.library import Library


def _check_choice(workspace: str | None, every: bool) -> None:
    if workspace is not None and every:
        raise SettingsError("Both --workspace and --all are given.", "Give one of them.")


def backup(
    output: Output,
    target: Annotated[
        Path | None, Argument(metavar="TARGET", help="a new file that ends in .zip, or a folder for it")
    ] = None,
    source: Annotated[str, Option("--from", metavar="PLACE", help="a data folder (default: the app's own)")] = "",
    workspace: Annotated[
        str | None, Option(metavar="NAME", help="this library alone, without people and settings")
    ] = None,
    every: Annotated[bool, Option("--all", help="everything (default)")] = False,
    keep: Annotated[
        int, Option(metavar="N", min=0, help="in a folder: remove the oldest, so that N stay; 0: all stay")
    ] = 0,
    verify: Annotated[
        Path | None, Option(metavar="FILE", help="make none: read this one, and compare its hashes")
    ] = None,
) -> int:
    """It holds every library, people, workspaces, links, spending and the audit log, the choices of Settings, and what
    private addresses are signed with: keep it as secret as the data. Not in it: indexes, which are made again, model
    files, which are named, and keys of services, which are stored nowhere.
    """
    _check_choice(workspace, every)
    if target is None and verify is not None:
        return _verify(verify, output)
    if target is None or verify is not None:
        raise SettingsError("Say where the backup goes, or which one to --verify.", "Name a file or a folder.")
    data = _data_folder(source)
    if not (data / "workspaces").is_dir():
        raise NotFoundError(f"There is no data folder {data}, with a folder workspaces.", "Name another by --from.")
    with interruptible() as cancel:
        made = create_backup(data, target, workspace=workspace, keep=keep, watch=output.counted, cancel=cancel)
    _show_backup(made, output)
    return 1 if made.contents.left_out else 0


def _data_folder(said: str) -> Path:
    """The data folder that is meant; by default the app's own. Raises InputError where the app uses a database."""
    config = AppConfig.from_environment()
    if not said and config.storage.database_url:
        raise InputError(
            "The libraries are in a PostgreSQL database.",
            "Use pg_dump and pg_restore.",
        )
    return Path(said) if said else config.storage.data


def _verify(file: Path, output: Output) -> int:
    with interruptible() as cancel, Archive(file) as archive:
        count, size = archive.verify(output.counted, cancel)
    line = f"{plain(file.name)} is whole: {count} files, {size:,} bytes unpacked"
    output.show({"status": "whole", "files": count, "bytes": size}, line)
    return 0


def _show_backup(made: Created, output: Output) -> None:
    contents, file = made.contents, str(made.file)
    if output.json:
        held = contents.model_dump(include={"libraries", "left_out", "models"})
        output.record({"file": file, "bytes": made.size, **held, "removed": made.removed})
        return
    documents = sum(each.documents for each in contents.libraries)
    output.line(f"{plain(file)}: {len(contents.libraries)} libraries, {documents:,} documents, {made.size:,} bytes")
    for name in made.removed:
        output.line(f"removed: {name}")
    for each in contents.left_out:
        output.message(f"left out: {plain(each.workspace)}: {each.why}")
    if contents.models:
        output.note(f"not in it, keep them apart: {', '.join(map(plain, contents.models))}")
    if contents.kept:
        output.note("it holds what private addresses are signed with: keep it as secret as the data")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Chosen(Options):
    """What of a backup is restored, under which name, and whether in the place of what is there."""

    workspace: Annotated[str | None, Option(metavar="NAME", help="this library alone")] = None
    called: Annotated[str | None, Option("--as", metavar="NAME", help="with --workspace: under this name")] = None
    replace: Annotated[bool, Option("--replace", help="put aside what is there")] = False


def restore(
    chosen: _Chosen,
    output: Output,
    backup: Annotated[Path | None, Argument(metavar="BACKUP", help="the file that crag backup has made")] = None,
    target: Annotated[str, Option("--to", metavar="PLACE", help="a data folder (default: the app's own)")] = "",
    contents: Annotated[bool, Option("--list", help="restore nothing: say what is in the backup")] = False,
    undo: Annotated[bool, Option("--undo", help="bring back what the latest restore has put aside")] = False,
) -> int:
    """The file is verified first, and until all of it is unpacked and checked, nothing is touched. Where that fails,
    all is as it was. Stop the app before; a single library that is not there yet may be added while it runs.
    """
    if (backup is None) != undo or (undo and (contents or chosen.workspace)):
        raise SettingsError("Say which backup is restored, or --undo.", "Name the file that crag backup has made.")
    if chosen.called and not chosen.workspace:
        raise SettingsError("--as gives one library a name.", "Name the one in the backup by --workspace.")
    if backup is not None and contents:
        return _list_contents(backup, output)
    data = _data_folder(target)
    with audit_refusals(data, "undone" if backup is None else backup.name):
        if backup is not None:
            return _restore(backup, chosen, data, output)
        aside = undo_restore(data)
    lies = f"; what was there lies in {aside.name}" if aside else ""
    output.show({"status": "undone", "aside": aside.name if aside else ""}, f"The latest restore was undone{lies}")
    return 0


def _restore(backup: Path, chosen: _Chosen, data: Path, output: Output) -> int:
    with interruptible() as cancel, Archive(backup) as archive:
        restored = restore_backup(archive, data, **asdict(chosen), watch=output.counted, cancel=cancel)
    aside = restored.aside.name if restored.aside else ""
    for name, stored in restored.libraries.items():
        said = f"{stored.documents:,} documents, {stored.chunks:,} chunks, {stored.runs:,} runs"
        line = f"{plain(name)}: {said}; the index is made when it is first asked"
        output.show({**stored.model_dump(), "workspace": name}, line)
    line = "All of it is in its place" + (f"; what was there before lies in {aside}" if aside else "")
    output.show({"status": "restored", "aside": aside, "models": restored.models}, line)
    if aside and not output.json:
        output.note("restore --undo brings that back; delete it when the new state is right")
    if restored.models and not output.json:
        output.note(f"not in the backup: {', '.join(map(plain, restored.models))}")
    return 0


def _list_contents(file: Path, output: Output) -> int:
    with Archive(file) as archive:
        contents = archive.contents
    if output.json:
        output.record(contents.model_dump())
        return 0
    whole = "all that was stored" if contents.whole else "one library"
    output.line(f"{whole}, made at {plain(contents.made_at)} by version {plain(contents.program)}")
    output.line(f"{'library':<44}{'documents':>12}{'chunks':>12}{'runs':>10}{'bytes':>16}")
    for each in contents.libraries:
        counts = f"{each.documents:>12,}{each.chunks:>12,}{each.runs:>10,}{each.size:>16,}"
        output.line(f"{plain(each.workspace):<44}{counts}")
    beside = [*contents.kept, *(["people and workspaces"] if contents.teams else [])]
    output.line(f"beside them: {', '.join(beside) or 'nothing'}")
    for left in contents.left_out:
        output.line(f"left out: {plain(left.workspace)}: {plain(left.why)}")
    if contents.models:
        output.line(f"not in it: {', '.join(map(plain, contents.models))}")
    return 0


_WHO = "command line"
_MOST = 1_000_000
_Given = Literal["viewer", "editor", "admin"]


def limits(ctx: Context, output: Output) -> int:
    """One line a limit. Questions are counted by each process for itself, so those of the running app are not seen."""
    with opened(ctx) as engine:
        for each in engine.teams.quotas.standings():
            record = {"limit": each.setting, "most": each.most or None, "used": each.used}
            output.show(record, f"{each.setting:<20}  {each.text}")
    return 0


def workspaces(
    ctx: Context,
    output: Output,
    unused: Annotated[
        int, Option(metavar="DAYS", min=0, help="only those that nobody has used for this many days; 0: all")
    ] = 0,
) -> int:
    """One line a workspace, the longest unused first. A question, a new document, or a visit by somebody who signed in
    counts as use. Nothing is removed: an admin deletes a workspace on the page Administration.
    """
    before = (datetime.now(UTC) - timedelta(days=unused)).isoformat()
    failed = False
    with opened(ctx) as engine:
        spaces = {each.name: each for each in engine.teams.spaces.all()}
        people = {each.id: each.called for each in engine.teams.people.all()}
        found: list[tuple[str, str]] = []
        for name in {*spaces, *engine.private_libraries.libraries.names()}:
            try:
                found.append((_last_use(engine.library(name), spaces.get(name)), name))
            except CragError as error:
                failed = True
                output.message(f"{name}: {error}")
    for used, name in sorted(found):
        if unused and used >= before:
            continue
        title, owner = (space.title, people.get(space.owner, "")) if (space := spaces.get(name)) else ("", "")
        record = {"workspace": name, "title": title, "owner": owner, "used_at": used or None}
        said = ", ".join(plain(each) for each in (title, owner) if each)
        output.show(record, f"{name:<42}  {used[:10] or 'never used':<10}  {said}".rstrip())
    return int(failed)


def _last_use(library: Library, space: Workspace | None) -> str:
    """When somebody last asked, added something or came, in ISO 8601; "" for never."""
    runs, documents = library.runs.latest(1, every=True), library.documents.all()
    asked = [each.started_at for each in runs]
    added = [each.added_at for each in documents]
    return max([*asked, *added, *([space.used_at] if space is not None else [])], default="")


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
