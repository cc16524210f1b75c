"""One model of a table for every format: a grid of cells, and what it says as header, captions, labels and values.

A reader gives each cell's place and span, and what its format says of it. `read_grid` is pure and knows no format.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

from crag.core.tables import SEPARATOR
from crag.ingest.units import unit_in

MOST_COLUMNS = 300
_MOST_HEADS = 6
_SAMPLE = 40
"""Rows below a header that show what it stands over."""
_SPREAD, _LEAST_SPREAD = 4, 10_000
"""Places that spans may take beyond the cells themselves: for each cell, and in any case."""
_FEW = 0.25
"""Share of the rows whose label must be blank for a blank to mean the label above."""
_MOST_NAME = 60
"""Characters of the average header cell, where nothing but its place makes it one."""
_VALUE = re.compile(r"[-+(±−–]?\s*+[$€£¥]?\s*+[-+(−–]?\d[\d\s.,:/'’%)-]*+(?:[eE][-+]?\d+)?%?\)?(?:\s?\[\w{1,3}\])?")
_AMOUNT = rf"(?:[^\W\d_]{{1,12}}\s)?{_VALUE.pattern}\s?(?:[^\W\d_°µ]{{0,12}}|[^\s\d]{{1,10}})"
_MEASURED = re.compile(rf"{_AMOUNT}(?:\s(?:[^\W\d_]{{1,4}}|[–-])\s{_AMOUNT})?")  # with units, or from one to another
_PERIOD = re.compile(
    r"(?:[^\W\d_]{1,12}\.? )?(?:\d{1,2}[.,]? )?(?:[^\W\d_]{1,12}\.?,? )?(?:19|20)\d\d(?:\s?[/–-]\s?\d\d(?:\d\d)?)?"
    r"|\d{1,4}([./-])\d{1,2}\1\d{1,4}"
)
_MOST_UNIT = 10  # characters
_OPENS, _CLOSES = frozenset("("), frozenset({")", "%", ")%", "%)"})


@dataclass(frozen=True, slots=True, kw_only=True)
class GridCell:
    """A cell at its first row and column, with how many of both it covers.

    `header`: what the source says; None where it says nothing. `payload` is the reader's own and is handed through.
    """

    row: int
    column: int
    text: str
    rows: int = 1
    columns: int = 1
    header: bool | None = None
    bold: bool = False
    payload: tuple[Any, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class GridRow:
    """A row below the header. `number` is its row in the grid, `cells` the values with their columns in the header.

    A row without cells names a section. A cell that is merged over several rows stands in each of them.
    """

    number: int
    labels: tuple[GridCell, ...] = ()
    cells: tuple[tuple[int, GridCell], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class GridTable:
    """What a grid says.

    `header` names each column from the first that holds text ("Fee in euros › Minors"), "" where nothing does; the
    first `labels` of them name what rows are called. `heads` are the header rows as they stand. `captions` speak for
    all columns, `unit` for all amounts.
    """

    header: tuple[str, ...] = ()
    labels: int = 1
    heads: tuple[tuple[GridCell, ...], ...] = ()
    captions: tuple[GridCell, ...] = ()
    unit: str = ""
    rows: tuple[GridRow, ...] = ()

    def label(self, row: GridRow) -> str:
        """What a row is called: its first label, and the others behind the names of their columns."""
        own = self.header[: self.labels]
        names = ("", *("" if name == own[at] else name for at, name in enumerate(own[1:])))
        return ", ".join(f"{''.join(names[cell.column : cell.column + 1])} {cell.text}".strip() for cell in row.labels)


def cells_of_rows(rows: Iterable[Sequence[str]], *, headed: bool = False) -> Iterator[GridCell]:
    """The cells of rows of texts. `headed`: the source says that the first of them names the columns."""
    for number, row in enumerate(rows):
        for column, text in enumerate(row):
            yield GridCell(row=number, column=column, text=text, header=True if headed and not number else None)


def place_cells(rows: Iterable[Iterable[GridCell]]) -> Iterator[GridCell]:
    """The cells of rows that only say how far each cell reaches, at their places: as HTML lays out a table."""
    taken: dict[int, int] = {}
    for number, row in enumerate(rows):
        column = 0
        for cell in row:
            while taken.get(column, 0) > number:
                column += 1
            if column >= MOST_COLUMNS:
                break
            width = min(max(1, cell.columns), MOST_COLUMNS - column)
            if cell.rows > 1:
                taken.update(dict.fromkeys(range(column, column + width), number + cell.rows))
            yield replace(cell, row=number, column=column, columns=width)
            column += width


@dataclass(slots=True)
class _Line:
    """A row of the grid with a cell for each place; a cell that is merged stands at several."""

    number: int
    at: dict[int, GridCell] = field(default_factory=dict)

    @property
    def cells(self) -> list[GridCell]:
        return list({id(cell): cell for _, cell in sorted(self.at.items())}.values())

    def beyond(self, labels: int = 1) -> list[GridCell]:
        """The cells that do not begin among the labels."""
        own = {id(self.at[column]) for column in range(labels) if column in self.at}
        return [cell for cell in self.cells if id(cell) not in own]

    @property
    def is_alone(self) -> bool:
        """Whether one text stands in the row, or over all of it."""
        return 0 in self.at and all(cell is self.at[0] for cell in self.at.values())


def read_grid(cells: Iterable[GridCell], before: GridTable | None = None) -> GridTable:
    """What a grid of cells says as a table. Takes time by the number of cells, however far they reach.

    `before`: the table that this one may go on with, whose header it has if it has none of its own and as many columns.
    """
    lines = _expand(cells)
    width = 1 + max((max(line.at) for line in lines), default=-1)
    captions: list[GridCell] = []
    if not all(line.is_alone for line in lines):
        while lines[0].is_alone:
            captions += lines.pop(0).cells
    heads, body = _split_heads(lines)
    if captions and not heads and any(line.is_alone for line in body):
        body = [*(_Line(cell.row, {cell.column: cell}) for cell in captions[-1:]), *body]  # it names a section
        captions.pop()
    while len(body) > 1 and body[0].is_alone and unit_in([body[0].at[0].text]):
        captions += body.pop(0).cells
    repeated = {_key(line.cells) for line in heads} | {_key(head) for head in (before.heads if before else ())}
    body = [line for line in body if line.is_alone or _key(line.cells) not in repeated]
    captions += _take_captions(heads)
    _spread_groups(heads)
    header = tuple(_name(heads, column) for column in range(width))
    if not heads and before is not None and width <= len(before.header):
        header = before.header
    labels = _count_labels(body, width)
    rows = tuple(_row(line, labels, header) for line in body)
    return GridTable(
        header=_without_empty(header, {column for row in rows for column, _ in row.cells}, labels),
        labels=labels,
        heads=tuple(tuple(line.cells) for line in heads),
        captions=tuple(captions),
        unit=unit_in([cell.text for cell in captions]),
        rows=rows,
    )


def is_header_of(above: Sequence[GridCell], below: Sequence[GridCell]) -> bool:
    """Whether some rows are nothing but the header of others from which blank rows part them."""
    lowest, highest = max(cell.row for cell in above), min(cell.row for cell in below)
    last = {cell.column for cell in above if cell.row == lowest}
    first = [cell for cell in below if cell.row == highest]
    if len(last) < 2 or len({cell.row for cell in above}) > _MOST_HEADS or any(map(_is_amount, above)):
        return False
    return any(_is_amount(cell) and cell.column in last for cell in first)


def _key(cells: Sequence[GridCell]) -> tuple[tuple[int, str], ...]:
    """What is the same of a header row where it is repeated."""
    return tuple((cell.column, cell.text) for cell in cells)


def _without_empty(header: tuple[str, ...], used: set[int], labels: int) -> tuple[str, ...]:
    """The names of the columns, each once where columns without values share it; none where nothing has a name."""
    names = [
        ""
        if column >= labels and column not in used and name in (header[column - 1], *header[column + 1 : column + 2])
        else name
        for column, name in enumerate(header)
    ]
    return tuple(names) if any(names) else ()


def _expand(cells: Iterable[GridCell]) -> list[_Line]:
    """The rows that hold text, each cell at all its places. Columns count from the first that holds text.

    Spans end at the last row and column in which a cell begins, and are 1 once they took more places than are allowed.
    """
    filled = [cell for cell in cells if cell.text.strip()]
    first = min((cell.column for cell in filled), default=0)
    last = max((cell.column for cell in filled), default=0)
    numbers = sorted({cell.row for cell in filled})
    index = {number: at for at, number in enumerate(numbers)}
    lines = [_Line(number) for number in numbers]
    room = _SPREAD * len(filled) + _LEAST_SPREAD
    for cell in filled:
        top, width = index[cell.row], min(cell.columns, last + 1 - cell.column)
        rows = 1
        while top + rows < len(numbers) and numbers[top + rows] < cell.row + cell.rows:
            rows += 1
            room -= width
            if room < 0:
                break
        if room - width < 0:
            rows = width = 1
        room -= width - 1
        text = " ".join(cell.text.split())
        moved = cell if text == cell.text and not first else replace(cell, column=cell.column - first, text=text)
        for line in lines[top : top + rows]:
            for column in range(moved.column, moved.column + width):
                line.at.setdefault(column, moved)
    return lines


# ---- header --------------------------------------------------------------------------------------------------------


def _split_heads(lines: list[_Line]) -> tuple[list[_Line], list[_Line]]:
    """The header rows, and the rows below them."""
    count = 0
    while count < min(_MOST_HEADS, len(lines) - 1) and _is_head(lines, count):
        count += 1
    return lines[:count], lines[count:]


def _is_head(lines: Sequence[_Line], at: int) -> bool:
    """Whether a row belongs to the header, where all rows above it do: as it is marked, by spans, types and style."""
    line, below = lines[at], lines[at + 1 : at + 1 + _SAMPLE]
    own = line.beyond() or line.cells
    if line.is_alone:
        return False
    if all(cell.header for cell in own):
        return True
    if 0 in line.at and line.at[0].header and any(cell.header is False for cell in own):
        return False  # the name of a row, and its values
    above = lines[at - 1] if at else None
    styled = all(cell.bold for cell in line.cells) and not all(cell.bold for each in below for cell in each.cells)
    if styled and above is None:
        return True
    if any(map(_is_amount, line.cells)):
        return False
    if above is not None:
        merged = {id(cell) for cell in above.cells}
        if any(id(cell) in merged for cell in line.cells):
            return True
    if styled or any(cell.header for cell in below[0].beyond()):
        return True
    if above is None:
        return _names_columns(line, below)
    if any(cell.header is False for cell in own) or not _is_over_amounts(line, below):
        return False
    places, over = set(line.at) - {0}, set(above.at) - {0}
    groups = any(sum(above.at.get(column) is cell for column in places) > 1 for cell in above.beyond())
    return groups or (len(over) < len(places) > 1) or (0 not in line.at and all(0 in each.at for each in below))


def _names_columns(line: _Line, below: Sequence[_Line]) -> bool:
    """Whether an unmarked first row names columns: text or periods over amounts; over text, three names or more."""
    cells = line.cells
    if len(cells) < 2 and 0 in line.at:
        return False
    if cells[0].text.endswith(":") and 0 in line.at:
        return False
    if _is_over_amounts(line, below):
        return True
    places = {column for each in below for column in each.at} - {0}
    texts = [cell.text for cell in cells]
    full = len(places) > 1 and places <= set(line.at) and len(set(texts)) == len(texts)
    values = {
        (column, cell.text) for each in below if _key(each.cells) != _key(cells) for column, cell in each.at.items()
    }
    if any((column, name.text) in values for column, name in line.at.items() if column):
        return False  # what names a column does not stand below as its value
    return full and not any(map(_MEASURED.fullmatch, texts)) and sum(map(len, texts)) <= _MOST_NAME * len(texts)


def _is_over_amounts(line: _Line, below: Sequence[_Line]) -> bool:
    """Whether most of what stands under one of a row's names is amounts: under a period, others than periods."""
    first = next((at for at, each in enumerate(below) if any(map(_is_amount, each.cells))), 0)
    below = below[first:] if len(line.at) > 2 or len(below[0].at) > 2 else below  # behind more of the header
    for column, name in line.at.items():
        period = _PERIOD.fullmatch(name.text)
        under = [each.at[column].text for each in below if column in each.at]
        amounts = sum(bool(_MEASURED.fullmatch(text)) and not (period and _PERIOD.fullmatch(text)) for text in under)
        if column and 2 * amounts > len(under) and (period or not _MEASURED.fullmatch(name.text)):
            return True
    return False


def _is_amount(cell: GridCell) -> bool:
    return bool(_VALUE.fullmatch(cell.text)) and not _PERIOD.fullmatch(cell.text)


def _take_captions(heads: list[_Line]) -> list[GridCell]:
    """Take what speaks for all columns out of the header: a name that stands over values alone, and is not merged."""
    found: list[GridCell] = []
    for line in heads[:-1]:
        own = line.beyond()
        if len(own) == 1 and len(line.at) <= 2 and not _reaches(own[0], heads, line):
            corner = line.at.get(0)
            if corner is not None and (unit_in([corner.text]) or (0 in heads[-1].at and heads[-1].at[0] is not corner)):
                found.append(corner)
            found += own
    gone = {id(cell) for cell in found}
    for line in heads:
        line.at = {column: cell for column, cell in line.at.items() if id(cell) not in gone}
    return found


def _reaches(cell: GridCell, heads: Sequence[_Line], line: _Line) -> bool:
    """Whether a cell is merged with a row below: then it names its column alone."""
    return any(each is not line and cell in each.cells for each in heads)


def _spread_groups(heads: Sequence[_Line]) -> None:
    """Give names that stand over several columns without being merged to all of them, up to the next name."""
    places = sorted(set(heads[-1].at) - {0}) if len(heads) > 1 else []
    for line in heads[:-1]:
        names = line.beyond()
        over = [column for column in places if names and column >= names[0].column]
        if len(names) < 2 or any(cell.columns > 1 or cell.rows > 1 for cell in names):
            continue
        if len(over) < 2 * len(names) - 1 or set(over) <= set(line.at):
            continue
        name = names[0]
        for column in over:
            name = line.at.setdefault(column, name)


def _name(heads: Sequence[_Line], column: int) -> str:
    """A column's name, from the widest to the narrowest; what several columns share is a level of its own."""
    name, last, shared = "", None, False
    for line in heads:
        cell = line.at.get(column)
        if cell is None or cell is last or (last is not None and cell.text == last.text):
            continue
        name += (SEPARATOR if shared else " ") * bool(name) + cell.text.strip(" :")
        last, shared = cell, sum(each is cell for each in line.at.values()) > 1
    return name


# ---- rows ----------------------------------------------------------------------------------------------------------


def _count_labels(body: Sequence[_Line], width: int) -> int:
    """How many columns name the rows: the first, and the next while the labels before it are merged, or marked as such,
    or do not tell most rows apart, as "811-004" beside "Foreman" and "Electrician".

    Blanks below a label mean the label above where they are many; they are filled.
    """
    rows = [line for line in body if not line.is_alone]
    count = 1
    while count < width - 1:
        column, after = count - 1, count
        merged = any(
            above.at.get(column) is not None and above.at[column] is below.at.get(column)
            for above, below in pairwise(rows)
        )
        marked = bool(rows) and all(line.at[after].header is True for line in rows if after in line.at)
        marked = marked and any(after in line.at for line in rows)
        if not (merged or marked or _fill_down(rows, column) or _are_alike(rows, count)):
            break
        count += 1
    return count


def _are_alike(rows: Sequence[_Line], count: int) -> bool:
    """Whether the first columns say the same of most rows, and the next one has a text for each."""
    labels = Counter(tuple(line.at[at].text for at in range(count) if at in line.at) for line in rows)
    beside = [line.at[count] for line in rows if count in line.at]
    alike = sum(times for label, times in labels.items() if label and times > 1)
    return 2 * alike > len(rows) == len(beside) and not any(_MEASURED.fullmatch(cell.text) for cell in beside)


def _fill_down(rows: Sequence[_Line], column: int) -> bool:
    """Fill the blanks of a column of labels, if text in the next column tells their rows apart."""
    blank = [line for line in rows if column not in line.at and column + 1 in line.at]
    beside = [line.at[column + 1] for line in rows if column + 1 in line.at]
    if len(blank) < max(2, _FEW * len(rows)) or any(map(_is_amount, beside)) or len(beside) < len(rows):
        return False
    labels = [line.at[column].text for line in rows if column in line.at]
    if column not in rows[0].at or len(set(labels)) < len(labels):
        return False  # labels that come again are no groups
    last = rows[0].at[column]
    for line in rows:
        last = line.at.setdefault(column, last)
    return True


def _row(line: _Line, labels: int, header: Sequence[str]) -> GridRow:
    own = {id(line.at[column]): line.at[column] for column in range(labels) if column in line.at}
    values: list[tuple[int, GridCell]] = []
    for column, cell in sorted(line.at.items()):
        if id(cell) in own:
            continue
        if values and values[-1][1] is cell and _are_one(values[-1][0], column, header):
            continue  # it is merged over columns that are one
        values.append((column, cell))
    return GridRow(number=line.number, labels=tuple(own.values()), cells=tuple(_join_signs(values, header)))


def _join_signs(values: list[tuple[int, GridCell]], header: Sequence[str]) -> list[tuple[int, GridCell]]:
    """The values, a sign or unit in a cell of its own joined with its amount.

    "$" stands before what follows and "%" behind what precedes; "kg" behind the amount that is under the same name.
    """
    shared = len(set(header)) < len(header)
    if not shared and not any(len(cell.text) < 3 and not cell.text.isalnum() for _, cell in values):
        return values
    found: list[tuple[int, GridCell]] = []
    for column, cell in values:
        if found and _are_one(found[-1][0], column, header):
            before, last = found[-1]
            opens = _is_opening(last.text)
            unit = (
                _is_unit(cell.text) and _is_amount(last) and column < len(header) and header[before] == header[column]
            )
            if opens or unit or cell.text in _CLOSES:
                text = last.text + " " * unit + cell.text
                at = column if opens and header[column : column + 1] != ("",) else before
                found[-1] = at, replace(last, text=text, payload=last.payload + cell.payload)
                continue
        found.append((column, cell))
    return found


def _is_unit(text: str) -> bool:
    return len(text) <= _MOST_UNIT and any(map(str.isalpha, text)) and not any(map(str.isdigit, text))


def _is_opening(text: str) -> bool:
    return all(each in _OPENS or unicodedata.category(each) == "Sc" for each in text)


def _are_one(left: int, right: int, header: Sequence[str]) -> bool:
    """Whether two columns are under one name, or one of them under none."""
    names = [header[column] if column < len(header) else "" for column in (left, right)]
    return names[0] == names[1] or "" in names
