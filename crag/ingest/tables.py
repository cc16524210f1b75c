"""Borderless tables: rows of cells found by geometry, each value told by its column's header.

A financial report's table has no lines to go by: a row is what shares a baseline, a cell is what wide white space
parts, a column is where values stand above one another, and its header is what stands above the first value.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from crag.ingest.cells import cells_of, is_data, is_value, is_years
from crag.ingest.layout import Row, Segment

__all__ = ["Piece", "Table", "find_tables"]

_GOES_ON = re.compile(r"(?:,|\b(?:of|and|or|the|at|in|for|to|by|from|on|with|a|an|net|other))$")
_DOTS = re.compile(r"(?:\s*\.){3,}\s*$")
_MOST_HEADER = 60


@dataclass(slots=True)
class Piece:
    """Some text of a table row; `segment` is where it stands, None for what was put in between."""

    text: str
    segment: Segment | None = None


@dataclass(slots=True)
class Table:
    """Lines of pieces: header lines first, then one line a row. `header` names the columns in one line."""

    header: str
    lines: list[list[Piece]] = field(default_factory=list)


@dataclass(slots=True)
class _Column:
    left: float
    right: float
    header: str = ""


def find_tables(rows: Sequence[Row]) -> list[Row | Table]:
    """The rows of one block, in order, with each run that is a table replaced by it."""
    cells = [cells_of(row) for row in rows]
    found: list[Row | Table] = []
    index = 0
    while index < len(rows):
        if not is_data(cells[index]):
            found.append(rows[index])
            index += 1
            continue
        end = _run_end(rows, cells, index)
        if sum(is_data(each) and not is_years(each) for each in cells[index:end]) < 2:
            found.append(rows[index])
            index += 1
            continue
        heads = _header_rows(rows, cells, index, end, found)
        del found[len(found) - heads :]
        found.append(_table(rows, cells, index - heads, index, end))
        index = end
    return found


def _run_end(rows: Sequence[Row], cells: Sequence[list[Segment]], start: int) -> int:
    """One past the last row of the table that begins at `start`: values, with at most three other rows between."""
    end = start + 1
    index = start + 1
    while index < len(rows) and index - end < 4:
        gap = rows[index].top - rows[index - 1].bottom
        if gap > 3.5 * max(rows[index].height, 6) or gap < -2 * rows[index].height:
            break
        if is_years(cells[index]) and len(cells[index]) > 1:
            # A second header: what follows is a table of its own.
            break
        if is_data(cells[index]):
            end = index + 1
        elif not _may_stand_between(cells[index]):
            break
        index += 1
    return end


def _may_stand_between(cells: Sequence[Segment]) -> bool:
    """A section label or part of a wrapped label; a long line of text ends the table."""
    return sum(len(cell.text) for cell in cells) < 160


def _header_rows(
    rows: Sequence[Row], cells: Sequence[list[Segment]], start: int, end: int, before: Sequence[Row | Table]
) -> int:
    """How many rows right above `start` are column headers."""
    lefts = [cell.left for each in cells[start:end] if is_data(each) for cell in each[1:] if is_value(cell.text)]
    zone = min(lefts) - 15
    count = 0
    while count < 6 and count < len(before) and isinstance(before[-1 - count], Row):
        index = start - count - 1
        if rows[index + 1].top - rows[index].bottom > 2.2 * max(rows[index].height, 6):
            break
        beyond = [cell for cell in cells[index] if (cell.left + cell.right) / 2 > zone]
        if not beyond or len(beyond) < len(cells[index]) - 1:
            break
        stub = cells[index][0]
        if len(beyond) < len(cells[index]) and len(stub.text) > 60:
            break
        if len(cells[index]) == 1 and (beyond[0].left < zone - 40 or len(beyond[0].text) > 70):
            break
        count += 1
    return count


def _table(rows: Sequence[Row], cells: Sequence[list[Segment]], head: int, start: int, end: int) -> Table:
    columns = _column_places([each for each in cells[start:end] if is_data(each) and not is_years(each)])
    while start < end and (is_years(cells[start]) or _names_columns(cells[start], columns)):
        start += 1
    captions = _name_columns(columns, cells[head:start])
    names = " | ".join(column.header for column in columns if column.header)
    table = Table(header=" ".join([*captions, names]).strip()[:300])
    for each in cells[head:start]:
        table.lines.append(_spaced(each))
    index = start
    while index < end:
        if not is_data(cells[index]):
            joins = index + 1 < end and is_data(cells[index + 1]) and _wraps(rows, cells, index, columns)
            if joins:
                table.lines.append(_line(columns, [*cells[index], cells[index + 1][0]], cells[index + 1][1:]))
                index += 2
                continue
            if len(cells[index]) == 1 and table.lines and _hangs(cells, index, start):
                _hang(table.lines[-1], cells[index][0])
            else:
                table.lines.append(_spaced(cells[index]))
        elif is_value(cells[index][0].text) and (cells[index][0].left > columns[0].left - 15 if columns else True):
            table.lines.append(_line(columns, [], cells[index]))
        else:
            table.lines.append(_line(columns, cells[index][:1], cells[index][1:]))
        index += 1
    return table


def _names_columns(cells: Sequence[Segment], columns: Sequence[_Column]) -> bool:
    """Whether a line without values, above the first values, stands over the columns alone."""
    return not is_data(cells) and bool(columns) and all(cell.left > columns[0].left - 40 for cell in cells)


def _column_places(data: Sequence[Sequence[Segment]]) -> list[_Column]:
    """Where values stand above one another; [] where two values of one row would share a column."""
    values = sorted((cell for row in data for cell in row[1:]), key=lambda c: c.right)
    values = [cell for cell in values if is_value(cell.text)]
    columns: list[_Column] = []
    for cell in sorted(values, key=lambda c: c.left):
        last = columns[-1] if columns else None
        if last is not None and cell.left < last.right - 0.5:
            last.right = max(last.right, cell.right)
        else:
            columns.append(_Column(cell.left, cell.right))
    for row in data:
        taken = [_column_of(columns, cell) for cell in row[1:] if is_value(cell.text)]
        if len(set(taken)) < len(taken):
            return []
    return columns


def _column_of(columns: Sequence[_Column], cell: Segment) -> int | None:
    """The column that a cell shares most width with, None if it touches none."""
    best, width = None, -3.0
    for number, column in enumerate(columns):
        shared = min(cell.right, column.right) - max(cell.left, column.left)
        if shared > width:
            best, width = number, shared
    return best


def _name_columns(columns: list[_Column], heads: Sequence[Sequence[Segment]]) -> list[str]:
    """Give columns their headers, line over line. What spans all of them, or none, is returned as captions."""
    captions: list[str] = []
    spans: list[tuple[Segment, list[int]]] = []
    if not columns:
        return [" ".join(cell.text for cell in each) for each in heads]
    single: dict[int, list[str]] = {}
    zone = columns[0].left - 40
    for each in heads:
        cells = [cell for cell in each if (cell.left + cell.right) / 2 > zone]
        captions += [cell.text for cell in each if (cell.left + cell.right) / 2 <= zone]
        shares = _shares(cells, columns)
        for cell, over in zip(cells, shares, strict=True):
            if len(over) == 1:
                single.setdefault(over[0], []).append(cell.text)
            elif 1 < len(over) < len(columns):
                spans.append((cell, over))
            else:
                captions.append(cell.text)
    for number, column in enumerate(columns):
        own = [cell.text for cell, over in spans if number in over]
        column.header = " ".join([*own, *single.get(number, [])])[-_MOST_HEADER:].strip(" :")
    return captions


def _shares(cells: Sequence[Segment], columns: Sequence[_Column]) -> list[list[int]]:
    """The columns that each cell of one header line speaks for: its own, a group's, or all."""
    if len(cells) == 1 and len(columns) > 1:
        cell = cells[0]
        pitch = (columns[-1].right - columns[0].left) / len(columns)
        over = [n for n, c in enumerate(columns) if min(cell.right, c.right) - max(cell.left, c.left) > -2]
        off = abs(cell.left + cell.right - columns[0].left - columns[-1].right) / 2
        # A lone cell over the middle is every column's caption; elsewhere it belongs to what it covers.
        wide = cell.right - cell.left > 0.9 * pitch
        return [list(range(len(columns))) if off < 0.6 * pitch or wide or not over else over]
    middles = [(cell.left + cell.right) / 2 for cell in cells]
    nearest: list[list[int]] = [[] for _ in cells]
    for number, column in enumerate(columns):
        place = (column.left + column.right) / 2
        nearest[min(range(len(cells)), key=lambda n: abs(middles[n] - place))].append(number)
    even = {len(group) for group in nearest}
    if len(cells) < len(columns) and len(even) == 1:
        return nearest
    found = []
    for cell, middle in zip(cells, middles, strict=True):
        over = [n for n, c in enumerate(columns) if min(cell.right, c.right) - max(cell.left, c.left) > -2]
        closest = min(range(len(columns)), key=lambda n: abs((columns[n].left + columns[n].right) / 2 - middle))
        found.append(over if len(over) > 1 and len(cells) < len(columns) else [closest])
    return found


def _wraps(rows: Sequence[Row], cells: Sequence[list[Segment]], index: int, columns: Sequence[_Column]) -> bool:
    """Whether a row without values is the beginning of the next row's label."""
    if len(cells[index]) != 1:
        return False
    here, after = cells[index][0], cells[index + 1][0]
    if is_value(after.text) or here.text.endswith(":") or rows[index + 1].top - rows[index].bottom > here.height:
        return False
    reaches = bool(columns) and here.right > after.left + 0.75 * (columns[0].left - after.left)
    return after.text[:1].islower() or bool(_GOES_ON.search(here.text)) or (reaches and len(here.words) > 4)


def _hangs(cells: Sequence[list[Segment]], index: int, start: int) -> bool:
    """Whether a row without values goes on the label of the row above it."""
    here = cells[index][0]
    return index > start and is_data(cells[index - 1]) and here.text[:1].islower()


def _hang(line: list[Piece], more: Segment) -> None:
    """Put the rest of a label behind its beginning, before the values."""
    at = 1 if line and line[0].segment is not None else 0
    line[at:at] = [Piece(" "), Piece(more.text, more)] if at else [Piece(more.text, more), Piece(" ")]


def _spaced(cells: Sequence[Segment]) -> list[Piece]:
    pieces: list[Piece] = []
    for cell in cells:
        if pieces:
            pieces.append(Piece("; " if len(cells) > 2 else " "))
        pieces.append(Piece(cell.text, cell))
    return pieces


def _line(columns: Sequence[_Column], labels: Sequence[Segment], values: Sequence[Segment]) -> list[Piece]:
    """One row as readable pieces: "label: header value; header value"."""
    pieces: list[Piece] = []
    for label in labels:
        if pieces:
            pieces.append(Piece(" "))
        pieces.append(Piece(_DOTS.sub("", label.text), label))
    if pieces:
        pieces.append(Piece(" " if pieces[-1].text.endswith((":", "?")) else ": "))
    for number, cell in enumerate(values):
        if number:
            pieces.append(Piece("; "))
        place = _column_of(columns, cell)
        if place is not None and columns[place].header:
            pieces.append(Piece(columns[place].header + " "))
        pieces.append(Piece(_tight(cell.text), cell))
    return pieces


def _tight(text: str) -> str:
    """An amount without inner white space: "$ (1,234 )" is "$(1,234)"."""
    return re.sub(r"(?<=[$€£¥(])\s+|\s+(?=[)%])", "", text)
