"""copy: Copy libraries between folders and databases, compare every row, and fill the index of the copy.

A database's address can be named by a variable, since others on this machine can read a command line, password and all.
"""

from __future__ import annotations

import argparse
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from crag.cli.options import DEFAULT_WORKSPACE, interruptible
from crag.cli.output import Output, plain
from crag.core.config import AppConfig

if TYPE_CHECKING:
    from crag.admin.moving import Moved

_PLACE = "a library's folder, a data folder, `database` (of CRAG_DATABASE_URL), env:NAME (of another variable) or a URL"
_KEPT = {"copied": "copied", "there": "there already", "other": "there is another, which was left as it is"}


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
    which.add_argument(
        "--workspace",
        metavar="NAME",
        help=f"which library, in a data folder or database (default: {DEFAULT_WORKSPACE}, or the folder's name)",
    )
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


def run(options: argparse.Namespace, output: Output) -> int:
    """0 where every copy and its index are whole; 1 where one differs or failed, or a library was left out."""
    config = AppConfig.from_environment(index=options.index)
    from crag.admin.moving import Move  # only now: it loads SQLAlchemy and the index

    with (
        interruptible() as cancel,
        Move(options.source, options.target, config, workspace=options.workspace, every=options.all) as move,
    ):
        if options.all:
            _show_kept(move.kept(), output)
        code = 0
        for moved in move.libraries(
            watch=lambda name, table, done, of: output.progress(f"{name}: {done:,} of {of:,} {table}"),
            cancel=cancel,
        ):
            _show(moved, output)
            code = code if moved.whole else 1
        if count := move.left_out():
            output.message(f"{count} libraries were left out, which lie under no workspace's name")
            code = 1
    return code


def _show_kept(said: dict[str, str], output: Output) -> None:
    if output.json:
        output.record({"kept": said})
        return
    for name, what in said.items():
        output.line(f"{name}: {_KEPT[what]}")


def _show(moved: Moved, output: Output) -> None:
    if output.json:
        output.record(_record(moved))
        return
    name = plain(moved.workspace)
    if moved.copy is not None:
        output.line(f"{name}: {_status(moved)}")
        output.line(f"  {'table':<14}{'source':>12}{'target':>12}")
        for each in moved.copy.tables:
            differs = "" if each.same else "  differs"
            output.line(f"  {each.table:<14}{each.source:>12,}{each.target:>12,}{differs}")
    if moved.error is not None:
        output.message(f"{name}: error: {moved.error}")
    elif moved.index is None:
        output.line("  index: made by each app server when it is first asked" if moved.whole else "  index: not made")
    elif moved.index:
        missing, foreign = len(moved.index.missing), len(moved.index.foreign)
        output.line(f"  index: {missing:,} chunks are missing in it, {foreign:,} are in it alone")
    else:
        output.line("  index: fits the records")


def _status(moved: Moved) -> str:
    copy = moved.copy
    if moved.error is not None or copy is None:
        return "failed"
    if copy.found:
        return "compared" if moved.whole else "differs"
    return "copied" if moved.whole else "differs: not stored; give the command again"


def _record(moved: Moved) -> dict[str, Any]:
    error, copy, index = moved.error, moved.copy, moved.index
    return {
        "workspace": moved.workspace,
        "status": _status(moved).partition(":")[0],
        **({"error": error.message, "remedy": error.remedy} if error else {}),
        **({"tables": [asdict(each) for each in copy.tables]} if copy else {}),
        **({"index": {"missing": len(index.missing), "foreign": len(index.foreign)}} if index is not None else {}),
    }
