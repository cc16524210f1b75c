"""Tables as values: the header, and rows of cells that say where in a text they stand. All frozen.

A reader makes them once, from the page. The text of a table is for search and for the evaluators; code that needs a row
or a cell takes it from here.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, NamedTuple

SEPARATOR = " › "
"""Stands between the levels of a section or a context, the widest first."""
BESIDE = -1
"""The column of a cell that stands under no name."""
_MOST_OPEN = 4  # headings that stand open above a row
_MOST_SECTION = 160  # characters
_COLONS = 0.8  # of a form's labels, that end in one
_LEVEL = 1.0  # points between two levels of indentation


class Cell(NamedTuple):
    """The characters [start, end) of the text that are one value; `column` counts in the header, or is `BESIDE`."""

    column: int
    start: int
    end: int


class Row(NamedTuple):
    """The characters [start, end) of the text that are one row; its label ends at `label`.

    A row without cells names a section. `section` is what stands above the row, the widest first. `indent`: how far
    the label is indented, in points; 0 where that is not known.
    """

    start: int
    end: int
    label: int
    cells: tuple[Cell, ...] = ()
    section: str = ""
    indent: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """The characters [start, end) of a text that are one table.

    `header` names the columns; `captions` speak for all of them, `unit` for all amounts ("in millions"). `title`: the
    lines above it on the page. `heads`: unit, captions and all columns, each in one line, for the context of its
    chunks; empty in a part of a table, whose context has them.
    """

    start: int
    end: int
    header: tuple[str, ...] = ()
    rows: tuple[Row, ...] = ()
    unit: str = ""
    captions: tuple[str, ...] = ()
    title: str = ""
    heads: tuple[str, ...] = ()

    def moved(self, by: int) -> Table:
        """The same table in a text in which it begins `by` characters later."""
        rows = tuple(_moved(row, by) for row in self.rows)
        return replace(self, start=self.start + by, end=self.end + by, rows=rows)

    def within(self, start: int, end: int) -> Table | None:
        """The rows that lie whole in [start, end), counted from `start`, under the whole header; None without any."""
        rows = tuple(row for row in self.rows if start <= row.start and row.end <= end)
        if not rows:
            return None
        return replace(self, start=max(start, self.start), end=min(end, self.end), rows=rows, heads=()).moved(-start)

    def is_form(self, text: str) -> bool:
        """Whether it is pairs of label and value in `text`: labels end in a colon, and no column has a name."""
        labels = [text[row.start : row.label].rstrip() for row in self.rows if len(row.cells) <= 1]
        colons = sum(label.endswith(":") for label in labels)
        return not any(self.header) and bool(labels) and colons > _COLONS * len(self.rows)

    def name(self, cell: Cell) -> str:
        """The name of a cell's column; empty where it has none."""
        return self.header[cell.column] if 0 <= cell.column < len(self.header) else ""


def _moved(row: Row, by: int) -> Row:
    cells = tuple(Cell(column, start + by, end + by) for column, start, end in row.cells)
    return row._replace(start=row.start + by, end=row.end + by, label=row.label + by, cells=cells)


def place_sections(rows: Iterable[tuple[Row, str]]) -> tuple[Row, ...]:
    """The rows, each given with its label, with the headings that they stand under.

    A heading is closed by its total, by a heading that is indented as little, and by a row that is indented less, or as
    little where others under it are indented more.
    """
    found: list[Row] = []
    open_: list[_Heading] = []
    closes = False
    for row, text in rows:
        label = " ".join(text.replace("\u00ad", "").split()).strip(" :")
        total = label[:5].lower() == "total"
        if closes and open_:
            open_.pop()
        closes = False
        while open_ and open_[-1].is_closed_by(row, total=total, follows=bool(found and not found[-1].cells)):
            open_.pop()
        found.append(row._replace(section=SEPARATOR.join(each.name for each in open_)[-_MOST_SECTION:]))
        if not row.cells:
            open_ = [*open_, _Heading(label, row.indent)][-_MOST_OPEN:]
            continue
        if open_:
            open_[-1].deeper |= row.indent > open_[-1].indent + _LEVEL
        # The first row of a section may be a total, as "Total revenue" is.
        closes = total and len(found) > 1 and bool(found[-2].cells)
    return tuple(found)


@dataclass(slots=True)
class _Heading:
    """A heading that stands open. `deeper`: rows under it are indented more than it is."""

    name: str
    indent: float
    deeper: bool = False

    def is_closed_by(self, row: Row, *, total: bool, follows: bool) -> bool:
        """Whether a row is not under the heading. `follows`: it comes right behind a heading."""
        if not row.cells:
            return not follows and row.indent < self.indent + _LEVEL
        if self.deeper and not total:
            return row.indent < self.indent + _LEVEL
        return row.indent < self.indent - _LEVEL


def dump_tables(tables: Iterable[Table]) -> list[list[Any]]:
    """Tables as plain values, for a pipe or a record."""
    return [
        [
            *(table.start, table.end, table.heads, table.header, table.captions, table.unit, table.title),
            [[*row[:3], row.section, round(row.indent, 1), [*chain(*row.cells)]] for row in table.rows],
        ]
        for table in tables
    ]


def load_tables(values: Sequence[Any], size: int) -> tuple[Table, ...]:
    """The tables of a text of `size` characters. Raises ValueError, TypeError for what is none."""
    found = []
    for start, end, heads, header, captions, unit, title, raw in values:
        _check(start, end, 0, size)
        rows = []
        for first, last, label, section, indent, numbers in raw:
            _check(first, last, start, end)
            _check(first, label, first, last)
            cells = tuple(Cell(*numbers[at : at + 3]) for at in range(0, len(numbers), 3))
            for cell in cells:
                _check(cell.start, cell.end, first, last)
                _check(BESIDE, cell.column, BESIDE, len(header) - 1)
            rows.append(Row(first, last, label, cells, str(section), float(indent)))
        found.append(
            Table(
                start=start,
                end=end,
                heads=tuple(map(str, heads)),
                header=tuple(map(str, header)),
                captions=tuple(map(str, captions)),
                unit=str(unit),
                title=str(title),
                rows=tuple(rows),
            )
        )
    return tuple(found)


def _check(start: Any, end: Any, least: int, most: int) -> None:
    if not (isinstance(start, int) and isinstance(end, int) and least <= start <= end <= most):
        raise ValueError("a span outside its text")
