"""Pages to chunks: whole sentences and whole table rows of one page, with what is said elsewhere as context. Pure."""

from __future__ import annotations

import hashlib
import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Generic, TypeVar

from crag.core.ingesting import Cut, Page, ParsedDocument
from crag.core.tables import SEPARATOR, Table
from crag.core.types import Chunk, LineBox
from crag.ingest.contents import find_contents
from crag.ingest.properties import properties_page
from crag.ingest.sections import ComposedPage
from crag.text.sentences import ITEM, ends_as_sentence, sentences

_COLUMNS = " | "
_MOST_HEADER = 160
_MOST_PLACE = 80
_MOST_PARTS = 20
_MOST_LEAD = 250
"""Characters of headings and labels that are kept with what they lead to."""
_MOST_COMPARED = 2_000
"""Characters of a header that are compared with a chunk, which is shorter."""
_WORD = re.compile(r"\w+")
_WIDE = re.compile("[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3\uf900-\ufaff]")
_BLANK = re.compile(r"\s*+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizes:
    """Characters: a chunk of text grows to `text`, one of table rows to `table`; below `least` none ends early.

    At the end of a paragraph a chunk ends once it is `paragraph` of the way to its full size.
    """

    text: int = 600
    table: int = 700
    least: int = 250
    paragraph: float = 0.6

    def for_text(self, text: str) -> Sizes:
        """Half of these for Chinese, Japanese or Korean, each letter of which says as much as two or three of others.

        600 letters of Chinese are 450 tokens, of which the embedding model reads 256.
        """
        if text.isascii() or 2 * len(_WIDE.findall(text)) < len(text):
            return self
        return replace(self, text=self.text // 2, table=self.table // 2, least=self.least // 2)


_SIZES = Sizes()
# What is stored with a library: the same id, the same chunks for the same document.
CHUNKING_ID = "sentences-600-700-250-0.8.0"


@dataclass(frozen=True, slots=True)
class _Unit:
    """A sentence or a table row, or part of one that alone is too long."""

    start: int
    end: int
    table: Table | None
    heading: bool
    opens: bool


def chunk_document(parsed: ParsedDocument, document_id: str, source: str, *, sizes: Sizes = _SIZES) -> list[Chunk]:
    """The document's chunks in reading order. Every character that is no white space lies in one, but for contents.

    `source` is the file's name. Chunk ids depend on the document's id, the chunking and the span alone. The reader's
    child process has cut the pages already; pages from elsewhere are cut here. Takes time by the document's length.
    """
    found: list[Chunk] = []
    heading = ""
    contents = find_contents(parsed.pages)
    for page in (*parsed.pages, *properties_page(parsed)):
        if page.number in contents:
            continue
        headings, lines, tables = _Headings(page), _Places(page.lines), _Places(page.tables)
        for each in page.cuts if page.cuts is not None and sizes == _SIZES else cut_page(page, sizes):
            heading = headings.before(each.start) or heading
            # A chunk that opens with its own heading needs no other's.
            opening = headings.opening(each.start)
            own = opening is not None and page.text.startswith(opening[:20], each.start)
            parts = [parsed.title, "" if own else heading, *each.headers]
            crossed = tables.within(each.start, each.end)
            boxes = _boxes(lines.within(each.start, each.end), each.start, each.end)
            found.append(
                Chunk(
                    id=chunk_id(document_id, page.number, each.start, each.end),
                    document_id=document_id,
                    source=source,
                    title=parsed.title,
                    page=page.number,
                    ordinal=len(found),
                    start=each.start,
                    end=each.end,
                    text=page.text[each.start : each.end],
                    context=SEPARATOR.join(part for part in parts if part),
                    kind="table" if each.table else "text",
                    lines=boxes,
                    tables=tuple(filter(None, (table.within(each.start, each.end) for table in crossed))),
                    place=_place(page, headings.section(each.start, heading), boxes),
                )
            )
        if page.headings:
            heading = page.headings[-1][1]
    return found


def cut_page(page: Page | ComposedPage, sizes: Sizes = _SIZES) -> tuple[Cut, ...]:
    """Where the chunks of a page begin and end, and what its tables say of each. Takes time by the page's length."""
    tables, sizes = _Places(page.tables), sizes.for_text(page.text)
    return tuple(
        Cut(
            start=start,
            end=end,
            table=table is not None and not table.is_form(page.text),
            headers=_headers(page.text, tables.within(start, end), start, end),
        )
        for start, end, table in _spans(page, sizes)
    )


class _Headings:
    """The headings of a page, found by their places."""

    def __init__(self, page: Page) -> None:
        self._text = page.text
        self._found = sorted(page.headings, key=lambda heading: heading[0])
        self._places = [at for at, _ in self._found]
        self._last = [*range(len(self._found))]
        """Of each heading, the last one of the run of headings that it stands in, with nothing but blanks between."""
        for at in range(len(self._found) - 2, -1, -1):
            place, heading = self._found[at]
            if not self._text[place + len(heading) : self._places[at + 1]].strip():
                self._last[at] = self._last[at + 1]

    def before(self, start: int) -> str:
        """The last heading before a place; empty where there is none."""
        at = bisect_left(self._places, start)
        return self._found[at - 1][1] if at else ""

    def opening(self, start: int) -> str | None:
        """The heading that a chunk opens with."""
        at = bisect_left(self._places, start)
        return self._found[at][1] if at < len(self._found) and self._places[at] <= start + 2 else None

    def section(self, start: int, heading: str) -> str:
        """The last of the headings that a chunk opens with, else the one it stands under."""
        at = bisect_left(self._places, start)
        if at == len(self._found):
            return heading
        blank = _BLANK.match(self._text, start, self._places[at])
        opens = blank is not None and blank.end() == self._places[at]
        return self._found[self._last[at]][1] if opens else heading


_Item = TypeVar("_Item", LineBox, Table)


class _Places(Generic[_Item]):
    """The lines or tables of a page, found by their places."""

    def __init__(self, items: Iterable[_Item]) -> None:
        self._items: list[_Item] = sorted(items, key=lambda item: item.start)
        self._starts = [item.start for item in self._items]
        self._reach = [*accumulate((item.end for item in self._items), max)]

    def within(self, start: int, end: int) -> Sequence[_Item]:
        """Those that share characters with a span."""
        return self._items[bisect_right(self._reach, start) : bisect_left(self._starts, end)]


def _headers(text: str, tables: Sequence[Table], start: int, end: int) -> tuple[str, ...]:
    """What a chunk's tables say of its rows and the chunk does not: unit, captions, columns, its first section."""
    found: list[str] = []
    own = _words(text[start:end]) if tables else ""
    for table in tables:
        # The chunk that the table begins in holds the line that names the columns, if not in these words.
        parts = [part for part in table.heads[:_MOST_PARTS] if start > table.start or _COLUMNS not in part]
        row = bisect_right(table.rows, start, key=lambda row: row.end)
        section = table.rows[row].section.rpartition(SEPARATOR)[2] if row < len(table.rows) else ""
        for part in filter(None, [*parts, section if start > table.start else ""]):
            if part not in found and _words(part[:_MOST_COMPARED]) not in own:
                found.append(part[:_MOST_HEADER])
    return tuple(found)


def _place(page: Page, heading: str, lines: Sequence[LineBox]) -> str:
    """What a citation says of a chunk that stands under this heading: nothing, if that is the number of its page."""
    if not page.by_heading:
        goes_on = bool(lines) and lines[-1].rect.page > page.number
        over = f"{page.place} and the next page" if page.place else f"pages {page.number} and {page.number + 1}"
        return over if goes_on else page.place
    return f"section {heading[:_MOST_PLACE]}" if heading else f"part {page.number}"


def chunk_id(document_id: str, page: int, start: int, end: int) -> str:
    """The id of a chunk that this chunking makes: one of an earlier chunking has another."""
    return hashlib.sha256(f"{document_id}|{CHUNKING_ID}|{page}|{start}|{end}".encode()).hexdigest()[:24]


def _words(text: str) -> str:
    """Words and figures alone, to see whether a text holds another."""
    return " ".join(_WORD.findall(text.lower())).join("  ")


def _spans(page: Page | ComposedPage, sizes: Sizes) -> list[tuple[int, int, Table | None]]:
    """The page's chunks as (start, end, the table that most of it is)."""
    spans: list[tuple[int, int, Table | None]] = []
    current: list[_Unit] = []
    for unit in _units(page, sizes):
        if current and _full(current, unit, sizes, page.by_heading):
            leads = _leads(page.text, current, unit) if unit.table is None else 0
            spans.append(_close_chunk(current[: len(current) - leads]))
            current = current[len(current) - leads :]
        current.append(unit)
    if current:
        size = current[-1].end - current[0].start
        # A last scrap joins the chunk before it rather than standing alone.
        alone = page.by_heading and current[0].heading
        if spans and not alone and size < sizes.least // 2 and current[-1].end - spans[-1][0] <= 1.3 * sizes.text:
            start, _, table = spans.pop()
            spans.append((start, current[-1].end, table))
        else:
            spans.append(_close_chunk(current))
    return spans


def _leads(text: str, units: Sequence[_Unit], following: _Unit) -> int:
    """How many of the last units lead to what follows; never all of them.

    Headings do, lines that end in a colon, and before items what ends no sentence.
    """
    size, items = 0, ITEM.match(text, following.start, following.end) is not None
    for count, unit in enumerate(reversed(units)):
        size += unit.end - unit.start
        own = text[unit.start : unit.end]
        leads = unit.heading or own[-1] == ":" or (items and not (ITEM.match(own) or ends_as_sentence(own)))
        if size > _MOST_LEAD or not leads or unit.table is not None:
            return count
    return 0


def _close_chunk(units: Sequence[_Unit]) -> tuple[int, int, Table | None]:
    rows = sum(unit.end - unit.start for unit in units if unit.table is not None)
    tables = [unit.table for unit in units if unit.table is not None]
    mostly = tables[-1] if 2 * rows > units[-1].end - units[0].start else None
    return units[0].start, units[-1].end, mostly


def _full(current: Sequence[_Unit], unit: _Unit, sizes: Sizes, by_heading: bool) -> bool:
    """Whether `unit` begins a new chunk: no room, a new section, or a new table, once there is enough.

    `by_heading`: where a section is what is cited, none shares a chunk with the one before it.
    """
    size = current[-1].end - current[0].start
    most = sizes.table if unit.table is not None else sizes.text
    if unit.end - current[0].start > most:
        # Headings are kept with what they head.
        return True
    last = current[-1]
    if by_heading and unit.heading and not last.heading:
        return True
    if size < sizes.least:
        return False
    if unit.opens and unit.table is None and size >= sizes.paragraph * most:
        return True
    return (unit.heading and not last.heading) or (unit.table is not last.table and last.table is not None)


def _units(page: Page | ComposedPage, sizes: Sizes) -> list[_Unit]:
    heads = sorted(at for at, _ in page.headings)
    found: list[_Unit] = []
    cursor = 0
    for table in sorted(page.tables, key=lambda t: t.start):
        if table.start < cursor:
            continue
        found += _text_units(page.text, cursor, table.start, heads, sizes)
        found += _row_units(page.text, table, sizes)
        cursor = table.end
    found += _text_units(page.text, cursor, len(page.text), heads, sizes)
    return found


def _text_units(text: str, start: int, end: int, heads: Sequence[int], sizes: Sizes) -> list[_Unit]:
    found: list[_Unit] = []
    for first, last in sentences(text[start:end]):
        first, last = first + start, last + start
        at = bisect_left(heads, first)
        heading = at < len(heads) and heads[at] < last
        opens = "\n" in text[max(0, first - 3) : first]
        found += [_Unit(a, b, None, heading, opens) for a, b in _pieces(text, first, last, sizes.text)]
    return found


def _row_units(text: str, table: Table, sizes: Sizes) -> list[_Unit]:
    found: list[_Unit] = []
    start = table.start
    for row in text[table.start : table.end].split("\n"):
        if row.strip():
            found += [_Unit(a, b, table, False, False) for a, b in _pieces(text, start, start + len(row), sizes.table)]
        start += len(row) + 1
    return found


def _pieces(text: str, start: int, end: int, most: int) -> list[tuple[int, int]]:
    """A span cut at white space so that no piece is longer than `most`; without white space, anywhere."""
    found = []
    while end - start > most:
        cut = max(
            text.rfind(" ", start + most // 2, start + most), text.rfind("; ", start + most // 2, start + most) + 1
        )
        cut = cut if cut > start else start + most
        found.append((start, cut))
        start = cut
        while start < end and text[start].isspace():
            start += 1
    if start < end:
        found.append((start, end))
    return found


def _boxes(lines: Sequence[LineBox], start: int, end: int) -> tuple[LineBox, ...]:
    """The boxes of a span, offsets counted from its start; a line cut by the span's edge is cut in proportion."""
    parts = (part for line in lines if (part := line.within(start, end)))
    return tuple(replace(part, start=part.start - start, end=part.end - start) for part in parts)
