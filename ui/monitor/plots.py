"""The charts of the Monitor page. Each mark carries, as its custom data, the runs that it stands for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from crag.analysis.monitoring.figures import ACTIONS, BINS, STEPS, Chosen, Group, Kind, mark
from crag.core.types import Action
from crag.export.html import words
from crag.text.formats import format_day, money
from ui.components.charts import COLOURS, axis, framed
from ui.monitor.tables import step_text

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

_PATTERNS = {"CORRECT": "", "AMBIGUOUS": "/", "INCORRECT": "x", "none": "."}
"""So that colour never speaks alone."""
_HEIGHT = 210


def action_mix(found: Chosen, theme: str) -> Figure:
    """Runs over time, each bar made of the actions that were taken."""
    import plotly.graph_objects as go

    colours, buckets = COLOURS[theme], found.groups["time"]
    bars = []
    for action in ACTIONS:
        counts = [len(group.behind(action)) for group in buckets.values()]
        if not any(counts):
            continue
        fill, said = colours.get(action, colours["quiet"]), "no action" if action == "none" else action
        pattern = {"shape": _PATTERNS[action], "size": 6, "solidity": 0.25, "fillmode": "overlay"}
        bars.append(
            go.Bar(
                name=said if action == "none" else f"{words.ICONS[Action(action)]} {action}",
                x=list(buckets),
                y=counts,
                customdata=[mark("time", action, bucket) for bucket in buckets],
                hovertemplate="%{x}: %{y:,} " + said + "<extra></extra>",
                marker={
                    "color": fill,
                    "line": {"width": 0},
                    "pattern": {**pattern, "fgcolor": colours["ground"], "bgcolor": fill},
                },
            )
        )
    figure = framed(bars, theme, 290, _across(theme, list(buckets)), _up(theme), right=6, top=26)
    figure.update_layout(barmode="stack", bargap=0.28, showlegend=True, legend=_LEGEND)
    return figure


_LEGEND = {
    "orientation": "h",
    "x": 0,
    "y": 1.02,
    "yanchor": "bottom",
    "itemclick": False,
    "itemdoubleclick": False,
    "traceorder": "normal",
}


def over_time(found: Chosen, measure: str, theme: str, *, percent: bool = True, limit: float | None = None) -> Figure:
    """A measure by bucket with its interval as a band; dotted, what it was before, and dashed, a limit."""
    import plotly.graph_objects as go

    colours, groups = COLOURS[theme], found.groups["time"]
    buckets, values = list(groups), {bucket: group[measure] for bucket, group in groups.items()}
    known = [bucket for bucket in buckets if values[bucket].value is not None]
    band = [bucket for bucket in known if values[bucket].low is not None]
    traces: list[Any] = [
        go.Scatter(
            x=[*band, *reversed(band)],
            y=[*(values[each].high for each in band), *(values[each].low for each in reversed(band))],
            fill="toself",
            fillcolor=colours["soft"],
            line={"width": 0},
            mode="lines",
            hoverinfo="skip",
        )
    ]
    for level, dash, colour in ((found.before[measure].value, "dot", "quiet"), (limit, "dash", "ink")):
        if level is not None:
            line = {"color": colours[colour], "width": 1.2, "dash": dash}
            ends = [buckets[0], buckets[-1]]
            traces.append(go.Scatter(x=ends, y=[level, level], mode="lines", line=line, hoverinfo="skip"))
    traces.append(
        go.Scatter(
            x=known,
            y=[values[each].value for each in known],
            customdata=[mark("time", measure, each) for each in known],
            text=[words.count(values[each].known, "run") for each in known],
            hovertemplate="%{x}: %{y:" + (".0%" if percent else ".2f") + "}, %{text}<extra></extra>",
            mode="lines+markers",
            line={"color": colours["accent"], "width": 2.2},
            marker={"size": 7, "color": colours["accent"], "line": {"color": colours["ground"], "width": 1}},
            cliponaxis=False,
        )
    )
    up = {**_up(theme), "tickformat": ".0%" if percent else ".2~f", "rangemode": "tozero"}
    if percent and all((values[each].value or 0.0) > 0.9 for each in known):
        up["range"] = [0, 1.04]
    return framed(traces, theme, _HEIGHT, _across(theme, buckets), up, right=10, top=10)


def scores(found: Chosen, theme: str) -> Figure:
    """The distribution of best scores as shares: bars now, a stepped line before."""
    import plotly.graph_objects as go

    colours = COLOURS[theme]

    def bins(kind: Kind, hover: str) -> dict[str, Any]:
        counts = [len(group.runs) for group in found.groups[kind].values()]
        return {
            "x": [(place + 0.5) / BINS for place in range(BINS)],
            "y": [each / (sum(counts) or 1) for each in counts],
            "customdata": [[mark(kind, "runs", str(place)), count] for place, count in enumerate(counts)],
            "hovertemplate": f"{hover} about %{{x:.2f}}: %{{y:.0%}}, %{{customdata[1]:,}} runs<extra></extra>",
        }

    traces: list[Any] = [
        go.Bar(
            name="this span",
            width=0.8 / BINS,
            marker={"color": colours["accent"], "opacity": 0.8},
            **bins("score", "scores"),
        )
    ]
    if any(group.runs for group in found.groups["score before"].values()):
        traces.append(
            go.Scatter(
                name="the four weeks before",
                mode="lines+markers",
                line={"color": colours["ink"], "width": 1.6, "shape": "hvh", "dash": "dot"},
                marker={"size": 5, "color": colours["ink"], "symbol": "diamond"},
                **bins("score before", "before, scores"),
            )
        )
    across = axis(theme, range=[0, 1], dtick=0.25, tickformat=".2~f", showgrid=False, zeroline=False)
    figure = framed(traces, theme, 250, across, {**_up(theme), "tickformat": ".0%"}, right=8, top=26)
    return figure.update_layout(showlegend=True, legend=_LEGEND, bargap=0)


def latency(found: Chosen, theme: str) -> Figure:
    """Median and 95th percentile of each step on one logarithmic scale; a line where the median was before."""
    import plotly.graph_objects as go

    colours = COLOURS[theme]
    steps = [step for step in STEPS if found.span[f"{step} median"].known]

    def points(kind: Kind, group: Group, part: str, name: str, marker: Mapping[str, Any]) -> Any:
        taken = {step: group[f"{step} {part}"].value for step in steps}
        known = {step: value for step, value in taken.items() if value is not None}
        return go.Scatter(
            name=name,
            # What takes less than a millisecond is drawn at one, or it would stretch the scale for nothing.
            x=[max(0.001, value) for value in known.values()],
            y=[step_text(step) for step in known],
            mode="markers",
            marker=dict(marker),
            customdata=[[mark(kind, f"{step} {part}"), words.format_duration(value)] for step, value in known.items()],
            hovertemplate="%{y}, " + name + ": %{customdata[1]}<extra></extra>",
            cliponaxis=False,
        )

    dot = {"size": 10, "color": colours["accent"], "line": {"width": 2}}
    line = {"size": 13, "symbol": "line-ns-open", "color": colours["ink"], "line": {"width": 1.6}}
    traces: list[Any] = [
        points("span", found.span, "median", "median", {**dot, "symbol": "circle"}),
        points("span", found.span, "p95", "95th percentile", {**dot, "symbol": "diamond-open"}),
        points("before", found.before, "median", "median before", line),
    ]
    between = [[*pair, None] for pair in zip(traces[0].x, traces[1].x, strict=True)]
    bars = go.Scatter(
        x=[value for pair in between for value in pair],
        y=[step_text(step) for step in steps for _ in range(3)],
        mode="lines",
        line={"color": colours["line"], "width": 5},
        hoverinfo="skip",
        showlegend=False,
    )
    ticks = {0.001: "1 ms", 0.01: "10 ms", 0.1: "0.1 s", 1: "1 s", 10: "10 s", 100: "100 s"}
    across = axis(theme, type="log", tickvals=list(ticks), ticktext=list(ticks.values()))
    up = axis(theme, autorange="reversed", showgrid=False, type="category")
    figure = framed([bars, *traces], theme, 60 + 27 * len(steps), across, up, right=14, top=26)
    return figure.update_layout(showlegend=True, legend=_LEGEND)


def spending(found: Chosen, theme: str) -> Figure:
    """Dollars by bucket; outside calls where no price is known."""
    import plotly.graph_objects as go

    buckets = found.groups["time"]
    dollars, calls = ([group.total(name) for group in buckets.values()] for name in ("dollars", "calls"))
    said = [f"{words.count(int(many), 'call')}, {money(cost)}" for many, cost in zip(calls, dollars, strict=True)]
    bar = go.Bar(
        x=list(buckets),
        y=dollars if any(dollars) else calls,
        customdata=[[mark("time", "calls", bucket), text] for bucket, text in zip(buckets, said, strict=True)],
        hovertemplate="%{x}: %{customdata[1]}<extra></extra>",
        marker={"color": COLOURS[theme]["accent"], "opacity": 0.85},
    )
    up = {**_up(theme), "tickprefix": "$" if any(dollars) else "", "nticks": 5}
    figure = framed([bar], theme, _HEIGHT, _across(theme, list(buckets)), up, right=8, top=10)
    return figure.update_layout(bargap=0.35)


def _across(theme: str, buckets: Sequence[str]) -> dict[str, Any]:
    """An axis of hours, days or weeks, with a label for some of them."""
    every = max(1, -(-len(buckets) // 7))
    shown = list(buckets[::every])
    order = {"type": "category", "categoryorder": "array", "categoryarray": list(buckets)}
    ticks = {"tickvals": shown, "ticktext": [bucket_text(each) for each in shown], "tickangle": 0}
    line = COLOURS[theme]["line"]
    return axis(theme, range=[-0.6, len(buckets) - 0.4], showgrid=False, linecolor=line, **order, **ticks)


def _up(theme: str) -> dict[str, Any]:
    return axis(theme, zerolinecolor=COLOURS[theme]["line"], nticks=5)


def bucket_text(bucket: str) -> str:
    """A bucket as a person reads it: "20 Nov", or "14:00"."""
    if len(bucket) > 10:
        return bucket[11:16]
    return format_day(bucket)
