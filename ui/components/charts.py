"""Figures: precision and recall, and reliability, of labelled scores; and what all charts share."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
import streamlit as st

from crag.analysis.metrics.calibration import Curves, Reliability
from crag.analysis.thresholds.sweep import Gains

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

COLOURS = {
    "light": dict(
        accent="#5546c8",
        soft="#eceafb",
        ink="#1b1d26",
        quiet="#5c6070",
        line="#dedfe7",
        ground="#ffffff",
        CORRECT="#0b6e8f",
        AMBIGUOUS="#945b00",
        INCORRECT="#a3154c",
    ),
    "dark": dict(
        accent="#9d92ff",
        soft="#2a2750",
        ink="#e9eaf0",
        quiet="#a3a7b6",
        line="#343744",
        ground="#14151b",
        CORRECT="#58bfe0",
        AMBIGUOUS="#f2bc45",
        INCORRECT="#f5779f",
    ),
}
"""As in the style sheet, which does not reach into a chart."""
_CLEAR = "rgba(0,0,0,0)"
_UNUSED = ("coloraxis", "colorscale", "geo", "map", "mapbox", "polar", "scene", "ternary")
"""Of plotly's look: what belongs to kinds of figures that are not drawn here."""


def current_theme() -> str:
    """The theme that the page is seen in: "light" or "dark"."""
    return "dark" if st.context.theme.type == "dark" else "light"


def shown(figure: Figure, key: str) -> None:
    """Draw it, without a bar of tools."""
    st.plotly_chart(figure, theme=None, key=key, config={"displayModeBar": False})


def load_early() -> None:
    """Have the browser load what draws charts while it has nothing else to do: an empty chart that is not shown."""
    import plotly.graph_objects as go

    with st.container(key="chart-loader"):
        st.plotly_chart(go.Figure(), theme=None, key="chart-loader-empty", alt="")


def precision_recall(found: Curves, theme: str) -> Figure:
    """Precision against recall, with the share that guessing would reach."""
    hover = "threshold %{customdata:.2f}<br>precision %{y:.0%}<br>recall %{x:.0%}<extra></extra>"
    curve = _line(found.recall[1:], found.precision[1:], theme, customdata=found.thresholds[1:], hovertemplate=hover)
    guess = _dotted([0, 1], [found.relevant, found.relevant], theme)
    return _square([guess, curve], theme, "Recall", "Precision")


def reliability(found: Reliability, theme: str) -> Figure:
    """The share that is relevant against the mean score, bin by bin; dots as large as their bins are full."""
    counts = np.array([each.count for each in found.bins])
    hover = "score %{x:.2f}: %{y:.0%} relevant, of %{customdata:,}<extra></extra>"
    sizes = 7 + 15 * np.sqrt(counts / counts.max())
    dots = _line(
        [each.score for each in found.bins],
        [each.share for each in found.bins],
        theme,
        customdata=counts,
        hovertemplate=hover,
        mode="lines+markers",
        marker={"size": sizes, "color": COLOURS[theme]["accent"], "opacity": 0.85},
        cliponaxis=False,
    )
    return _square([_diagonal(theme), dots], theme, "Mean score of the bin", "Share that is relevant")


def heat(worth: Gains, best: tuple[float, float] | None, theme: str) -> Figure:
    """Utility by lower (across) and upper threshold (up), which pairs that are none leave empty.

    `best`: lower and upper of the pair that is recommended.
    """
    import plotly.graph_objects as go  # takes half a second to load; only a chart needs it

    colours, utility = COLOURS[theme], worth.utility()
    cells = go.Heatmap(
        x=worth.lowers,
        y=worth.uppers,
        z=utility,
        zmin=min(float(np.nanquantile(utility, 0.05)), float(np.nanmax(utility)) - 1e-6),
        colorscale=[[0, colours["ground"]], [0.5, colours["soft"]], [1, colours["accent"]]],
        hovertemplate="upper %{y:.2f}, lower %{x:.2f}<br>worth %{z:.2f} a question<extra></extra>",
        hoverongaps=False,
        colorbar={"thickness": 10, "outlinewidth": 0},
    )
    figure = _square([cells], theme, "Lower threshold", "Upper threshold")
    if best is not None:
        star = {"size": 11, "color": colours["ink"], "symbol": "star"}
        figure.add_trace(_line(best[:1], best[1:], theme, mode="markers", marker=star, hoverinfo="skip"))
        look = {"showarrow": False, "yshift": 16, "bgcolor": colours["ground"], "font_color": colours["ink"]}
        figure.add_annotation(x=best[0], y=best[1], text="recommended", **look)
    return figure


def measured(traces: list[Any], names: Sequence[str], theme: str, across: Sequence[float]) -> Figure:
    """Marks on a scale `across`, a row for each of the named measures, the first on top."""
    wide = 0.02 * (across[-1] - across[0])
    x = axis(theme, zerolinecolor=COLOURS[theme]["quiet"], range=[across[0] - wide, across[-1] + wide])
    rows = {"tickvals": [-place for place in range(len(names))], "ticktext": list(names)}
    y = axis(theme, range=[0.5 - len(names), 0.5], zeroline=False, **rows)
    figure = framed(traces, theme, 60 + 34 * len(names), x, y)
    legend = {"orientation": "h", "x": 0, "y": 1, "yanchor": "bottom"}
    return figure.update_layout(showlegend=len(traces) > 1, legend=legend)


def _line(x: Any, y: Any, theme: str, **more: Any) -> Any:
    import plotly.graph_objects as go

    return go.Scatter(x=x, y=y, **{"mode": "lines", "line": {"color": COLOURS[theme]["accent"], "width": 2.5}, **more})


def _dotted(x: Any, y: Any, theme: str) -> Any:
    line = {"color": COLOURS[theme]["quiet"], "width": 1, "dash": "dot"}
    return _line(x, y, theme, line=line, hoverinfo="skip")


def _diagonal(theme: str) -> Any:
    return _dotted([0, 1], [0, 1], theme)


def _square(traces: list[Any], theme: str, across: str, up: str) -> Figure:
    """A figure over 0..1 by 0..1."""
    share: dict[str, Any] = {"range": [-0.02, 1.02], "zeroline": False, "dtick": 0.25, "tickformat": ".2~f"}
    x, y = (axis(theme, title={"text": title, "font": {"size": 12}}, **share) for title in (across, up))
    return framed(traces, theme, 300, x, y)


def axis(theme: str, **look: Any) -> dict[str, Any]:
    """An axis that makes room for its labels and can't be dragged."""
    return {"gridcolor": COLOURS[theme]["line"], "automargin": True, "fixedrange": True, **look}


def framed(
    traces: list[Any], theme: str, height: int, xaxis: Any, yaxis: Any, *, right: int = 12, top: int = 8
) -> Figure:
    """A figure of these traces in the page's colours; `height`, `right` and `top` in pixels."""
    import plotly.graph_objects as go

    layout = {
        "template": _look(frozenset(trace.type for trace in traces)),
        "height": height,
        "margin": {"l": 0, "r": right, "t": top, "b": 0},
        "paper_bgcolor": _CLEAR,
        "plot_bgcolor": _CLEAR,
        "font": {"color": COLOURS[theme]["quiet"], "size": 12},
        "showlegend": False,
        "dragmode": False,
        "xaxis": xaxis,
        "yaxis": yaxis,
    }
    return go.Figure(traces, layout)


@cache
def _look(kinds: frozenset[str]) -> Any:
    """Of plotly's own look what figures of such traces are drawn by: all of it would go to the browser with each."""
    import plotly.io

    whole = plotly.io.templates["plotly"].to_plotly_json()
    layout = {name: value for name, value in whole["layout"].items() if name not in _UNUSED}
    return {"data": {kind: whole["data"][kind] for kind in kinds if kind in whole["data"]}, "layout": layout}
