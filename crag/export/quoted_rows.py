"""The rows of tables that an answer quotes, with the names of their columns."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from crag.core.tables import SEPARATOR, Row, Table
from crag.core.trace import Trace
from crag.core.types import Answer, Chunk, Citation
from crag.generation.citations import quotable

_MARK = re.compile(r"\s*+\[(\d{1,3})\][.;]?")
_WIDEST = 8
"""Columns that are drawn; a row with more stays a sentence."""


@dataclass(frozen=True, slots=True)
class QuotedRows:
    """Rows that the answer quotes one after another as its characters [start, end), with their marks."""

    start: int
    end: int
    chunk: Chunk
    table: Table
    rows: tuple[Row, ...]
    citation: Citation

    @property
    def columns(self) -> list[int]:
        """Those in which one of the rows has a cell, by their places in the table."""
        return sorted({cell.column for row in self.rows for cell in row.cells})

    @property
    def names(self) -> list[str]:
        """What the columns are called, empty for one without a name."""
        header = self.table.header
        return [" ".join(header[column].split()) if 0 <= column < len(header) else "" for column in self.columns]

    @property
    def about(self) -> str:
        """The section of the rows, and what the table counts in."""
        return SEPARATOR.join(filter(None, (self.rows[0].section, self.table.unit)))

    def lines(self, whole: Answer) -> Iterator[tuple[str, list[tuple[str, bool]]]]:
        """Each row's label, and its cells: their text, and whether they answer."""
        text = self.chunk.text
        answering = [each.start for each in whole.places if each.source_id == self.chunk.id]
        for row in self.rows:
            places = {cell.column: (cell.start, cell.end) for cell in row.cells}
            own = [places.get(column, (0, 0)) for column in self.columns]
            label = " ".join(text[row.start : row.label].split()).strip(" :")
            yield (
                label,
                [(" ".join(text[start:end].split()), any(start <= at < end for at in answering)) for start, end in own],
            )


def find_rows(trace: Trace) -> list[QuotedRows]:
    """The rows that a quoted answer consists of, in its order; none of an answer that a model wrote."""
    whole = trace.answer
    if whole is None or not whole.quoted or whole.abstained:
        return []
    sources = trace.sources
    found: list[QuotedRows] = []
    for citation in whole.citations:
        chunk = sources.get(citation.source_id)
        if isinstance(chunk, Chunk):
            found += _rows_of(whole, citation, chunk)
    return list(_joined(sorted(found, key=lambda each: each.start)))


def _rows_of(whole: Answer, citation: Citation, chunk: Chunk) -> Iterator[QuotedRows]:
    place = chunk.text.find(citation.quote)
    for table in chunk.tables if place >= 0 else ():
        for row in table.rows:
            if not row.cells or row.start < place or row.end > place + len(citation.quote):
                continue
            if len({cell.column for cell in row.cells}) > _WIDEST:
                continue
            quoted = quotable(chunk.text[row.start : row.end]).rstrip(".")
            at = whole.text.find(quoted)
            if at < 0:
                continue
            # Of rows that stand in one quote the last alone has a mark.
            mark = _MARK.match(whole.text, at + len(quoted))
            if mark is None or int(mark[1]) == citation.number:
                yield QuotedRows(at, mark.end() if mark else at + len(quoted), chunk, table, (row,), citation)


def _joined(found: Sequence[QuotedRows]) -> Iterator[QuotedRows]:
    """Rows of one table with nothing between them as one."""
    last: QuotedRows | None = None
    for each in found:
        if last is None:
            last = each
        elif each.start < last.end:  # the same words twice in a table: one is drawn
            continue
        elif each.citation == last.citation and each.table is last.table and each.start <= last.end + 1:
            last = QuotedRows(last.start, each.end, last.chunk, last.table, (*last.rows, *each.rows), last.citation)
        else:
            yield last
            last = each
    if last is not None:
        yield last
