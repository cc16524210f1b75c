"""Ruled tables: pdfplumber's table finder, fed with the edges that PDFium gives instead of its own slow parse."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from crag.core.tables import BESIDE
from crag.ingest.cells import is_quantity, is_value
from crag.ingest.layout import Segment, segment_of
from crag.ingest.objects import Box, around, edge_of
from crag.ingest.tables import LaidTable, Piece
from crag.ingest.words import PageWords, Word
from crag.text.dates import dates_in

_Cells = Sequence[tuple[Box, list[Word]]]

# Points.
_SNAP = 3.0  # edges closer than this are one
_ACROSS = 15.0  # a shorter level edge rules no row
_DOWN = 5.0  # a shorter upright one no column
_MARGIN = 2.0  # what an outer line that is not drawn leaves beside the words
_LEAST_LINE = 2.0  # lines that are lower count as so high
_CUT = 4.0  # how far a word may reach out of its cell
# How many.
_LEAST_EDGES, _MOST_EDGES = 6, 3000  # a page of art has too many
_LEAST_LINES = 3  # each way
_LEAST_CELLS = 4
_LEAST_ROWS = 2  # of two cells or more
_MOST_CELL_WORDS = 150
_MOST_HEADS = 3  # header lines
_MOST_HEADER, _MOST_NAME = 300, 60  # characters
# Shares.
_SAME_LINE = 0.5  # of a line's height: middles closer than this share a line
_WIDE = 0.5  # of the rows, that have two cells or more
_MOST_CUT = 0.05  # of the words, that reach out of their cells
_AMOUNTS = 0.4  # of the cells, not counting the first of each row; a lone "$" is a cell too
_LEAST_HELD = 0.9  # of the words within the frame, that stand in a cell
_FORM_CELLS = 3
"""Cells at most of a first row that may be a label and a value like those below: with more, it names sizes."""


@dataclass(slots=True)
class PlacedTable:
    """A ruled table and where it stands on the page."""

    box: Box
    table: LaidTable


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
        placed, used = _placed([Box(*cell) for cell in group], page.words)
        if placed is not None:
            found.append(placed)
            page.words = [word for word in page.words if id(word) not in used]
    return sorted(found, key=lambda placed: (placed.box.top, placed.box.left))


def _may_hold_grid(edges: Sequence[dict[str, Any]]) -> bool:
    """Whether there are enough lines both ways.

    Upright lines must be drawn: shaded rows alone are no grid. Level ones may be the edges of shading.
    """
    if not _LEAST_EDGES <= len(edges) <= _MOST_EDGES:
        return False
    across = {round(edge["top"] / _SNAP) for edge in edges if edge["orientation"] == "h" and edge["width"] > _ACROSS}
    drawn = _upright(edges)
    down = {round(edge["x0"] / _SNAP) for edge in drawn}
    ends = {round(edge["top"] / _SNAP) for edge in drawn}
    return len(down) >= _LEAST_LINES and len(across | ends) >= _LEAST_LINES


def _upright(edges: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    return [e for e in edges if e["orientation"] == "v" and e["object_type"] == "line" and e["height"] > _DOWN]


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
        words = [w for w in page.words if w.turn == 0 and top <= w.box.y < bottom]
        rules = [rule["x0"] for each in stack for rule in each]
        left = min([min(rules), *(word.box.left - _MARGIN for word in words)])
        right = max([max(rules), *(word.box.right + _MARGIN for word in words)])
        for height in [top, *(each[0]["bottom"] for each in stack)]:
            found.append(edge_of(left, height, right, height))
        found += [edge_of(left, top, left, bottom), edge_of(right, top, right, bottom)]
    return found


def _placed(cells: Sequence[Box], words: Sequence[Word]) -> tuple[PlacedTable | None, set[int]]:
    """The table that these cells frame, and the ids of its words; None where they frame something else."""
    frame = around(cells)
    inside = sorted([w for w in words if w.turn == 0 and _in(w, frame)], key=lambda word: word.box.y)
    middles = [word.box.y for word in inside]
    rows: dict[int, list[tuple[Box, list[Word]]]] = {}
    used: set[int] = set()
    cut = 0
    for cell in sorted(cells, key=lambda cell: (cell.top, cell.left)):
        beside = inside[bisect_left(middles, cell.top) : bisect_left(middles, cell.bottom)]
        own = [word for word in beside if id(word) not in used and _in(word, cell)]
        used.update(id(word) for word in own)
        cut += sum(word.box.right > cell.right + _CUT or word.box.left < cell.left - _CUT for word in own)
        rows.setdefault(round(cell.top / _SNAP), []).append((cell, own))
    filled = [[(box, own) for box, own in row if own] for row in rows.values()]
    wide = sum(len(row) >= 2 for row in filled)
    longest = max((len(own) for row in filled for _, own in row), default=0)
    if wide < _LEAST_ROWS or wide < _WIDE * sum(map(bool, filled)) or longest > _MOST_CELL_WORDS:
        return None, set()
    if cut > _MOST_CUT * len(used) or len(used) < _LEAST_HELD * len(inside):
        return None, set()
    table = _as_table([part for row in filled if row for part in _part_row(row)])
    amounts = sum(is_value(" ".join(word.text for word in own)) for row in filled for _, own in row[1:])
    if " | " not in table.header and amounts > _AMOUNTS * sum(len(row) - 1 for row in filled if row):
        return None, set()  # shaded amounts, whose header stands above: they are read by their places
    return PlacedTable(frame, table), used


def _part_row(row: _Cells) -> list[_Cells]:
    """The rows between two rules: one for each line of amounts, where each of these lines has a label, too."""
    stacks = [
        lines for _, own in row[1:] if len(lines := _lines(own)) > 1 and all(is_value(each.text) for each in lines)
    ]
    if not stacks:
        return [row]
    places = [line.box.y for line in stacks[0]]
    near = _SAME_LINE * min(line.box.height for line in stacks[0])

    def stand_alike(lines: Sequence[Segment]) -> bool:
        return len(lines) == len(places) and all(
            abs(line.box.y - y) < near for line, y in zip(lines, places, strict=True)
        )

    labels = [line.box.y for line in _lines(row[0][1])]
    if not all(map(stand_alike, stacks)) or not all(any(abs(label - y) < near for label in labels) for y in places):
        return [row]
    parts: list[list[tuple[Box, list[Word]]]] = [[] for _ in places]
    for box, own in row:
        beside: list[list[Word]] = [[] for _ in places]
        for word in own:
            beside[max(0, bisect_right(places, word.box.y + near) - 1)].append(word)
        for part, words in zip(parts, beside, strict=True):
            if words:
                part.append((box, words))
    return list(parts)


def _in(word: Word, box: Box) -> bool:
    left, top, right, bottom = word.box
    return box.left <= (left + right) / 2 < box.right and box.top <= (top + bottom) / 2 < box.bottom


def _as_table(rows: Sequence[_Cells]) -> LaidTable:
    """Rows recognised by the header line, when the first lines hold no values."""
    heads: list[tuple[Box, str]] = []
    count = 0
    for row in rows[:_MOST_HEADS]:
        texts = [" ".join(line.text for line in _lines(own)) for _, own in row]
        if any(is_value(text) for text in texts) or len(rows) - count < 2:
            break
        if (count and len(row) <= len(heads)) or (not count and _is_stated(row, rows[1:])):
            break
        heads += [(box, text) for (box, _), text in zip(row, texts, strict=True)]
        count += 1
        if len(row) >= max(len(each) for each in rows):
            break
    table = LaidTable(" | ".join(text for _, text in heads)[:_MOST_HEADER], [], heads=count)
    numbers: dict[str, int] = {}
    for number, row in enumerate(rows):
        line: list[Piece] = []
        for place, (box, own) in enumerate(row):
            if line:
                line.append(Piece(": " if place == 1 and number >= count else "; "))
            name = _name(heads, box) if number >= count and place else ""
            column = None
            if number >= count and place:
                column = numbers.setdefault(name, len(numbers)) if name else BESIDE
            if name:
                line.append(Piece(name + " "))
            for part, segment in enumerate(_lines(own)):
                if part and not line[-1].text.endswith("\u00ad"):
                    line.append(Piece(" "))
                line.append(Piece(segment.text, segment, column))
        table.lines.append(line)
    table.names = [*numbers]
    return table


def _is_stated(row: _Cells, below: Sequence[_Cells]) -> bool:
    """Whether a first row is a label and a quantity or a date, as most rows below it are: it names no columns."""
    if len(row) > _FORM_CELLS or not (kind := _last_kind(row)):
        return False
    return 2 * sum(_last_kind(each) == kind for each in below) >= len(below)


def _last_kind(row: _Cells) -> Literal["quantity", "date", ""]:
    """What the last cell of a row states."""
    text = " ".join(line.text for line in _lines(row[-1][1]))
    if is_quantity(text):
        return "quantity"
    dates = dates_in(text)
    return "date" if dates and 2 * sum(date.end - date.start for date in dates) > len(text) else ""


def _name(heads: Sequence[tuple[Box, str]], box: Box) -> str:
    """What the header says of the column that a cell stands in."""
    return " ".join(text for head, text in heads if head.left <= box.x < head.right)[-_MOST_NAME:]


def _lines(words: Sequence[Word]) -> list[Segment]:
    """A cell's words as one segment a line."""
    lines: list[list[Word]] = []
    box = Box(0.0, 0.0, 0.0, 0.0)
    for word in sorted(words, key=lambda word: word.box.y):
        if lines and abs(box.y - word.box.y) < _SAME_LINE * max(box.height, _LEAST_LINE):
            lines[-1].append(word)
            box = around((box, word.box))
        else:
            lines.append([word])
            box = word.box
    return [segment_of(sorted(line, key=lambda word: word.box.left)) for line in lines]
