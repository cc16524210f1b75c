"""restore: Put back what a backup holds, all or one library, into an empty place or in the place of what is there.

What is there is put aside, not removed, and `--undo` brings it back.
"""

from __future__ import annotations

import argparse
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from crag.cli.options import interruptible
from crag.cli.output import Output, plain
from crag.core.config import AppConfig
from crag.core.errors import SettingsError

if TYPE_CHECKING:
    from crag.admin.backup.restoring import Restored
    from crag.admin.backup.targets import Target


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        f"{parser.description} The file is verified first, every row is compared at the end, and until then nothing is "
        "touched. Stop the app before; a single library that is not there yet may be added while it runs. Cut short? "
        "Give the same command again."
    )
    parser.add_argument("backup", nargs="?", type=Path, metavar="BACKUP", help="the file that crag backup has made")
    parser.add_argument(
        "--to",
        dest="target",
        default="",
        metavar="PLACE",
        help="a data folder, `database` (of CRAG_DATABASE_URL) or env:NAME (of a variable); default: the app's own",
    )
    parser.add_argument("--workspace", metavar="NAME", help="this library alone")
    parser.add_argument("--as", dest="called", metavar="NAME", help="with --workspace: under this name")
    parser.add_argument("--replace", action="store_true", help="put aside what is there")
    parser.add_argument("--list", action="store_true", help="restore nothing: say what is in the backup")
    parser.add_argument("--undo", action="store_true", help="bring back what the latest restore has put aside")


def run(options: argparse.Namespace, output: Output) -> int:
    """0 where all was restored and its index fits; 1 where it was refused or failed: then all is as it was."""
    if (options.backup is None) != options.undo or (options.undo and (options.list or options.workspace)):
        raise SettingsError("Say which backup is restored, or --undo.", "Name the file that crag backup has made.")
    if options.called and not options.workspace:
        raise SettingsError("--as gives one library a name.", "Name the one in the backup by --workspace.")
    if options.list:
        return _list_contents(options.backup, output)
    config = AppConfig.from_environment()
    from crag.admin.backup.home import home_of  # only now: it loads SQLAlchemy and the index
    from crag.admin.backup.restoring import put_back, refusals
    from crag.admin.backup.targets import target_of

    with ExitStack() as stack:
        target = target_of(home_of(options.target, config, stack, there=False), config)
        what = "undone" if options.undo else options.backup.name
        with refusals(target, what):
            if not options.undo:
                return _restore(options, target, output)
            aside = put_back(target)
    if output.json:
        output.record({"status": "undone", "aside": aside})
    else:
        output.line("The latest restore was undone" + (f"; what was there lies in {aside}" if aside else ""))
    return 0


def _restore(options: argparse.Namespace, target: Target, output: Output) -> int:
    from crag.admin.backup.archive import Archive
    from crag.admin.backup.restoring import Restore

    code = 0
    with interruptible() as cancel, Archive(options.backup) as archive:
        restore = Restore(archive, target, workspace=options.workspace, called=options.called, replace=options.replace)
        for each in restore.libraries(lambda what, done, of: output.progress(f"{what}: {done:,} of {of:,}"), cancel):
            _show(each, output)
            code = 1 if each.index else code
        models = archive.contents.models
    if output.json:
        output.record({"status": "restored", "aside": restore.aside, "models": models})
        return code
    output.line(
        "All of it is in its place" + (f"; what was there before lies in {restore.aside}" if restore.aside else "")
    )
    if restore.aside:
        output.note("restore --undo brings that back; delete it when the new state is right")
    if models:
        output.note(f"not in the backup: {', '.join(map(plain, models))}")
    return code


def _show(each: Restored, output: Output) -> None:
    missing, foreign = (len(each.index.missing), len(each.index.foreign)) if each.index is not None else (0, 0)
    if output.json:
        tables = [asdict(table) for table in each.copy.tables]
        index = {} if each.index is None else {"index": {"missing": missing, "foreign": foreign}}
        output.record({"workspace": each.workspace, "tables": tables, **index})
        return
    rows = {table.table: table.target for table in each.copy.tables}
    index_said = "made by each app server when it is first asked"
    if each.index is not None:
        index_said = f"{missing} chunks are missing in it" if each.index else "fits the records"
    said = f"{rows['documents']:,} documents, {rows['chunks']:,} chunks, {rows['runs']:,} runs: every row compared"
    output.line(f"{plain(each.workspace)}: {said}; index: {index_said}")


def _list_contents(file: Path, output: Output) -> int:
    from crag.admin.backup.archive import Archive

    with Archive(file) as archive:
        contents = archive.contents
    if output.json:
        output.record(contents.model_dump())
        return 0
    whole = "all that was stored" if contents.whole else "one library"
    output.line(f"{whole}, made at {plain(contents.made_at)} by version {plain(contents.program)} from {contents.kind}")
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
