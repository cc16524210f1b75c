"""audit: Print the audit log: who signed in, deleted, shared, changed a setting or used a key, and what was refused."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from typing import get_args

from crag.admin.audit import AuditedAct
from crag.cli.options import opened
from crag.cli.output import Output, plain
from crag.core.errors import SettingsError
from crag.core.fields import days_of

_MOST = 1_000_000


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--since", metavar="WHEN", help="from this day or moment in UTC on, as 2026-11-01, or an age, as 7d or 2w"
    )
    parser.add_argument("--who", default="", metavar="NAME", help="by this person, token or link alone")
    parser.add_argument("--act", choices=get_args(AuditedAct), default="", help="of this kind alone")
    parser.add_argument("--workspace", metavar="NAME", help="in this workspace alone")
    parser.add_argument("--limit", type=int, default=500, metavar="N", help="the newest so many (default: 500; 0: all)")


def run(options: argparse.Namespace, output: Output) -> int:
    """One line an entry, the oldest first, as a log is read."""
    if options.limit < 0:
        raise SettingsError("--limit can't be below 0.", "Leave it out, or write 0 for all.")
    since = _moment(options.since) if options.since else ""
    with opened(options) as engine:
        found = list(
            engine.teams.audit.entries(
                options.limit or _MOST, workspace=options.workspace, who=options.who, act=options.act, since=since
            )
        )
    for each in reversed(found):
        if output.json:
            output.record(asdict(each))
            continue
        where = f" in {each.workspace}" if each.workspace else ""
        detail = f": {each.detail}" if each.detail else ""
        refused = output.paint(" refused", "red") if each.refused else ""
        said = plain(f"{each.who}{where}  {each.what}{detail}")
        output.line(f"{each.at[:19]}  {each.act:<9}{refused} {said}")
    if not found:
        output.note("The audit log has no such entry.")
    return 0


def _moment(said: str) -> str:
    """Raises SettingsError for what is neither a day, a moment nor an age."""
    try:
        if said[-1:] in "dw" and said[:-1].isdecimal():
            return (datetime.now(UTC) - timedelta(days=days_of(said))).isoformat(timespec="milliseconds")
        moment = datetime.fromisoformat(said)
    except (ValueError, OverflowError) as error:
        raise SettingsError(f"--since {said}: that is no day.", "Write 2026-11-01, or an age as 7d or 2w.") from error
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC).isoformat(timespec="milliseconds")
