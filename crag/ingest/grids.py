"""Ruled tables: pdfplumber's table finder, fed with the edges that PDFium gives instead of its own slow parse."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from crag.ingest.cells import is_value
from crag.ingest.layout import Segment
from crag.ingest.tables import Piece, Table
from crag.ingest.words import PageWords, Word

__all__ = ["PlacedTable", "ruled_tables"]

_SNAP = 3.0
_LEAST_LINES, _MOST_EDGES = 3, 3000
_MOST_CELL_WORDS = 150
_LEAST_CELLS = 4

Box = tuple[float, float, float, float]


@dataclass(slots=True)
class PlacedTable:
    """A ruled table and where it stands on the page."""

    left: float
    top: float
    right: float
    bottom: float
    table: Table


def ruled_tables(page: PageWords) -> list[PlacedTable]:
    """The ruled tables of a page, top to bottom. Their words are taken out of `page.words`."""
    if not _may_hold_grid(page.edges):
        return []
    # Imported here: few files have ruled tables, and pdfplumber takes longer to load than most files to read.
    from pdfplumber.table import cells_to_tables, edges_to_intersections, intersections_to_cells, merge_edges

    edges = merge_edges([*page.edges, *_closing(page)], _SNAP, _SNAP, _SNAP, _SNAP)
    cells = intersections_to_cells(edges_to_intersections(edges, _SNAP, _SNAP))
    found: list[PlacedTable] = []
    for group in cells_to_tables(cells):
        if len(group) < _LEAST_CELLS:
            continue
        placed, used = _placed([(c[0], c[1], c[2], c[3]) for c in group], page.words)
        if placed is not None:
            found.append(placed)
            page.words = [word for word in page.words if id(word) not in used]
    return sorted(found, key=lambda placed: (placed.top, placed.left))


def _may_hold_grid(edges: Sequence[dict[str, Any]]) -> bool:
    """Whether there are enough lines both ways; a page of art has too many.

    Upright lines must be drawn: shaded rows alone are no grid. Level ones may be the edges of shading.
    """
    if not 6 <= len(edges) <= _MOST_EDGES:
        return False
    across = {round(edge["top"] / _SNAP) for edge in edges if edge["orientation"] == "h" and edge["width"] > 15}
    drawn = _upright(edges)
    down = {round(edge["x0"] / _SNAP) for edge in drawn}
    ends = {round(edge["top"] / _SNAP) for edge in drawn}
    return len(down) >= _LEAST_LINES and len(across | ends) >= _LEAST_LINES


def _upright(edges: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    return [e for e in edges if e["orientation"] == "v" and e["object_type"] == "line" and e["height"] > 5]


def _closing(page: PageWords) -> list[dict[str, Any]]:
    """The lines that a table with upright rules alone leaves out: one at each row's end, and the outer two.

    Such a table's rules stop at every row, all at one height; where three of them do, a row ends.
    """
    bands: dict[tuple[int, int], list[dict[str, Any]]] = {}
    for edge in _upright(page.edges):
        bands.setdefault((round(edge["top"] / _SNAP), round(edge["bottom"] / _SNAP)), []).append(edge)
    rows = [rules for rules in bands.values() if len({round(rule["x0"] / _SNAP) for rule in rules}) >= _LEAST_LINES]
    rows.sort(key=lambda rules: rules[0]["top"])
    found: list[dict[str, Any]] = []
    while rows:
        stack = [rows.pop(0)]
        while rows and abs(rows[0][0]["top"] - stack[-1][0]["bottom"]) < 2 * _SNAP:
            stack.append(rows.pop(0))
        if len(stack) < 2:
            continue
        top, bottom = stack[0][0]["top"], stack[-1][0]["bottom"]
        words = [w for w in page.words if w.turn == 0 and top <= (w.top + w.bottom) / 2 < bottom]
        rules = [rule["x0"] for each in stack for rule in each]
        left = min([min(rules), *(word.left - 2 for word in words)])
        right = max([max(rules), *(word.right + 2 for word in words)])
        for height in [top, *(each[0]["bottom"] for each in stack)]:
            found.append(_line(left, height, right, height))
        found += [_line(left, top, left, bottom), _line(right, top, right, bottom)]
    return found


def _line(x0: float, top: float, x1: float, bottom: float) -> dict[str, Any]:
    orientation = "h" if top == bottom else "v"
    line: dict[str, Any] = {"orientation": orientation, "object_type": "line", "width": x1 - x0}
    return {**line, "x0": x0, "x1": x1, "top": top, "bottom": bottom, "height": bottom - top}


def _placed(cells: Sequence[Box], words: Sequence[Word]) -> tuple[PlacedTable | None, set[int]]:
    """The table that these cells frame, and the ids of its words; None where they frame something else."""
    left, top = min(c[0] for c in cells), min(c[1] for c in cells)
    right, bottom = max(c[2] for c in cells), max(c[3] for c in cells)
    inside = [w for w in words if w.turn == 0 and _in(w, (left, top, right, bottom))]
    rows: dict[int, list[tuple[Box, list[Word]]]] = {}
    used: set[int] = set()
    cut = 0
    middles = sorted((((w.top + w.bottom) / 2, w) for w in inside), key=lambda pair: pair[0])
    heights = [middle for middle, _ in middles]
    for cell in sorted(cells, key=lambda c: (c[1], c[0])):
        beside = middles[bisect_left(heights, cell[1]) : bisect_left(heights, cell[3])]
        own = [w for _, w in beside if id(w) not in used and _in(w, cell)]
        used.update(id(word) for word in own)
        cut += sum(word.right > cell[2] + 4 or word.left < cell[0] - 4 for word in own)
        rows.setdefault(round(cell[1] / _SNAP), []).append((cell, own))
    filled = [[(box, own) for box, own in row if own] for row in rows.values()]
    wide = sum(len(row) >= 2 for row in filled)
    longest = max((len(own) for row in filled for _, own in row), default=0)
    if wide < 2 or wide < 0.5 * sum(bool(row) for row in filled) or longest > _MOST_CELL_WORDS:
        return None, set()
    if cut > 0.05 * len(used) or len(used) < 0.9 * len(inside):
        return None, set()
    return PlacedTable(left, top, right, bottom, _as_table([row for row in filled if row])), used


def _in(word: Word, box: Box) -> bool:
    x, y = (word.left + word.right) / 2, (word.top + word.bottom) / 2
    return box[0] <= x < box[2] and box[1] <= y < box[3]


def _as_table(rows: Sequence[Sequence[tuple[Box, list[Word]]]]) -> Table:
    """Rows told by the header line, when the first lines hold no values."""
    heads: list[tuple[Box, str]] = []
    count = 0
    for row in rows[:3]:
        texts = [_text(own) for _, own in row]
        if any(is_value(text) for text in texts) or len(rows) - count < 2 or (count and len(row) < 2):
            break
        if count and len(row) <= len(heads):
            break
        heads += [(box, text) for (box, _), text in zip(row, texts, strict=True)]
        count += 1
        if len(row) >= max(len(each) for each in rows):
            break
    table = Table(header=" | ".join(text for _, text in heads)[:300])
    for number, row in enumerate(rows):
        line: list[Piece] = []
        for place, (box, own) in enumerate(row):
            if line:
                line.append(Piece(": " if place == 1 and number >= count else "; "))
            name = _name(heads, box) if number >= count and place else ""
            if name:
                line.append(Piece(name + " "))
            for part, segment in enumerate(_lines(own)):
                if part and not line[-1].text.endswith("\u00ad"):
                    line.append(Piece(" "))
                line.append(Piece(segment.text, segment))
        table.lines.append(line)
    return table


def _name(heads: Sequence[tuple[Box, str]], box: Box) -> str:
    """What the header says of the column that a cell stands in."""
    middle = (box[0] + box[2]) / 2
    return " ".join(text for head, text in heads if head[0] <= middle < head[2])[-60:]


def _text(words: Sequence[Word]) -> str:
    return " ".join(segment.text for segment in _lines(words))


def _lines(words: Sequence[Word]) -> list[Segment]:
    """A cell's words as one segment a line."""
    found: list[Segment] = []
    for word in sorted(words, key=lambda w: w.top + w.bottom):
        last = found[-1] if found else None
        if last is not None and abs(last.middle - (word.top + word.bottom) / 2) < 0.5 * max(last.height, 2.0):
            last.words.append(word)
            last.left, last.right = min(last.left, word.left), max(last.right, word.right)
            last.top, last.bottom = min(last.top, word.top), max(last.bottom, word.bottom)
        else:
            found.append(Segment([word], word.left, word.top, word.right, word.bottom))
    for segment in found:
        segment.words.sort(key=lambda w: w.left)
    return found
