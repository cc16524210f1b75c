"""Text without printed pages: blocks of headings, paragraphs and tables, put on pages of a few thousand characters."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from types import MappingProxyType
from typing import Any

from crag.core.tables import BESIDE, Cell, Row, Table, place_sections
from crag.ingest.files import FileError

PART = 3000
"""Characters at which a page ends with the next heading; at twice as many it ends with the next block."""
_MOST_HEADING = 200
_VALUE = re.compile(r"[-+(]?\s*+[$€£¥]?\s*+[-+(]?\d[\d\s.,:/'%)-]*(?:[eE][-+]?\d+)?%?\)?")
_YEAR = re.compile(r"(?:19|20)\d\d")
_MOST_NAME, _MOST_HEADER = 60, 300


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """A heading, a paragraph, or a table with a line a row. `unseen`: hidden words that were left out beside it."""

    text: str
    heading: bool = False
    table: Table | None = None
    unseen: int = 0


@dataclass(slots=True)
class ComposedPage:
    """What the child sends of a page. `lines` are (start, end, left, top, right, bottom, confidence, page).

    The end of a sentence may stand on the next page.

    `unseen` words were left out because nobody sees them; `recognised`: the text is recognition's, behind a picture.
    `garbled`: its fonts don't say which letters they show, so it has no text but from its picture.
    `pictured`: a picture fills the page, and little text stands over it; or something is drawn and there is no text.
    `place` and `by_heading` as a `Page`'s. `subject`: what a form at the top of the first page is about.
    """

    number: int
    width: float
    height: float
    text: str = ""
    lines: list[tuple[int, int, float, float, float, float, float, int]] = field(default_factory=list)
    tables: list[Table] = field(default_factory=list)
    headings: list[tuple[int, str]] = field(default_factory=list)
    scanned: bool = False
    pictured: bool = False
    largest: list[tuple[str, float]] = field(default_factory=list)
    subject: str = ""
    failed: bool = False
    cut: bool = False
    unseen: int = 0
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


def write_table(rows: Iterable[Sequence[str]], *, headed: bool | None = None) -> Iterator[Block]:
    """A table as blocks of a few thousand characters, each with the header as its first line.

    `headed`: whether the first row names the columns; None: recognised by what stands in it.
    """
    rest = (row for row in rows if any(row))
    first = next(rest, None)
    if first is None:
        return
    header = [] if headed is False or not (headed or names_columns(first)) else first
    lines = TableText(header)
    for row in rest if header else chain([first], rest):
        if lines.size > PART:
            yield lines.block()
            lines = TableText(header)
        lines.add(row)
    yield lines.block()


class TableText:
    """A table that is written row by row, its header first where that is `shown`."""

    def __init__(self, header: Sequence[str], *, shown: bool = True) -> None:
        self._header, self._rows = header, list[tuple[Row, str]]()
        self._lines = [format_header(header)] if header and shown else []
        self.size = sum(len(line) + 1 for line in self._lines)

    def add(self, row: Sequence[str]) -> None:
        """Write one row: its label, which is its first cell, and each value behind the name of its column."""
        cells = [(at, squeeze(cell)) for at, cell in enumerate(row)]
        cells = [(at, cell) for at, cell in cells if cell]
        labelled = bool(cells) and (cells[0][0] == 0 or len(cells) < 2)
        label, values = (cells[0][1], cells[1:]) if labelled else ("", cells)
        between = "" if not label else " " if label.endswith((":", "?")) else ": "
        line, found = label, list[Cell]()
        for number, (at, cell) in enumerate(values):
            name = squeeze(self._header[at])[:_MOST_NAME].strip(" :") if at < len(self._header) else ""
            line += ("; " if number else between) + (f"{name} " if name else "")
            found.append(Cell(at if name else BESIDE, self.size + len(line), self.size + len(line) + len(cell)))
            line += cell
        written = Row(self.size, self.size + len(line), self.size + len(label), tuple(found))
        self._rows.append((written, label))
        self._lines.append(line)
        self.size += len(line) + 1

    def block(self) -> Block:
        """What is written so far."""
        text, names = "\n".join(self._lines), tuple(map(squeeze, self._header))
        heads = tuple(filter(None, [header_line(self._header)]))
        rows = place_sections(self._rows)
        return Block(text=text, table=Table(start=0, end=len(text), header=names, rows=rows, heads=heads))


def names_columns(row: Sequence[str]) -> bool:
    """Whether a row is a header by its cells: several of them, and none a value, but for years."""
    said = [squeeze(cell) for cell in row]
    said = [cell for cell in said if cell]
    if len(said) < 2 or any(_VALUE.fullmatch(cell) and not _YEAR.fullmatch(cell) for cell in said):
        return False
    return any(not _YEAR.fullmatch(cell) for cell in said) or not squeeze(row[0])


def format_header(header: Sequence[str]) -> str:
    """The header as a line of its own."""
    return "; ".join(cell for cell in map(squeeze, header) if cell)


def header_line(header: Sequence[str]) -> str:
    """What names the table's columns, for chunks that do not begin it."""
    return " | ".join(cell[:_MOST_NAME] for cell in map(squeeze, header) if cell)[:_MOST_HEADER]


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
