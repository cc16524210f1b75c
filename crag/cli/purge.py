"""purge: Take out documents that are old, little trusted, unverified or unused; for a day --undo brings them back."""

from __future__ import annotations

import argparse
from typing import Any

from crag.cli.options import add_library, existing, find_document, opened, record_command
from crag.cli.output import Output, plain
from crag.core.errors import PROGRAM, CragError, SettingsError
from crag.core.purging import add_conditions, conditions_given

_CONDITIONS = ("older_than", "not_used_for", "confidence_below", "score_below", "unverified", "where", "dry_run")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_conditions(parser)
    parser.add_argument("--dry-run", action="store_true", help="show what would go and why, and take nothing out")
    parser.add_argument(
        "--undo",
        nargs="?",
        const="",
        metavar="DOCUMENT",
        help="bring back what was purged within a day: this document (its name, or the beginning of its id), or all",
    )
    add_library(parser)


def run(options: argparse.Namespace, output: Output) -> int:
    """One line a document, oldest first. A document goes that meets all conditions; at least one must be given."""
    if options.undo is not None:
        return _undo(options, output)
    conditions = conditions_given(options)
    with opened(options) as engine:
        purges = engine.library(existing(options)).purges
        found = purges.due(conditions) if options.dry_run else purges.purge(conditions)
        if not options.dry_run:
            for each in found:
                record_command(engine, options, "delete", "document purged", f"{each.document.name}: {each.why}")
    for each in found:
        _show("due" if options.dry_run else "purged", each.document.id, each.document.name, each.why, output)
    if not found:
        output.note("No document meets these conditions.")
    elif not options.dry_run:
        output.note(f"{len(found)} purged; within a day {PROGRAM} purge --undo brings them back.")
    return 0


def _undo(options: argparse.Namespace, output: Output) -> int:
    """0 if all came back, 1 if some did not."""
    if any(getattr(options, name) for name in _CONDITIONS):
        raise SettingsError("--undo takes no conditions.", "Name the document that is to come back, or none for all.")
    failed = 0
    with opened(options) as engine:
        purges = engine.library(existing(options)).purges
        found = purges.undoable()
        if options.undo:
            found = [find_document(options.undo, found)]
        for each in found:
            try:
                purges.undo(each.id)
                record_command(engine, options, "delete", "purge undone", each.name)
            except CragError as error:
                failed += 1
                _show("failed", each.id, each.name, str(error), output)
            else:
                _show("restored", each.id, each.name, "", output)
    if not found:
        output.note("Nothing was purged within a day.")
    return int(failed > 0)


def _show(status: str, id: str, name: str, why: str, output: Output) -> None:
    if output.json:
        record: dict[str, Any] = {"status": status, "id": id, "name": name}
        output.record({**record, "why": why} if why else record)
        return
    said = f": {plain(why)}" if why else ""
    output.line(f"{output.paint(status, 'red' if status == 'failed' else 'amber')}  {plain(name)}{said}")
