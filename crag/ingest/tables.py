"""Borderless tables: rows of cells found by geometry, each value told by its column's header.

A financial report's table has no lines to go by: a row is what shares a baseline, a cell is what wide white space
parts, a column is where values stand above one another, and its header is what stands above the first value.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from crag.ingest.boxes import Box, around
from crag.ingest.cells import cells_of, is_data, is_value, is_years
from crag.ingest.layout import Row, Segment

_GOES_ON = re.compile(r"(?:,|\b(?:of|and|or|the|at|in|for|to|by|from|on|with|a|an|net|other))$")
_DOTS = re.compile(r"(?:\s*\.){3,}\s*$")
# Shares of a row's height.
_ROW_GAP = 3.5  # between two rows of a table
_HEADER_GAP = 2.2  # between a header and the row below it
_ROW_OVERLAP = 2.0  # a row that begins so far above the end of the one before it stands elsewhere
# Points.
_LEAST_ROW = 6.0  # rows that are lower count as so high
_BESIDE = 15.0  # how far left of the values a header or value may begin
_OVER = 40.0  # how far left of the first column what stands over the columns may begin
_INTO = 0.5  # how far two columns may reach into one another
_NEAR = 2.0  # how far beside a column a header may stand that still is over it
_FAR = 3.0  # how far beside a column a value may stand that still is of it
# Rows, words and characters.
_LEAST_ROWS = 2  # of values
_MOST_BETWEEN = 3  # rows without values, one after another, within a table
_MOST_HEADS = 6  # header rows
_MOST_LABEL = 160  # characters of a row without values
_MOST_STUB, _MOST_TITLE = 60, 70  # of what stands beside a header's columns, and of a header that is one cell
_MOST_HEADER, _MOST_NAME = 300, 60  # of a table's header, and of a column's
_LONG_LABEL = 4  # words of a label that fills its place, and so goes on below
# Shares.
_FILLED = 0.75  # of the way to the first column, that such a label reaches
_WIDE = 0.9  # of a column's pitch, from which a lone header cell is wide
_MIDDLE = 0.6  # of a column's pitch: how far a lone header cell may stand off the middle


class Piece(NamedTuple):
    """Some text of a table row; `segment` is where it stands, None for what was put in between."""

    text: str
    segment: Segment | None = None


@dataclass(slots=True)
class Table:
    """Lines of pieces: header lines first, then one line a row. `header` names the columns in one line."""

    header: str
    lines: list[list[Piece]]


@dataclass(slots=True)
class _Column:
    box: Box
    header: str = ""


class _Line(NamedTuple):
    """A row as cells. `data`: it holds values; `years`: it is years alone, which are a header."""

    row: Row
    cells: list[Segment]
    data: bool
    years: bool


def _line_of(row: Row) -> _Line:
    cells = cells_of(row)
    return _Line(row, cells, is_data(cells), is_years(cells))


def find_tables(rows: Sequence[Row]) -> list[Row | Table]:
    """The rows of one block, in order, with each run that is a table replaced by it."""
    lines = list(map(_line_of, rows))
    found: list[Row | Table] = []
    index = 0
    while index < len(lines):
        end = _run_end(lines, index) if lines[index].data else index
        if sum(line.data and not line.years for line in lines[index:end]) < _LEAST_ROWS:
            found.append(lines[index].row)
            index += 1
            continue
        heads = _header_rows(lines, index, end, found)
        del found[len(found) - heads :]
        found.append(_table(lines, index - heads, index, end))
        index = end
    return found


def _run_end(lines: Sequence[_Line], start: int) -> int:
    """One past the last row of the table that begins at `start`: values, with a few other rows between."""
    end = index = start + 1
    while index < len(lines) and index - end <= _MOST_BETWEEN:
        line = lines[index]
        gap, height = _gap(lines[index - 1], line), line.row.height
        if gap > _ROW_GAP * max(height, _LEAST_ROW) or gap < -_ROW_OVERLAP * height:
            break
        if line.years and len(line.cells) > 1:  # a second header: what follows is a table of its own
            break
        if line.data:
            end = index + 1
        elif sum(len(cell.text) for cell in line.cells) >= _MOST_LABEL:  # no section label, but text
            break
        index += 1
    return end


def _gap(above: _Line, below: _Line) -> float:
    return below.row.box.top - above.row.box.bottom


def _header_rows(lines: Sequence[_Line], start: int, end: int, before: Sequence[Row | Table]) -> int:
    """How many rows right above `start` are column headers."""
    values = [cell for line in lines[start:end] if line.data for cell in line.cells[1:] if is_value(cell.text)]
    zone = min(cell.box.left for cell in values) - _BESIDE
    count = 0
    while count < _MOST_HEADS and count < len(before) and isinstance(before[-1 - count], Row):
        line = lines[start - count - 1]
        if _gap(line, lines[start - count]) > _HEADER_GAP * max(line.row.height, _LEAST_ROW):
            break
        beyond = [cell for cell in line.cells if cell.box.x > zone]
        if not beyond or len(beyond) < len(line.cells) - 1:
            break
        if len(beyond) < len(line.cells) and len(line.cells[0].text) > _MOST_STUB:
            break
        if len(line.cells) == 1 and (beyond[0].box.left < zone - _OVER or len(beyond[0].text) > _MOST_TITLE):
            break
        count += 1
    return count


def _table(lines: Sequence[_Line], head: int, start: int, end: int) -> Table:
    columns = _column_places([line.cells for line in lines[start:end] if line.data and not line.years])
    while start < end and (lines[start].years or _names_columns(lines[start], columns)):
        start += 1
    heads = [line.cells for line in lines[head:start]]
    captions = _name_columns(columns, heads)
    names = " | ".join(column.header for column in columns if column.header)
    table = Table(" ".join([*captions, names]).strip()[:_MOST_HEADER], [_spaced(cells) for cells in heads])
    index = start
    while index < end:
        line, cells = lines[index], lines[index].cells
        after = lines[index + 1] if index + 1 < end else None
        if line.data:
            bare = is_value(cells[0].text) and (not columns or cells[0].box.left > columns[0].box.left - _BESIDE)
            label = 0 if bare else 1
            table.lines.append(_told(columns, cells[:label], cells[label:]))
        elif after is not None and after.data and _wraps(line, after, columns):
            table.lines.append(_told(columns, [*cells, after.cells[0]], after.cells[1:]))
            index += 1
        elif index > start and lines[index - 1].data and len(cells) == 1 and cells[0].text[:1].islower():
            _hang(table.lines[-1], cells[0])
        else:
            table.lines.append(_spaced(cells))
        index += 1
    return table


def _names_columns(line: _Line, columns: Sequence[_Column]) -> bool:
    """Whether a line without values, above the first values, stands over the columns alone."""
    over = bool(columns) and all(cell.box.left > columns[0].box.left - _OVER for cell in line.cells)
    return over and not line.data


def _column_places(data: Sequence[Sequence[Segment]]) -> list[_Column]:
    """Where values stand above one another; [] where two values of one row would share a column."""
    values = [[cell.box for cell in row[1:] if is_value(cell.text)] for row in data]
    columns: list[_Column] = []
    for box in sorted([box for row in values for box in row], key=lambda box: (box.left, box.right)):
        last = columns[-1] if columns else None
        if last is not None and box.left < last.box.right - _INTO:
            last.box = around((last.box, box))
        else:
            columns.append(_Column(box))
    for row in values:
        taken = [_column_of(columns, box) for box in row]
        if len(set(taken)) < len(taken):
            return []
    return columns


def _column_of(columns: Sequence[_Column], box: Box) -> int | None:
    """The column that a cell shares most width with, None if it touches none."""
    best, width = None, -_FAR
    for number, column in enumerate(columns):
        shared = box.shared(column.box)
        if shared > width:
            best, width = number, shared
    return best


def _name_columns(columns: list[_Column], heads: Sequence[Sequence[Segment]]) -> list[str]:
    """Give columns their headers, line over line. What spans all of them, or none, is returned as captions."""
    if not columns:
        return [" ".join(cell.text for cell in each) for each in heads]
    captions: list[str] = []
    groups: list[list[str]] = [[] for _ in columns]
    own: list[list[str]] = [[] for _ in columns]
    zone = columns[0].box.left - _OVER
    for each in heads:
        cells = [cell for cell in each if cell.box.x > zone]
        captions += [cell.text for cell in each if cell.box.x <= zone]
        for cell, over in zip(cells, _shares(cells, columns) if cells else [], strict=True):
            if 1 < len(over) == len(columns):
                captions.append(cell.text)
                continue
            for number in over:
                (groups if len(over) > 1 else own)[number].append(cell.text)
    for column, group, names in zip(columns, groups, own, strict=True):
        column.header = " ".join([*group, *names])[-_MOST_NAME:].strip(" :")
    return captions


def _shares(cells: Sequence[Segment], columns: Sequence[_Column]) -> list[list[int]]:
    """The columns that each cell of one header line speaks for: its own, a group's, or all."""
    if len(cells) == 1 and len(columns) > 1:
        box, first, last = cells[0].box, columns[0].box, columns[-1].box
        pitch = (last.right - first.left) / len(columns)
        over = _under(box, columns)
        off = abs(box.left + box.right - first.left - last.right) / 2
        # A lone cell over the middle is every column's caption; elsewhere it belongs to what it covers.
        all_over = off < _MIDDLE * pitch or box.width > _WIDE * pitch or not over
        return [list(range(len(columns))) if all_over else over]
    nearest: list[list[int]] = [[] for _ in cells]
    for number, column in enumerate(columns):
        nearest[_nearest(column.box, [cell.box for cell in cells])].append(number)
    fewer = len(cells) < len(columns)
    if fewer and len({len(group) for group in nearest}) == 1:
        return nearest
    places = [column.box for column in columns]
    covered = [_under(cell.box, columns) for cell in cells]
    return [
        over if fewer and len(over) > 1 else [_nearest(cell.box, places)]
        for cell, over in zip(cells, covered, strict=True)
    ]


def _under(box: Box, columns: Sequence[_Column]) -> list[int]:
    """The columns that a header cell covers, or all but touches."""
    return [number for number, column in enumerate(columns) if box.shared(column.box) > -_NEAR]


def _nearest(box: Box, others: Sequence[Box]) -> int:
    """Which of the others has its middle closest to that of `box`."""
    return min(range(len(others)), key=lambda number: abs(others[number].x - box.x))


def _wraps(line: _Line, below: _Line, columns: Sequence[_Column]) -> bool:
    """Whether a row without values is the beginning of the next row's label."""
    here, after = line.cells[0], below.cells[0]
    if len(line.cells) != 1 or is_value(after.text) or here.text.endswith(":") or _gap(line, below) > here.box.height:
        return False
    if after.text[:1].islower() or _GOES_ON.search(here.text):
        return True
    start = after.box.left
    reaches = bool(columns) and here.box.right > start + _FILLED * (columns[0].box.left - start)
    return reaches and len(here.words) > _LONG_LABEL


def _hang(line: list[Piece], more: Segment) -> None:
    """Put the rest of a label behind its beginning, before the values."""
    at = 1 if line and line[0].segment is not None else 0
    line[at:at] = [Piece(" "), Piece(more.text, more)] if at else [Piece(more.text, more), Piece(" ")]


def _spaced(cells: Sequence[Segment]) -> list[Piece]:
    between = Piece("; " if len(cells) > 2 else " ")
    return [piece for cell in cells for piece in (between, Piece(cell.text, cell))][1:]


def _told(columns: Sequence[_Column], labels: Sequence[Segment], values: Sequence[Segment]) -> list[Piece]:
    """One row as readable pieces: "label: header value; header value"."""
    pieces = [piece for label in labels for piece in (Piece(" "), Piece(_DOTS.sub("", label.text), label))][1:]
    if pieces:
        pieces.append(Piece(" " if pieces[-1].text.endswith((":", "?")) else ": "))
    for number, cell in enumerate(values):
        if number:
            pieces.append(Piece("; "))
        place = _column_of(columns, cell.box)
        if place is not None and columns[place].header:
            pieces.append(Piece(columns[place].header + " "))
        pieces.append(Piece(_tight(cell.text), cell))
    return pieces


def _tight(text: str) -> str:
    """An amount without inner white space: "$ (1,234 )" is "$(1,234)"."""
    return re.sub(r"(?<=[$€£¥(])\s+|\s+(?=[)%])", "", text)
