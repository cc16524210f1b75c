"""limits: Show how much a workspace and the whole server may take and what is used of it, and change it."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from crag.admin import quantities
from crag.admin.quantities import Bound
from crag.cli.options import opened
from crag.cli.output import Output, plain
from crag.core.errors import SettingsError

if TYPE_CHECKING:
    from crag.admin.quotas import Quotas, Standing

_WHO = "command line"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--workspace", metavar="NAME", help="show or change the limits of this one; without it, those of all"
    )
    parser.add_argument(
        "--change",
        metavar="NAME=VALUE",
        action="append",
        default=[],
        help="change a limit, by the name of its setting; 0: no limit, empty: as it was before. Repeatable",
    )
    parser.add_argument(
        "--begin-day",
        action="store_true",
        help="count calls and dollars to today again, after the clock stood ahead and was set right",
    )


def run(options: argparse.Namespace, output: Output) -> int:
    """One line a limit; 0 where all were shown and changed."""
    workspace: str = options.workspace or ""
    wanted = [_parse_change(each) for each in options.change]
    with opened(options) as engine:
        quotas, audit = engine.teams.quotas, engine.teams.audit
        if options.begin_day:
            quotas.usage.begin_day()
            audit.note("limit", _WHO, what="the day restarted")
        for name, value in wanted:
            seen = quotas.overrides.all().get((workspace, name))
            quotas.change(workspace, name, value, seen=seen.edition if seen else 0, by=_WHO)
            said = "as before" if value is None else f"{value:g}"
            audit.note("limit", _WHO, workspace=workspace, what=name, detail=said)
        quotas.check(workspace)
        shown = quotas.standing(workspace)
        for each in shown:
            _show(each, workspace, quotas, output)
    return 0


def _parse_change(given: str) -> tuple[str, float | None]:
    name, equals, value = given.partition("=")
    try:
        if not equals:
            raise ValueError
        return name.strip(), float(value) if value.strip() else None
    except ValueError:
        raise SettingsError(
            f"--change {given[:80]}: no limit and value.", "Write --change NAME=VALUE, as library_documents=500."
        ) from None


def _show(standing: Standing, workspace: str, quotas: Quotas, output: Output) -> None:
    """The workspace's own limit, or that of each workspace, and that of all together."""
    for name, bound, change in (
        (standing.quantity.own, standing.own, standing.own_change),
        (standing.quantity.all, standing.all, standing.all_change),
    ):
        if workspace and name == standing.quantity.all:
            continue
        counted = bool(workspace) or name == standing.quantity.all
        by = change.by if change is not None and change.value is not None else ""
        if output.json:
            record: dict[str, Any] = {"limit": name, "workspace": workspace, "most": bound.most or None}
            output.record({**record, "used": bound.used if counted else None, "changed_by": by or None})
            continue
        most = quantities.amount(standing.quantity, bound.most) if bound.most else "no limit"
        output.line(
            f"{name:<26} {most}{_format_use(standing, bound) if counted else ''}"
            f"{f', changed by {plain(by)}' if by else ''}"
        )


def _format_use(standing: Standing, bound: Bound) -> str:
    return f", {quantities.amount(standing.quantity, bound.used)} used"
