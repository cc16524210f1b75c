"""A line's cells and what they hold: amounts, years, footnote marks, or words."""

from __future__ import annotations

import re
from collections.abc import Sequence

from crag.ingest.layout import Row, Segment
from crag.ingest.objects import Box, around

_VALUE = re.compile(
    r"^[(\[<>≤≥~+±−–—-]*+\s*+(?:US|C|A|HK)?[$€£¥]?\s*+[(+−–-]?\s*+[$€£¥]?\s*+\d[\d,.\s]*+"
    r"(?>(?:[)\]%x×*†‡]|pts?|bps?|\([a-z0-9]\)|\s)*)$"
    r"|^[$€£¥]?\s*[-–—−]+\s*%?$|^\d+\.\d+ years?$|^(?:n/?[am]|nm|nil|\*+|✓|[xX])\)?$",
    re.IGNORECASE,
)
_YEAR = re.compile(r"^(?:fy|cy)?\s*'?(?:19|20)\d\d(?:\s*\([a-z0-9]\))?$", re.IGNORECASE)
_OPEN = re.compile(r"^(?:US|C|A|HK)?[$€£¥]?\s*\(?$")
_CLOSE = re.compile(r"^[)\]%]+$|^\)?\s*%$")
_NOTE = re.compile(r"^\((?:[a-z]|\d)\)$")
_SMALL_NOTE = re.compile(r"^\(?(?:[a-z]|\d{1,2})\)$")
_RULE = re.compile(r"(?:[-_=] ){8}")
"""A line that is drawn with characters."""
_NOTE_GAP = 15.0  # points at most between a footnote's mark and what it marks
_SMALL = 0.8  # of the height of what it marks: what is lower is set small, as marks are


def is_value(text: str) -> bool:
    """Whether a cell's text is a number, an amount, a dash or the like."""
    return bool(_VALUE.match(text))


def amount_box(cell: Segment) -> Box:
    """Where a value's figures stand: without a currency sign at the column's left edge, or a % beyond its right one."""
    words = [word for word in cell.words if not _OPEN.match(word.text) and not _CLOSE.match(word.text)] or cell.words
    return cell.box._replace(left=words[0].box.left, right=words[-1].box.right)


def cells_of(row: Row) -> list[Segment]:
    """A row's segments as cells: lone currency signs joined to the amount behind, brackets and % to the one before."""
    cells: list[Segment] = []
    pending: Segment | None = None
    for part in [part for segment in row.segments for part in _part_amounts(segment)]:
        text = part.text
        if pending is not None:
            cells.append(_join(pending, part))
            pending = None
        elif cells and (_CLOSE.match(text) or _is_note(text, part, cells[-1])):
            cells[-1] = _join(cells[-1], part)
        elif _OPEN.match(text):
            pending = part
        else:
            cells.append(part)
    if pending is not None:
        cells.append(pending)
    return cells


def _is_note(text: str, segment: Segment, before: Segment) -> bool:
    """Whether "(1)" behind a year or a label is a footnote's mark; behind an amount as large it is minus one."""
    if segment.box.left - before.box.right > _NOTE_GAP:
        return False
    if _SMALL_NOTE.match(text) and segment.words[0].box.height < _SMALL * before.words[-1].box.height:
        return True
    return bool(_NOTE.match(text)) and (not is_value(before.text) or bool(_YEAR.match(before.text)))


def _part_amounts(segment: Segment) -> list[Segment]:
    """A segment of several amounts standing close ("5,794 4,225 $") as one part an amount or a lone sign."""
    words = segment.words
    if (
        len(words) < 2
        or _RULE.search(segment.text)
        or not all(is_value(w.text) or _OPEN.match(w.text) or _CLOSE.match(w.text) for w in words)
    ):
        return [segment]
    parts: list[Segment] = []
    start = 0
    for stop in range(1, len(words) + 1):
        if stop < len(words):
            here, after = words[stop - 1].text, words[stop].text
            if _OPEN.match(here) or _CLOSE.match(after) or (_YEAR.match(here) and _NOTE.match(after)):
                continue
        parts.append(part_of(segment, start, stop))
        start = stop
    return parts


def part_of(segment: Segment, start: int, stop: int) -> Segment:
    """Its words [start, stop), as high as the whole."""
    words = segment.words[start:stop]
    box = segment.box._replace(left=words[0].box.left, right=words[-1].box.right)
    return Segment(words, box, " ".join([word.text for word in words]))


def _join(one: Segment, other: Segment) -> Segment:
    return Segment([*one.words, *other.words], around((one.box, other.box)), f"{one.text} {other.text}")


def is_data(cells: Sequence[Segment]) -> bool:
    """Whether a row ends in a value behind a label or another value. A list mark before text is no value.

    A row with a drawn line in it has none.
    """
    closed = cells[:-1] if _OPEN.match(cells[-1].text) else cells  # the page's edge may cut an amount off its sign
    return len(closed) > 1 and is_value(closed[-1].text) and not any(_RULE.search(cell.text) for cell in closed)


def is_years(cells: Sequence[Segment]) -> bool:
    """Whether a row's values are years alone, maybe behind captions: a header line that looks like values."""
    rest = cells if _YEAR.match(cells[0].text) else cells[1:]
    values = [cell for cell in rest if is_value(cell.text)]
    alone = len(values) == len(rest) or len(values) > 1
    return bool(values) and alone and all(_YEAR.match(cell.text) for cell in values)
