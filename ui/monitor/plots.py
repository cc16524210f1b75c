"""The charts of the Monitor page. Each mark carries, as its custom data, the runs that it stands for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from crag.analysis.intervals import Estimate
from crag.analysis.monitoring.figures import ACTIONS, BINS, Change, Latency, Spending
from crag.core.types import Action
from crag.export.html import words
from crag.messages.monitoring import MOST_REWRITES, change_sentence
from crag.text.formats import format_day, money
from ui.components.charts import COLOURS, axis, framed

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

_PATTERNS = {"CORRECT": "", "AMBIGUOUS": "/", "INCORRECT": "x", "none": "."}
"""So that colour never speaks alone."""
_HEIGHT = 210


def action_mix(counts: Mapping[str, Mapping[str, int]], changed: Sequence[Change], theme: str) -> Figure:
    """Runs over time, each bar made of the actions that were taken; dotted lines where something changed."""
    import plotly.graph_objects as go

    colours = COLOURS[theme]
    buckets = list(counts)
    bars = []
    for action in ACTIONS:
        if not any(each[action] for each in counts.values()):
            continue
        fill = colours.get(action, colours["quiet"])
        name = action if action == "none" else f"{words.ICONS[Action(action)]} {action}"
        bars.append(
            go.Bar(
                name="no action" if action == "none" else name,
                x=buckets,
                y=[each[action] for each in counts.values()],
                customdata=[f"action|{bucket}|{action}" for bucket in buckets],
                hovertemplate="%{x}: %{y:,} " + ("without action" if action == "none" else action) + "<extra></extra>",
                marker={
                    "color": fill,
                    "line": {"width": 0},
                    "pattern": {
                        "shape": _PATTERNS[action],
                        "size": 6,
                        "solidity": 0.25,
                        "fgcolor": colours["ground"],
                        "fillmode": "overlay",
                        "bgcolor": fill,
                    },
                },
            )
        )
    figure = framed(bars, theme, 290, _across(theme, buckets), _up(theme), right=6, top=26)
    figure.update_layout(barmode="stack", bargap=0.28, showlegend=True, legend=_LEGEND)
    _changes(figure, changed, buckets, theme)
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


def _changes(figure: Figure, changed: Sequence[Change], buckets: Sequence[str], theme: str) -> None:
    """Numbered lines; those of one bucket share one."""
    colours = COLOURS[theme]
    for bucket, group in numbered(changed, buckets).items():
        label = ", ".join(str(number) for number, _ in group)
        said = "; ".join(f"{number}: {change_sentence(each.kind, each.what)}" for number, each in group)
        figure.add_shape(
            type="line",
            **{"x0": bucket, "x1": bucket, "y0": 0, "y1": 1, "yref": "paper", "layer": "below"},
            line={"color": colours["quiet"], "width": 1, "dash": "dot"},
        )
        figure.add_annotation(
            **{"x": bucket, "y": 1, "yref": "paper", "yanchor": "top", "text": label, "showarrow": False},
            **{"hovertext": said, "bgcolor": colours["ground"], "bordercolor": colours["quiet"], "borderpad": 2},
            font={"color": colours["ink"], "size": 11},
        )


def numbered(changed: Sequence[Change], buckets: Sequence[str]) -> dict[str, list[tuple[int, Change]]]:
    """The changes in the span by bucket, each with its number."""
    found: dict[str, list[tuple[int, Change]]] = {}
    number = 0
    for each in changed:
        inside = [bucket for bucket in buckets if bucket <= each.at]
        if inside and each.at >= buckets[0]:
            number += 1
            found.setdefault(inside[-1], []).append((number, each))
    return found


def over_time(
    values: Mapping[str, Estimate],
    kind: str,
    theme: str,
    *,
    before: float | None = None,
    percent: bool = True,
    limit: float | None = None,
) -> Figure:
    """A measure by bucket with its interval as a band; dotted, what it was before, and dashed, a limit."""
    import plotly.graph_objects as go

    colours = COLOURS[theme]
    buckets = list(values)
    known = [bucket for bucket in buckets if values[bucket].value is not None]
    band = [bucket for bucket in known if values[bucket].low is not None]
    form = ".0%" if percent else ".2f"
    traces: list[Any] = []
    if band:
        traces.append(
            go.Scatter(
                x=[*band, *reversed(band)],
                y=[*(values[each].high for each in band), *(values[each].low for each in reversed(band))],
                fill="toself",
                fillcolor=colours["soft"],
                line={"width": 0},
                mode="lines",
                hoverinfo="skip",
            )
        )
    for level, dash in ((before, "dot"), (limit, "dash")):
        if level is not None and buckets:
            line = {"color": colours["quiet" if dash == "dot" else "ink"], "width": 1.2, "dash": dash}
            ends = [buckets[0], buckets[-1]]
            traces.append(go.Scatter(x=ends, y=[level, level], mode="lines", line=line, hoverinfo="skip"))
    traces.append(
        go.Scatter(
            x=known,
            y=[values[each].value for each in known],
            customdata=[f"{kind}|{each}" for each in known],
            text=[words.count(values[each].of, "run") for each in known],
            hovertemplate="%{x}: %{y:" + form + "}, %{text}<extra></extra>",
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


def rewrites(values: Mapping[str, Estimate], before: float | None, theme: str) -> Figure:
    """Rewrites a question, with the level above which they warn."""
    return over_time(values, "rewrites", theme, before=before, percent=False, limit=MOST_REWRITES)


def scores(now: Sequence[int], before: Sequence[int], theme: str) -> Figure:
    """The distribution of best scores as shares: bars now, a stepped line before."""
    import plotly.graph_objects as go

    colours = COLOURS[theme]
    middle = [(place + 0.5) / BINS for place in range(BINS)]
    share, earlier = ([each / (sum(counts) or 1) for each in counts] for counts in (now, before))
    traces: list[Any] = [
        go.Bar(
            name="this span",
            x=middle,
            y=share,
            width=0.8 / BINS,
            marker={"color": colours["accent"], "opacity": 0.8},
            customdata=[[f"score|{place}|now", count] for place, count in enumerate(now)],
            hovertemplate="scores about %{x:.2f}: %{y:.0%}, %{customdata[1]:,} runs<extra></extra>",
        )
    ]
    if any(before):
        traces.append(
            go.Scatter(
                name="the four weeks before",
                x=middle,
                y=earlier,
                mode="lines+markers",
                line={"color": colours["ink"], "width": 1.6, "shape": "hvh", "dash": "dot"},
                marker={"size": 5, "color": colours["ink"], "symbol": "diamond"},
                customdata=[[f"score|{place}|before", count] for place, count in enumerate(before)],
                hovertemplate="before, scores about %{x:.2f}: %{y:.0%}, %{customdata[1]:,} runs<extra></extra>",
            )
        )
    across = axis(theme, range=[0, 1], dtick=0.25, tickformat=".2~f", showgrid=False, zeroline=False)
    up = {**_up(theme), "tickformat": ".0%"}
    figure = framed(traces, theme, 250, across, up, right=8, top=26)
    return figure.update_layout(showlegend=True, legend=_LEGEND, bargap=0)


def latency(found: Sequence[Latency], theme: str) -> Figure:
    """Median and 95th percentile of each step on one logarithmic scale; a line where the median was before."""
    import plotly.graph_objects as go

    colours = COLOURS[theme]
    # What takes less than a millisecond is drawn at one, or it would stretch the scale for nothing.
    names = [each.step if each.step != "run" else "whole run" for each in found]
    traces: list[Any] = [
        go.Scatter(
            x=[value for each in found for value in (_least(each.median.value), _least(each.p95.value), None)],
            y=[name for each in names for name in (each, each, None)],
            mode="lines",
            line={"color": colours["line"], "width": 5},
            hoverinfo="skip",
            showlegend=False,
        )
    ]
    for label, part, symbol, values in (
        ("median", "median", "circle", [each.median.value for each in found]),
        ("95th percentile", "p95", "diamond-open", [each.p95.value for each in found]),
    ):
        traces.append(
            go.Scatter(
                name=label,
                x=[_least(each) for each in values],
                y=names,
                mode="markers",
                marker={"size": 10, "symbol": symbol, "color": colours["accent"], "line": {"width": 2}},
                customdata=[
                    [f"step|{each.step}|{part}", words.format_duration(value or 0.0)]
                    for each, value in zip(found, values, strict=True)
                ],
                hovertemplate="%{y}, " + label + ": %{customdata[1]}<extra></extra>",
                cliponaxis=False,
            )
        )
    known = [(name, each.median_before) for name, each in zip(names, found, strict=True) if each.median_before]
    if known:
        traces.append(
            go.Scatter(
                name="median before",
                x=[_least(value) for _, value in known],
                y=[name for name, _ in known],
                mode="markers",
                marker={"size": 13, "symbol": "line-ns-open", "color": colours["ink"], "line": {"width": 1.6}},
                hoverinfo="skip",
            )
        )
    ticks = {0.001: "1 ms", 0.01: "10 ms", 0.1: "0.1 s", 1: "1 s", 10: "10 s", 100: "100 s"}
    across = axis(theme, type="log", tickvals=list(ticks), ticktext=list(ticks.values()))
    up = axis(theme, autorange="reversed", showgrid=False, type="category")
    figure = framed(traces, theme, 60 + 27 * len(found), across, up, right=14, top=26)
    return figure.update_layout(showlegend=True, legend=_LEGEND)


def _least(seconds: float | None) -> float:
    return max(0.001, seconds or 0.0)


def spending(values: Mapping[str, Spending], theme: str) -> Figure:
    """Dollars by bucket; outside calls where no price is known."""
    import plotly.graph_objects as go

    dollars = any(each.dollars for each in values.values())
    said = [f"{words.count(each.calls, 'call')}, {money(each.dollars)}" for each in values.values()]
    bar = go.Bar(
        x=list(values),
        y=[each.dollars if dollars else each.calls for each in values.values()],
        customdata=[[f"calls|{bucket}", text] for bucket, text in zip(values, said, strict=True)],
        hovertemplate="%{x}: %{customdata[1]}<extra></extra>",
        marker={"color": COLOURS[theme]["accent"], "opacity": 0.85},
    )
    up = {**_up(theme), "tickprefix": "$" if dollars else "", "nticks": 5}
    figure = framed([bar], theme, _HEIGHT, _across(theme, list(values)), up, right=8, top=10)
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
