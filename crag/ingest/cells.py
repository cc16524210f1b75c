"""A line's cells and what they hold: amounts, years, footnote marks, or words; and a borderless table's header.

The header is lines of words above the values, some over several columns.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from crag.ingest.layout import Row, Segment
from crag.ingest.objects import Box, around

_VALUE = re.compile(
    r"^[(\[<>≤≥~+±−–—-]*+\s*+(?:US|C|A|HK)?[$€£¥]?\s*+[(+−–-]?\s*+[$€£¥]?\s*+\d[\d,.\s]*+"
    r"(?>(?:[)\]%x×*†‡]|pts?|bps?|\([a-z0-9]\)|\[\w{1,3}\]|\s)*)$"
    r"|^[$€£¥]?\s*[-–—−]+\s*%?$|^\d+\.\d+ years?$|^(?:n/?[am]|nm|nil|\*+|✓|[xX])\)?$",
    re.IGNORECASE,
)
_UNIT = (
    r"(?:%|[nµmkMGT]?(?:VA|V|Ah|A|Wh|W|Hz|Ω|B|F|Pa|J|bar|l|L)|°\s?[CF]?|[kcmdµn]?m(?:[²³]|/s)?|[kmµ]?g|t|[mµn]?s|N\s?m|N|in|ft|lbs?"
    r"|dB|pp[mb]|rpm|mol|(?:h(?:ou)?rs?|h|min|days?|weeks?|months?|years?|pcs|pts?))"
)
_MEASURE = rf"[±+−–<>≤≥~-]?\s?\d[\d.,]{{0,15}}\s?{_UNIT}(?!\w)"
_QUANTITY = re.compile(rf"{_MEASURE}(?:\s?(?:to|[-–/]|≤\s?\w{{1,3}}\s?≤)\s?{_MEASURE})?(?:\s\(\w{{3,4}}\.?\))?")
"""A number with its unit, or a range of two: "5 mA", "−0.3 V to 6.0 V"."""
_YEAR = re.compile(r"^(?:fy|cy)?\s*'?(?:19|20)\d\d(?:\s*\([a-z0-9]\))?$", re.IGNORECASE)
_OPEN = re.compile(r"^(?:US|C|A|HK)?[$€£¥]?\s*\(?$")
_CLOSE = re.compile(r"^[)\]%]+$|^\)?\s*%$|^\[[\w*†‡]{1,3}\]$")
_NOTE = re.compile(r"^\((?:[a-z]|\d)\)$")
_SMALL_NOTE = re.compile(r"^\(?(?:[a-z]|\d{1,2})\)$")
_RULE = re.compile(r"(?:[-_=] ){8}")
"""A line that is drawn with characters."""
_NOTE_GAP = 15.0  # points at most between a footnote's mark and what it marks
_SMALL = 0.8  # of the height of what it marks: what is lower is set small, as marks are


def is_value(text: str) -> bool:
    """Whether a cell's text is a number, an amount, a quantity with its unit, a dash or the like."""
    return bool(_VALUE.match(text) or _QUANTITY.fullmatch(text))


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


# ---- what the header says of each column -----------------------------------------------------------------------------

_NOTE_MARK = re.compile(r"(?<=\S)\s*(?:\((?:[a-z]|\d{1,2})(?:,\s*(?:[a-z]|\d{1,2}))*\)|\[[\w*†‡]{1,3}\])$")
# Points.
OVER = 40.0  # how far left of the first column what stands over the columns may begin
_NEAR = 2.0  # how far beside a column a header may stand that still is over it
_FAR = 3.0  # how far beside a column a value may stand that still is of it
_ENDS = 6.0  # how far apart a header and its column's amounts may end
_INTO = 0.5  # how far two columns may reach into one another
_SAME_RULE = 0.6  # rules closer than this, at one height, are one
_LEAST_RULE = 8.0  # a shorter one rules nothing
_BESIDE_RULE = 3.0  # how far a cell may reach out of the rule below it
# Shares.
_WIDE = 0.9  # of a column's pitch, from which a lone header cell is wide
_MIDDLE = 0.6  # of a column's pitch: how far a lone header cell may stand off the middle
_PITCH = 1.3  # of the way from one column's end to the next one's, that a column takes
_WORD_GAP = 0.32  # of a line's height: a wider gap parts two columns' headers
_ABOVE_RULE = 0.3  # of a line's height: how far text may reach below its rule
_MOST_NAME = 120  # characters of a column's name


@dataclass(slots=True)
class Column:
    """Where the values of a column stand, and its name, all header lines joined."""

    box: Box
    header: str = ""


@dataclass(slots=True)
class Header:
    """A table's header lines, read. `captions` speak for all columns or for the labels' own column.

    `cells`: each remaining cell with the numbers of the columns that it speaks for, line by line.
    """

    captions: list[Segment] = field(default_factory=list)
    cells: list[tuple[Segment, Sequence[int]]] = field(default_factory=list)


class Rules:
    """A page's level rules: a header's rule reaches as far as the columns that the header speaks for."""

    def __init__(self, edges: Sequence[dict[str, Any]] = ()) -> None:
        self._edges = edges
        self._lines: list[tuple[float, float, float]] | None = None

    def below(self, box: Box, end: float) -> Box | None:
        """The first rule under a box's middle and above `end`, if it is as wide."""
        lines = self._merged()
        height = box.bottom - box.top
        for place in range(bisect_left(lines, (box.bottom - _ABOVE_RULE * height, 0.0, 0.0)), len(lines)):
            top, left, right = lines[place]
            if top > end:
                break
            if left <= box.x <= right and left - _BESIDE_RULE <= box.left and box.right <= right + _BESIDE_RULE:
                return Box(left, top, right, top)
        return None

    def _merged(self) -> list[tuple[float, float, float]]:
        """(top, left, right) of each rule, top to bottom; pieces that touch are one."""
        if self._lines is None:
            level = [e for e in self._edges if e["orientation"] == "h" and e["object_type"] == "line"]
            found: list[tuple[float, float, float]] = []
            for top, left, right in sorted({(round(e["top"]), e["x0"], e["x1"]) for e in level}):
                if found and found[-1][0] == top and left - found[-1][2] < _SAME_RULE:
                    found[-1] = (top, found[-1][1], max(right, found[-1][2]))
                else:
                    found.append((top, left, right))
            self._lines = [rule for rule in found if rule[2] - rule[1] > _LEAST_RULE]
        return self._lines


def column_of(columns: Sequence[Column], box: Box) -> int | None:
    """The column that a cell shares most width with, None if it touches none."""
    best, width = None, -_FAR
    for number, column in enumerate(columns):
        shared = box.shared(column.box)
        if shared > width:
            best, width = number, shared
    return best


def read_header(
    columns: list[Column], heads: Sequence[Sequence[Segment]], rules: Rules, labels: Sequence[Box] = ()
) -> Header:
    """Give columns their names, line over line, and say which cell speaks for what. `labels`: where the rows' stand."""
    header = Header()
    if not columns:
        header.captions = [cell for line in heads for cell in line]
        return header
    zone = columns[0].box.left - OVER
    if labels:
        beside = Column(around(labels))
        heads = [[part for cell in line for part in _recut(cell, [beside, columns[0]])] for line in heads]
    cells = [cell for line in heads for cell in line]
    own = {id(cell): _ruled(cell, cells, columns, rules) for cell in cells}
    names: list[list[str]] = [[] for _ in columns]
    for line in heads:
        header.captions += [cell for cell in line if cell.box.x <= zone]
        over = [cell for cell in line if cell.box.x > zone]
        over = [part for cell in over for part in ([cell] if own[id(cell)] else _recut(cell, columns))]
        if labels and len(over) > len(columns) and over[0].box.right < columns[0].box.left:
            header.captions.append(over.pop(0))  # the labels have a name, too
        for cell, spoken in zip(over, _shares(over, columns, own), strict=True):
            if 1 < len(spoken) == len(columns):
                header.captions.append(cell)
                continue
            header.cells.append((cell, spoken))
            for number in spoken:
                names[number].append(cell.text)
    for column, each in zip(columns, names, strict=True):
        column.header = join_header_lines(each)
    return header


def join_header_lines(texts: Sequence[str]) -> str:
    """The lines of a header cell as one text: divided words whole, footnote marks left out."""
    found = ""
    for text in texts:
        text = _NOTE_MARK.sub("", text)
        if found.endswith("\u00ad"):
            found = found[:-1] + ("" if text[:1].islower() else "-") + text
        elif found.endswith("-") and text[:1].isalpha():
            found += text
        else:
            found = f"{found} {text}" if found else text
    return found.replace("\u00ad", "-")[-_MOST_NAME:].strip(" :")


def _recut(cell: Segment, columns: Sequence[Column]) -> list[Segment]:
    """A cell parted where its words stand wider apart than words do, between two columns."""
    words = cell.words
    if len(words) < 2 or len(_under(cell.box, columns)) < 2:
        return [cell]
    height = cell.box.bottom - cell.box.top
    starts = [0]
    for place, (here, after) in enumerate(pairwise(words), start=1):
        if after.box.left - here.box.right <= _WORD_GAP * height:
            continue
        if any(here.box.x < right.box.left and after.box.x > left.box.right for left, right in pairwise(columns)):
            starts.append(place)
    return [part_of(cell, start, stop) for start, stop in pairwise([*starts, len(words)])]


def _shares(
    cells: Sequence[Segment], columns: Sequence[Column], own: Mapping[int, Sequence[int]]
) -> list[Sequence[int]]:
    """The columns that each cell of one header line speaks for: its own, a group's, or all. `own`: by their rules."""
    if not cells:
        return []
    spoken = _shares_by_place(cells, columns)
    ruled = [own.get(id(cell), ()) for cell in cells]
    # Over the middle one of some columns, its rule may be below by chance.
    groups = len(spoken[0]) > 1 and len({len(each) for each in spoken}) == 1
    if len(cells) == 1 and ruled[0] and 2 * ruled[0][0] + 1 != len(columns):
        groups = False
    return [one if len(one) > 1 or (one and not groups) else each for one, each in zip(ruled, spoken, strict=True)]


def _ruled(cell: Segment, cells: Sequence[Segment], columns: Sequence[Column], rules: Rules) -> list[int]:
    """The columns over which the rule below a header cell reaches; [] where it is not the cell's own.

    The rule of several cells has one of them beside the others.
    """
    end = max(other.box.bottom for other in cells) + cell.box.bottom - cell.box.top
    wide = rules.below(cell.box, end)
    if wide is None or wide.left < _edge(columns):
        return []
    for other in cells:
        between = cell.box.y - 1 < other.box.y < wide.bottom and wide.left < other.box.x < wide.right
        if between and other is not cell and other.box.shared(cell.box) < 0:
            return []
    return [number for number, column in enumerate(columns) if wide.left - _NEAR < column.box.x < wide.right + _NEAR]


def _edge(columns: Sequence[Column]) -> float:
    """How far left the first column may reach, whose amounts are set to its right: a column's pitch, and a little."""
    near = columns[0].box.left - OVER
    ends = [column.box.right for column in columns[:2]]
    return min(near, ends[0] - _PITCH * (ends[1] - ends[0])) if len(ends) > 1 else near


def _shares_by_place(cells: Sequence[Segment], columns: Sequence[Column]) -> list[list[int]]:
    if len(cells) == 1 and len(columns) > 1:
        box, first, last = cells[0].box, columns[0].box, columns[-1].box
        pitch = (last.right - first.left) / len(columns)
        over = _under(box, columns)
        off = abs(box.left + box.right - first.left - last.right) / 2
        if len(over) == 1 and abs(box.right - columns[over[0]].box.right) < _ENDS and 2 * over[0] + 1 != len(columns):
            return [over]  # it ends where that column's amounts do
        # A lone cell over the middle is every column's caption; elsewhere it belongs to what it covers.
        all_over = off < _MIDDLE * pitch or box.width > _WIDE * pitch or not over
        return [list(range(len(columns))) if all_over else over]
    nearest: list[list[int]] = [[] for _ in cells]
    for number, column in enumerate(columns):
        nearest[_nearest(column.box, [cell.box for cell in cells])].append(number)
    fewer = len(cells) < len(columns)
    places = [column.box for column in columns]
    alike = fewer and len({len(group) for group in nearest}) == 1
    if alike and all(_over_group(cell.box, group, places) for cell, group in zip(cells, nearest, strict=True)):
        return nearest
    covered = [_under(cell.box, columns) for cell in cells]
    return [
        over if fewer and len(over) > 1 else [_nearest(cell.box, places)]
        for cell, over in zip(cells, covered, strict=True)
    ]


def _over_group(box: Box, group: Sequence[int], places: Sequence[Box]) -> bool:
    """Whether a cell stands over the middle of several columns, not over one of them beside others."""
    closest = _nearest(box, places)
    if closest in group and 2 * group.index(closest) + 1 == len(group):
        return True
    middle = (places[group[0]].left + places[group[-1]].right) / 2
    return abs(box.x - middle) < abs(box.x - places[closest].x)


def _under(box: Box, columns: Sequence[Column]) -> list[int]:
    """The columns that a header cell covers, or all but touches."""
    return [number for number, column in enumerate(columns) if box.shared(column.box) > -_NEAR]


def _nearest(box: Box, others: Sequence[Box]) -> int:
    """Which of the others has its middle closest to that of `box`."""
    return min(range(len(others)), key=lambda number: abs(others[number].x - box.x))


def column_places(rows: Sequence[Sequence[Box]]) -> list[Column]:
    """Where values of several rows stand above one another; [] where two of one row would share a column.

    Where wide amounts reach over their column's edge, the right halves alone are compared: amounts end together.
    """
    for shrunk in (0.0, 0.5, 0.8):
        boxes = [[box._replace(left=box.left + shrunk * box.width) for box in row] for row in rows]
        columns = _clustered([box for row in boxes for box in row])
        if all(len({column_of(columns, box) for box in row}) == len(row) for row in boxes):
            return columns
    return []


def _clustered(boxes: Sequence[Box]) -> list[Column]:
    columns: list[Column] = []
    for box in sorted(boxes, key=lambda box: (box.left, box.right)):
        last = columns[-1] if columns else None
        if last is not None and box.left < last.box.right - _INTO:
            last.box = around((last.box, box))
        else:
            columns.append(Column(box))
    return columns
