"""backup: Write all that is stored into one file, while the app runs; and read such a file, whether it is whole.

The file holds what private addresses are signed with: it is as secret as the data folder, and for its owner alone.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from crag.cli.options import interruptible
from crag.cli.output import Output, plain
from crag.core.config import AppConfig
from crag.core.errors import InputError, NotFoundError, SettingsError

if TYPE_CHECKING:
    from crag.admin.backup.create import Created


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        f"{parser.description} It holds every library, people, workspaces, links, limits and the audit log, the "
        "choices of Settings, and what private addresses are signed with: keep it as secret as the data. Not in it: "
        "indexes, which are made again, model files, which are named, and keys of services, which are stored nowhere."
    )
    parser.add_argument(
        "target", nargs="?", type=Path, metavar="TARGET", help="a new file that ends in .zip, or a folder for it"
    )
    parser.add_argument(
        "--from",
        dest="source",
        default="",
        metavar="PLACE",
        help="a data folder (default: the app's own)",
    )
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--workspace", metavar="NAME", help="this library alone, without people and settings")
    which.add_argument("--all", action="store_true", help="everything (default)")
    parser.add_argument(
        "--keep", type=int, default=0, metavar="N", help="in a folder: remove the oldest, so that N stay (default: all)"
    )
    parser.add_argument("--verify", type=Path, metavar="FILE", help="make none: read this one, and compare its hashes")


def run(options: argparse.Namespace, output: Output) -> int:
    """0 for a whole backup; 1 where one is damaged, failed, or leaves a library out."""
    if (options.target is None) == (options.verify is None):
        raise SettingsError("Say where the backup goes, or which one to --verify.", "Name a file or a folder.")
    if options.keep < 0:
        raise SettingsError("--keep can't be below 0.")
    if options.verify is not None:
        return _verify(options.verify, output)
    data = data_folder(options.source)
    if not (data / "workspaces").is_dir():
        raise NotFoundError(f"There is no data folder {data}, with a folder workspaces.", "Name another by --from.")
    from crag.admin.backup.create import create_backup  # only now: it loads SQLAlchemy

    with interruptible() as cancel:
        made = create_backup(
            data,
            options.target,
            workspace=options.workspace,
            keep=options.keep,
            watch=lambda what, done, of: output.progress(f"{what}: {done:,} of {of:,}"),
            cancel=cancel,
        )
    _show(made, output)
    return 1 if made.contents.left_out else 0


def data_folder(said: str) -> Path:
    """The data folder that is meant; by default the app's own. Raises InputError where the app uses a database."""
    config = AppConfig.from_environment()
    if not said and config.storage.database_url:
        raise InputError(
            "The libraries are in a PostgreSQL database.",
            "Use pg_dump and pg_restore, or copy the libraries to a folder: crag copy --all.",
        )
    return Path(said) if said else config.storage.data


def _verify(file: Path, output: Output) -> int:
    from crag.admin.backup.archive import Archive

    with interruptible() as cancel, Archive(file) as archive:
        count, size = archive.verify(lambda name, done, of: output.progress(f"{done:,} of {of:,} bytes"), cancel)
    if output.json:
        output.record({"status": "whole", "files": count, "bytes": size})
    else:
        output.line(f"{plain(file.name)} is whole: {count} files, {size:,} bytes unpacked")
    return 0


def _show(made: Created, output: Output) -> None:
    contents = made.contents
    if output.json:
        output.record(
            {
                "file": str(made.file),
                "bytes": made.size,
                "libraries": [each.model_dump() for each in contents.libraries],
                "left_out": [each.model_dump() for each in contents.left_out],
                "models": contents.models,
                "removed": made.removed,
            }
        )
        return
    documents = sum(each.documents for each in contents.libraries)
    output.line(
        f"{plain(str(made.file))}: {len(contents.libraries)} libraries, {documents:,} documents, {made.size:,} bytes"
    )
    for name in made.removed:
        output.line(f"removed: {name}")
    for each in contents.left_out:
        output.message(f"left out: {plain(each.workspace)}: {each.why}")
    if contents.models:
        output.note(f"not in it, keep them apart: {', '.join(map(plain, contents.models))}")
    if contents.kept:
        output.note("it holds what private addresses are signed with: keep it as secret as the data")
