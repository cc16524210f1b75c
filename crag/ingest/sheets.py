"""Excel workbooks and CSV files: rows with values as they are shown. Hidden ones are left out and counted."""

from __future__ import annotations

import csv
import datetime
import re
import time
import warnings
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from io import BytesIO, StringIO
from itertools import chain, islice
from typing import Any

from openpyxl import load_workbook
from openpyxl.packaging.relationship import get_dependents, get_rels_path
from openpyxl.styles.numbers import BUILTIN_FORMATS, BUILTIN_FORMATS_MAX_SIZE
from openpyxl.utils import range_boundaries
from openpyxl.worksheet._reader import FORMULA_TAG, VALUE_TAG, WorkSheetParser

from crag.core.tables import SEPARATOR
from crag.ingest.drawings import read_boxes, read_drawing
from crag.ingest.files import check_container, in_common_form, translate_errors
from crag.ingest.grid import MOST_COLUMNS, GridCell, GridRow, GridTable, is_header_of, read_grid
from crag.ingest.properties import office_properties, parse
from crag.ingest.sections import Block, ComposedPage, TableText, messages
from crag.ingest.units import unit_in
from crag.text.encodings import guess_text

ROWS, CHARACTERS = 200, 20_000
"""Of one page."""
_MOST_TITLE, _MOST_TITLES = 120, 4

_Sheet = Iterable[tuple[int, list[GridCell]]]
"""The rows of a sheet with their numbers. A row without cells is blank."""


def sheet_pages(rows: _Sheet, name: str, first: int = 1) -> list[ComposedPage]:
    """The pages of one sheet, numbered from `first`; `name` is what citations call the sheet.

    One page is called by the sheet alone, several by their rows too. A header is repeated on each page of its table.
    """
    pages = _Pages(first)
    for block in _blocks(rows):
        pages.write(block)
    for page, (start, end) in zip(pages.found, pages.spans, strict=True):
        rows_named = f"rows {start}-{end}" if end > start else f"row {start}"
        page.place = ", ".join(filter(None, [name, rows_named if len(pages.found) > 1 or not name else ""]))
    return pages.found


def _blocks(rows: _Sheet) -> Iterator[list[GridCell]]:
    """The cells of rows that blank rows part from others; a header stays with what it stands over."""
    held: list[GridCell] = []
    block: list[GridCell] = []
    for _, cells in chain(rows, [(0, [])]):
        if cells:
            block += cells
        elif block:
            if held and not is_header_of(held, block):
                yield held
                held = []
            held, block = held + block, []
    if held:
        yield held


class _Pages:
    """Puts tables on pages of `ROWS` rows. `spans`: the first and the last row of each page."""

    def __init__(self, first: int) -> None:
        self.found: list[ComposedPage] = []
        self.spans: list[tuple[int, int]] = []
        self._first = first
        self._before: GridTable | None = None
        self._title: tuple[int, str] | None = None
        self._above: deque[str] = deque(maxlen=_MOST_TITLES)  # lines above the next table
        self._rows = self._characters = 0  # of the page

    def write(self, block: Sequence[GridCell]) -> None:
        """Write the rows between two blank ones: a table, or the lines above one."""
        table = read_grid(block, self._before)
        if not table.unit:
            table = replace(table, unit=unit_in([*self._above]))
        if not table.header and not any(row.cells for row in table.rows):
            for row in table.rows:
                self._write_line(row)
            return
        above = sorted({cell.row for cell in (*table.captions, *chain(*table.heads))})
        for number in above:
            self._count(number, 0)
        self._name([cell.text for cell in table.captions if cell.text != table.unit])
        title = SEPARATOR.join(self._above)
        lines = TableText(table, captions=True, header=bool(table.heads), title=title)
        for row in table.rows:
            if self._is_full():
                self._end(lines)
                lines = TableText(table, title=title)
            size = lines.size
            lines.add(row)
            self._count(row.number, lines.size - size)
        self._end(lines)
        self._before, self._title = table, None
        self._above.clear()

    def _write_line(self, row: GridRow) -> None:
        """Write what the table below is called, or a note."""
        [text] = (cell.text for cell in row.labels)
        self._count(row.number, len(text))
        start = self.found[-1].write(Block(text=text))
        self._title = (start, text) if len(text) <= _MOST_TITLE else None
        self._above += [text] if self._title else []

    def _name(self, captions: Sequence[str]) -> None:
        """Make a heading of what the next table is called: the line above it, or its first caption."""
        before = len(self.found[-1].text) if self.found else 0
        start = before + 2 if before else 0
        title = self._title or next(((start, each) for each in captions[:1] if len(each) <= _MOST_TITLE), None)
        if title is not None:
            self.found[-1].headings.append(title)

    def _is_full(self) -> bool:
        return not self.found or self._rows >= ROWS or self._characters >= CHARACTERS

    def _count(self, number: int, characters: int) -> None:
        """Count a row, on a new page where the last one is full."""
        if self._is_full():
            self.found.append(ComposedPage(self._first + len(self.found), 0.0, 0.0))
            self.spans.append((number, number))
            self._title = None
            self._rows = self._characters = 0
        self.spans[-1] = self.spans[-1][0], number
        self._rows += 1
        self._characters += characters

    def _end(self, lines: TableText) -> None:
        if lines.size:
            self.found[-1].write(lines.block())


_MOST_ROWS, _MOST_CELLS = 50_000, 500_000
"""Of a file."""
_TIME = 0.5
"""Share of the reader's seconds after which no more rows are read."""


class _Limits:
    """How much of a file is read. `cut`: the place from which something is left out; `over`: nothing more is read."""

    def __init__(self, job: Mapping[str, Any]) -> None:
        self.cut, self.over = "", False
        self._until, self._rows, self._cells = _TIME * float(job["seconds"]), _MOST_ROWS, _MOST_CELLS

    def take(self, cells: int, place: str) -> None:
        """Count a row, the last one that is read if it reaches a limit."""
        self._rows -= 1
        self._cells -= cells
        if self._rows <= 0 or self._cells <= 0 or time.process_time() > self._until:
            self.cut, self.over = place, True


def _messages(
    pages: Sequence[ComposedPage],
    job: Mapping[str, Any],
    about: Mapping[str, str],
    notes: dict[str, Any],
    limits: _Limits,
) -> Iterator[dict[str, Any] | ComposedPage]:
    """The first pages, as many as are read, with a note where they end."""
    most = int(job["max_pages"])
    notes["cut"] = pages[most - 1].place if len(pages) > most else limits.cut
    yield from messages(pages[:most], job, about.get("title", ""), notes, properties=about)


# Excel workbooks

_BESIDE = re.compile(r'"[^"]*"|\\.|_.|\*.|\[(?!\$)[^\]]{0,255}\]')  # text, colours and gaps in a number's format
_CURRENCY = re.compile(r"\[\$([^\]\-]{1,3})[^\]]{0,255}\]|([$€£¥])")


def read_xlsx(data: bytes, job: dict[str, Any]) -> Iterator[dict[str, Any] | ComposedPage]:
    """The sheets in pages of some hundred rows, in order. Raises FileError."""
    names, notes = check_container(data, job, streamed="xl/worksheets/")
    warnings.simplefilter("ignore")
    limits = _Limits(job)
    with translate_errors():
        data = in_common_form(data)
        workbook = load_workbook(BytesIO(data), read_only=True, data_only=True, keep_links=False)
        shown = [sheet for sheet in workbook.worksheets if sheet.sheet_state == "visible"]
        notes["hidden sheets"] = len(workbook.worksheets) - len(shown)
        notes["comments"] = sum(name.startswith(("xl/comments", "xl/threadedComments")) for name in names)
        pages: list[ComposedPage] = []
        for sheet in shown:
            if limits.over:
                break
            rows = _Rows(workbook, sheet, limits)
            pages += sheet_pages(rows.read(), f"sheet {sheet.title}", len(pages) + 1)
            drawn = ComposedPage(len(pages) + 1, 0.0, 0.0, place=f"boxes of sheet {sheet.title}")
            for block in _drawn(workbook._archive, sheet._worksheet_path):
                drawn.write(block)
            pages += [drawn] if drawn.text else []
            notes["hidden rows"] = notes.get("hidden rows", 0) + rows.hidden
            notes["hidden columns"] = notes.get("hidden columns", 0) + len(rows.hidden_columns)
            if rows.unread:
                notes.setdefault("formulas", []).append([sheet.title, rows.unread])
        about = office_properties(data)
    yield from _messages(pages, job, about, notes, limits)


def _drawn(archive: Any, sheet: str) -> Iterator[Block]:
    """What stands in boxes and SmartArt over a sheet. Its charts show what the cells say."""
    for drawing in _related(archive, sheet, "drawing"):
        yield from read_boxes(parse(archive.read(drawing)))
        for points in _related(archive, drawing, "diagramData"):
            yield from read_drawing(parse(archive.read(points)))


def _related(archive: Any, part: str, kind: str) -> list[str]:
    """The parts of a kind that one part of a workbook refers to."""
    listed, held = get_rels_path(part), archive.NameToInfo
    found = get_dependents(archive, listed) if listed in held else ()
    return [each.target for each in found if each.Type.endswith(f"/{kind}") and each.target in held]


class _Rows:
    """One sheet's rows. `hidden` of them and the `hidden_columns` are left out; `unread` formulas have no value."""

    def __init__(self, workbook: Any, sheet: Any, limits: _Limits) -> None:
        self.hidden = self.unread = 0
        self.hidden_columns: set[int] = set()
        self._workbook, self._sheet, self._limits = workbook, sheet, limits
        self._looks: dict[int, tuple[str, bool]] = {}

    def read(self) -> _Sheet:
        """All rows, with cells that are merged reaching over their rows and columns."""
        rows: list[tuple[int, list[GridCell]]] = []
        with self._workbook._archive.open(self._sheet._worksheet_path) as source:
            parser = self._parser(source)
            last = 0
            for number, found in parser.parse():
                about = parser.row_dimensions.pop(str(number), {})
                if not self.hidden_columns and parser.column_dimensions:
                    self._columns(parser.column_dimensions)
                if number > last + 1:
                    rows.append((last + 1, []))
                last = number
                if _hidden(about):
                    self.hidden += any(cell["value"] is not None for cell in found)
                    continue
                rows.append((number, self._row(number, found)))
                self._limits.take(len(found), f"sheet {self._sheet.title}, row {number:,}")
                if self._limits.over:
                    return rows
            merged = {}
            for each in parser.merged_cells.mergeCell if parser.merged_cells is not None else ():
                left, top, right, bottom = range_boundaries(each.ref)
                merged[top, left - 1] = bottom - top + 1, right - left + 1
        return [(number, [_merge(cell, merged) for cell in cells]) for number, cells in rows]

    def _parser(self, source: Any) -> Any:
        rows = self

        class Parser(WorkSheetParser):  # type: ignore[misc]
            """Counts the formulas whose value is not stored."""

            def parse_cell(self, element: Any) -> Any:
                cell = super().parse_cell(element)
                if cell["value"] is None and element.find(VALUE_TAG) is None:
                    rows.unread += element.find(FORMULA_TAG) is not None
                return cell

        book = self._workbook
        return Parser(
            source,
            self._sheet._shared_strings,
            data_only=True,
            epoch=book.epoch,
            date_formats=book._date_formats,
            timedelta_formats=book._timedelta_formats,
        )

    def _columns(self, dimensions: Mapping[str, Mapping[str, str]]) -> None:
        for about in dimensions.values():
            if _hidden(about):
                last = min(int(about["max"]), MOST_COLUMNS)
                self.hidden_columns.update(range(int(about["min"]), last + 1))

    def _row(self, number: int, found: list[dict[str, Any]]) -> list[GridCell]:
        cells: list[GridCell] = []
        for cell in found:
            column = cell["column"]
            if cell["value"] is None or column > MOST_COLUMNS or column in self.hidden_columns:
                continue
            if cell["style_id"] not in self._looks:
                self._looks[cell["style_id"]] = self._look(cell["style_id"])
            form, bold = self._looks[cell["style_id"]]
            text = format_cell(cell["value"], form)
            if text.strip():
                cells.append(GridCell(row=number, column=column - 1, text=text, bold=bold))
        return cells

    def _look(self, style_id: int) -> tuple[str, bool]:
        """The format of a style's numbers, and whether it is bold."""
        styles, fonts = self._workbook._cell_styles, self._workbook._fonts
        if style_id >= len(styles):
            return "General", False
        style = styles[style_id]
        return self._format(style.numFmtId), bool(style.fontId < len(fonts) and fonts[style.fontId].b)

    def _format(self, number: int) -> str:
        if number < BUILTIN_FORMATS_MAX_SIZE:
            return str(BUILTIN_FORMATS.get(number, "General"))
        formats = self._workbook._number_formats
        at = number - BUILTIN_FORMATS_MAX_SIZE
        return str(formats[at]) if at < len(formats) else "General"


def _merge(cell: GridCell, merged: Mapping[tuple[int, int], tuple[int, int]]) -> GridCell:
    rows, columns = merged.get((cell.row, cell.column), (1, 1))
    return cell if rows == columns == 1 else replace(cell, rows=rows, columns=columns)


def _hidden(about: Mapping[str, str]) -> bool:
    return about.get("hidden") in ("1", "true")


def format_cell(value: Any, form: str = "General") -> str:
    """A cell's value as the sheet shows it: per cent, thousands, decimals, currency and dates by its format."""
    if isinstance(value, bool):
        return str(value).upper()
    if isinstance(value, datetime.datetime) and not (value.hour or value.minute or value.second):
        return value.date().isoformat()
    if isinstance(value, datetime.datetime):
        return value.isoformat(" ", "seconds")
    if not isinstance(value, int | float) or abs(value) >= 1e15:
        return str(value)
    form = form.split(";")[0]
    currency = _CURRENCY.search(form)
    digits = _BESIDE.sub("", _CURRENCY.sub("", form))
    decimals = len(re.match(r"0*", digits.partition(".")[2])[0]) if "." in digits else 0  # type: ignore[index]
    sign, amount = ("-" if value < 0 else ""), abs(value)
    if "%" in digits:
        return f"{sign}{amount * 100:.{decimals}f}%"
    if "#,##0" in digits:
        text = f"{amount:,.{decimals}f}"
    elif re.fullmatch(r"[#0]+(?:\.0+)?", digits.strip()):
        whole = digits.partition(".")[0].count("0")
        text = f"{amount:0{whole + (decimals + 1 if decimals else 0)}.{decimals}f}"
    else:
        text = f"{amount:.10g}" if isinstance(value, float) else str(amount)
    return f"{sign}{(currency[1] or currency[2]) if currency else ''}{text}"


# CSV

_DELIMITERS = ",;\t|"
_LOOKED_AT, _LINES = 65_536, 30  # characters and lines that show the delimiter
_MOST_CELL, _MOST_LINE = 131_072, 200_000  # characters


def read_csv(data: bytes, job: dict[str, Any]) -> Iterator[dict[str, Any] | ComposedPage]:
    """The rows in pages of some hundred. Raises FileError where there are none."""
    limits = _Limits(job)
    text, doubt = guess_text(data)
    pages = sheet_pages(_limit(_csv_rows(text, limits), limits), "")
    yield from _messages(pages, job, {}, {"encoding": doubt}, limits)


def _limit(rows: Iterator[tuple[int, list[str]]], limits: _Limits) -> _Sheet:
    for number, cells in rows:
        filled = [(column, text) for column, text in enumerate(cells) if text.strip()]
        yield number, [GridCell(row=number, column=column, text=text) for column, text in filled]
        limits.take(len(cells), f"row {number:,}")
        if limits.over:
            return


def _csv_rows(text: str, limits: _Limits) -> Iterator[tuple[int, list[str]]]:
    """Each row with the number of the line on which it ends.

    From quotation marks on that never end, or end amid a cell, lines are split without regard to them.
    """
    between = find_delimiter(text)
    csv.field_size_limit(_MOST_CELL)
    done = 0
    reader = csv.reader(_csv_lines(text, 0, limits), delimiter=between, strict=True)
    try:
        for row in reader:
            yield reader.line_num, row[:MOST_COLUMNS]
            done = reader.line_num
    except csv.Error:
        for number, line in enumerate(_csv_lines(text, done, limits), done + 1):
            yield number, [cell.strip().strip('"') for cell in line.split(between, MOST_COLUMNS)[:MOST_COLUMNS]]


def _csv_lines(text: str, first: int, limits: _Limits) -> Iterator[str]:
    for number, line in enumerate(islice(StringIO(text, newline=""), first, None), first + 1):
        if len(line) > _MOST_LINE:
            limits.cut = limits.cut or f"row {number:,}"
        yield line[:_MOST_LINE]


def find_delimiter(text: str) -> str:
    """The sign that parts the cells of the first lines. What stands in quotation marks does not count."""
    lines = ["".join(line.split('"')[::2]) for line in text[:_LOOKED_AT].splitlines()[:_LINES] if line.strip()]
    try:
        return csv.Sniffer().sniff("\n".join(lines), _DELIMITERS).delimiter
    except csv.Error:
        return _DELIMITERS[0]
