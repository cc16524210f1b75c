"""CSV tables: rows of cells, parted by whatever parts the first lines most evenly."""

from __future__ import annotations

import csv
import time
from collections.abc import Iterator
from io import StringIO
from itertools import islice
from typing import Any

from crag.ingest.office import messages
from crag.ingest.sections import ComposedPage
from crag.ingest.xlsx import sheet_pages
from crag.text.encodings import guess_encoding

_DELIMITERS = ",;\t|"
_LOOKED_AT, _LINES = 65_536, 30
_MOST_ROWS, _MOST_COLUMNS, _MOST_CELL, _MOST_LINE = 50_000, 300, 131_072, 200_000
_TIME = 0.5
"""Of the seconds that the reader may take, the share after which no more rows are read."""


def read(data: bytes, job: dict[str, Any]) -> Iterator[dict[str, Any] | ComposedPage]:
    """The rows in pages of some hundred. Raises FileError where there are none."""
    table = _Table(guess_encoding(data), _TIME * float(job["seconds"]))
    most = int(job["max_pages"])
    pages = list(islice(sheet_pages(table.rows(), ""), most + 1))
    cut = pages[most - 1].place if len(pages) > most else table.cut
    yield from messages(pages[:most], job, "", {"cut": cut})


class _Table:
    """The rows of a text, within limits. `cut`: the row after which nothing is read, or that itself is too long."""

    def __init__(self, text: str, seconds: float) -> None:
        self.cut = ""
        self._text, self._seconds = text, seconds

    def rows(self) -> Iterator[tuple[int, list[str]]]:
        """Each row with the number of the line on which it ends."""
        for taken, (number, cells) in enumerate(self._cells(), 1):
            yield number, cells
            if taken >= _MOST_ROWS or time.process_time() > self._seconds:
                self.cut = f"row {number:,}"
                return

    def _cells(self) -> Iterator[tuple[int, list[str]]]:
        """Text whose quotation marks never end, or end amid a cell, is from there on parted without regard to them."""
        between = delimiter(self._text)
        csv.field_size_limit(_MOST_CELL)
        done = 0
        reader = csv.reader(self._lines(0), delimiter=between, strict=True)
        try:
            for row in reader:
                yield reader.line_num, row[:_MOST_COLUMNS]
                done = reader.line_num
        except csv.Error:
            for number, line in enumerate(self._lines(done), done + 1):
                yield number, [cell.strip().strip('"') for cell in line.split(between, _MOST_COLUMNS)[:_MOST_COLUMNS]]

    def _lines(self, first: int) -> Iterator[str]:
        for number, line in enumerate(islice(StringIO(self._text, newline=""), first, None), first + 1):
            if len(line) > _MOST_LINE:
                self.cut = self.cut or f"row {number:,}"
            yield line[:_MOST_LINE]


def delimiter(text: str) -> str:
    """What parts the cells of the first lines, outside quotation marks: most evenly, then most often."""
    lines = ["".join(line.split('"')[::2]) for line in text[:_LOOKED_AT].splitlines()[:_LINES] if line.strip()]

    def evenness(sign: str) -> tuple[int, int]:
        counts = [line.count(sign) for line in lines]
        common = max(set(counts), key=lambda count: (counts.count(count), count), default=0)
        return (counts.count(common), sum(counts)) if common else (0, sum(counts))

    return max(_DELIMITERS, key=evenness)
