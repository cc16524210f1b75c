"""Excel workbooks: their sheets' rows with the values as they are shown, what is hidden left out and counted."""

from __future__ import annotations

import datetime
import re
import time
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from io import BytesIO
from typing import Any

from crag.ingest.office import faults, messages, opened
from crag.ingest.sections import Block, ComposedPage, TableText, names_columns, squeeze

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
"""Of a workbook, rows and cells; of one row."""
_TIME = 0.5
"""Of the seconds that the reader may take, the share after which no more rows are read."""
_BESIDE = re.compile(r'"[^"]*"|\\.|_.|\*.|\[(?!\$)[^\]]{0,255}\]')  # text, colours and gaps in a number's format
_CURRENCY = re.compile(r"\[\$([^\]\-]{1,3})[^\]]{0,255}\]|([$€£¥])")


def read(data: bytes, job: dict[str, Any]) -> Iterator[dict[str, Any] | ComposedPage]:
    """The sheets in pages of some hundred rows, in order. Raises FileError."""
    from openpyxl import load_workbook

    container = opened(data, job, streamed="xl/worksheets/")
    warnings.simplefilter("ignore")
    notes = container.notes
    with faults():
        workbook = load_workbook(BytesIO(data), read_only=True, data_only=True)
        shown = [sheet for sheet in workbook.worksheets if sheet.sheet_state == "visible"]
        notes["hidden sheets"] = len(workbook.worksheets) - len(shown)
        notes["comments"] = sum(name.startswith(("xl/comments", "xl/threadedComments")) for name in container.names)
        limits = _Limits(float(job["seconds"]))
        pages: list[ComposedPage] = []
        for sheet in shown:
            if limits.reached:
                break
            rows = _Rows(workbook, sheet, limits)
            pages += sheet_pages(rows.cells(), f"sheet {sheet.title}", len(pages) + 1)
            notes["hidden rows"] = notes.get("hidden rows", 0) + rows.hidden
            notes["hidden columns"] = notes.get("hidden columns", 0) + len(rows.beside)
        if limits.reached:
            notes["cut"] = limits.reached
        title = workbook.properties.title or ""
    most = int(job["max_pages"])
    if len(pages) > most:
        notes["cut"], pages = pages[most - 1].place, pages[:most]
    yield from messages(pages, job, title, notes)


class _Limits:
    """How much of a workbook is read. `reached`: the place after which nothing is, once that is so."""

    def __init__(self, seconds: float) -> None:
        self.reached = ""
        self._until = _TIME * seconds
        self._rows = self._cells = 0

    def take(self, cells: int, place: str) -> None:
        self._rows += 1
        self._cells += cells
        if self._rows >= _MOST_ROWS or self._cells >= _MOST_CELLS or time.process_time() > self._until:
            self.reached = place


class _Rows:
    """One sheet's rows. `hidden` of them, and the columns that are `beside` what is shown, are left out."""

    def __init__(self, workbook: Any, sheet: Any, limits: _Limits) -> None:
        self.hidden = 0
        self.beside: set[int] = set()
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
                if not self.beside and parser.column_dimensions:
                    self._columns(parser.column_dimensions)
                if _hidden(about):
                    self.hidden += any(cell["value"] is not None for cell in found)
                    continue
                yield number, self._row(found)
                self._limits.take(len(found), f"sheet {self._sheet.title}, row {number:,}")
                if self._limits.reached:
                    return

    def _columns(self, dimensions: Mapping[str, Mapping[str, str]]) -> None:
        for about in dimensions.values():
            if _hidden(about):
                last = min(int(about["max"]), _MOST_COLUMNS)
                self.beside.update(range(int(about["min"]), last + 1))

    def _row(self, found: list[dict[str, Any]]) -> list[str]:
        cells: list[str] = []
        for cell in found:
            column = cell["column"]
            if cell["value"] is None or column > _MOST_COLUMNS or column in self.beside:
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
