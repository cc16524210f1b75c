"""Figures of labelled scores: ROC, precision-recall, reliability, and the worth of every pair of thresholds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import streamlit as st

from crag.metrics.calibration import PrecisionRecall, Reliability, Roc
from crag.thresholds.sweep import Sweep

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

__all__ = ["heat", "marked", "precision_recall", "reliability", "roc", "shown", "theme"]

Pair = tuple[float, float]
"""Upper and lower threshold."""

_COLOURS = {
    "light": dict(accent="#5546c8", soft="#eceafb", ink="#1b1d26", quiet="#5c6070", line="#dedfe7", ground="#ffffff"),
    "dark": dict(accent="#9d92ff", soft="#2a2750", ink="#e9eaf0", quiet="#a3a7b6", line="#343744", ground="#14151b"),
}
"""As in the style sheet: a chart is an island that it does not reach."""
_CLEAR = "rgba(0,0,0,0)"


def theme() -> str:
    """The theme that the page is seen in: "light" or "dark"."""
    return "dark" if st.context.theme.type == "dark" else "light"


def shown(figure: Figure, key: str) -> None:
    """Draw it, without a bar of tools."""
    st.plotly_chart(figure, theme=None, key=key, config={"displayModeBar": False})


def roc(found: Roc, look: str) -> Figure:
    """True against false positives, with the diagonal of guessing."""
    hover = "threshold %{customdata:.2f}<br>of relevant found %{y:.0%}<br>false alarms %{x:.0%}<extra></extra>"
    curve = _line(found.false_positive, found.true_positive, look, customdata=found.thresholds, hovertemplate=hover)
    return _square([_diagonal(look), curve], look, "False alarms: others taken for relevant", "Relevant found")


def precision_recall(found: PrecisionRecall, look: str) -> Figure:
    """Precision against recall, with the share that guessing would reach."""
    hover = "threshold %{customdata:.2f}<br>precision %{y:.0%}<br>recall %{x:.0%}<extra></extra>"
    curve = _line(found.recall, found.precision, look, customdata=found.thresholds, hovertemplate=hover)
    guess = _dotted([0, 1], [found.relevant, found.relevant], look)
    return _square([guess, curve], look, "Recall", "Precision")


def reliability(found: Reliability, look: str) -> Figure:
    """The share that is relevant against the mean score, bin by bin; dots as large as their bins are full."""
    counts = np.array([each.count for each in found.bins])
    hover = "score %{x:.2f}: %{y:.0%} relevant, of %{customdata:,}<extra></extra>"
    sizes = 7 + 15 * np.sqrt(counts / counts.max())
    dots = _line(
        [each.score for each in found.bins],
        [each.share for each in found.bins],
        look,
        customdata=counts,
        hovertemplate=hover,
        mode="lines+markers",
        marker={"size": sizes, "color": _COLOURS[look]["accent"], "opacity": 0.85},
        cliponaxis=False,
    )
    return _square([_diagonal(look), dots], look, "Mean score of the bin", "Share that is relevant")


def heat(found: Sweep, look: str) -> Figure:
    """Utility by lower (across) and upper threshold (up); pairs that are none stay empty."""
    import plotly.graph_objects as go  # takes half a second to load; only a chart needs it

    colours = _COLOURS[look]
    hover = "upper %{y:.2f}, lower %{x:.2f}<br>worth %{z:.3f} a question<extra></extra>"
    scale = [[0, colours["ground"]], [0.5, colours["soft"]], [1, colours["accent"]]]
    lowest = float(np.nanquantile(found.utility, 0.05))
    cells = go.Heatmap(
        x=found.lowers,
        y=found.uppers,
        z=found.utility,
        zmin=min(lowest, float(np.nanmax(found.utility)) - 1e-6),
        colorscale=scale,
        hovertemplate=hover,
        hoverongaps=False,
        colorbar={"thickness": 10, "outlinewidth": 0, "len": 1.0, "tickfont": {"color": colours["quiet"]}},
    )
    figure = _square([cells, _points(look)], look, "Lower threshold", "Upper threshold", height=400)
    return figure.update_layout(margin={"l": 0, "r": 0, "t": 8, "b": 0})


def marked(figure: Figure, points: Sequence[tuple[float, float, str, str]], look: str) -> None:
    """Puts the figure's last trace at these (x, y, label, symbol), each label on a ground of its own."""
    colours = _COLOURS[look]
    figure.data[-1].update(
        x=[x for x, _, _, _ in points],
        y=[y for _, y, _, _ in points],
        marker_symbol=[symbol for _, _, _, symbol in points],
    )
    figure.layout.annotations = [
        {
            "x": x,
            "y": y,
            "text": label,
            "showarrow": False,
            "xanchor": "right" if x > 0.6 else "left",
            "xshift": -9 if x > 0.6 else 9,
            "bgcolor": colours["ground"],
            "borderpad": 2,
            "opacity": 0.92,
            "font": {"color": colours["ink"], "size": 12},
        }
        for x, y, label, _ in points
    ]


def _line(x: Any, y: Any, look: str, **more: Any) -> Any:
    import plotly.graph_objects as go

    return go.Scatter(x=x, y=y, **{"mode": "lines", "line": {"color": _COLOURS[look]["accent"], "width": 2.5}, **more})


def _dotted(x: Any, y: Any, look: str) -> Any:
    line = {"color": _COLOURS[look]["quiet"], "width": 1, "dash": "dot"}
    return _line(x, y, look, line=line, hoverinfo="skip")


def _diagonal(look: str) -> Any:
    return _dotted([0, 1], [0, 1], look)


def _points(look: str) -> Any:
    """An empty trace that `marked` fills."""
    colours = _COLOURS[look]
    marker = {"size": 11, "color": colours["ink"], "line": {"color": colours["ground"], "width": 1.5}}
    return _line([], [], look, mode="markers", marker=marker, hoverinfo="skip", cliponaxis=False)


def _square(traces: list[Any], look: str, across: str, up: str, height: int = 300) -> Figure:
    """A figure over 0..1 by 0..1."""
    import plotly.graph_objects as go

    colours = _COLOURS[look]
    axis = {
        "range": [-0.02, 1.02],
        "gridcolor": colours["line"],
        "zeroline": False,
        "dtick": 0.25,
        "tickformat": ".2~f",
        "automargin": True,
        "fixedrange": True,
    }
    return go.Figure(traces).update_layout(
        height=height,
        margin={"l": 0, "r": 12, "t": 8, "b": 0},
        paper_bgcolor=_CLEAR,
        plot_bgcolor=_CLEAR,
        font={"color": colours["quiet"], "size": 12},
        showlegend=False,
        dragmode=False,
        xaxis={**axis, "title": {"text": across, "font": {"size": 12}}},
        yaxis={**axis, "title": {"text": up, "font": {"size": 12}}},
    )
