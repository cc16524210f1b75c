"""Excel workbooks and CSV files: rows with values as they are shown. Hidden ones are left out and counted."""

from __future__ import annotations

import csv
import datetime
import math
import re
import time
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from io import BytesIO, StringIO
from itertools import islice
from typing import Any

from crag.ingest.files import check_container, translate_errors
from crag.ingest.properties import office_properties
from crag.ingest.sections import Block, ComposedPage, TableText, messages, names_columns, squeeze
from crag.text.encodings import guess_encoding

ROWS, CHARACTERS = 200, 20_000
"""Of one page."""
_MOST_TITLE = 120


def sheet_pages(rows: Iterable[tuple[int, Sequence[str]]], name: str, first: int = 1) -> Iterator[ComposedPage]:
    """The pages of one sheet, numbered from `first`; `rows` are (number, cells), `name` what citations call the sheet.

    One page is called by the sheet alone, several by their rows too. A header is repeated on each page of its table.
    """
    sheet = _Sheet(first)
    for number, cells in rows:
        sheet.take(number, cells)
    sheet.end_table()
    for page, (start, end) in zip(sheet.pages, sheet.spans, strict=True):
        rows_named = f"rows {start}-{end}" if end > start else f"row {start}"
        page.place = ", ".join(filter(None, [name, rows_named if len(sheet.pages) > 1 or not name else ""]))
        yield page


class _Sheet:
    """Puts rows on pages of `ROWS` rows. `spans`: the first and the last row of each page."""

    def __init__(self, first: int) -> None:
        self.pages: list[ComposedPage] = []
        self.spans: list[tuple[int, int]] = []
        self._first = first
        self._table: TableText | None = None
        self._header: Sequence[str] = ()
        self._title: tuple[int, str] | None = None
        self._rows = self._characters = 0  # of the page

    def take(self, number: int, cells: Sequence[str]) -> None:
        """Add the next row; a blank one ends a table."""
        filled = [cell for cell in cells if cell.strip()]
        if not filled:
            self.end_table()
            return
        if not self.pages or self._rows >= ROWS or self._characters >= CHARACTERS:
            self._begin_page(number)
        if self._table is not None:
            self._table.add(cells)
        elif len(filled) > 1:
            self._begin_table(cells)
        else:  # what the table below is called, or a note
            line = squeeze(filled[0])
            start = self.pages[-1].write(Block(text=line))
            self._title = (start, line) if len(line) <= _MOST_TITLE else None
        self.spans[-1] = self.spans[-1][0], number
        self._rows += 1
        self._characters += sum(map(len, cells))

    def end_table(self) -> None:
        """Write the open table, if there is one."""
        if self._table is not None:
            self.pages[-1].write(self._table.block())
            self._table = self._title = None

    def _begin_page(self, number: int) -> None:
        goes_on = self._table is not None
        self.end_table()
        self.pages.append(ComposedPage(self._first + len(self.pages), 0.0, 0.0))
        self.spans.append((number, number))
        self._table, self._title = TableText(self._header) if goes_on else None, None
        self._rows = self._characters = 0

    def _begin_table(self, cells: Sequence[str]) -> None:
        """Begin a table with a header of its own, with the one before it if that is as wide, or with none."""
        if self._title:
            self.pages[-1].headings.append(self._title)
        if names_columns(cells):
            self._header = cells
            self._table = TableText(cells)
            return
        self._header = self._header if len(cells) <= len(self._header) else ()
        self._table = TableText(self._header, shown=False)
        self._table.add(cells)


_MOST_ROWS, _MOST_CELLS, _MOST_COLUMNS = 50_000, 500_000, 300
"""Of a file, rows and, in a workbook, cells; of one row."""
_TIME = 0.5
"""Share of the reader's seconds after which no more rows are read."""


class _Limits:
    """How much of a file is read. `cut`: the place from which something is left out; `over`: nothing more is read."""

    def __init__(self, job: Mapping[str, Any], cells: float) -> None:
        self.cut, self.over = "", False
        self._until, self._rows, self._cells = _TIME * float(job["seconds"]), _MOST_ROWS, cells

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
    from openpyxl import load_workbook

    names, notes = check_container(data, job, streamed="xl/worksheets/")
    warnings.simplefilter("ignore")
    limits = _Limits(job, _MOST_CELLS)
    with translate_errors():
        workbook = load_workbook(BytesIO(data), read_only=True, data_only=True)
        shown = [sheet for sheet in workbook.worksheets if sheet.sheet_state == "visible"]
        notes["hidden sheets"] = len(workbook.worksheets) - len(shown)
        notes["comments"] = sum(name.startswith(("xl/comments", "xl/threadedComments")) for name in names)
        pages: list[ComposedPage] = []
        for sheet in shown:
            if limits.over:
                break
            rows = _Rows(workbook, sheet, limits)
            pages += sheet_pages(rows.cells(), f"sheet {sheet.title}", len(pages) + 1)
            notes["hidden rows"] = notes.get("hidden rows", 0) + rows.hidden
            notes["hidden columns"] = notes.get("hidden columns", 0) + len(rows.hidden_columns)
        about = office_properties(data)
    yield from _messages(pages, job, about, notes, limits)


class _Rows:
    """One sheet's rows. `hidden` of them and the `hidden_columns` are left out."""

    def __init__(self, workbook: Any, sheet: Any, limits: _Limits) -> None:
        self.hidden = 0
        self.hidden_columns: set[int] = set()
        self._workbook, self._sheet, self._limits = workbook, sheet, limits

    def cells(self) -> Iterator[tuple[int, list[str]]]:
        from openpyxl.worksheet._reader import WorkSheetParser

        book = self._workbook
        with book._archive.open(self._sheet._worksheet_path) as source:
            parser = WorkSheetParser(
                source,
                self._sheet._shared_strings,
                data_only=True,
                epoch=book.epoch,
                date_formats=book._date_formats,
                timedelta_formats=book._timedelta_formats,
            )
            for number, found in parser.parse():
                about = parser.row_dimensions.pop(str(number), {})
                if not self.hidden_columns and parser.column_dimensions:
                    self._columns(parser.column_dimensions)
                if _hidden(about):
                    self.hidden += any(cell["value"] is not None for cell in found)
                    continue
                yield number, self._row(found)
                self._limits.take(len(found), f"sheet {self._sheet.title}, row {number:,}")
                if self._limits.over:
                    return

    def _columns(self, dimensions: Mapping[str, Mapping[str, str]]) -> None:
        for about in dimensions.values():
            if _hidden(about):
                last = min(int(about["max"]), _MOST_COLUMNS)
                self.hidden_columns.update(range(int(about["min"]), last + 1))

    def _row(self, found: list[dict[str, Any]]) -> list[str]:
        cells: list[str] = []
        for cell in found:
            column = cell["column"]
            if cell["value"] is None or column > _MOST_COLUMNS or column in self.hidden_columns:
                continue
            cells += [""] * (column - len(cells))
            cells[column - 1] = format_cell(cell["value"], self._format(cell["style_id"]))
        return cells

    def _format(self, style: int) -> str:
        from openpyxl.styles.numbers import BUILTIN_FORMATS, BUILTIN_FORMATS_MAX_SIZE

        styles = self._workbook._cell_styles
        number = styles[style].numFmtId if style < len(styles) else 0
        if number < BUILTIN_FORMATS_MAX_SIZE:
            return str(BUILTIN_FORMATS.get(number, "General"))
        formats = self._workbook._number_formats
        at = number - BUILTIN_FORMATS_MAX_SIZE
        return str(formats[at]) if at < len(formats) else "General"


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
    limits = _Limits(job, math.inf)
    pages = islice(sheet_pages(_limit(_csv_rows(guess_encoding(data), limits), limits), ""), int(job["max_pages"]) + 1)
    yield from _messages(list(pages), job, {}, {}, limits)


def _limit(rows: Iterator[tuple[int, list[str]]], limits: _Limits) -> Iterator[tuple[int, list[str]]]:
    for number, cells in rows:
        yield number, cells
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
            yield reader.line_num, row[:_MOST_COLUMNS]
            done = reader.line_num
    except csv.Error:
        for number, line in enumerate(_csv_lines(text, done, limits), done + 1):
            yield number, [cell.strip().strip('"') for cell in line.split(between, _MOST_COLUMNS)[:_MOST_COLUMNS]]


def _csv_lines(text: str, first: int, limits: _Limits) -> Iterator[str]:
    for number, line in enumerate(islice(StringIO(text, newline=""), first, None), first + 1):
        if len(line) > _MOST_LINE:
            limits.cut = limits.cut or f"row {number:,}"
        yield line[:_MOST_LINE]


def find_delimiter(text: str) -> str:
    """The sign that separates the cells of the first lines, outside quotation marks: most evenly, then most often."""
    lines = ["".join(line.split('"')[::2]) for line in text[:_LOOKED_AT].splitlines()[:_LINES] if line.strip()]

    def evenness(sign: str) -> tuple[int, int]:
        counts = [line.count(sign) for line in lines]
        common = max(set(counts), key=lambda count: (counts.count(count), count), default=0)
        return (counts.count(common), sum(counts)) if common else (0, sum(counts))

    return max(_DELIMITERS, key=evenness)
