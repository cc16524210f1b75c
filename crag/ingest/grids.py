"""Ruled tables: pdfplumber's table finder, fed with the edges that PDFium gives instead of its own slow parse."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

from crag.core.tables import BESIDE
from crag.ingest.cells import is_value
from crag.ingest.grid import GridCell, GridTable, read_grid
from crag.ingest.layout import Segment, segment_of
from crag.ingest.objects import Box, around, edge_of
from crag.ingest.tables import LaidTable, Piece
from crag.ingest.words import PageWords, Word

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
_MOST_HEADER, _MOST_NAME = 300, 60  # characters
# Shares.
_SAME_LINE = 0.5  # of a line's height: middles closer than this share a line
_WIDE = 0.5  # of the rows, that have two cells or more
_MOST_CUT = 0.05  # of the words, that reach out of their cells
_AMOUNTS = 0.4  # of the cells, not counting the first of each row; a lone "$" is a cell too
_LEAST_HELD = 0.9  # of the words within the frame, that stand in a cell


@dataclass(frozen=True, slots=True)
class RuledGrid:
    """What a ruled table says, and the left edges of its columns: one that goes on over pages has the same."""

    table: GridTable
    lefts: tuple[float, ...]


def ruled_tables(page: PageWords, last: RuledGrid | None = None) -> tuple[list[LaidTable], RuledGrid | None]:
    """The ruled tables of a page, top to bottom, and the grid of the last. Their words are taken out of `page.words`.

    `last`: the grid that ended the page before. The first table of this one goes on with it, if it has its columns.
    """
    if not _may_hold_grid(page.edges):
        return [], None
    # Imported here: few files have ruled tables, and pdfplumber takes longer to load than most files to read.
    from pdfplumber.table import cells_to_tables, edges_to_intersections, intersections_to_cells, merge_edges

    edges = merge_edges([*page.edges, *_closing(page)], _SNAP, _SNAP, _SNAP, _SNAP)
    cells = intersections_to_cells(edges_to_intersections(edges, _SNAP, _SNAP))
    groups = [[Box(*cell) for cell in group] for group in cells_to_tables(cells) if len(group) >= _LEAST_CELLS]
    found: list[LaidTable] = []
    for group in sorted(groups, key=lambda group: (group[0].top, group[0].left)):
        placed, grid, used = _placed(group, page.words, last)
        if placed is not None:
            found.append(placed)
            last = grid
            page.words = [word for word in page.words if id(word) not in used]
    return found, last if found else None


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
    level = [e for e in page.edges if e["orientation"] == "h" and e["object_type"] == "line" and e["width"] > _ACROSS]
    drawn = [((edge["x0"] + edge["x1"]) / 2, edge["top"]) for edge in level]
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
            # Where a rule is drawn for some columns, it says which of them end there: the others are merged.
            if not any(left < x < right and abs(y - height) < _SNAP for x, y in drawn):
                found.append(edge_of(left, height, right, height))
        found += [edge_of(left, top, left, bottom), edge_of(right, top, right, bottom)]
    return found


def _placed(
    cells: Sequence[Box], words: Sequence[Word], last: RuledGrid | None
) -> tuple[LaidTable | None, RuledGrid | None, set[int]]:
    """The table that these cells frame, its grid, and the ids of its words; None where they frame something else."""
    frame = around(cells)
    inside = sorted([w for w in words if w.turn == 0 and _in(w, frame)], key=lambda word: word.box.y)
    middles = [word.box.y for word in inside]
    tops = _edges([cell.top for cell in cells])
    rows: dict[int, list[tuple[Box, list[Word]]]] = {}
    used: set[int] = set()
    cut = 0
    for cell in sorted(cells, key=lambda cell: (cell.top, cell.left)):
        beside = inside[bisect_left(middles, cell.top) : bisect_left(middles, cell.bottom)]
        own = [word for word in beside if id(word) not in used and _in(word, cell)]
        used.update(id(word) for word in own)
        cut += sum(word.box.right > cell.right + _CUT or word.box.left < cell.left - _CUT for word in own)
        rows.setdefault(bisect_left(tops, cell.top - _SNAP), []).append((cell, own))
    filled = [[(box, own) for box, own in row if own] for _, row in sorted(rows.items())]
    wide = sum(len(row) >= 2 for row in filled)
    longest = max((len(own) for row in filled for _, own in row), default=0)
    if wide < _LEAST_ROWS or wide < _WIDE * sum(map(bool, filled)) or longest > _MOST_CELL_WORDS:
        return None, None, set()
    if cut > _MOST_CUT * len(used) or len(used) < _LEAST_HELD * len(inside):
        return None, None, set()
    lefts = _edges([cell.left for cell in cells])
    parts = [list(_part_row(row)) for row in filled if row]
    before = last.table if last is not None and _are_alike(last.lefts, lefts) else None
    table = read_grid(_grid_cells(parts, lefts), before)
    amounts = sum(is_value(" ".join(word.text for word in own)) for row in filled for _, own in row[1:])
    named = sum(map(bool, table.header)) > 1
    if not named and amounts > _AMOUNTS * sum(len(row) - 1 for row in filled if row):
        return None, None, set()  # shaded amounts, whose header stands above: they are read by their places
    return lay_table(table, frame), RuledGrid(table, tuple(lefts)), used


def _are_alike(one: Sequence[float], other: Sequence[float]) -> bool:
    """Whether the columns of two tables have the same left edges."""
    return len(one) == len(other) and all(abs(left - right) < _SNAP for left, right in zip(one, other, strict=True))


def _edges(places: Sequence[float]) -> list[float]:
    """The places, those closer together than edges can be as one."""
    found: list[float] = []
    for place in sorted(places):
        if not found or place - found[-1] > _SNAP:
            found.append(place)
    return found


def _grid_cells(rows: Sequence[Sequence[_Cells]], lefts: Sequence[float]) -> Iterator[GridCell]:
    """The cells at their rows and columns; one that reaches over the edges of others is merged.

    `rows` are those that rules part, each as the rows that stand in it.
    """
    tops = [min(box.top for box, _ in parts[0]) for parts in rows]
    firsts = [0, *accumulate(map(len, rows))]
    for at, parts in enumerate(rows):
        for number, row in enumerate(parts, start=firsts[at]):
            for box, own in row:
                column, lines = bisect_left(lefts, box.left - _SNAP), _lines(own)
                below = bisect_left(tops, box.bottom - _SNAP, at + 1)
                yield GridCell(
                    row=number,
                    column=column,
                    text=" ".join(line.text for line in lines),
                    rows=firsts[below] - number if below > at + 1 else 1,
                    columns=max(1, bisect_left(lefts, box.right - _SNAP) - column),
                    bold=own[0].bold,
                    payload=tuple(lines),
                )


def lay_table(table: GridTable, box: Box) -> LaidTable:
    """What a grid says as lines of pieces, each with its place on the page."""
    laid = LaidTable(
        " | ".join(filter(None, table.header))[:_MOST_HEADER],
        [],
        names=[name[-_MOST_NAME:] for name in table.header],
        captions=[cell.text for cell in table.captions],
        unit=table.unit,
        box=box,
    )
    for cell in table.captions:
        laid.lines.append(list(_pieces(cell)))
    for head in table.heads:
        line: list[Piece] = []
        for cell in head:
            line += [*([Piece("; ")] if line else []), *_pieces(cell)]
        laid.lines.append(line)
    laid.heads = len(laid.lines)
    for row in table.rows:
        line = []
        for cell in row.labels:
            name = table.header[cell.column] if line and cell.column < len(table.header) else ""
            line += [*([Piece(", ")] if line else []), *([Piece(f"{name} ")] if name else []), *_pieces(cell)]
        for number, (column, cell) in enumerate(row.cells):
            name = laid.names[column] if column < len(laid.names) else ""
            if line:
                between = " " if line[-1].text.endswith((":", "?")) else ": "
                line.append(Piece("; " if number else between))
            line += [*([Piece(f"{name} ")] if name else []), *_pieces(cell, column if name else BESIDE)]
        laid.lines.append(line)
    return laid


def _pieces(cell: GridCell, column: int | None = None) -> Iterator[Piece]:
    """A cell's lines with their places."""
    for number, segment in enumerate(cell.payload):
        if number and not cell.payload[number - 1].text.endswith("\u00ad"):
            yield Piece(" ")
        yield Piece(segment.text, segment, column)


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
