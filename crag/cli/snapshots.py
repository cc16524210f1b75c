"""The commands on versions of a library: take one, list and compare them, roll the documents back to one."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

from typer import Argument, Option

from crag.cli.options import Place, record_command
from crag.cli.output import Output, plain
from crag.core.errors import PROGRAM, SettingsError
from crag.messages.snapshots import KEPT, KINDS, compared_sentence, rolled_back_sentence, snapshot_text
from crag.storage.snapshots import Snapshot
from crag.text.formats import format_size

_NAME = "letters, digits, dots, hyphens and underscores (default: the time)"


def snapshot(
    place: Place,
    output: Output,
    name: Annotated[str, Argument(metavar="NAME", help=f"its name, of {_NAME}")] = "",
) -> int:
    """The app may run meanwhile. Runs and evaluations are not in it: a rollback leaves them. At most 10 are kept of a
    library; they lie in its folder, and no backup holds them."""
    with place.opened() as (engine, library):
        taken = library.snapshots.take(name)
        record_command(engine, place.target, "backup", "snapshot", taken.name)
    _show(taken, output)
    output.note(KEPT)
    return 0


def snapshots(
    place: Place,
    output: Output,
    name: Annotated[str, Argument(metavar="NAME", help="compare this one with the documents there are now")] = "",
    other: Annotated[str, Argument(metavar="OTHER", help="compare NAME with this one instead")] = "",
    delete: Annotated[str, Option("--delete", metavar="NAME", help="delete this one for good")] = "",
) -> int:
    """One line a snapshot, the latest first; or one line a document that differs."""
    if delete and name:
        raise SettingsError("--delete names the snapshot itself.", "Leave the other name out.")
    with place.opened() as (engine, library):
        if delete:
            library.snapshots.delete(delete)
            record_command(engine, place.target, "delete", "snapshot", delete)
            output.show({"status": "deleted", "name": delete}, f"deleted  {plain(delete)}")
            return 0
        if not name:
            for each in library.snapshots.all():
                _show(each, output)
            return 0
        changes = library.snapshots.compare(name, other)
    for change in changes:
        said = f"{plain(change.name)}: {KINDS[change.kind]} ({change.before:,} chunks before, {change.now:,} now)"
        output.show(asdict(change), said)
    output.note(compared_sentence(changes))
    return 0


def rollback(
    place: Place, output: Output, name: Annotated[str, Argument(metavar="NAME", help="the snapshot to go back to")]
) -> int:
    """All or nothing, and nothing is embedded again. The documents there are now are kept as a snapshot first, so a
    rollback can be rolled back. Runs, evaluations, and the labels of documents that did not change stay."""
    with place.opened() as (engine, library):
        done = library.snapshots.roll_back(name)
        record_command(engine, place.target, "restore", "snapshot", f"{name}; before: {done.before.name}")
    record = {"status": "rolled back", "name": name, **asdict(done), "before": done.before.name}
    output.show(record, plain(rolled_back_sentence(name, done)))
    if not output.json:
        output.note(f"{PROGRAM} rollback {done.before.name} undoes it")
    return 0


def _show(each: Snapshot, output: Output) -> None:
    when = each.taken_at[:16].replace("T", " ")
    output.show(asdict(each), f"{plain(each.name):<32} {when:<16}  {format_size(each.size):>8}  {snapshot_text(each)}")
