"""Pages to chunks: whole sentences and whole table rows of one page, with what is said elsewhere as context. Pure."""

from __future__ import annotations

import hashlib
import re
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, replace

from crag.core.ingesting import Page, ParsedDocument, TableSpan
from crag.core.types import Chunk, LineBox
from crag.text.sentences import sentences

_SEPARATOR = " › "
_COLUMNS = " | "
_MOST_HEADER = 160
_MOST_PLACE = 80
_WORD = re.compile(r"\w+")
_VALUES = re.compile(r":\s.*[\d—–-]|;")  # a row of values, not the name of a section


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizes:
    """Characters: a chunk of text grows to `text`, one of table rows to `table`; below `least` none ends early.

    At the end of a paragraph a chunk ends once it is `paragraph` of the way to its full size.
    """

    text: int = 600
    table: int = 700
    least: int = 250
    paragraph: float = 0.6


_SIZES = Sizes()
# What is stored with a library: the same id, the same chunks for the same document.
CHUNKING_ID = "sentences-600-700-250-0.6.3"


@dataclass(frozen=True, slots=True)
class _Unit:
    """A sentence or a table row, or part of one that alone is too long."""

    start: int
    end: int
    table: TableSpan | None
    heading: bool
    opens: bool


def chunk_document(parsed: ParsedDocument, document_id: str, source: str, *, sizes: Sizes = _SIZES) -> list[Chunk]:
    """The document's chunks in reading order. Every character that is no white space lies in one.

    `source` is the file's name. Chunk ids depend on the document's id, the chunking and the span alone.
    """
    found: list[Chunk] = []
    heading = ""
    for page in parsed.pages:
        for start, end, table in _spans(page, sizes):
            # A chunk that opens with its own heading needs no other's.
            opening = next((text for at, text in page.headings if start <= at <= start + 2), None)
            before = [text for at, text in page.headings if at < start]
            heading = before[-1] if before else heading
            own = opening is not None and page.text.startswith(opening[:20], start)
            parts = [parsed.title, "" if own else heading, *_headers(page, start, end)]
            found.append(
                Chunk(
                    id=chunk_id(document_id, page.number, start, end),
                    document_id=document_id,
                    source=source,
                    title=parsed.title,
                    page=page.number,
                    ordinal=len(found),
                    start=start,
                    end=end,
                    text=page.text[start:end],
                    context=_SEPARATOR.join(part for part in parts if part),
                    kind="table" if table is not None else "text",
                    lines=_lines(page.lines, start, end),
                    place=_place(page, _section(page, start, heading)),
                )
            )
        if page.headings:
            heading = page.headings[-1][1]
    return found


def _place(page: Page, heading: str) -> str:
    """What a citation says of a chunk that stands under this heading: nothing, if that is the number of its page."""
    if not page.by_heading:
        return page.place
    return f"section {heading[:_MOST_PLACE]}" if heading else f"part {page.number}"


def _section(page: Page, start: int, heading: str) -> str:
    """The last of the headings that a chunk opens with, else the one it stands under."""
    end = start
    for at, text in page.headings:
        if at >= start:
            if page.text[end:at].strip():
                break
            heading, end = text, at + len(text)
    return heading


def chunk_id(document_id: str, page: int, start: int, end: int) -> str:
    """The id of a chunk that this chunking makes: one of an earlier chunking has another."""
    return hashlib.sha256(f"{document_id}|{CHUNKING_ID}|{page}|{start}|{end}".encode()).hexdigest()[:24]


def _headers(page: Page, start: int, end: int) -> list[str]:
    """What a chunk's tables say of its rows and the chunk does not: unit, captions, columns, its first section."""
    found: list[str] = []
    text = _words(page.text[start:end])
    for table in page.tables:
        if table.end <= start or end <= table.start:
            continue
        # The line that names the columns is in the chunk that the table begins in, if not in these words.
        parts = [part for part in table.header.split(_SEPARATOR) if start > table.start or _COLUMNS not in part]
        parts += [_rows_section(page.text[table.start : start])] if start > table.start else []
        found += [part[:_MOST_HEADER] for part in parts if part and part not in found and _words(part) not in text]
    return found


def _words(text: str) -> str:
    """Words and figures alone, to see whether a text holds another."""
    return " ".join(_WORD.findall(text.lower())).join("  ")


def _rows_section(rows: str) -> str:
    """The last line without values before a chunk that begins within a table, unless a total has closed it since."""
    above = rows.rstrip("\n").split("\n")
    for place in range(len(above) - 1, 0, -1):
        if not _VALUES.search(above[place]):
            return above[place].strip(" :")
        # The first row of a section may be a total, as "Total revenue" is.
        if above[place].lower().startswith("total") and _VALUES.search(above[place - 1]):
            return ""
    return ""


def _spans(page: Page, sizes: Sizes) -> list[tuple[int, int, TableSpan | None]]:
    """The page's chunks as (start, end, the table that most of it is)."""
    spans: list[tuple[int, int, TableSpan | None]] = []
    current: list[_Unit] = []
    for unit in _units(page, sizes):
        if current and _full(current, unit, sizes, page.by_heading):
            spans.append(_closed(current))
            current = []
        current.append(unit)
    if current:
        size = current[-1].end - current[0].start
        # A last scrap joins the chunk before it rather than standing alone.
        alone = page.by_heading and current[0].heading
        if spans and not alone and size < sizes.least // 2 and current[-1].end - spans[-1][0] <= 1.3 * sizes.text:
            start, _, table = spans.pop()
            spans.append((start, current[-1].end, table))
        else:
            spans.append(_closed(current))
    return spans


def _closed(units: Sequence[_Unit]) -> tuple[int, int, TableSpan | None]:
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


def _units(page: Page, sizes: Sizes) -> list[_Unit]:
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


def _row_units(text: str, table: TableSpan, sizes: Sizes) -> list[_Unit]:
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


def _lines(lines: Sequence[LineBox], start: int, end: int) -> tuple[LineBox, ...]:
    """The boxes of a span, offsets counted from its start; a line cut by the span's edge is cut in proportion."""
    found = []
    for line in lines:
        first, last = max(line.start, start), min(line.end, end)
        if first >= last:
            continue
        rect, size = line.rect, line.end - line.start
        if last - first < size:
            width = rect.right - rect.left
            left = rect.left + width * (first - line.start) / size
            right = rect.left + width * (last - line.start) / size
            rect = type(rect)(page=rect.page, left=left, top=rect.top, right=right, bottom=rect.bottom)
        found.append(replace(line, start=first - start, end=last - start, rect=rect))
    return tuple(found)
