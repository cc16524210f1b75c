"""What Office files draw: the figures of charts, the points of SmartArt, and the words of boxes."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any

from crag.ingest.grid import cells_of_rows
from crag.ingest.sections import Block, squeeze, write_table

_MOST_CATEGORIES, _MOST_SERIES, _MOST_POINTS = 500, 100, 2_000
POINTS = ("", "• ", "◦ ", "– ")
"""What a point under another one begins with, by how deep it stands."""


def read_drawing(root: Any) -> Iterator[Block]:
    """A part of an Office file that is a chart, or the data of SmartArt, as a person reads it."""
    if root.tag.endswith("}chartSpace"):
        yield from _read_chart(root)
    else:
        yield from _read_points(root)


def read_boxes(root: Any) -> Iterator[Block]:
    """The words of each box that a part of an Office file holds."""
    for box in root.iter("{*}txBody"):
        lines = filter(None, map(_words, box.iterchildren("{*}p")))
        if text := "\n".join(lines):
            yield Block(text=text)


def _words(element: Any) -> str:
    return squeeze("".join(each.text or "" for each in element.iter("{*}t")))


def _read_chart(root: Any) -> Iterator[Block]:
    """A chart of any kind: its title, then a row a category and a column a series."""
    for title in root.iterfind("{*}chart/{*}title"):
        if text := _words(title):
            yield Block(text=text)
    names: list[str] = []
    rows: dict[tuple[int, str], dict[int, str]] = {}
    for number, series in enumerate(islice(root.iter("{*}ser"), _MOST_SERIES)):
        names.append(next(iter(_points(series.find("{*}tx")).values()), ""))
        said = _points(_first(series, "cat", "xVal"))
        for at, value in _points(_first(series, "val", "yVal")).items():
            row = at, said.get(at, str(at + 1))
            if len(rows) < _MOST_CATEGORIES or row in rows:
                rows.setdefault(row, {})[number] = value
    held = [
        [category, *(rows[at, category].get(each, "") for each in range(len(names)))] for at, category in sorted(rows)
    ]
    yield from write_table(cells_of_rows([["", *names], *held] if held else [], headed=True))


def _first(series: Any, *names: str) -> Any:
    return next((found for name in names if (found := series.find(f"{{*}}{name}")) is not None), None)


def _points(element: Any) -> Mapping[int, str]:
    """What a chart holds of a series by the place of each point; categories of several levels are joined."""
    if element is None:
        return {}
    levels = [_level(each) for each in element.iter("{*}lvl")]
    if not levels:
        return _level(element)
    inner, *outer = levels
    for level in outer:  # a category of an outer level stands at the first of those under it
        starts = sorted(level)
        above = {at: starts[place - 1] for at in inner if (place := bisect_right(starts, at))}
        inner = {at: f"{level[above[at]]}, {text}" if at in above else text for at, text in inner.items()}
    return inner


def _level(element: Any) -> dict[int, str]:
    points = ((each.get("idx") or "0", each.findtext("{*}v") or "") for each in element.iter("{*}pt"))
    found = {int(at): _number(text) for at, text in points if at.isdigit() and len(at) < 10}
    return found or ({0: squeeze(text)} if (text := element.findtext("{*}v")) else {})


def _number(text: str) -> str:
    try:
        return f"{float(text):.10g}"
    except ValueError:
        return squeeze(text)


def _read_points(root: Any) -> Iterator[Block]:
    """The points of SmartArt as a list, those below a point behind it."""
    texts = {each.get("modelId") or "": _words(each) for each in root.iter("{*}pt")}
    below: dict[str, list[str]] = {}
    for link in sorted(root.iter("{*}cxn"), key=_order):
        if link.get("type", "parOf") == "parOf":
            below.setdefault(link.get("srcId") or "", []).append(link.get("destId") or "")
    linked = {each for under in below.values() for each in under}
    lines: list[str] = []
    waiting: list[tuple[str, int]] = [(each, 0) for each in reversed(texts) if each not in linked]
    while waiting and len(lines) < _MOST_POINTS:
        point, level = waiting.pop()
        if text := texts.pop(point, ""):
            lines.append(POINTS[min(level + 1, len(POINTS) - 1)] + text)
            level += 1
        waiting += [(each, level) for each in reversed(below.pop(point, ()))]
    if lines:
        yield Block(text="\n".join(lines))


def _order(link: Any) -> int:
    said = link.get("srcOrd") or ""
    return int(said) if said.isdigit() and len(said) < 10 else 0
