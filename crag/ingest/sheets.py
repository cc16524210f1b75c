"""Rows of a sheet to pages that name their rows: tables are found by empty rows and by what names columns. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from crag.ingest.compose import ComposedPage
from crag.ingest.rows import format_header, format_row, header_line, names_columns, squeeze

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
    sheet.turn()
    for page, (start, end) in zip(sheet.pages, sheet.spans, strict=True):
        rows_named = f"rows {start}-{end}" if end > start else f"row {start}"
        page.place = ", ".join(filter(None, [name, rows_named if len(sheet.pages) > 1 or not name else ""]))
        yield page


class _Sheet:
    """Takes rows one after another; a page is full at `ROWS` rows."""

    def __init__(self, first: int) -> None:
        self.pages: list[ComposedPage] = []
        self.spans: list[tuple[int, int]] = []
        self._first = first
        self._page: ComposedPage | None = None
        self._lines: list[str] = []
        self._header: Sequence[str] = ()
        self._open = False
        self._title: tuple[int, str] | None = None
        self._start = self._end = self._taken = self._size = 0

    def take(self, number: int, cells: Sequence[str]) -> None:
        filled = sum(bool(cell.strip()) for cell in cells)
        if not filled:
            self._close()
            return
        if self._page is None:
            self._begin(number)
        if not self._open and filled > 1:
            self._table(cells)
        elif self._open:
            self._lines.append(format_row(self._header, cells))
        else:
            self._line(next(squeeze(cell) for cell in cells if cell.strip()))
        self._end = number
        self._taken += 1
        self._size += sum(map(len, cells))
        if self._taken >= ROWS or self._size >= CHARACTERS:
            going_on = self._open
            self.turn()
            self._open = going_on

    def turn(self) -> None:
        """End the page."""
        self._close()
        if self._page is not None:
            self.pages.append(self._page)
            self.spans.append((self._start, self._end))
        self._page = self._title = None

    def _begin(self, number: int) -> None:
        self._page = ComposedPage(self._first + len(self.pages), 0.0, 0.0)
        self._start = number
        self._taken = self._size = 0
        if self._open and self._header:
            self._lines.append(format_header(self._header))

    def _table(self, cells: Sequence[str]) -> None:
        """A table begins: with a header of its own, with the one before it where it is as wide, or with none."""
        self._open = True
        if self._title and self._page is not None:
            self._page.headings.append(self._title)
        if names_columns(cells):
            self._header = cells
            self._lines.append(format_header(cells))
            return
        self._header = self._header if len(cells) <= len(self._header) else ()
        self._lines.append(format_row(self._header, cells))

    def _line(self, text: str) -> None:
        """A line that is no table's: what the table below it is called, or a note."""
        start = self._write(text)
        self._title = (start, text) if len(text) <= _MOST_TITLE else None

    def _close(self) -> None:
        """End the table."""
        if self._lines and self._page is not None:
            start = self._write("\n".join(self._lines))
            self._page.tables.append((start, len(self._page.text), header_line(self._header)))
            self._title = None
        self._lines, self._open = [], False

    def _write(self, text: str) -> int:
        """Puts the text behind what is there; where it begins."""
        if self._page is None:
            return 0
        self._page.text += "\n\n" if self._page.text else ""
        start = len(self._page.text)
        self._page.text += text
        return start
