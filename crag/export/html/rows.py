"""Rows of a table that an answer quotes, drawn as a small table under the names of their columns."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from crag.core.tables import SEPARATOR, Row, Table
from crag.core.trace import Trace
from crag.core.types import Answer, Chunk, Citation
from crag.export.html import elements as h
from crag.export.html.elements import Html
from crag.generation.citations import quotable

_MARK = re.compile(r"\s*+\[(\d{1,3})\][.;]?")
_WIDEST = 8
"""Columns that are drawn; a row with more stays a sentence."""
_WIDE = 4
"""Columns from which a single row is drawn as a list: beside each other they would not be seen on a narrow page."""


@dataclass(frozen=True, slots=True)
class QuotedRows:
    """Rows that the answer quotes one after another as its characters [start, end), with their marks."""

    start: int
    end: int
    chunk: Chunk
    table: Table
    rows: tuple[Row, ...]
    citation: Citation


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


def draw_rows(found: QuotedRows, whole: Answer, button: Html) -> Html:
    """The rows under the names of their columns, with the cells that answer marked; one wide row as a list of cells."""
    table, text = found.table, found.chunk.text
    columns = sorted({cell.column for row in found.rows for cell in row.cells})
    said = SEPARATOR.join(filter(None, (found.rows[0].section, table.unit)))
    answering = [each.start for each in whole.places if each.source_id == found.chunk.id]
    names = [" ".join(table.header[column].split()) if 0 <= column < len(table.header) else "" for column in columns]
    rows: list[tuple[str, list[Html]]] = []
    for row in found.rows:
        cells: Mapping[int, tuple[int, int]] = {cell.column: (cell.start, cell.end) for cell in row.cells}
        places = [cells.get(column, (0, 0)) for column in columns]
        label = " ".join(text[row.start : row.label].split()).strip(" :")
        marked = ["answering" if any(start <= at < end for at in answering) else None for start, end in places]
        drawn = [h.td(own)[" ".join(text[start:end].split())] for (start, end), own in zip(places, marked, strict=True)]
        rows.append((label, drawn))
    if len(rows) == 1 and len(columns) >= _WIDE and all(names):
        label, drawn = rows[0]
        lines = [h.tr[h.th(scope="row")[name], cell] for name, cell in zip(names, drawn, strict=True)]
        shown = h.table("turned")[label and h.caption[label], h.tbody[lines]]
    else:
        head = any(names) and h.thead[h.tr[h.td[""], (h.th(scope="col")[name] for name in names)]]
        shown = h.table[head, h.tbody[(h.tr[h.th(scope="row")[label], drawn] for label, drawn in rows)]]
    return h.div("quoted-rows")[shown, h.div("small")[h.span("keep")[button], said and f" {said}"]]
