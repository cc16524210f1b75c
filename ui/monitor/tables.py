"""The Monitor page's figures as tables, with the runs that each number stands for, and as files."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from crag.analysis.intervals import Mean
from crag.analysis.monitoring.figures import BINS, STEPS, Chosen, Group, Kind, mark
from crag.core.runfacts import HERE, RunFacts
from crag.core.types import Action
from crag.export.html import words
from crag.providers.registry import title
from crag.text.formats import money
from ui.components import downloads

Cell = tuple[str, str]
"""Text, and the mark whose runs it stands for; "" for none."""


@dataclass(frozen=True, slots=True)
class Table:
    """Its name, the heads of its columns, the first of them that of the rows' labels, and its rows."""

    name: str
    heads: Sequence[str]
    rows: Sequence[tuple[str, Sequence[Cell]]]

    def shown(self) -> list[dict[str, str]]:
        """The rows as text, by head."""
        return [dict(zip(self.heads, (label, *(cell for cell, _ in cells)), strict=True)) for label, cells in self.rows]

    def mark(self, row: int, head: str) -> str:
        """The mark of a cell; of a row's label, that of the first cell in it that has one. "" for none."""
        if row >= len(self.rows) or head not in self.heads:
            return ""
        cells, at = self.rows[row][1], self.heads.index(head)
        marks = [mark for _, mark in (cells if at == 0 else cells[at - 1 : at])]
        return next(filter(None, marks), "")


def whole(value: float) -> str:
    return f"{value:,.0f}"


def percent(value: float) -> str:
    return f"{value:.0%}"


def number(value: float) -> str:
    return f"{value:.2f}"


COLUMNS: Mapping[str, tuple[str, Callable[[float], str]]] = {
    "runs": ("Runs", whole),
    **{each.value: (f"{words.ICONS[each]} {each}", percent) for each in Action},
    "none": ("No action", percent),
    "web": ("Web rate", percent),
    "rewrites": ("Rewrites", number),
    "best": ("Best score", number),
    "run median": ("Median", words.format_duration),
    "run p95": ("95th percentile", words.format_duration),
    "failed": ("Failed", percent),
    "faithfulness": ("Supported", percent),
    "calls": ("Calls", whole),
    "dollars": ("Cost a run", money),
}
"""The measures of a group of runs: the head of each column, and how a number in it is written."""


def head(measure: str) -> str:
    """A measure as the head of a column, with its step where it is of one; empty of all runs."""
    step, _, part = measure.rpartition(" ")
    if f"run {part}" in COLUMNS:
        return f"{step_text(step)}, {COLUMNS[f'run {part}'][0].lower()}"
    return {"runs": "", "gaps": "Not answered by the documents"}.get(measure, COLUMNS.get(measure, ("",))[0])


def of_groups(found: Iterable[Group], kind: Kind, head: str, named: Callable[[str], str]) -> Table:
    """All figures of each group with their intervals."""
    rows = [
        (named(group.name), [_cell(group, kind, measure, shown) for measure, (_, shown) in COLUMNS.items()])
        for group in found
    ]
    return Table(f"By {head.lower()}", [head, *(head for head, _ in COLUMNS.values())], rows)


def _cell(group: Group, kind: Kind, measure: str, shown: Callable[[float], str]) -> Cell:
    said = _estimate(group[measure], shown)
    return said, mark(kind, measure, group.name) if said != "–" else ""


def _estimate(each: Mean, shown: Callable[[float], str]) -> str:
    if each.value is None:
        return "–"
    return shown(each.value) + (
        f" ({shown(each.low)} to {shown(each.high)})" if each.low is not None and each.high is not None else ""
    )


def of_scores(found: Chosen) -> Table:
    kinds: tuple[Kind, Kind] = ("score", "score before")
    rows = [
        (
            f"{place / BINS:.2f} to {(place + 1) / BINS:.2f}",
            [_cell(found.groups[kind][str(place)], kind, "runs", whole) for kind in kinds],
        )
        for place in range(BINS)
    ]
    return Table("Best scores", [" ", "This span", "Four weeks before"], rows)


def of_latency(found: Chosen) -> Table:
    kinds: Sequence[tuple[Kind, Group, str]] = (
        ("span", found.span, "median"),
        ("before", found.before, "median"),
        ("span", found.span, "p95"),
    )
    rows = [
        (step_text(step), [_cell(group, kind, f"{step} {part}", words.format_duration) for kind, group, part in kinds])
        for step in STEPS
        if found.span[f"{step} median"].known
    ]
    return Table("Latency", [" ", "Median", "Before", "95th percentile"], rows)


def step_text(step: str) -> str:
    """A step, or the whole run, as a label."""
    return "whole run" if step == "run" else step


def of_failures(found: Chosen) -> Table:
    """Who failed and why, the commonest first."""
    groups = found.groups["failure"].items()
    rows = [(failure_text(name), [_cell(group, "failure", "runs", whole)]) for name, group in groups]
    return Table("Failures", ["What failed", "Runs"], rows)


def failure_text(name: str) -> str:
    """Who failed and why, as "Tavily: busy"."""
    who, _, reason = name.rpartition(": ")
    return f"{HERE if who == HERE else title(who)}: {reason}"


_PLAIN = (
    *("run_id", "workspace", "started_at", "strategy", "via", "action", "outcome", "evaluator", "scope", "best"),
    *("upper", "lower", "web", "searches", "rewrites", "seconds", "waited", "faithfulness", "dollars", "unpriced"),
)


def export_runs(found: Sequence[RunFacts]) -> downloads.Table:
    """A line a run, without its question."""
    rows = [
        [
            *(getattr(run, name) for name in _PLAIN),
            sum(run.calls.values()),
            sum(run.failed.values()),
            "; ".join(run.refused),
        ]
        for run in found
    ]
    return [*_PLAIN, "calls", "failed_calls", "failures"], rows


def export_groups(found: Iterable[Group], kind: Kind) -> downloads.Table:
    """A line a group with every figure and its interval."""
    measures = [*COLUMNS, "failed_calls", "unpriced"]
    rows = [
        [group.name, *(end for name in measures for end in (group[name].value, group[name].low, group[name].high))]
        for group in found
    ]
    named = [name.replace(" ", "_") for name in measures]
    return [kind, *(f"{name}{end}" for name in named for end in ("", "_low", "_high"))], rows
