"""Text without printed pages: blocks of headings, paragraphs and tables, put on pages of a few thousand characters."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Annotated, Any

from pydantic import Field

from crag.core.tables import BESIDE, SEPARATOR, Cell, Row, Table, place_sections
from crag.ingest.files import FileError
from crag.ingest.grid import GridCell, GridRow, GridTable, read_grid

PART = 3000
"""Characters at which a page ends with the next heading; at twice as many it ends with the next block."""
_MOST_HEADING = 200
_MARKS = re.compile(r"(?<=[^\s\]])(?: \[[^\]\s]{1,12}\])++\Z")  # of footnotes, behind a value
_MOST_NAME, _MOST_HEADER, _MOST_CAPTION = 60, 300, 120


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """A heading, a paragraph, or a table with a line a row. `unseen`: hidden words that were left out beside it.

    `bold`: all of a paragraph is. `mark`: the characters before its words that number it in a list.
    """

    text: str
    heading: bool = False
    bold: bool = False
    mark: int = 0
    table: Table | None = None
    unseen: int = 0


Points = Annotated[float, Field(ge=-1e6, le=1e6, allow_inf_nan=False)]
Share = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
Line = tuple[int, int, Points, Points, Points, Points, Share, int]


@dataclass(slots=True)
class ComposedPage:
    """What the child sends of a page, checked by the types of its fields where it arrives.

    `lines` are (start, end, left, top, right, bottom, confidence, page): the end of a sentence may stand on the next
    page. `cuts` are the chunks: (start, end, whether it is a table's, what its tables say elsewhere).
    `unseen` words were left out because nobody sees them; `recognised`: the text is recognition's, behind a picture.
    `garbled`: its fonts don't say which letters they show, so it has no text but from its picture.
    `pictured`: a picture fills the page, and little text stands over it; or something is drawn and there is no text.
    `place` and `by_heading` as a `Page`'s. `subject`: what a form at the top of the first page is about.
    """

    number: Annotated[int, Field(strict=True, ge=1)]
    width: Points
    height: Points
    text: str = ""
    lines: list[Line] = field(default_factory=list)
    tables: list[Table] = field(default_factory=list)
    headings: list[tuple[int, str]] = field(default_factory=list)
    cuts: list[tuple[int, int, bool, tuple[str, ...]]] = field(default_factory=list)
    scanned: bool = False
    pictured: bool = False
    largest: list[tuple[str, float]] = field(default_factory=list)
    subject: str = ""
    failed: bool = False
    cut: bool = False
    unseen: Annotated[int, Field(strict=True, ge=0, le=1_000_000)] = 0
    recognised: bool = False
    garbled: bool = False
    place: str = ""
    by_heading: bool = False

    def write(self, block: Block) -> int:
        """Append a block and return where it starts."""
        self.unseen += block.unseen
        start = len(self.text) + 2 if self.text else 0
        self.text += ("\n\n" if self.text else "") + block.text
        if block.heading:
            self.headings.append((start, squeeze(block.text)[:_MOST_HEADING]))
        if block.table is not None:
            self.tables.append(block.table.moved(start))
        return start


def write_table(cells: Iterable[GridCell]) -> Iterator[Block]:
    """A grid as blocks of a few thousand characters, each with the header as its first line."""
    table = read_grid(cells)
    lines = TableText(table, captions=True)
    for row in table.rows:
        if lines.size > PART:
            yield lines.block()
            lines = TableText(table)
        lines.add(row)
    if lines.size:
        yield lines.block()


class TableText:
    """A table that is written row by row: its captions and its header, where they are asked for, then its rows."""

    def __init__(self, table: GridTable, *, captions: bool = False, header: bool = True, title: str = "") -> None:
        self._table, self._title, self._rows = table, title, list[tuple[Row, str]]()
        self._captions = tuple(cell.text for cell in table.captions)
        self._names = [_short_name(name) for name in table.header]
        named = "; ".join(dict.fromkeys(filter(None, table.header)))
        self._lines = [*(self._captions if captions else ()), *([named] if header and named else ())]
        self.size = sum(len(line) + 1 for line in self._lines)

    def add(self, row: GridRow) -> None:
        """Write one row: what it is called, and each value behind the name of its column."""
        line = label = self._table.label(row)
        between = "" if not label else " " if label.endswith((":", "?")) else ": "
        found = list[Cell]()
        for number, (column, cell) in enumerate(row.cells):
            name = self._names[column] if column < len(self._names) else ""
            line += ("; " if number else between) + (f"{name} " if name else "")
            place = self.size + len(line)
            found.append(Cell(column if name else BESIDE, place, place + len(_MARKS.sub("", cell.text))))
            line += cell.text
        self._rows.append((Row(self.size, self.size + len(line), self.size + len(label), tuple(found)), label))
        self._lines.append(line)
        self.size += len(line) + 1

    def block(self) -> Block:
        """What is written so far."""
        text, table = "\n".join(self._lines), self._table
        columns = " | ".join(dict.fromkeys(filter(None, self._names)))[:_MOST_HEADER]
        written = Table(
            start=0,
            end=len(text),
            header=table.header,
            rows=place_sections(self._rows),
            unit=table.unit,
            captions=self._captions,
            title=self._title,
            heads=tuple(filter(None, [*(caption[:_MOST_CAPTION] for caption in self._captions), columns])),
        )
        return Block(text=text, table=written)


def _short_name(name: str) -> str:
    """A column's name as it stands before each value: without its widest levels where it is long."""
    while len(name) > _MOST_NAME and SEPARATOR in name:
        name = name.partition(SEPARATOR)[2]
    return name[:_MOST_NAME].strip(" :")


def squeeze(cell: str) -> str:
    """A cell's text on one line."""
    return " ".join(cell.split())


def fill_pages(blocks: Iterable[Block]) -> Iterator[ComposedPage]:
    """The blocks on pages without a size, which are cited by their headings."""
    page = ComposedPage(1, 0.0, 0.0, by_heading=True)
    for block in _cut_long(blocks):
        if not block.text.strip():
            page.unseen += block.unseen
            continue
        if len(page.text) >= (PART if block.heading else 2 * PART):
            yield page
            page = ComposedPage(page.number + 1, 0.0, 0.0, by_heading=True)
        page.write(block)
    if page.text or page.unseen:
        yield page


def _cut_long(blocks: Iterable[Block]) -> Iterator[Block]:
    """The blocks, with long paragraphs cut at white space."""
    for block in blocks:
        text = block.text
        while len(text) > 2 * PART and block.table is None:
            cut = max(text.rfind("\n", PART, 2 * PART), text.rfind(" ", PART, 2 * PART))
            cut = cut if cut > 0 else 2 * PART
            yield Block(text=text[:cut])
            text = text[cut:].lstrip()
        yield block if text is block.text else replace(block, text=text, heading=False)


def messages(
    found: Iterable[ComposedPage],
    job: Mapping[str, Any],
    title: str,
    notes: Mapping[str, Any],
    published: str = "",
    properties: Mapping[str, str] = MappingProxyType({}),
) -> Iterator[dict[str, Any] | ComposedPage]:
    """What a reader yields of these pages. Raises FileError for none, and for more than are read."""
    pages = list(found)
    if not pages:
        raise FileError("no text")
    if len(pages) > int(job["max_pages"]):
        raise FileError("pages", str(len(pages)))
    opening = next((text for _, text in pages[0].headings), "")
    pages[0].largest = [(opening, 1.0)] if opening else []
    said = {"title": title, "notes": dict(notes), "published": published, "properties": dict(properties)}
    yield {"pages": len(pages), **said}
    yield from pages
