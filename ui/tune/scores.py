"""Scores: the rail with a dot for each run, and how far labels say that the scores can be trusted."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import streamlit as st

from crag.analysis.metrics.calibration import Curves, curves, reliability
from crag.analysis.thresholds.labelled import ChunkScore
from crag.analysis.whatif.lines import tabulate
from crag.core.errors import InputError
from crag.core.settings import Settings
from crag.export.html import elements as h
from crag.export.html import words
from crag.export.html.rail import Outcomes, Point, describe_rail
from crag.export.html.safe_text import excerpt
from ui.components import charts
from ui.components.drawing import draw
from ui.components.rail import draw_rail
from ui.tune import sliders
from ui.tune.cache import cached
from ui.tune.stored import Learnable, Material

if TYPE_CHECKING:
    from plotly.graph_objects import Figure


def draw_lines(settings: Settings, own: Settings, material: Material) -> None:
    """The rail of all runs, each a dot; those that agree to a hundredth, wherever the lines are, are one."""
    if settings.evaluator == "none":
        return
    rest = settings.changed(lower=0.0, upper=0.0)

    def worked_out() -> tuple[list[Point], list[dict[str, Any]]]:
        outcomes, found = Outcomes(rest, 2), dict[Hashable, Point]()
        for entry in material.entries.values():
            table = outcomes.table(tabulate(entry, rest))
            point = {"id": entry.run_id, "title": excerpt(entry.question, 80), "was": entry.before, "table": table}
            one = found.setdefault((entry.before, table), {**point, "count": 0})
            one["count"] += 1
            one["title"] = one["title"] if one["count"] == 1 else f"{one['count']} runs, such as: {point['title']}"
        return list(found.values()), outcomes.found

    points, outcomes = cached("lines", material.labels, rest, worked_out)
    draw_rail("tune-lines", describe_rail(settings, own, points, outcomes), sliders.move)


def threshold_marks(settings: Settings) -> list[tuple[str, float]]:
    """What the thresholds are called, with their values; the lower first."""
    if settings.binary:
        return [("threshold", settings.upper)]
    return [("lower", settings.lower), ("upper", settings.upper)]


Marks = Sequence[tuple[str, float]]
Made = tuple["Figure", str, Callable[[Marks], list[str]]]
"""A figure, its one number in words, and what makes the lines that it says of the thresholds."""


def show(part: Learnable, key: Hashable, scores: Sequence[ChunkScore], settings: Settings) -> None:
    """The two figures over the labelled scores of `part`, kept under `key`; in words where there is none."""
    labelled = [each for each in scores if each.relevant is not None]
    known, labels = [each.score for each in labelled], [each.relevant for each in labelled]
    theme = charts.current_theme()
    marks = threshold_marks(settings)[::-1]

    def precision() -> Made:
        found = curves(known, labels)
        lines = _at(found, lambda at: f"{found.precision[at]:.0%} precision, {found.recall[at]:.0%} recall")
        return charts.precision_recall(found, theme), f"average precision {found.average_precision:.2f}", lines

    def reliable() -> Made:
        found = reliability(known, labels)
        worst = [f"Worst bin off by {found.worst:.2f}."]
        return charts.reliability(found, theme), f"expected calibration error {found.error:.2f}", lambda marks: worst

    first, second = st.columns(2, gap="large")
    with first:
        _one("Precision and recall", "tune-pr", part, (key, theme), precision, marks)
    with second:
        _one("Reliability", "tune-reliability", part, (key, theme), reliable, marks)
    unknown = sum(score is None for score in known)
    failed = f"; {words.count(unknown, 'failed grade')} left out" if unknown else ""
    st.caption(
        f"Over {words.count(len(known) - unknown, 'labelled score')}{failed}. Dotted: guessing, and in the reliability "
        "diagram perfectly calibrated scores."
    )


def _one(title: str, name: str, of: object, key: Hashable, make: Callable[[], Made], marks: Marks) -> None:
    """One figure under its title, or why there is none."""

    def tried() -> Made | InputError:
        try:
            return make()
        except InputError as error:
            return error.with_traceback(None)  # it is kept, and would keep all that this run of the script knows

    found = cached(name, of, key, tried)
    if isinstance(found, InputError):
        draw(h.div("cx")[h.h3[title], h.fragment(h.p[found.message], h.p("small")[found.remedy])])
        return
    figure, said, lines = found
    where = h.p("small tune-at")[h.joined(h.br, lines(marks)) or h.nbsp]
    draw(h.div("cx")[h.h3[title, " ", h.span("small")[said]], where])
    charts.shown(figure, name)


def _at(found: Curves, say: Callable[[int], str]) -> Callable[[Marks], list[str]]:
    """What `say` makes of the point of each threshold; nothing where nothing scores that much."""

    def lines(marks: Marks) -> list[str]:
        points = [(label, value, int(np.count_nonzero(found.thresholds >= value)) - 1) for label, value in marks]
        return [f"At {label} {value:.2f}: {say(point)}." for label, value, point in points if point]

    return lines
