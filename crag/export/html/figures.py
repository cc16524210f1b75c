"""Rows of tables and figures in an answer: rows drawn as a small table, figures that no source has marked."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from crag.core.tables import SEPARATOR, Row, Table
from crag.core.trace import Trace
from crag.core.types import Answer, Chunk, Citation, FigureCheck, SentenceCheck
from crag.export.html import elements as h
from crag.export.html import words
from crag.export.html.elements import Html
from crag.export.html.passage import Layer
from crag.generation.citations import MARK, quotable
from crag.messages.answers import (
    contradiction_parts,
    differing_parts,
    figure_sentence,
    figures_sentences,
    remarkable,
)

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


_SIGN = "?"
"""Beside the figure, since a line below it alone is easily overlooked."""


def figures_layer(answer: str, sentences: Iterable[tuple[int, int, SentenceCheck]]) -> Layer:
    """Marks each figure that is to be marked; `sentences` as `locate_checks` gives them.

    A check's sentence has other spaces and no marks, so that letters are counted.
    """
    bare = MARK.sub(lambda mark: " " * len(mark.group()), answer)
    found: list[tuple[int, int, FigureCheck]] = []
    for start, end, check in sentences:
        marked = remarkable([check])
        if not marked:
            continue
        letters = [place for place in range(start, end) if not bare[place].isspace()]
        own = [place for place, letter in enumerate(check.sentence) if not letter.isspace()]
        for figure in marked:
            first, last = bisect_left(own, figure.start), bisect_left(own, figure.end) - 1
            if first <= last < len(letters):
                found.append((letters[first], letters[last] + 1, figure))
    return sorted(found, key=lambda each: each[:2]), _draw_figure


def _draw_figure(figure: FigureCheck, inside: Html, *place: int) -> Html:
    sign = h.span("sign", aria_hidden="true")[_SIGN]
    return h.span(f"figure {figure.state}", title=words.sentence(figure_sentence(figure)))[inside, sign]


def remarks(checks: Sequence[SentenceCheck]) -> list[Html]:
    """What is remarked of each marked figure, in words under the answer."""
    return [h.fragment(h.span("tag")["Figure"], " ", words.sentence(said)) for said in figures_sentences(checks)]


def conflicts(whole: Answer, button: Callable[[int], Html]) -> Html:
    """What a table says otherwise, and what documents give differently, each value with its source's button."""
    return h.fragment(
        _note("Contradiction.", contradiction_parts(whole), button), _note("Documents.", differing_parts(whole), button)
    )


def _note(head: str, parts: Sequence[str | int], button: Callable[[int], Html]) -> Html:
    if not parts:
        return Html()
    said = [h.fragment(" ", button(part)) if isinstance(part, int) else part for part in parts]
    return h.div("note conflict", role="note")[h.b[head], " ", said]
