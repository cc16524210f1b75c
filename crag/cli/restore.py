"""restore: Put back what a backup holds, all or one library, into an empty place or in the place of what is there.

What is there is put aside, not removed, and `--undo` brings it back.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from crag.cli.backup import data_folder
from crag.cli.options import interruptible
from crag.cli.output import Output, plain
from crag.core.errors import SettingsError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        f"{parser.description} The file is verified first, and until all of it is unpacked and checked, nothing is "
        "touched. Stop the app before; a single library that is not there yet may be added while it runs."
    )
    parser.add_argument("backup", nargs="?", type=Path, metavar="BACKUP", help="the file that crag backup has made")
    parser.add_argument(
        "--to",
        dest="target",
        default="",
        metavar="PLACE",
        help="a data folder (default: the app's own)",
    )
    parser.add_argument("--workspace", metavar="NAME", help="this library alone")
    parser.add_argument("--as", dest="called", metavar="NAME", help="with --workspace: under this name")
    parser.add_argument("--replace", action="store_true", help="put aside what is there")
    parser.add_argument("--list", action="store_true", help="restore nothing: say what is in the backup")
    parser.add_argument("--undo", action="store_true", help="bring back what the latest restore has put aside")


def run(options: argparse.Namespace, output: Output) -> int:
    """0 where all was restored; 1 where it was refused or failed: then all is as it was."""
    if (options.backup is None) != options.undo or (options.undo and (options.list or options.workspace)):
        raise SettingsError("Say which backup is restored, or --undo.", "Name the file that crag backup has made.")
    if options.called and not options.workspace:
        raise SettingsError("--as gives one library a name.", "Name the one in the backup by --workspace.")
    if options.list:
        return _list_contents(options.backup, output)
    data = data_folder(options.target)
    from crag.admin.backup.restore import audit_refusals, undo_restore  # only now: it loads SQLAlchemy

    what = "undone" if options.undo else options.backup.name
    with audit_refusals(data, what):
        if not options.undo:
            return _restore(options, data, output)
        aside = undo_restore(data)
    if output.json:
        output.record({"status": "undone", "aside": aside.name if aside else ""})
    else:
        output.line("The latest restore was undone" + (f"; what was there lies in {aside.name}" if aside else ""))
    return 0


def _restore(options: argparse.Namespace, data: Path, output: Output) -> int:
    from crag.admin.backup.archive import Archive
    from crag.admin.backup.restore import restore_backup

    with interruptible() as cancel, Archive(options.backup) as archive:
        restored = restore_backup(
            archive,
            data,
            workspace=options.workspace,
            called=options.called,
            replace=options.replace,
            watch=lambda what, done, of: output.progress(f"{what}: {done:,} of {of:,}"),
            cancel=cancel,
        )
    aside = restored.aside.name if restored.aside else ""
    if output.json:
        for name, stored in restored.libraries.items():
            output.record({**stored.model_dump(), "workspace": name})
        output.record({"status": "restored", "aside": aside, "models": restored.models})
        return 0
    for name, stored in restored.libraries.items():
        said = f"{stored.documents:,} documents, {stored.chunks:,} chunks, {stored.runs:,} runs"
        output.line(f"{plain(name)}: {said}; the index is made when it is first asked")
    output.line("All of it is in its place" + (f"; what was there before lies in {aside}" if aside else ""))
    if aside:
        output.note("restore --undo brings that back; delete it when the new state is right")
    if restored.models:
        output.note(f"not in the backup: {', '.join(map(plain, restored.models))}")
    return 0


def _list_contents(file: Path, output: Output) -> int:
    from crag.admin.backup.archive import Archive

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
