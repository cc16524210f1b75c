"""The commands of who runs the program: people, backup, restore."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Literal, cast

from typer import Argument, Option

from crag.admin.backups import create_backup, restore_backup, undo_restore
from crag.admin.people import Person, people_of
from crag.admin.roles import ROLES, Role
from crag.cli.output import Options, Output, plain
from crag.core.config import AppConfig
from crag.core.errors import InputError, NotFoundError, SettingsError


def backup(
    output: Output,
    target: Annotated[Path, Argument(metavar="TARGET", help="a new file that ends in .zip, or a folder for it")],
    source: Annotated[str, Option("--from", metavar="PLACE", help="a data folder (default: the app's own)")] = "",
    workspace: Annotated[
        str | None, Option(metavar="NAME", help="this library alone, without people and settings")
    ] = None,
    keep: Annotated[
        int, Option(metavar="N", min=0, help="in a folder: remove the oldest, so that N stay; 0: all stay")
    ] = 0,
) -> int:
    """It holds every library, people, workspaces, links, spending and the audit log, the choices of Settings, and what
    private addresses are signed with: keep it as secret as the data. Not in it: indexes, which are made again, model
    files, and keys of services, which are stored nowhere.
    """
    data = _data_folder(source)
    if not (data / "workspaces").is_dir():
        raise NotFoundError(f"There is no data folder {data}, with a folder workspaces.", "Name another by --from.")
    file, manifest = create_backup(data, target, workspace=workspace, keep=keep, watch=output.counted)
    size, libraries = file.stat().st_size, list(manifest.libraries)
    record = {"file": str(file), "bytes": size, "libraries": libraries, "left_out": manifest.left_out}
    output.show(record, f"{plain(str(file))}: {len(libraries)} libraries, {size:,} bytes")
    for name, why in manifest.left_out.items():
        output.message(f"left out: {plain(name)}: {plain(why)}")
    return int(bool(manifest.left_out))


def _data_folder(said: str) -> Path:
    """The data folder that is meant; by default the app's own. Raises InputError where the app uses a database."""
    config = AppConfig.from_environment()
    if not said and config.storage.database_url:
        raise InputError("The libraries are in a PostgreSQL database.", "Use pg_dump and pg_restore.")
    return Path(said) if said else config.storage.data


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
    undo: Annotated[bool, Option("--undo", help="bring back what the latest restore has put aside")] = False,
) -> int:
    """Until all of the file is unpacked and checked, nothing is touched. Where that fails, all is as it was. Stop the
    app before; a single library that is not there yet may be added while it runs.
    """
    if (backup is None) != undo or (undo and chosen.workspace):
        raise SettingsError("Say which backup is restored, or --undo.", "Name the file that crag backup has made.")
    if chosen.called and not chosen.workspace:
        raise SettingsError("--as gives one library a name.", "Name the one in the backup by --workspace.")
    data, names = _data_folder(target), list[str]()
    if backup is None:
        aside = undo_restore(data)
    else:
        names, aside = restore_backup(backup, data, **asdict(chosen), watch=output.counted)
    lies = f"; what was there lies in {aside.name}: delete it when the new state is right" if aside else ""
    said = f"Restored: {', '.join(map(plain, names))}" if backup else "The latest restore was undone"
    status = "restored" if backup else "undone"
    output.show({"status": status, "libraries": names, "aside": aside.name if aside else ""}, f"{said}{lies}")
    return 0


_WHO = "command line"
_Given = Literal["viewer", "editor", "admin"]


def people(
    action: Annotated[Literal["list", "invite", "role", "remove"], Argument(help="what to do")],
    output: Output,
    who: Annotated[str, Argument(metavar="PERSON", help="an e-mail, or an id of the list")] = "",
    role: Annotated[_Given | None, Argument(metavar="ROLE", help=", ".join(ROLES[1:]))] = None,
) -> int:
    """The role shown is the one that counts, with the setting that gives it where one does. The app may run meanwhile:
    it follows within seconds. This is also the way in for the first admin, and for one who locked everybody out.
    """
    if action != "list" and not who:
        raise SettingsError("Nobody is named.", "Give an e-mail, or an id of: people list.")
    if action in ("invite", "role") and not role:
        raise SettingsError("No role is named.", f"Give one of {', '.join(ROLES[1:])}.")
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
            _show_person(found.change_role(who, cast(Role, role), by=_WHO), output)
    return 0


def _show_person(person: Person, output: Output) -> None:
    by = f" ({plain(person.source)})" if person.source else ""
    role = "removed" if person.removed_at else f"{person.role}{by}"
    seen = f"last seen {person.seen_at[:16]}" if person.seen_at else "invited"
    said = {"id": person.id, "email": person.email, "name": person.name, "role": person.role}
    times = {"made_at": person.made_at, "seen_at": person.seen_at, "removed_at": person.removed_at}
    more = {"source": person.source or "stored", "standing": person.standing, "groups": list(person.groups)}
    output.show({**said, **more, **times}, f"{person.id}  {plain(person.called)}  {role}, {seen}")
