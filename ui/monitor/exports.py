"""What the Monitor page offers as files: all runs looked at, the figures over time, comparisons, the tests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from crag.analysis.intervals import Estimate
from crag.analysis.monitoring.drift import Drift
from crag.analysis.monitoring.figures import ACTIONS, Group
from crag.core.runfacts import RunFacts
from ui.components.downloads import Table
from ui.monitor.board import Board

_PLAIN = (
    *("run_id", "workspace", "started_at", "strategy", "via", "action", "outcome", "evaluator", "scope", "best"),
    *("upper", "lower", "web", "searches", "rewrites", "seconds", "waited", "faithfulness", "dollars", "unpriced"),
)


def runs(found: Sequence[RunFacts]) -> Table:
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


def over_time(board: Board) -> Table:
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


def groups(found: Sequence[Group], by: str) -> Table:
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


def drifts(weeks: Sequence[Sequence[Drift]]) -> Table:
    """A line for each week and what was compared."""
    rows = [
        [
            each.since.date().isoformat(),
            each.what,
            each.verdict,
            each.runs,
            each.runs_before,
            each.evidence,
            each.effect,
        ]
        for week in weeks
        for each in week
    ]
    return ["week", "compared", "verdict", "runs", "runs_before", "evidence", "effect"], rows
