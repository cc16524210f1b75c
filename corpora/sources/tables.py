"""Tables of cells as the product writes them: laid out on a page, read and chunked by its own code.

A table set gives rows of cells; a library has what `crag.ingest` makes of a PDF's page, or `crag.web` of a web page.
So the cells become words with boxes on a page that nobody drew, without rules as in a financial report or with rules
as in a print of a web page, and the page goes through `lay_out`, `compose` and `chunk_document`. Which rows are
evidence is told from where their words came to stand.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from corpora.pair import Spot
from crag.core.ingesting import Page, ParsedDocument
from crag.ingest.cells import is_value
from crag.ingest.chunking import chunk_document
from crag.ingest.compose import compose, lay_out
from crag.ingest.objects import Box, edge_of
from crag.ingest.words import PageWords, Word

LETTER, HEIGHT, PITCH, GAP, MARGIN = 5.0, 10.0, 13.0, 18.0, 40.0
"""Points: a letter's width, a line's height, from line to line, between columns, and around all."""
WIDEST = 42
"""Characters of a cell or, twice that, of a line of prose, before it goes on in the next line."""
RUN = 700
"""Characters of a web table's lines that are read together."""


Block = Sequence[Sequence[str]]
"""Rows of cells; a paragraph is one row of one cell."""


class Piece(NamedTuple):
    """A chunk as the product would index it: its context, its text, and its lines as (start, end, block, row)."""

    context: str
    text: str
    lines: tuple[tuple[int, int, int, int], ...]

    def keeps(self, block: int, rows: Collection[int]) -> tuple[Spot, ...]:
        """The lines that these rows of a block came to."""
        return tuple(dict.fromkeys((a, b) for a, b, held, row in self.lines if held == block and row in rows))


def cells(text: str) -> tuple[tuple[str, ...], ...]:
    """The stored form of a table, a line a row and bars between cells, as cells."""
    return tuple(tuple(cell.strip() for cell in f" {line} ".split(" | ")) for line in text.split("\n"))


@dataclass
class _Sheet:
    """Words and rules of a page that is being laid out; `place` tells of a line's top which block and row it is."""

    words: list[Word]
    edges: list[dict[str, object]]
    place: dict[int, tuple[int, int]]
    top: float = MARGIN
    right: float = MARGIN

    def write(self, text: str, left: float, top: float) -> float:
        for word in text.split():
            right = left + LETTER * len(word)
            number = len(self.words)
            self.words.append(Word(word, Box(left, top, right, top + HEIGHT), 0, number, number))
            self.right = max(self.right, right)
            left = right + LETTER / 2
        return left

    def line(self, block: int, row: int) -> float:
        """A new line's top."""
        top = self.top
        self.place[round(top)] = (block, row)
        self.top += PITCH
        return top


def chunked(blocks: Sequence[Block], title: str, *, ruled: bool = False) -> list[Piece]:
    """The chunks of a page of a PDF that has these blocks."""
    sheet = _Sheet([], [], {})
    for number, block in enumerate(blocks):
        sheet.top += PITCH
        if len(block) == 1 and len(block[0]) == 1:
            for text in _wrapped(block[0][0], 2 * WIDEST):
                sheet.write(text, MARGIN, sheet.line(number, 0))
        else:
            _table(sheet, number, block, ruled)
    page = PageWords(sheet.right + MARGIN, sheet.top + MARGIN, sheet.words, 0.0, sheet.edges)
    laid, _ = lay_out(1, page)
    made = compose(laid, (), HEIGHT)
    read = Page(
        number=1,
        text=made.text,
        width=page.width,
        height=page.height,
        tables=tuple(made.tables),
        headings=tuple(made.headings),
    )
    found = []
    for chunk in chunk_document(ParsedDocument(title=title, pages=(read,)), "table", "table.pdf"):
        inside = [
            (start - chunk.start, end - chunk.start, *sheet.place[round(top)])
            for start, end, _, top, *_ in made.lines
            if start < chunk.end and chunk.start < end and round(top) in sheet.place
        ]
        found.append(Piece(chunk.context, chunk.text, _lines(chunk.text, inside)))
    return found


def _lines(text: str, parts: Sequence[tuple[int, int, int, int]]) -> tuple[tuple[int, int, int, int], ...]:
    """Each line of the text with every block and row that it has words of."""
    found, start = [], 0
    for line in text.split("\n"):
        end = start + len(line)
        if line.strip():
            held = dict.fromkeys((block, row) for a, b, block, row in parts if a < end and start < b)
            found += [(start, end, block, row) for block, row in held]
        start = end + 1
    return tuple(found)


def _wrapped(text: str, most: int) -> list[str]:
    lines = [""]
    for word in text.split():
        if lines[-1] and len(lines[-1]) + 1 + len(word) > most:
            lines.append("")
        lines[-1] = f"{lines[-1]} {word}".strip()
    return lines


def _table(sheet: _Sheet, number: int, rows: Sequence[Sequence[str]], ruled: bool) -> None:
    """Columns as wide as they need be, amounts to the right; with rules, long cells go on below."""
    count = max(len(row) for row in rows)
    full = [[*row, *[""] * (count - len(row))] for row in rows]
    lone = {at for at, row in enumerate(full) if sum(map(bool, row)) == 1}
    first = next((at for at, row in enumerate(full) if any(is_value(cell) for cell in row[1:] if cell)), 0)
    wrapped = [
        [_wrapped(cell, _most(at < first and column > 0, ruled)) for column, cell in enumerate(row)]
        for at, row in enumerate(full)
    ]
    # What stands alone in its row, a caption or a section's label, makes no column wide.
    widths = [
        max((len(line) for at, row in enumerate(wrapped) if at not in lone for line in row[column]), default=1)
        for column in range(count)
    ]
    lefts = [MARGIN]
    for width in widths:
        lefts.append(lefts[-1] + LETTER * max(width, 1) + GAP)
    bounds = [sheet.top - 2]
    for at, row in enumerate(wrapped):
        for part in range(max(len(cell) for cell in row)):
            top = sheet.line(number, at)
            for column, cell in enumerate(row):
                if part < len(cell) and cell[part]:
                    space = widths[column] - len(cell[part]) if column and is_value(cell[part]) else 0
                    centred = at in lone and column > 0
                    space = (widths[column] - len(cell[part])) / 2 if centred else max(space, 0)
                    sheet.write(cell[part], max(lefts[column] + LETTER * space, MARGIN), top)
        bounds.append(sheet.top - 2)
    if ruled:
        right = lefts[-1] - GAP / 2
        sheet.right = max(sheet.right, right)
        sheet.edges += [edge_of(MARGIN - GAP / 2, height, right, height) for height in bounds]
        sheet.edges += [edge_of(left - GAP / 2, bounds[0], left - GAP / 2, bounds[-1]) for left in lefts]


def _most(head: bool, ruled: bool) -> int:
    """Characters of a cell before it goes on below: narrow in a header, whole in a table without rules."""
    return WIDEST if ruled else WIDEST // 2 if head else 4 * WIDEST
