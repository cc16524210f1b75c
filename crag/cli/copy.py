"""copy: Copy libraries between folders and databases, compare every row, and fill the index of the copy.

PLACE is one of: a library's own folder; a data folder, which holds workspaces/; `database`, the one that
CRAG_DATABASE_URL names; `env:NAME`, the database whose address another variable holds; or the address itself,
postgresql+psycopg://…, which others on this machine can read on the command line, password and all.
"""

from __future__ import annotations

import argparse
import os
import threading
from contextlib import ExitStack
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from crag.cli.options import DEFAULT_WORKSPACE, interruptible
from crag.cli.output import Output, plain
from crag.core.config import AppConfig
from crag.core.errors import CancelledError, CragError, NotFoundError, SettingsError
from crag.providers.registry import given_keys

if TYPE_CHECKING:
    from crag.library.copying import Copy
    from crag.library.places import Home, Place
    from crag.library.upkeep import Differences

_PLACE = "a library's folder, a data folder, `database` (of CRAG_DATABASE_URL), env:NAME (of another variable) or a URL"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--from", dest="source", required=True, metavar="PLACE", help=f"{_PLACE}; it is only read")
    parser.add_argument(
        "--to",
        dest="target",
        required=True,
        metavar="PLACE",
        help="the same; a folder that is not there yet is made, a data folder with --all, else a library's own",
    )
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--workspace", metavar="NAME", help=f"which library (default: {DEFAULT_WORKSPACE})")
    which.add_argument(
        "--all",
        action="store_true",
        help="all of them, private ones too, with what their addresses are signed with and the choices of Settings",
    )
    parser.add_argument(
        "--index",
        choices=["embedded", "milvus"],
        help="the chunk index of the copy; milvus: at CRAG_MILVUS_URI, with CRAG_MILVUS_TOKEN "
        "(default: that of CRAG_INDEX, or embedded)",
    )
    parser.add_argument(
        "--anew", action="store_true", help="throw away what a copy that was cut short has left, and begin again"
    )


def run(options: argparse.Namespace, output: Output) -> int:
    """0 where every copy and its index are whole; 1 where one differs or failed, which keeps no other from its turn."""
    config = AppConfig.from_environment(index=options.index)
    from crag.library.copying import kept_copied

    with interruptible() as cancel, ExitStack() as stack:
        source, target = _found(options.source, config, stack), _wanted(options, config, stack)
        code = 0
        if options.all:
            one, other = _home(source, "--from"), _home(target, "--to")
            _show_kept(kept_copied(one.kept, other.kept), output)
            pairs = [(name, one.place(name), other.place(name)) for name in one.names()]
            if count := one.unnamed():
                output.message(f"{count} libraries were left out, which lie under no workspace's name")
                code = 1
        else:
            pairs = [_pair(source, target, options.workspace)]
        for name, there, here in pairs:
            try:
                whole = _copied(name, there, here, options.anew, config, output, cancel)
            except CancelledError:
                raise
            except CragError as error:
                whole = False
                if output.json:
                    output.record(
                        {"workspace": name, "status": "failed", "error": error.message, "remedy": error.remedy}
                    )
                else:
                    output.message(f"{name}: error: {error}")
            code = code if whole else 1
    return code


def _copied(
    name: str, source: Place, target: Place, anew: bool, config: AppConfig, output: Output, cancel: threading.Event
) -> bool:
    """Whether a library was copied whole, and its index fits."""
    from crag.library.copying import copied

    def watch(table: str, done: int, of: int) -> None:
        output.progress(f"{name}: {done:,} of {of:,} {table}")

    copy = copied(source, target, anew=anew, watch=watch, cancel=cancel)
    index = _index(name, target, config, output) if copy.whole else None
    _show(name, copy, index, output)
    return copy.whole and not index


def _index(name: str, target: Place, config: AppConfig, output: Output) -> Differences | None:
    """How the copy's index, filled now, differs; None where it lies on each app server, which fills it by itself."""
    from crag.index.opening import opened
    from crag.library.copying import filled
    from crag.library.places import FolderPlace

    in_folder = isinstance(target, FolderPlace)
    folder = target.folder if isinstance(target, FolderPlace) else config.data / "workspaces" / name
    if config.index == "embedded" and not in_folder:
        return None
    output.progress(f"{name}: filling the index")
    return filled(target, partial(opened, config, given_keys(), folder))


def _found(said: str, config: AppConfig, stack: ExitStack) -> Home | Place:
    """What is copied from. Raises NotFoundError, InputError."""
    from crag.library.places import DataFolder, FolderPlace

    folder = Path(said)
    if (database := _database(said, config, stack)) is not None:
        return database
    if (folder / "library.db").is_file():
        return FolderPlace(folder)
    if (folder / "workspaces").is_dir():
        return DataFolder(folder)
    raise NotFoundError(f"There is no library in {said}, and no folder workspaces.", "Name another folder.")


def _wanted(options: argparse.Namespace, config: AppConfig, stack: ExitStack) -> Home | Place:
    """What is copied to. Raises InputError."""
    from crag.library.places import DataFolder, FolderPlace

    folder = Path(options.target)
    if (database := _database(options.target, config, stack)) is not None:
        return database
    if (folder / "workspaces").is_dir() or (options.all and not (folder / "library.db").exists()):
        return DataFolder(folder)
    return FolderPlace(folder)


def _database(said: str, config: AppConfig, stack: ExitStack) -> Home | None:
    """The database that is named so; None for a folder."""
    if said == "database":
        said, variable = config.database_url, "CRAG_DATABASE_URL"
    elif said.startswith("env:"):
        variable = said.removeprefix("env:")
        said = os.environ.get(variable, "")
    elif "://" in said:
        variable = ""
    else:
        return None
    if not said:
        raise SettingsError(f"{variable} holds no address of a database.", "Set it, or name a folder.")
    from crag.library.places import DatabaseHome
    from crag.library.postgres import Server

    server = Server(said)
    stack.callback(server.close)
    return DatabaseHome(server)


def _home(place: Home | Place, option: str) -> Home:
    from crag.library.places import DatabaseHome, DataFolder

    if isinstance(place, DataFolder | DatabaseHome):
        return place
    raise SettingsError(f"{option} names one library, which --all does not fit.", "Leave --all out.")


def _pair(source: Home | Place, target: Home | Place, workspace: str | None) -> tuple[str, Place, Place]:
    """One library: its name, where it is and where it is to be. Raises InputError for what can't name a workspace."""
    from crag.library.places import FolderPlace, named

    name = workspace or (source.name if isinstance(source, FolderPlace) else DEFAULT_WORKSPACE)
    there = source if isinstance(source, FolderPlace) else _home(source, "--from").place(named(name))
    here = target if isinstance(target, FolderPlace) else _home(target, "--to").place(named(name))
    return name, there, here


def _show_kept(said: dict[str, str], output: Output) -> None:
    if output.json:
        output.record({"kept": said})
        return
    words = {"copied": "copied", "there": "there already", "other": "there is another, which was left as it is"}
    for name, what in said.items():
        output.line(f"{name}: {words[what]}")


def _show(name: str, copy: Copy, index: Differences | None, output: Output) -> None:
    if output.json:
        output.record(_record(name, copy, index))
        return
    if copy.changed:
        output.line(f"{name}: the source changed meanwhile, so these were copied anew: {', '.join(copy.changed)}")
    told = "was there already" if copy.found else "gone on with, and copied" if copy.resumed else "copied"
    output.line(f"{plain(name)}: {told if copy.whole or copy.found else 'not copied: it differs, and stays a draft'}")
    output.line(f"  {'table':<14}{'source':>12}{'target':>12}")
    for each in copy.tables:
        output.line(
            f"  {each.table:<14}{each.source:>12,}{each.target:>12,}{'' if each.same else '  differs'}".rstrip()
        )
    if index is None:
        output.line("  index: " + ("made by each app server when it is first asked" if copy.whole else "not made"))
    elif index:
        output.line(f"  index: {len(index.missing):,} chunks are missing in it, {len(index.foreign):,} in it alone")
    else:
        output.line("  index: fits the records")


def _record(name: str, copy: Copy, index: Differences | None) -> dict[str, Any]:
    found = {"missing": len(index.missing), "foreign": len(index.foreign)} if index is not None else None
    return {
        "workspace": name,
        "status": "differs" if not copy.whole or index else "compared" if copy.found else "copied",
        "resumed": copy.resumed,
        "changed": copy.changed,
        "tables": [asdict(each) for each in copy.tables],
        "index": found,
    }
