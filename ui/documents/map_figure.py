"""The map as a figure: chunks as points, past questions and links among them. Colour is never the only mark."""

from __future__ import annotations

import base64
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from textwrap import wrap
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from crag.analysis.atlas import projection
from crag.analysis.atlas.layout import Indices, Points
from crag.analysis.atlas.projection import Projection, Question
from crag.core.types import Action
from crag.export.html import elements as h
from crag.export.html import words
from crag.export.html.safe_text import excerpt
from crag.index.chunk_index import Numbers
from crag.storage.library import Library
from crag.text.formats import format_score
from ui.components.charts import COLOURS, framed

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

DRAWN, SAMPLED = 4_000, 2_500
"""The most points that are drawn one by one; of more, an even part is, over a picture of all: the page's rules for
scripts, which allow none that is made from text, keep plotly's WebGL from working."""
_FIRST = 80
"""Characters of a chunk that are shown of it."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Chunks:
    """The n chunks of a map: `documents` (n,) are places in `names` and `ids`, `clusters` (n,) in `titles`.

    `numbers` (n,) ascending, `points` (n, 2); `first`: the page and the first words of those that are drawn, by number.
    """

    numbers: Numbers
    points: Points
    documents: NDArray[np.int64]
    names: Sequence[str]
    ids: Sequence[str]
    first: Mapping[int, tuple[int, str]]
    clusters: NDArray[np.int16]
    titles: Sequence[str]


def drawn_rows(count: int) -> NDArray[np.int64]:
    """Which of the chunks are drawn one by one, ascending."""
    return np.unique(np.linspace(0, count - 1, count if count <= DRAWN else SAMPLED).astype(np.int64))


def read_chunks(library: Library, found: Projection) -> Chunks:
    """What the points of a projection are, but for those that were deleted since. Raises StorageError."""
    spans, names = library.points.spans(), library.documents.names()
    there, documents = spans.find(found.numbers)
    numbers, clusters = found.numbers[there], found.clusters[there]
    drawn = drawn_rows(len(numbers))
    wanted = numbers[drawn].tolist()
    texts, pages = library.points.texts(wanted), library.points.pages(wanted)
    return Chunks(
        numbers=numbers,
        points=found.points[there],
        documents=documents,
        names=[names.get(id, "") for id in spans.ids],
        ids=spans.ids,
        first={number: (pages.get(number, 0), excerpt(text[: 2 * _FIRST], _FIRST)) for number, text in texts.items()},
        clusters=clusters,
        titles=[", ".join(each) for each in projection.cluster_words(texts, numbers[drawn], clusters[drawn])],
    )


_SIDE, _LINE = 1600, 42
"""Pixels of the picture of all, at its longer side, and characters of a line beside the pointer."""
_HEIGHT = 620
_MARKED = 100
"""Points with a value that are drawn large and on top, where there are no more of them."""
_PALETTES = {
    "light": ("#5546c8", "#2f8f3a", "#b07cc6", "#8a9417", "#5c6f86", "#33266e"),
    "dark": ("#9d92ff", "#79c982", "#dcb8ec", "#cdd36b", "#93a5bd", "#6d62d9"),
}
"""Of groups, whose colours come again after six: none is an action's."""
_NAMED = 6
_ROOM, _CLEAR, _STEPS = (0.2, 0.06), (0.08, 0.025), (0, 0.04, -0.04, 0.08, -0.08)
"""The room round a title, in shares of the width and height: to another title, and to a question; and how far it steps
up or down for that."""
_SYMBOLS = {"CORRECT": "diamond", "AMBIGUOUS": "square", "INCORRECT": "x"}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Shade:
    """What the points are coloured by: groups, places in `names`, or values on a scale from `low` to `high`, `label`.

    A value is NaN, a group negative where there is none. `dates`: the values are days, as `date.toordinal` counts them.
    """

    values: NDArray[np.float64]
    names: Sequence[str] = ()
    label: str = ""
    low: float = 0.0
    high: float = 1.0
    dates: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Layers:
    """What is drawn beside the points; empty where it is not."""

    questions: Sequence[Question] = ()
    holes: Sequence[Question] = ()
    duplicates: Indices | None = None
    titles: bool = True


def draw(chunks: Chunks, shade: Shade, layers: Layers, theme: str) -> Figure:
    """The figure; the custom data of a point is its chunk's number, of a question its run."""
    colours, legend = _coloured(shade, theme)
    rows, known = drawn_rows(len(chunks.numbers)), np.flatnonzero(np.isfinite(shade.values))
    sizes = np.full(len(chunks.numbers), 7 if len(rows) < 1_000 else 5)
    if len(known) <= min(_MARKED, len(sizes) - 1):
        rows, sizes[known] = np.concatenate([np.setdiff1d(rows, known), known]), 12
    traces: list[Any] = [*_links(chunks, layers, theme), _points(chunks, rows, colours, sizes), *legend]
    traces += [*_questions(layers, theme), *([_titles(chunks, layers, theme)] if layers.titles and len(rows) else [])]
    figure = framed(traces, theme, _HEIGHT, {"visible": False}, {"visible": False}, right=0, top=0)
    figure.update_layout(
        dragmode="lasso",
        showlegend=any(trace.showlegend for trace in traces),
        legend={"orientation": "h", "x": 0, "y": 0, "yanchor": "top", "itemclick": False, "itemdoubleclick": False},
        modebar={"bgcolor": "rgba(0,0,0,0)", "color": COLOURS[theme]["quiet"], "activecolor": COLOURS[theme]["accent"]},
        hoverlabel={"align": "left", "bgcolor": COLOURS[theme]["ground"], "font": {"color": COLOURS[theme]["ink"]}},
    )
    if len(chunks.numbers) > DRAWN:
        figure.add_layout_image(_picture(chunks.points, colours))
    return figure


def _points(chunks: Chunks, rows: NDArray[np.int64], colours: NDArray[np.uint8], sizes: NDArray[np.int64]) -> Any:
    import plotly.graph_objects as go  # takes half a second to load; only a chart needs it

    return go.Scatter(
        x=chunks.points[rows, 0],
        y=chunks.points[rows, 1],
        mode="markers",
        marker={
            "size": sizes[rows],
            "line": {"width": 0},
            "opacity": 0.75,
            **_scale(colours[rows]),
        },
        customdata=chunks.numbers[rows],
        hovertext=_hovers(chunks, rows),
        hoverinfo="text",
        selected={"marker": {"opacity": 1.0}},
        unselected={"marker": {"opacity": 0.2}},
        showlegend=False,
    )


def _scale(colours: NDArray[np.uint8]) -> dict[str, Any]:
    """Colours (n, 3) as places on a scale of them: plotly reads every colour that is written out."""
    each, places = np.unique(colours, axis=0, return_inverse=True)
    ends = np.linspace(0, 1, max(2, len(each))).tolist()
    written = [f"rgb({red},{green},{blue})" for red, green, blue in each.tolist()] * (2 if len(each) == 1 else 1)
    scale = list(map(list, zip(ends, written, strict=False)))
    return {"color": places.reshape(-1), "colorscale": scale, "cmin": 0, "cmax": max(1, len(each) - 1)}


def _hovers(chunks: Chunks, rows: NDArray[np.int64]) -> list[str]:
    """What each of these chunks says when it is pointed at: its document and page, and its first words."""
    names = {place: h.b[excerpt(chunks.names[place], _LINE)] for place in np.unique(chunks.documents[rows]).tolist()}
    found = []
    for place, number in zip(chunks.documents[rows].tolist(), chunks.numbers[rows].tolist(), strict=True):
        page, first = chunks.first.get(number, (0, ""))
        at = first.rfind(" ", 0, _LINE) if len(first) > _LINE else -1
        lines = (first[:at], h.br, first[at + 1 :]) if at > 0 else first
        found.append(_text(names[place], page and f", p. {page}", first and h.br, lines))
    return found


def _asked(question: Question) -> str:
    lines = [(h.b[line], h.br) for line in wrap(excerpt(question.text, 90), _LINE)]
    return _text(*lines, question.action or "no action", f", nearest chunk at {format_score(question.nearest)}")


def _text(*said: object) -> str:
    """Text for plotly, which reads a few tags, and marks by their numbers."""
    return str(h.fragment(*said)).replace("&quot;", "&#34;")


def _coloured(shade: Shade, theme: str) -> tuple[NDArray[np.uint8], list[Any]]:
    """The colour (n, 3) of each point, and traces without points that explain them."""
    import plotly.graph_objects as go

    palette, quiet = _PALETTES[theme], _mixed(COLOURS[theme]["quiet"], COLOURS[theme]["ground"], 0.45)
    empty = {"x": [None], "y": [None], "mode": "markers", "hoverinfo": "skip"}
    if not shade.label:
        groups = shade.values.astype(int)
        table = np.array([_rgb(palette[place % len(palette)]) for place in range(int(groups.max(initial=0)) + 1)])
        found = table[groups]
        found[groups < 0] = quiet
        named = [*zip(shade.names, palette, strict=False)] if len(shade.names) <= len(palette) else []
        legend = [
            go.Scatter(name=_text(excerpt(name, 40)), marker={"size": 9, "color": colour}, showlegend=True, **empty)
            for name, colour in named
        ]
        return found.astype(np.uint8), legend
    known, low, high = np.isfinite(shade.values), shade.low, shade.high
    share = np.where(known, (shade.values - low) / (high - low), 0)[:, None].round(2)
    ends = np.array(quiet, float), np.array(_rgb(COLOURS[theme]["accent"]), float)
    found = ends[0] + share * (ends[1] - ends[0])
    found[~known] = _mixed(COLOURS[theme]["quiet"], COLOURS[theme]["ground"], 0.25)
    ticks = [low, high]
    said = [date.fromordinal(round(each)).isoformat() if shade.dates else f"{each:g}" for each in ticks]
    scale = {
        "colorscale": [[0, f"rgb{tuple(quiet)}"], [1, COLOURS[theme]["accent"]]],
        **{"cmin": low, "cmax": high, "color": [low], "showscale": True},
        "colorbar": {
            **{"thickness": 8, "len": 0.5, "y": 0.93, "yanchor": "top", "outlinewidth": 0},
            "title": {"text": shade.label, "side": "right", "font": {"size": 11}},
            **{"tickvals": ticks, "ticktext": said, "tickfont": {"size": 11}},
        },
    }
    return found.astype(np.uint8), [go.Scatter(marker=scale, showlegend=False, **empty)]


def _questions(layers: Layers, theme: str) -> list[Any]:
    """Past questions by their action, each kind with its own shape; a ring round holes."""
    import plotly.graph_objects as go

    colours, traces = COLOURS[theme], list[Any]()
    if layers.holes:
        ring = {"size": 22, "symbol": "circle-open", "color": colours["ink"], "line": {"width": 1.5}}
        traces.append(_marked("hole: no chunk is near", layers.holes, ring))
    by_action: dict[str, list[Question]] = {}
    for question in layers.questions:
        by_action.setdefault(question.action, []).append(question)
    for action, found in sorted(by_action.items()):
        known = action in _SYMBOLS
        marker = {
            "size": 11,
            "symbol": _SYMBOLS.get(action, "triangle-up"),
            "color": colours[action] if known else colours["quiet"],
            "line": {"width": 1.5, "color": colours["ground"]},
        }
        traces.append(_marked(f"{words.ICONS[Action(action)]} {action}" if known else "no action", found, marker))
    assert all(isinstance(each, go.Scatter) for each in traces)
    return traces


def _marked(name: str, questions: Sequence[Question], marker: Mapping[str, Any]) -> Any:
    import plotly.graph_objects as go

    return go.Scatter(
        name=name,
        x=[float(each.point[0]) for each in questions],
        y=[float(each.point[1]) for each in questions],
        mode="markers",
        marker=dict(marker),
        customdata=[each.run for each in questions],
        hovertext=[_asked(each) for each in questions],
        hoverinfo="text",
        unselected={"marker": {"opacity": 0.6}},
        showlegend=True,
    )


def _links(chunks: Chunks, layers: Layers, theme: str) -> list[Any]:
    """Lines between near-duplicates."""
    import plotly.graph_objects as go

    pairs = [] if layers.duplicates is None else layers.duplicates.tolist()
    rows = np.flatnonzero(np.isin(chunks.numbers, [number for ends in pairs for number in ends]))
    place = dict(zip(chunks.numbers[rows].tolist(), chunks.points[rows].tolist(), strict=True))
    drawn = [(place[one], place[other]) for one, other in pairs if one in place and other in place]
    if not drawn:
        return []
    return [
        go.Scatter(
            name="near-duplicates",
            x=[value for one, other in drawn for value in (one[0], other[0], None)],
            y=[value for one, other in drawn for value in (one[1], other[1], None)],
            mode="lines",
            line={"color": COLOURS[theme]["quiet"], "width": 1.6, "dash": "solid"},
            hoverinfo="skip",
            showlegend=True,
        )
    ]


def _titles(chunks: Chunks, layers: Layers, theme: str) -> Any:
    """The clusters' words at their middles, the largest first, beside questions; none where it would cover another."""
    import plotly.graph_objects as go

    low, span = chunks.points.min(axis=0), np.maximum(np.ptp(chunks.points, axis=0), 1e-6)
    marks = np.array([each.point for each in (*layers.questions, *layers.holes)]).reshape(-1, 2)
    found, names = np.zeros((0, 2)), list[str]()
    for cluster in np.argsort(-np.bincount(chunks.clusters), kind="stable").tolist():
        own = chunks.points[chunks.clusters == cluster]
        if not len(own) or not chunks.titles[cluster]:
            continue
        for step in _STEPS:
            at = np.median(own, axis=0) + np.array([0, step]) * span
            apart, clear = np.abs((found - at) / span), np.abs((marks - at) / span)
            if (apart > _ROOM).any(axis=1).all() and (clear > _CLEAR).any(axis=1).all():
                found, names = np.vstack([found, at]), [*names, _text(chunks.titles[cluster])]
                break
    shadow = ", ".join(f"{right}px {down}px 2px {COLOURS[theme]['ground']}" for right in (-1, 1) for down in (-1, 1))
    along = (found[:, 0] - low[0]) / span[0]
    return go.Scatter(
        x=found[:, 0],
        y=found[:, 1],
        text=names,
        mode="text",
        textposition=np.select([along < 0.2, along > 0.8], ["middle right", "middle left"], "middle center").tolist(),
        textfont={"color": COLOURS[theme]["ink"], "size": 13, "shadow": shadow},
        unselected={"textfont": {"color": COLOURS[theme]["ink"]}},
        hoverinfo="skip",
        showlegend=False,
    )


def _picture(points: Points, colours: NDArray[np.uint8]) -> dict[str, Any]:
    """All points as a picture that lies below the others, two pixels each."""
    low, high = points.min(axis=0), points.max(axis=0)
    span = float(max(high - low)) or 1.0
    width, height = (max(2, int(_SIDE * each / span) + 2) for each in high - low)
    at = ((points - low) / span * (_SIDE - 2)).astype(int)
    pixels = np.zeros((height, width, 4), np.uint8)
    for right in (0, 1):
        for up in (0, 1):
            cell = np.minimum(at[:, 1] + up, height - 1), np.minimum(at[:, 0] + right, width - 1)
            pixels[(*cell, slice(0, 3))] = colours
            pixels[(*cell, 3)] = 150
    file = io.BytesIO()
    Image.fromarray(pixels[::-1]).save(file, "PNG", compress_level=1)
    scale = span / (_SIDE - 2)
    return {
        "source": f"data:image/png;base64,{base64.b64encode(file.getvalue()).decode()}",
        **{"xref": "x", "yref": "y", "layer": "below", "sizing": "stretch"},
        **{"x": float(low[0]), "y": float(low[1] + height * scale), "sizex": width * scale, "sizey": height * scale},
    }


def _rgb(colour: str) -> tuple[int, int, int]:
    red, green, blue = (int(colour[at : at + 2], 16) for at in (1, 3, 5))
    return red, green, blue


def _mixed(colour: str, ground: str, share: float) -> tuple[int, int, int]:
    red, green, blue = (
        round(share * one + (1 - share) * other) for one, other in zip(_rgb(colour), _rgb(ground), strict=True)
    )
    return red, green, blue
