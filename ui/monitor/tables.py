"""The Monitor page's charts as tables, with the runs that each number stands for, and as files."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from crag.analysis.intervals import Estimate
from crag.analysis.monitoring.figures import ACTIONS, Group, Latency
from crag.core.runfacts import HERE, RunFacts
from crag.core.types import Action
from crag.export.html import words
from crag.providers.registry import title
from crag.text.formats import money
from ui.components import downloads
from ui.monitor.plots import bucket_text
from ui.monitor.stored import Board

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
        first, *heads = self.heads
        return [
            {first: label, **{head: cell for head, (cell, _) in zip(heads, cells, strict=True)}}
            for label, cells in self.rows
        ]

    def mark(self, row: int, head: str) -> str:
        """The mark of a cell; of a row's label, that of the first cell in it that has one. "" for none."""
        if row >= len(self.rows) or head not in self.heads:
            return ""
        cells, at = self.rows[row][1], self.heads.index(head)
        marks = [mark for _, mark in (cells if at == 0 else cells[at - 1 : at])]
        return next(filter(None, marks), "")


def over_time(board: Board) -> Table:
    """A row a bucket: its runs, their actions, and every measure that is drawn over time."""
    there = [action for action in ACTIONS if any(each[action] for each in board.actions.values())]
    measures: dict[str, tuple[str, Mapping[str, Estimate], Callable[[float], str]]] = {
        "Web rate": ("web", board.web, percent),
        "Rewrites": ("rewrites", board.rewrites, number),
        "Supported": ("faithful", board.faithfulness, percent),
    }
    rows = []
    for bucket, counts in board.actions.items():
        cells = [(f"{sum(counts.values()):,}", f"runs|{bucket}")]
        cells += [(f"{counts[action]:,}", f"action|{bucket}|{action}") for action in there]
        for kind, values, shown in measures.values():
            said, _ = _estimate(values.get(bucket, Estimate()), shown)
            cells.append((said, f"{kind}|{bucket}" if said != "–" else ""))
        spent = board.spending[bucket]
        cells.append((f"{spent.calls:,}", f"calls|{bucket}"))
        cells.append((f"{'at least ' if spent.unpriced else ''}{money(spent.dollars)}", ""))
        rows.append((bucket_text(bucket), cells))
    actions = ("no action" if each == "none" else each for each in there)
    return Table("Over time", [" ", "Runs", *actions, *measures, "Calls", "Cost"], rows)


def of_scores(now: Sequence[int], before: Sequence[int]) -> Table:
    rows = [
        (
            f"{place / len(now):.2f} to {(place + 1) / len(now):.2f}",
            [(f"{now[place]:,}", f"score|{place}|now"), (f"{before[place]:,}", f"score|{place}|before")],
        )
        for place in range(len(now))
    ]
    return Table("Best scores", [" ", "This span", "Four weeks before"], rows)


def of_latency(found: Sequence[Latency]) -> Table:
    rows = [
        (
            "whole run" if each.step == "run" else each.step,
            [
                (_took(each.median.value), f"step|{each.step}|median"),
                (_took(each.median_before), ""),
                (_took(each.p95.value), f"step|{each.step}|p95"),
            ],
        )
        for each in found
    ]
    return Table("Latency", [" ", "Median", "Before", "95th percentile"], rows)


def _took(seconds: float | None) -> str:
    return "–" if seconds is None else words.format_duration(seconds)


def of_failures(found: Mapping[str, Mapping[str, int]]) -> Table:
    """Who failed, down, and why, across: runs with it."""
    reasons = sorted({reason for each in found.values() for reason in each})
    rows = [
        (
            HERE if who == HERE else title(who),
            [(f"{each[reason]:,}", f"failed|{who}|{reason}") if each.get(reason) else ("", "") for reason in reasons],
        )
        for who, each in found.items()
    ]
    return Table("Failures", ["Runs in which", *reasons], rows)


def of_groups(found: Sequence[Group], by: str, head: str, named: Callable[[str], str]) -> Table:
    """All figures of each group with their intervals."""
    actions = [f"{words.ICONS[Action(name)]} {name}" for name in ACTIONS[:3]]
    heads = (head, "Runs", *actions, *("Web rate", "Rewrites", "Best score", "Median", "95th percentile", "Failed"))
    rows = [
        (
            named(each.name),
            [
                (f"{each.runs:,}", f"group|{by}|{each.name}"),
                *(_estimate(each.actions[action], percent) for action in ACTIONS[:3]),
                _estimate(each.web, percent),
                _estimate(each.rewrites, number),
                _estimate(each.best, number),
                _estimate(each.median, words.format_duration),
                _estimate(each.p95, words.format_duration),
                _estimate(each.failed, percent),
                _estimate(each.faithfulness, percent),
                (money(each.dollars / each.runs) if each.runs else "–", ""),
            ],
        )
        for each in found
    ]
    return Table(f"Compared by {head.lower()}", [*heads, "Supported", "Cost a run"], rows)


def _estimate(each: Estimate, shown: Callable[[float], str]) -> Cell:
    if each.value is None:
        return "–", ""
    if each.low is None or each.high is None:
        return shown(each.value), ""
    return f"{shown(each.value)} ({shown(each.low)} to {shown(each.high)})", ""


def percent(value: float) -> str:
    return f"{value:.0%}"


def number(value: float) -> str:
    return f"{value:.2f}"


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


def export_over_time(board: Board) -> downloads.Table:
    """A line a bucket with everything that is drawn over time."""
    measures: Mapping[str, Mapping[str, Estimate]] = {
        "web_rate": board.web,
        "rewrites": board.rewrites,
        "faithfulness": board.faithfulness,
    }
    columns = ["begins", *ACTIONS, *(f"{name}{end}" for name in measures for end in ("", "_low", "_high"))]
    rows = []
    for bucket, counts in board.actions.items():
        spent = board.spending[bucket]
        estimates = [values.get(bucket, Estimate()) for values in measures.values()]
        rows.append(
            [
                bucket,
                *(counts[action] for action in ACTIONS),
                *(end for each in estimates for end in (each.value, each.low, each.high)),
                *(spent.calls, spent.failed, spent.dollars),
            ]
        )
    return [*columns, "calls", "failed_calls", "dollars"], rows


def export_groups(found: Sequence[Group], by: str) -> downloads.Table:
    """A line a group with every figure and its interval."""
    measures = ("web", "rewrites", "best", "median", "p95", "failed", "faithfulness")
    names = (*ACTIONS[:3], *measures)
    rows = []
    for each in found:
        estimates = [*(each.actions[name] for name in ACTIONS[:3]), *(getattr(each, name) for name in measures)]
        rows.append(
            [
                each.name,
                each.runs,
                *(end for one in estimates for end in (one.value, one.low, one.high)),
                each.dollars,
            ]
        )
    return [by, "runs", *(f"{name}{end}" for name in names for end in ("", "_low", "_high")), "dollars"], rows
