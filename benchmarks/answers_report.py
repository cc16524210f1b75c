"""The page of benchmarks.answers: right, wrong and refused by kind, risk against coverage, near misses refused."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from benchmarks.pages import figure, table
from crag.core.settings import Settings

FLOORS = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8)
BINS = 10
GOALS = {"wrong": 0.05, "misses": 0.90, "bold": 0.90, "calibration": 0.06}


@dataclass(slots=True)
class AnsweredRow:
    """A question, what was answered without a floor, and whether it is right.

    `facts`: what the confidence rests on. `weak`: it is of low confidence whatever that is.
    """

    id: str
    kind: str
    part: str
    question: str
    accepted: list[str]
    miss: str
    action: str
    abstained: bool
    low: bool
    weak: bool
    right: bool
    short: str
    text: str
    pages: list[int]
    on_page: bool | None
    confidence: float | None
    facts: dict[str, float] = field(default_factory=dict)
    seconds: float = 0.0

    def refused(self, floor: float) -> bool:
        return self.abstained or (self.confidence is not None and self.confidence < floor)


def summarise(rows: Sequence[AnsweredRow], version: str, settings: Settings) -> dict[str, Any]:
    """All figures, by kind and half."""
    floor = settings.min_answer_confidence
    groups: dict[str, list[AnsweredRow]] = {}
    for row in rows:
        for name in (f"{row.kind}, {row.part}", f"all, {row.part}"):
            groups.setdefault(name, []).append(row)
    return {
        "version": version,
        "floor": floor,
        "sure": settings.confident_answer,
        "questions": len(rows),
        "groups": {name: figures(group, floor) for name, group in sorted(groups.items())},
        "misses": {
            miss: _share([row for row in rows if row.miss == miss and row.part == "report"], _quiet(floor))
            for miss in sorted({row.miss for row in rows} - {""})
        },
        "curve": [curve_point([row for row in rows if row.part == "report"], each) for each in FLOORS],
        "calibration": {part: calibration([row for row in rows if row.part == part]) for part in ("choose", "report")},
    }


def _quiet(floor: float) -> Callable[[AnsweredRow], bool]:
    return lambda row: row.low or row.refused(floor)


def figures(rows: Sequence[AnsweredRow], floor: float) -> dict[str, Any]:
    """Counts of answerable questions and shares of near misses."""
    known, absent = [row for row in rows if row.accepted], [row for row in rows if not row.accepted]
    given = [row for row in known if not row.refused(floor)]
    bold = [row for row in rows if row.short and not row.refused(floor) and not row.low]
    return {
        "answerable": len(known),
        "right": sum(row.right and not row.low for row in given),
        "wrong": sum(not row.right and not row.low for row in given),
        "low_right": sum(row.right and row.low for row in given),
        "low_wrong": sum(not row.right and row.low for row in given),
        "refused": len(known) - len(given),
        "misses": len(absent),
        "misses_quiet": _share(absent, _quiet(floor)),
        "misses_refused": _share(absent, lambda row: row.refused(floor)),
        "bold": len(bold),
        "bold_right": _share(bold, lambda row: row.right),
        "on_page": _share([row for row in given if row.on_page is not None], lambda row: bool(row.on_page)),
    }


def curve_point(rows: Sequence[AnsweredRow], floor: float) -> dict[str, Any]:
    """What a floor comes to: the share of answerable questions answered right, and of all answers that are wrong."""
    given = [row for row in rows if not row.refused(floor)]
    known = [row for row in rows if row.accepted]
    return {
        "floor": floor,
        "coverage": _share(known, lambda row: not row.refused(floor)),
        "right": _share(known, lambda row: row.right and not row.refused(floor)),
        "risk": _share(given, lambda row: not row.right),
        "misses_refused": _share([row for row in rows if not row.accepted], lambda row: row.refused(floor)),
    }


def calibration(rows: Sequence[AnsweredRow]) -> float | None:
    """The expected calibration error of the confidence, over ten bins; None where there is none."""
    known = [row for row in rows if row.confidence is not None and not row.abstained]
    if not known:
        return None
    error = 0.0
    for place in range(BINS):
        inside = [row for row in known if min(BINS - 1, int((row.confidence or 0.0) * BINS)) == place]
        if inside:
            said = sum(row.confidence or 0.0 for row in inside) / len(inside)
            error += abs(said - sum(row.right for row in inside) / len(inside)) * len(inside) / len(known)
    return error


def _share(rows: Sequence[AnsweredRow], holds: Callable[[AnsweredRow], bool]) -> float | None:
    return sum(holds(row) for row in rows) / len(rows) if rows else None


def report(results: Mapping[str, Any]) -> str:
    """The page."""
    head = [
        "kind, half",
        "with an answer",
        "right",
        "wrong",
        "low confidence, right",
        "low confidence, wrong",
        "refused",
    ]
    head += ["near misses", "no confident answer", "refused", "bold", "bold right", "on the page"]
    counted = ("answerable", "right", "wrong", "low_right", "low_wrong", "refused", "misses")
    rows = [
        [
            name,
            *(each[key] for key in counted),
            *(figure(each[key], 2) for key in ("misses_quiet", "misses_refused")),
            each["bold"],
            *(figure(each[key], 2) for key in ("bold_right", "on_page")),
        ]
        for name, each in results["groups"].items()
    ]
    shown = ("coverage", "right", "risk", "misses_refused")
    curve = [[f"{point['floor']:.1f}", *(figure(point[key], 2) for key in shown)] for point in results["curve"]]
    lines = [
        "# Answers",
        "",
        f"By `python -m benchmarks.answers`, evaluator {results['version']}, {results['questions']} questions, "
        f"strategy `balanced`, no language model, no web; no answer is given below a confidence of "
        f"{results['floor']:.2f}, and one below {results['sure']:.2f} is marked as of low confidence.",
        "Settings and weights were chosen on the half `choose`; the half `report` has other documents.",
        "",
        table(head, rows),
        "",
        "Near misses of the half `report` without a confident answer:",
        "",
        table(["what is absent", "share"], [[name, figure(value, 2)] for name, value in results["misses"].items()]),
        "",
        "Risk against coverage, half `report`:",
        "",
        table(["floor", "answered", "right", "risk", "misses refused"], curve),
    ]
    errors = ", ".join(f"{part} {figure(value, 2)}" for part, value in results["calibration"].items())
    lines += ["", f"Expected calibration error of the confidence: {errors} (goal {GOALS['calibration']})."]
    return "\n".join(lines)
