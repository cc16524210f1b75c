"""Borderless tables: rows of cells found by geometry, each value recognised by its column's header.

A financial report's table has no lines to go by: a row is what shares a baseline, a cell is what wide white space
parts, a column is where values stand above one another, and its header is what stands above the first value.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from crag.core.tables import BESIDE
from crag.ingest.cells import (
    OVER,
    Column,
    Header,
    Rules,
    amount_box,
    cells_of,
    column_of,
    column_places,
    is_data,
    is_value,
    is_years,
    join_header_lines,
    part_of,
    read_header,
)
from crag.ingest.layout import Row, Segment
from crag.ingest.objects import NOWHERE, Box

_GOES_ON = re.compile(r"(?:,|\b(?:of|and|or|the|at|in|for|to|by|from|on|with|a|an|net|other))$", re.I)
_HEADS = re.compile(r":(?:\s*\((?:[a-z]|\d{1,2})\))?$")  # the end of a line that heads the rows below it
_DOTS = re.compile(r"(?<![\s.])(?>(?:\s*+\.){3,})\s*+$")
_PERIOD = re.compile(
    r"\b(?:(?:19|20)\d\d|years?|months?|weeks?|quarters?|fiscal|(?:january|march|june|september|december)\s+\d+)\b",
    re.I,
)
# Shares of a row's height, and of a column's width.
_ROW_GAP = 3.5  # between two rows of a table
_HEADER_GAP = 2.2  # between a header and the row below it
_TITLE = 2.5  # of a column's width, from which a lone header cell is a title
_RULED = 2.0  # how far below a header cell its rule may be
_ROW_OVERLAP = 2.0  # a row that begins so far above the end of the one before it stands elsewhere
# Points.
_LEAST_ROW = 6.0  # rows that are lower count as so high
_BESIDE = 15.0  # how far left of the values a header or value may begin
_INDENT = 2.0  # rows that begin so far apart are indented differently
_HANG = 12.0  # how far the rest of a wrapped cell may be indented
_INSIDE = 2.0  # how far out of its column a value may stand that is set close behind its label
# Rows, words and characters.
_LEAST_ROWS = 2  # of values
_MOST_BETWEEN = 5  # rows without values, one after another, within a table
_MOST_HEADS = 8  # header rows
_MOST_SECTIONS = 4  # rows between the header and the first values
_MOST_LABEL = 160  # characters of a row without values
_MOST_SECTION = 80  # of one between the header and the first values
_MOST_STUB, _MOST_TITLE = 60, 70  # of what stands beside a header's columns, and of a header that is one cell
_MOST_TITLES = 150  # of what stands above a table that goes on from the page before: the page's header and titles
_MOST_HEADER = 300  # of a table's column names
_MOST_CAPTION = 120  # of what speaks for all columns
_LONG_LABEL = 4  # words of a label that fills its place, and so goes on below
_FILLED = 0.75  # of the way to the first column, that such a label reaches


class Piece(NamedTuple):
    """Some text of a table row; `segment` is where it stands, None for what was put in between.

    `column`: of a value, the number of its column, or `BESIDE`; None of a label or a header.
    """

    text: str
    segment: Segment | None = None
    column: int | None = None


@dataclass(slots=True)
class LaidTable:
    """Lines of pieces: `heads` header lines first, then one line a row. `header` names the columns in one line.

    `names` are those of the single columns. `captions` speak for all columns, `unit` for all amounts; `title` are the
    lines above. `columns` are where a borderless table's values stand; `box` is where a table stands whose words were
    taken out of its page. `form`: its rows are labels with their values, and one without a value names no section.
    """

    header: str
    lines: list[list[Piece]]
    heads: int = 0
    names: list[str] = field(default_factory=list)
    captions: list[str] = field(default_factory=list)
    unit: str = ""
    title: str = ""
    columns: list[Column] = field(default_factory=list)
    box: Box = NOWHERE
    form: bool = False

    @property
    def context(self) -> tuple[str, ...]:
        """What is said of every row, the widest first: unit, captions, columns."""
        unit = self.unit.lower().strip("() ")
        other_captions = [caption for caption in self.captions if caption.lower().strip("() ") != unit]
        return tuple(part for part in (self.unit, *other_captions, self.header) if part)


class _Line(NamedTuple):
    """A row as cells. `data`: it holds values; `years`: it is years alone, which are a header."""

    row: Row
    cells: list[Segment]
    data: bool
    years: bool


def _line_of(row: Row) -> _Line:
    cells = cells_of(row)
    return _Line(row, cells, is_data(cells), is_years(cells))


def find_tables(rows: Sequence[Row], rules: Rules, goes_on: Sequence[Column] = ()) -> list[Row | LaidTable]:
    """The rows of one block, in order, with each run that is a table replaced by it.

    `goes_on`: the columns of the table that ended the page before; a first table without a header has their names.
    """
    lines = list(map(_line_of, rows))
    found: list[Row | LaidTable] = []
    index = 0
    while index < len(lines):
        end = _run_end(lines, index) if lines[index].data else index
        if sum(map(_amounts, lines[index:end])) < _LEAST_ROWS:
            found.append(lines[index].row)
            index += 1
            continue
        first, start = _header_rows(lines, index, end, found, rules)
        del found[len(found) - (index - first) :]
        found.append(_table(lines, first, start, end, rules, _columns_before(found, goes_on)))
        index = end
    return found


def _columns_before(found: Sequence[Row | LaidTable], goes_on: Sequence[Column]) -> Sequence[Column]:
    """Those of the table right above, or of the one on the page before if this is the first here."""
    between = 0
    for item in reversed(found):
        if isinstance(item, LaidTable):
            return item.columns if between < _MOST_SECTION else ()
        between += len(item.text)
    return goes_on if between < _MOST_TITLES else ()


def _run_end(lines: Sequence[_Line], start: int) -> int:
    """One past the last row of the table that begins at `start`: values, with a few other rows between."""
    end = index = start + 1
    zone = _zone(lines[start : start + 1])
    while index < len(lines) and index - end <= _MOST_BETWEEN:
        line = lines[index]
        gap, height = _gap(lines[index - 1], line), line.row.height
        if gap > _ROW_GAP * max(height, _LEAST_ROW) or gap < -_ROW_OVERLAP * height:
            break
        if line.years and len(line.cells) > 1:  # a second header: what follows is a table of its own
            break
        if line.data:
            end = index + 1
            zone = min(zone, _zone([line]))
        elif _is_text(line) or (any(_amounts(each) for each in lines[start:end]) and _begins_another(line, zone)):
            break
        index += 1
    return end


def _amounts(line: _Line) -> bool:
    return line.data and not line.years


def _is_text(line: _Line) -> bool:
    """Whether a row without values is no section's name, but text."""
    return sum(len(cell.text) for cell in line.cells) >= _MOST_LABEL


def _begins_another(line: _Line, zone: float) -> bool:
    """Whether a row without values names columns again: dates over them, and nothing else but a caption beside."""
    beyond = [cell for cell in line.cells if cell.box.x > zone]
    named = bool(beyond) and all(_PERIOD.search(cell.text) for cell in beyond)
    return named and len(line.cells) - len(beyond) <= (1 if len(beyond) > 1 else 0)


def _gap(above: _Line, below: _Line) -> float:
    return below.row.box.top - above.row.box.bottom


def _zone(lines: Sequence[_Line]) -> float:
    """Where the values begin, and a little left of it."""
    values = [cell for line in lines if line.data for cell in line.cells[1:] if is_value(cell.text)]
    return min(amount_box(cell).left for cell in values) - _BESIDE


def _header_rows(
    lines: Sequence[_Line], start: int, end: int, before: Sequence[Row | LaidTable], rules: Rules
) -> tuple[int, int]:
    """The first header row above `start`, and one past the last: names of sections may stand below it."""
    values = [line.cells[1:] for line in lines[start:end] if line.data]
    zone = _zone(lines[start:end])
    pitch = (max(row[-1].box.right for row in values) - zone) / max(map(len, values))
    heads = sections = 0
    while heads < _MOST_HEADS and heads + sections < len(before) and isinstance(before[-1 - heads - sections], Row):
        at = start - heads - sections - 1
        line, below = lines[at], lines[at + 1]
        room = _HEADER_GAP if heads else _ROW_GAP
        if _gap(line, below) > room * max(line.row.height, _LEAST_ROW):
            break
        if _over(line, zone, pitch, rules):
            heads += 1
        elif not heads and sections < _MOST_SECTIONS and _is_section(line, zone):
            sections += 1
        else:
            break
    return (start - heads - sections, start - sections) if heads else (start, start)


def _over(line: _Line, zone: float, pitch: float, rules: Rules) -> bool:
    """Whether a row stands over the columns, maybe with something short beside. `pitch`: a column's usual width.

    What stands there alone is no wider than a column, or names a time or a unit, or has a rule of its own: else it is
    the table's title.
    """
    beyond = [cell for cell in line.cells if cell.box.x > zone]
    if not beyond or len(beyond) < len(line.cells) - 1:
        return False
    if len(beyond) < len(line.cells) and len(line.cells[0].text) > _MOST_STUB:
        return False
    if len(line.cells) > 1:
        return True
    text, box = beyond[0].text, beyond[0].box
    if box.left < zone - OVER or len(text) > _MOST_TITLE:
        return False
    if box.width < _TITLE * pitch or _PERIOD.search(text) or text.startswith("("):
        return True
    ruled = rules.below(box, box.bottom + _RULED * box.height)
    return ruled is not None and ruled.left > zone - OVER


def _is_section(line: _Line, zone: float) -> bool:
    return len(line.cells) == 1 and line.cells[0].box.right < zone + OVER and len(line.row.text) <= _MOST_SECTION


def _table(
    lines: Sequence[_Line], first: int, start: int, end: int, rules: Rules, before: Sequence[Column]
) -> LaidTable:
    data = [line.cells for line in lines[start:end] if _amounts(line)]
    columns = column_places([[amount_box(cell) for cell in row[1:] if is_value(cell.text)] for row in data])
    while start < end and _names_columns(lines[start], columns):
        start += 1
    heads = [line.cells for line in lines[first:start]]
    labels = [_unglued(line, columns)[0] for line in lines[start:end] if _amounts(line)]
    labels = [label for label in labels if not is_value(label.text)]
    header = read_header(columns, heads, rules, [label.box for label in labels])
    if not heads:
        _named_as(columns, before)
    _say_percent(columns, data)
    lines_above = _header_lines(header, columns)
    table = LaidTable(
        " | ".join(column.header for column in columns if column.header)[:_MOST_HEADER],
        lines_above,
        heads=len(lines_above),
        names=[column.header for column in columns],
        captions=[join_header_lines([cell.text])[:_MOST_CAPTION] for cell in header.captions],
        columns=columns,
    )
    index, beside, group = start, _second_labels(lines[start:end]), ""
    while index < end:
        line, cells = lines[index], _unglued(lines[index], columns)
        last = index  # of the rows that one label stands on
        while last + 1 < end and not lines[last].data and _wraps(lines[last : min(last + 3, end)], columns):
            last += 1
        if line.data and beside is not None and abs(cells[0].box.left - beside) < _INDENT and group:
            table.lines.append([Piece(f"{group}, "), *_format_row(columns, cells[:1], cells[1:])])
        elif line.data and beside is not None and _has_two_labels(cells, beside):
            group = cells[0].text
            own = _format_row(columns, cells[1:2], cells[2:])
            table.lines.append([Piece(group, cells[0]), Piece(", "), *own])
        elif line.data:
            bare = is_value(cells[0].text) and (not columns or cells[0].box.left > columns[0].box.left - _BESIDE)
            label = 0 if bare else 1
            table.lines.append(_format_row(columns, cells[:label], cells[label:]))
        elif last > index:
            above = [cell for each in lines[index:last] for cell in each.cells]
            table.lines.append(_format_row(columns, [*above, lines[last].cells[0]], lines[last].cells[1:]))
            index = last
        elif index > start and lines[index - 1].data and len(cells) == 1 and cells[0].text[:1].islower():
            _hang(table.lines[-1], cells[0])
        else:
            table.lines.append(_space_cells(cells))
        index += 1
    return table


def _second_labels(lines: Sequence[_Line]) -> float | None:
    """Where a second column of labels begins, if the first is merged: some rows have both, others the second alone."""
    data = [line.cells for line in lines if line.data]
    both = [cells[1].box.left for cells in data if len(cells) > 2 and not is_value(cells[1].text)]
    if len(both) < 2 or not data or data[0][1].box.left != both[0]:
        return None
    alone = [cells for cells in data if abs(cells[0].box.left - both[0]) < _INDENT]
    aligned = all(abs(left - both[0]) < _INDENT for left in both)
    return both[0] if aligned and alone and len(both) + len(alone) == len(data) else None


def _has_two_labels(cells: Sequence[Segment], beside: float) -> bool:
    return len(cells) > 2 and abs(cells[1].box.left - beside) < _INDENT


def _say_percent(columns: Sequence[Column], data: Sequence[Sequence[Segment]]) -> None:
    """Name the columns of percentages so: the sign is often printed with their first and last amount alone."""
    for number, column in enumerate(columns):
        texts = [cell.text for row in data for cell in row[1:] if column_of(columns, amount_box(cell)) == number]
        texts = [text for text in texts if any(character.isdigit() for character in text)]
        signed = [text.endswith("%") for text in texts]
        bare = not any(character.isalpha() or character == "$" for text in texts for character in text)
        if signed and signed[0] and not all(signed) and bare and "%" not in column.header:
            column.header = f"{column.header} %".strip()


def _named_as(columns: Sequence[Column], before: Sequence[Column]) -> None:
    """Give the columns of a table that goes on the names of those above which they stand."""
    places = [column_of(before, column.box) for column in columns]
    if before and None not in places and len(set(places)) == len(places):
        for column, place in zip(columns, places, strict=True):
            column.header = before[place or 0].header


def _header_lines(header: Header, columns: Sequence[Column]) -> list[list[Piece]]:
    """The header as it is read aloud: captions, then column by column, a group's name before its first."""
    lines = [_space_cells(header.captions)] if header.captions else []
    line: list[Piece] = []
    other_captions: set[int] = set()
    for number in range(len(columns)):
        own = [(place, cell, over) for place, (cell, over) in enumerate(header.cells) if over and over[0] == number]
        for at, (place, cell, over) in enumerate(own):
            if line:
                line.append(Piece(" " if at else "; "))
            group = at + 1 < len(own) and len(own[at + 1][2]) < len(over)
            line.append(Piece(cell.text, cell))
            if group and not cell.text.endswith("\u00ad"):
                line.append(Piece(" –"))  # no colon: that would make it a row with a label
            other_captions.add(place)
    lines += [line] if line else []
    rest = [cell for place, (cell, _) in enumerate(header.cells) if place not in other_captions]
    return [*lines, _space_cells(rest)] if rest else lines


def _unglued(line: _Line, columns: Sequence[Column]) -> list[Segment]:
    """A row's cells, a value that is set close behind the label taken from it where it stands in a column."""
    label = line.cells[0]
    words = label.words
    if not line.data or len(words) < 2 or not columns or label.box.right < columns[0].box.left:
        return line.cells
    start = len(words) - 1
    if not is_value(words[start].text) or is_value(label.text):
        return line.cells
    place = column_of(columns, words[start].box)
    if place is None or words[start].box.left < columns[place].box.left - _INSIDE:
        return line.cells
    if start > 1 and words[start - 1].text in "$€£¥":
        start -= 1
    return [part_of(label, 0, start), part_of(label, start, len(words)), *line.cells[1:]]


def _names_columns(line: _Line, columns: Sequence[Column]) -> bool:
    """Whether a line above the first values is years over the columns, or without values over the columns alone."""
    over = [bool(columns) and cell.box.left > columns[0].box.left - OVER for cell in line.cells]
    beside = len(over) > 2 and all(over[1:])  # what stands in the labels' own column may name that
    return any(over) if line.years else not line.data and (all(over) or beside)


def _wraps(lines: Sequence[_Line], columns: Sequence[Column]) -> bool:
    """Whether the first row, without values, is the beginning of the next one's label. The third may tell."""
    line, below = lines[:2]
    here, after = line.cells[-1], below.cells[0]
    if len(line.cells) > 2 or is_value(after.text) or _gap(line, below) > here.box.height:
        return False
    if len(line.cells) == 2:  # a column of words beside the labels', that goes on below itself
        return -_INDENT < after.box.left - here.box.left < _HANG
    if not below.data and len(below.cells) > 1:
        return False
    if _HEADS.search(here.text) or here.words[-1].bold != after.words[0].bold:
        return False
    if after.text.lstrip("(")[:1].islower() or _GOES_ON.search(here.text):
        return True
    start = after.box.left
    if len(lines) > 2 and start > here.box.left + _INDENT and abs(lines[2].cells[0].box.left - start) < _INDENT:
        return False  # what is indented below it goes on: rows of a section
    reaches = bool(columns) and here.box.right > start + _FILLED * (columns[0].box.left - start)
    return reaches and len(here.words) > _LONG_LABEL


def _hang(line: list[Piece], more: Segment) -> None:
    """Put the rest of a label behind its beginning, before the values."""
    at = 1 if line and line[0].segment is not None else 0
    line[at:at] = [Piece(" "), Piece(more.text, more)] if at else [Piece(more.text, more), Piece(" ")]


def _space_cells(cells: Sequence[Segment]) -> list[Piece]:
    between = Piece("; " if len(cells) > 2 else " ")
    return [piece for cell in cells for piece in (between, Piece(cell.text, cell))][1:]


def _format_row(columns: Sequence[Column], labels: Sequence[Segment], values: Sequence[Segment]) -> list[Piece]:
    """One row as readable pieces: "label: header value; header value"."""
    pieces = [piece for label in labels for piece in (Piece(" "), Piece(_DOTS.sub("", label.text), label))][1:]
    if pieces and values:
        pieces.append(Piece(" " if pieces[-1].text.endswith((":", "?")) else ": "))
    for number, cell in enumerate(values):
        if number:
            pieces.append(Piece("; "))
        place = column_of(columns, amount_box(cell))
        if place is not None and columns[place].header:
            pieces.append(Piece(columns[place].header + " "))
        pieces.append(Piece(_tight(cell.text), cell, BESIDE if place is None else place))
    return pieces


def _tight(text: str) -> str:
    """An amount without inner white space: "$ (1,234 )" is "$(1,234)"."""
    return re.sub(r"(?<=[$€£¥(])\s++|(?<!\s)\s++(?=[)%])", "", text)
