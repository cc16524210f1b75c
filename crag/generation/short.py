"""The few words that answer, found in the texts that are quoted; of a table the cell with its row and column."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from crag.core.protocols import AnswerReader
from crag.core.types import Chunk, ShortAnswer, Strip, WebPage
from crag.generation.citations import quotable
from crag.generation.subjects import years_of

READ = 3
"""Sources that are read for it, the best first."""
AROUND = 450
"""Characters of a web page that are read before and after a strip."""

Place = tuple[Strip, int, int]
"""A part of a strip that may be quoted: [start, end) in the strip's text."""

_VALUE = re.compile(r"\d|^[-–—−]\W*$")
_SCALE = re.compile(r"(?:\bin|\$)\s?(?:US |U\.S\. )?(?:dollars? in )?(thousand|million|billion)s\b", re.IGNORECASE)
_OWN_SCALE = re.compile(
    r"%|percent|per (?:common |ordinary )?share|\b(?:ratio|margin|rate|days|employees|number)\b|illion|housand", re.I
)


@dataclass(frozen=True, slots=True)
class Found:
    """The characters [start, end) of a source's text that answer, and the strip that holds them."""

    strip: Strip
    start: int
    end: int
    confidence: float
    row: str = ""
    column: str = ""
    scale: str = ""
    """What the cell's table says that it counts in."""


def find_words(
    question: str, places: Sequence[Place], sources: Mapping[str, Chunk | WebPage], reader: AnswerReader
) -> list[Found]:
    """The words that answer in each of the best sources. `places` stand best first.

    A source's text is read as a whole, of a page what is around its best place; words outside the places don't count.
    """
    best: dict[str, Place] = {}
    for place in places:
        best.setdefault(place[0].source_id, place)
    each = (_read(question, place, places, sources, reader) for place in list(best.values())[:READ])
    return [found for found in each if found is not None]


def short_answer(found: Found, citation: int, sources: Mapping[str, Chunk | WebPage]) -> ShortAnswer:
    """The facts of the short answer: its words, where they stand, and a cell's labels."""
    source = sources.get(found.strip.source_id)
    text = source.text if source else ""
    said = quotable(text[found.start : found.end])
    chunk = source if isinstance(source, Chunk) else None
    match = _SCALE.search(f"{chunk.context}\n{chunk.text}") if chunk and found.column else None
    scale = found.scale or (match[1].lower() if match else "")
    alone = _OWN_SCALE.search(f"{found.row} {found.column} {said}")
    return ShortAnswer(
        text=said,
        citation=citation,
        source_id=found.strip.source_id,
        strip_id=found.strip.id,
        start=found.start,
        end=found.end,
        confidence=found.confidence,
        row=found.row,
        column=found.column,
        scale="" if alone else scale,
        rects=chunk.rects(found.start, found.end) if chunk else (),
    )


def _read(
    question: str, place: Place, places: Sequence[Place], sources: Mapping[str, Chunk | WebPage], reader: AnswerReader
) -> Found | None:
    """What the reader finds in the text that the place stands in; in the place alone, if that is elsewhere."""
    strip, start, end = place
    source = sources.get(strip.source_id)
    if source is None:
        return None
    for part in dict.fromkeys((part_of(strip, source), (strip.start + start, strip.start + end))):
        text, shift = titled_text(source, part)
        said = reader.read(question, text)
        if said is None or said.start < part[0] - shift:
            continue
        begin, stop = said.start + shift, said.end + shift
        row = column = ""
        if isinstance(source, Chunk):
            cell = cell_of(source, begin, stop, years_of(question))
            if cell is not None:
                begin, stop, row, column = cell
        for other, low, high in places:
            inside = other.start + low <= begin and stop <= other.start + high
            if other.source_id == strip.source_id and inside and begin < stop:
                return Found(other, begin, stop, said.confidence, row, column)
    return None


def part_of(strip: Strip, source: Chunk | WebPage) -> tuple[int, int]:
    """What is read of a strip's source, as [start, end): all of a chunk, of a web page what is around the strip."""
    return (0, len(source.text)) if isinstance(source, Chunk) else _around(source.text, strip)


def titled_text(source: Chunk | WebPage, part: tuple[int, int]) -> tuple[str, int]:
    """A part of a source behind its title, and how much further on a place of this text stands in the source's."""
    lead = source.context if isinstance(source, Chunk) else source.title
    lead = f"{lead}\n" if lead else ""  # as it is graded, so that the reading is one that is remembered
    return lead + source.text[slice(*part)], part[0] - len(lead)


def _around(text: str, strip: Strip) -> tuple[int, int]:
    """The text around a strip, cut at words."""
    first, last = max(0, strip.start - AROUND), min(len(text), strip.end + AROUND)
    while 0 < first < strip.start and not text[first - 1].isspace():
        first += 1
    while strip.end < last < len(text) and not text[last].isspace():
        last -= 1
    return first, last


def cell_of(chunk: Chunk, start: int, end: int, years: frozenset[str]) -> tuple[int, int, str, str] | None:
    """The value, as [start, end), with its row's and column's label, of the cell that [start, end) points at.

    Where just one cell of the row is of the years asked about, it is that one. None where the row has no such cells, or
    what is pointed at is none of them.
    """
    rows = ((table, row) for table in chunk.tables for row in table.rows if row.cells)
    table, row = next(((table, row) for table, row in rows if row.start <= start <= row.end), (None, None))
    if table is None or row is None:
        return None
    label = chunk.text[row.start : row.label]
    cells: list[tuple[int, int, str]] = []
    for cell in row.cells:
        name, said = table.name(cell), chunk.text[cell.start : cell.end]
        if _VALUE.search(said):
            cells.append((cell.start, cell.end, name))
        elif not cells and label == chunk.text[row.start : row.label]:
            label = f"{name} {said}"  # the row's number came before its name
    here = [cell for cell in cells if cell[0] < end and start < cell[1]]
    asked = [cell for cell in cells if years and years <= years_of(cell[2])]
    chosen = asked if len(asked) == 1 else here or (cells if len(cells) == 1 else [])
    if len(chosen) != 1 or not (chosen[0][2] or label):
        return None
    return (*chosen[0][:2], " ".join(label.split()).strip(" :"), " ".join(chosen[0][2].split()))
