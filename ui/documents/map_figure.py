"""The map as a figure: chunks as points, past questions as marks among them. Colour is never the only mark."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from textwrap import wrap
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from crag.analysis.atlas.layout import Points, Topics
from crag.analysis.atlas.projection import Projection, Question, topic_words
from crag.core.types import Action
from crag.export.html import elements as h
from crag.export.html import words
from crag.export.html.safe_text import excerpt
from crag.index.chunk_index import Numbers
from crag.storage.library import Library
from ui.components.charts import COLOURS, framed

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

DRAWN = 4_000
"""The most points that are drawn; of more chunks an even part is."""
_FIRST = 80
"""Characters of a chunk that are shown of it."""
_LINE = 42
"""Characters of a line beside the pointer."""
_HEIGHT = 620
_PALETTES = {
    "light": ("#5546c8", "#2f8f3a", "#b07cc6", "#8a9417", "#5c6f86", "#33266e"),
    "dark": ("#9d92ff", "#79c982", "#dcb8ec", "#cdd36b", "#93a5bd", "#6d62d9"),
}
"""Of groups, whose colours come again after six: none is an action's."""
COLOURED = len(_PALETTES["light"])
_ROOM = 0.2, 0.06
"""The room of a title, in shares of the width and height."""
_SYMBOLS = {"CORRECT": "diamond", "AMBIGUOUS": "square", "INCORRECT": "x"}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Chunks:
    """The n chunks of a map: `documents` (n,) are places in `names` and `ids`, `topics` (n,) in `titles`.

    `numbers` (n,) ascending, `points` (n, 2); `first`: the page and the first words of those that are drawn, by number.
    """

    numbers: Numbers
    points: Points
    documents: NDArray[np.int64]
    names: Sequence[str]
    ids: Sequence[str]
    first: Mapping[int, tuple[int, str]]
    topics: Topics
    titles: Sequence[str]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Groups:
    """The group of each of n chunks (n,), -1 for the rest; `names` of the groups where a legend is to give them."""

    of: NDArray[np.int64]
    names: Sequence[str] = ()


def drawn_rows(count: int) -> NDArray[np.int64]:
    """Which of the chunks are drawn, ascending."""
    return np.unique(np.linspace(0, count - 1, min(count, DRAWN)).astype(np.int64))


def read_chunks(library: Library, found: Projection) -> Chunks:
    """What the points of a projection are, but for those that were deleted since. Raises StorageError."""
    spans, names = library.points.spans(), library.documents.names()
    there, documents = spans.find(found.numbers)
    numbers, topics = found.numbers[there], found.topics[there]
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
        topics=topics,
        titles=[", ".join(each) for each in topic_words(texts, numbers[drawn], topics[drawn])],
    )


def draw(chunks: Chunks, groups: Groups, questions: Sequence[Question], theme: str) -> Figure:
    """The figure; the custom data of a point is its chunk's number, of a question its run."""
    traces = [*_points(chunks, groups, theme), *_questions(questions, theme), _titles(chunks, theme)]
    figure = framed(traces, theme, _HEIGHT, {"visible": False}, {"visible": False}, right=0, top=0)
    figure.update_layout(
        dragmode="lasso",
        showlegend=any(trace.showlegend for trace in traces),
        legend={"orientation": "h", "x": 0, "y": 0, "yanchor": "top", "itemclick": False, "itemdoubleclick": False},
        modebar={"bgcolor": "rgba(0,0,0,0)", "color": COLOURS[theme]["quiet"], "activecolor": COLOURS[theme]["accent"]},
        hoverlabel={"align": "left", "bgcolor": COLOURS[theme]["ground"], "font": {"color": COLOURS[theme]["ink"]}},
    )
    return figure


def _points(chunks: Chunks, groups: Groups, theme: str) -> list[Any]:
    """A trace for each group."""
    rows = drawn_rows(len(chunks.numbers))
    traces = []
    for group in np.unique(groups.of[rows]).tolist():
        own = rows[groups.of[rows] == group]
        marker = {
            "size": 7 if len(rows) < 1_000 else 5,
            "color": COLOURS[theme]["line"] if group < 0 else _PALETTES[theme][group % COLOURED],
            "opacity": 0.75,
        }
        name = groups.names[group] if 0 <= group < len(groups.names) else ""
        traces.append(_marks(name, chunks.points[own], marker, chunks.numbers[own].tolist(), _hovers(chunks, own)))
    return traces


def _questions(questions: Sequence[Question], theme: str) -> list[Any]:
    """Past questions by their action, each kind with its own shape; a ring round gaps."""
    colours, traces = COLOURS[theme], list[Any]()
    if gaps := [each for each in questions if each.gap]:
        ring = {"size": 22, "symbol": "circle-open", "color": colours["ink"], "line": {"width": 1.5}}
        traces.append(_asked("gap: your documents did not answer", gaps, ring))
    for action in sorted({each.action for each in questions}):
        known = action in _SYMBOLS
        marker = {
            "size": 11,
            "symbol": _SYMBOLS.get(action, "triangle-up"),
            "color": colours[action] if known else colours["quiet"],
            "line": {"width": 1.5, "color": colours["ground"]},
        }
        name = f"{words.ICONS[Action(action)]} {action}" if known else "no action"
        traces.append(_asked(name, [each for each in questions if each.action == action], marker))
    return traces


def _asked(name: str, questions: Sequence[Question], marker: Mapping[str, Any]) -> Any:
    hovers = [
        _text(*((h.b[line], h.br) for line in wrap(excerpt(each.text, 90), _LINE)), each.action or "no action")
        for each in questions
    ]
    return _marks(name, np.stack([each.point for each in questions]), marker, [each.run for each in questions], hovers)


def _marks(name: str, points: Points, marker: Mapping[str, Any], data: Sequence[object], hovers: Sequence[str]) -> Any:
    import plotly.graph_objects as go  # takes half a second to load; only a chart needs it

    return go.Scatter(
        name=_text(excerpt(name, 40)),
        x=points[:, 0],
        y=points[:, 1],
        mode="markers",
        marker=dict(marker),
        customdata=data,
        hovertext=hovers,
        hoverinfo="text",
        unselected={"marker": {"opacity": 0.3}},
        showlegend=bool(name),
    )


def _hovers(chunks: Chunks, rows: NDArray[np.int64]) -> list[str]:
    """What each of these chunks says when it is pointed at: its document and page, and its first words."""
    found = []
    for place, number in zip(chunks.documents[rows].tolist(), chunks.numbers[rows].tolist(), strict=True):
        page, first = chunks.first.get(number, (0, ""))
        lines = [(h.br, line) for line in wrap(first, _LINE)]
        found.append(_text(h.b[excerpt(chunks.names[place], _LINE)], page and f", p. {page}", *lines))
    return found


def _text(*said: object) -> str:
    """Text for plotly, which reads a few tags, and marks by their numbers."""
    return str(h.fragment(*said)).replace("&quot;", "&#34;")


def _titles(chunks: Chunks, theme: str) -> Any:
    """The topics' words at their middles, the largest topic first; none where it would cover another."""
    import plotly.graph_objects as go

    low, span = chunks.points.min(axis=0), np.maximum(np.ptp(chunks.points, axis=0), 1e-6)
    found, names = np.zeros((0, 2)), list[str]()
    for topic in np.argsort(-np.bincount(chunks.topics), kind="stable").tolist():
        if topic >= len(chunks.titles) or not chunks.titles[topic]:
            continue
        middle = np.median(chunks.points[chunks.topics == topic], axis=0)
        if (np.abs(found - middle) / span > _ROOM).any(axis=1).all():
            found, names = np.vstack([found, middle]), [*names, _text(chunks.titles[topic])]
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
