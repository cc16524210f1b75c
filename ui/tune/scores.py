"""Scores: the histogram with both thresholds across, and how far labels say that they can be trusted."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from crag.analysis.metrics.calibration import PrecisionRecall, Reliability, Roc, precision_recall, reliability, roc
from crag.analysis.thresholds.labelled import ChunkScore
from crag.core.errors import InputError
from crag.core.model_ids import maker
from crag.core.settings import Settings
from crag.core.types import Action
from crag.export.html import elements as h
from crag.export.html import words
from crag.export.html.elements import Html
from ui.components import charts
from ui.components.drawing import draw
from ui.tune.cache import cached
from ui.tune.stored import Learnable

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

Split = Literal["all", "evaluator", "label"]
_BINS = 50
_LABELS = {True: "relevant", False: "not relevant", None: "no label"}


@dataclass(frozen=True, slots=True, eq=False)
class Group:
    """Scores that are counted together: those known, how many fall in each of 50 bins over 0..1, how many failed."""

    name: str
    known: NDArray[np.float64]
    counts: NDArray[np.int64]
    failed: int


def grouped(scores: Sequence[ChunkScore], split: Split) -> list[Group]:
    """The scores in groups, in a fixed order; one group where nothing is split."""
    name: Callable[[ChunkScore], str] = {
        "all": lambda each: "all chunks",
        "evaluator": lambda each: maker(each.evaluator),
        "label": lambda each: _LABELS[each.relevant],
    }[split]
    parts: dict[str, list[float | None]] = {}
    for each in scores:
        parts.setdefault(name(each), []).append(each.score)
    order = list(_LABELS.values()) if split == "label" else sorted(parts)
    return [_group(name, parts[name]) for name in order if name in parts]


def _group(name: str, scores: Sequence[float | None]) -> Group:
    known = np.array([score for score in scores if score is not None], dtype=np.float64)
    counts, _ = np.histogram(known, bins=_BINS, range=(0, 1))
    return Group(name=name, known=known, counts=counts, failed=len(scores) - known.size)


def histogram(groups: Sequence[Group], theme: str) -> Figure:
    """A row of bars for each group, on one scale of scores, each by its own highest."""
    import plotly.graph_objects as go  # takes half a second to load; only a chart needs it

    colours, bars = charts.COLOURS[theme], []
    for place, group in enumerate(groups):
        heights = np.log1p(group.counts) / np.log1p(max(int(group.counts.max(initial=0)), 1))
        bars.append(
            go.Bar(
                x=(np.arange(_BINS) + 0.5) / _BINS,
                y=0.8 * heights,
                base=-float(place),
                width=0.9 / _BINS,
                customdata=group.counts,
                hovertemplate="%{customdata:,} chunks about %{x:.2f}<extra></extra>",
                marker={"color": colours["accent"], "line": {"width": 0}},
            )
        )
    across = charts.axis(theme, range=[-0.005, 1.005], dtick=0.25, zeroline=False)
    names = [f"{group.name} {group.known.size:,}{_failed(group)}" for group in groups]
    rows = {"tickvals": [0.4 - place for place in range(len(groups))], "ticktext": names}
    up = charts.axis(theme, range=[1.02 - len(groups), 1], showgrid=False, zeroline=False, **rows)
    figure = charts.framed(bars, theme, 62 + 52 * len(groups), across, up, top=20)
    return figure.update_layout(barmode="overlay")


def mark_thresholds(figure: Figure, settings: Settings, theme: str) -> None:
    """Put the thresholds across the histogram, in place of those that were there."""
    ink, lines, names = charts.COLOURS[theme]["ink"], [], []
    for name, value in threshold_marks(settings):
        at = {"x0": value, "x1": value, "y0": 0, "y1": 1, "yref": "paper"}
        dash = "dash" if name == "lower" else "solid"
        lines.append({"type": "line", **at, "line": {"color": ink, "width": 2, "dash": dash}})
        right = value > 0.12 if name == "lower" else value > 0.88
        said = {"text": f"{name} {value:.2f}", "font": {"color": ink, "size": 12}, "showarrow": False}
        place = {"yref": "paper", "y": 1, "yanchor": "bottom", "xanchor": "right" if right else "left"}
        names.append({**said, "x": value, **place})
    figure.layout.shapes, figure.layout.annotations = lines, names


def threshold_marks(settings: Settings) -> list[tuple[str, float]]:
    """What the thresholds are called, with their values; the lower first."""
    if settings.binary:
        return [("threshold", settings.upper)]
    return [("lower", settings.lower), ("upper", settings.upper)]


def _failed(group: Group) -> str:
    return f", {group.failed:,} failed" if group.failed else ""


def tally(groups: Sequence[Group], settings: Settings) -> Html:
    """Where each chunk falls, in numbers, failed ones too."""
    known = np.concatenate([group.known for group in groups]) if groups else np.empty(0)
    above, below = int((known >= settings.upper).sum()), int((known < settings.lower).sum())
    counts = {Action.CORRECT: above, Action.AMBIGUOUS: known.size - above - below, Action.INCORRECT: below}
    upper, lower = ("", "") if settings.binary else (" upper", " lower")
    said = {
        Action.CORRECT: "at or above" + upper,
        Action.AMBIGUOUS: "between",
        Action.INCORRECT: "below" + lower,
    }
    shown = [
        h.span[h.span(f"verdict {action.lower()}")[words.ICONS[action]], " ", h.b[f"{number:,}"], " ", said[action]]
        for action, number in counts.items()
        if number or not (settings.binary and action is Action.AMBIGUOUS)
    ]
    failed = sum(group.failed for group in groups)
    if failed:
        shown.append(h.span["? ", h.b[f"{failed:,}"], f" {'grade' if failed == 1 else 'grades'} failed: no score"])
    legend = "Relevance scores from 0 to 1. Bar heights are logarithmic; point at a bar for its count."
    return h.div("cx")[h.div("figures")[shown], h.p("small")[legend]]


Marks = Sequence[tuple[str, float]]
Made = tuple["Figure", str, object]
"""A figure, its one number in words, and what it was drawn from."""


def show(part: Learnable, key: Hashable, scores: Sequence[ChunkScore], settings: Settings) -> None:
    """The three figures over the labelled scores of `part`, kept under `key`; in words where there is none."""
    labelled = [each for each in scores if each.relevant is not None]
    known, labels = [each.score for each in labelled], [each.relevant for each in labelled]
    theme = charts.current_theme()
    marks = threshold_marks(settings)[::-1]

    def curve() -> Made:
        found = roc(known, labels)
        return charts.roc(found, theme), f"area under it {found.auc:.2f}", found

    def precision() -> Made:
        found = precision_recall(known, labels)
        return charts.precision_recall(found, theme), f"average precision {found.average_precision:.2f}", found

    def reliable() -> Made:
        found = reliability(known, labels)
        return charts.reliability(found, theme), f"expected calibration error {found.error:.2f}", found

    first, second, third = st.columns(3, gap="large")
    with first:
        _one("ROC curve", "tune-roc", part, (key, theme), curve, marks)
    with second:
        _one("Precision and recall", "tune-pr", part, (key, theme), precision, marks)
    with third:
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
    figure, said, curve = found
    lines = [f"Worst bin off by {curve.worst:.2f}."] if isinstance(curve, Reliability) else []
    lines += [f"At {label} {value:.2f}: {where}." for label, value in marks if (where := _at(curve, value))]
    where = h.p("small tune-at")[h.joined(h.br, lines) or h.nbsp]
    draw(h.div("cx")[h.h3[title, " ", h.span("small")[said]], where])
    charts.shown(figure, name)


def _at(curve: object, threshold: float) -> str:
    """What a curve says of this threshold, in words; empty for none, and where nothing scores that much."""
    if not isinstance(curve, Roc | PrecisionRecall):
        return ""
    place = int(np.count_nonzero(curve.thresholds >= threshold)) - 1
    if place < 0:
        return ""
    if isinstance(curve, Roc):
        found, taken = curve.true_positive[place], curve.false_positive[place]
        return f"{found:.0%} found, {taken:.0%} false alarms"
    return f"{curve.precision[place]:.0%} precision, {curve.recall[place]:.0%} recall"
