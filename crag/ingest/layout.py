"""Words to blocks in reading order: segments, columns, rows. Pure geometry; knows neither PDFium nor tables."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import compress
from statistics import median
from typing import NamedTuple

import numpy as np

from crag.ingest.direction import mirror_box, order_line
from crag.ingest.objects import Box, around
from crag.ingest.words import PageWords, Word

# Shares of a line's height.
_CELL_GAP = 0.95  # wider white space parts cells
_SAME_LINE = 0.55  # middles closer than this share a line
_REACHES_BACK = 0.4  # how far a word may begin before the end of the one before it, for slant or close setting
_RAISED = 0.75  # what is lower than so much of its line, and short, is a raised mark
_MARK_GAP = 4.0  # how far a bullet may stand before its text
_FOLLOWS = 2.5  # rows whose tops are closer than this go on one block
_BESIDE = 2.0  # how much of their height two columns must stand side by side
# Points.
_LEAST_LINE = 2.0  # lines that are lower count as so high
_TOUCHES = 1.0  # how far text may reach into a gutter
_LEAST_COLUMN = 60.0  # narrower ones are no columns; rows whose left edges are closer than this belong together
_BIN = 4  # left edges that are counted together
_GUTTER = 5.0  # how far left of a column's left edges the gutter lies
# Of text, and of lines.
_PROSE_WORDS, _PROSE_LETTERS, _PROSE_SHARE = 3, 12, 0.6  # the least of a line of running text; its share of letters
_LEAST_LINES = 8  # of prose on a page whose columns are looked for
_COLUMN_LINES = 4  # of prose that begin at a column's left edge
_CROSSING = 0.6  # the most lines that may cross a gutter, as a share of those beside it
_SLIVER = 0.5  # of the narrower one's width: two segments that share less may stand on one line
_FIGURES = 0.5  # of what stands right of a table's labels
_LABEL_WORDS = 5  # of the middle one of a table's labels
_FILLED = 0.5  # of its column's width that the middle line fills at least
_ON_LEVEL, _LEVEL = 0.2, 0.6  # of a line's height, between two that stand level; the share of those in a table
_ALIKE = 0.7  # of the wider one's width: two columns whose lines leave one of them half empty
_MOST_SEGMENTS = 400  # on more there are no columns of prose: the quadratic search is skipped
_MOST_IN_ROWS = 1500
_MOST_SPLITS = 3
_MOST_BANDS = 6  # gaps across a page at which it is parted, the widest first
_BAND_LINES, _BAND_FILLED = 6, 0.6  # the least lines of a column in a band, and of its width that its middle one fills
_MARK_CHARS = 6
_ROWS_BACK = 3  # rows that a segment may still belong to, from the last one on

_MARK = re.compile(r"^(?:[•‣◦▪●○·*–—-]|\(?(?:\d{1,2}|[a-zA-Z]|[ivx]{1,4})[.)])$")
_POINTS = ".,;:()[]\"'“”‘’!?-–\u00ad"


class Segment(NamedTuple):
    """Words that stand together on one line, closer than cells do. The box is the frame's."""

    words: list[Word]
    box: Box
    text: str

    @property
    def confidence(self) -> float:
        """The mean of its words', by their length."""
        if all(word.confidence == 1 for word in self.words):
            return 1.0
        letters = sum(len(word.text) for word in self.words)
        return round(sum(word.confidence * len(word.text) for word in self.words) / max(1, letters), 3)


def segment_of(words: list[Word]) -> Segment:
    """The words, in this order, as one segment; on a mirrored page in the order in which they are read."""
    if words[0].mirrored:
        words = order_line(words)
    if len(words) == 1:
        return Segment(words, words[0].box, words[0].text)
    return Segment(words, around([word.box for word in words]), " ".join([word.text for word in words]))


Prose = Collection[int]
"""The ids of the segments that are lines of running text."""


class Row(NamedTuple):
    """Segments on one line, left to right: one for prose, several for a table's cells."""

    segments: list[Segment]
    box: Box
    text: str
    height: float
    """That of the longest segment: a bullet's font says nothing."""

    @property
    def size(self) -> float:
        """The middle height of its words: a drop capital or a formula makes no line large."""
        heights = sorted([word.box.bottom - word.box.top for segment in self.segments for word in segment.words])
        return heights[len(heights) // 2]

    @property
    def bold(self) -> bool:
        """All words are bold, as far as their fonts' names tell."""
        return all(segment.words[0].bold and segment.words[-1].bold for segment in self.segments)


def _row_of(segments: list[Segment]) -> Row:
    if len(segments) == 1:
        _, box, text = segments[0]
        return Row(segments, box, text, box.bottom - box.top)
    longest = max(segments, key=lambda segment: segment.box.width).box.height
    return Row(segments, around([each.box for each in segments]), " ".join([each.text for each in segments]), longest)


@dataclass(frozen=True, slots=True)
class Frame:
    """The words of one direction, turned or mirrored so that they read left to right, and the way back to the page."""

    turn: int
    width: float
    height: float
    words: list[Word]
    mirrored: bool = False

    def back(self, box: Box) -> Box:
        """A box of this frame in displayed page coordinates."""
        if self.mirrored:
            return mirror_box(box, self.width)
        return box.turned(-self.turn, self.width, self.height)


def frames(page: PageWords) -> list[Frame]:
    """One frame for each direction in which text runs, the fullest first."""
    by_turn: dict[int, list[Word]] = {}
    for word in page.words:
        by_turn.setdefault(word.turn, []).append(word)
    found = []
    for turn, words in sorted(by_turn.items(), key=lambda item: -len(item[1])):
        if turn:
            for word in words:
                word.box = word.box.turned(turn, page.width, page.height)
        size = (page.height, page.width) if turn % 2 else (page.width, page.height)
        found.append(Frame(turn, *size, words, page.mirrored and not turn))
    return found


def read_order(words: Sequence[Word]) -> list[list[Row]]:
    """Blocks of rows in reading order: one for a plain page, one a column where prose runs in columns."""
    segments = _segments(words)
    return _columns(segments, {id(segment) for segment in segments if _prose(segment)}, 0)


def read_rows(words: Sequence[Word]) -> list[Row]:
    """The upright words' rows, top to bottom, whatever columns they stand in; none of too many segments."""
    segments = _segments([word for word in words if word.turn == 0])
    return _rows(segments) if len(segments) <= _MOST_IN_ROWS else []


def _segments(words: Sequence[Word]) -> list[Segment]:
    """Neighbouring words in content order, joined while they stay on a line and close together."""
    found: list[list[Word]] = []
    end = middle = height = 0.0
    for word in words:
        left, top, right, bottom = word.box
        before, height = height, bottom - top
        line = max(before, height, 1.0)
        offset = abs(middle - (middle := (top + bottom) / 2))
        if found and -_REACHES_BACK * line < left - end < _CELL_GAP * line and offset < _SAME_LINE * line:
            found[-1].append(word)
        else:
            found.append([word])
        end = right
    return [segment_of(each) for each in found]


def _columns(segments: list[Segment], prose: Prose, depth: int) -> list[list[Row]]:
    """Split at a gutter where there is one, else rows. Segments that cross the gutter part the page in bands."""
    split = depth < _MOST_SPLITS and _LEAST_LINES <= len(segments) <= _MOST_SEGMENTS
    gutter = _gutter(segments, prose) if split else None
    if gutter is None:
        if cut := _band(segments, prose) if split and not depth else None:
            over, under = ([s for s in segments if (s.box.y < cut) == above] for above in (True, False))
            return _join_blocks(_columns(over, prose, depth + 1) + _columns(under, prose, depth + 1))
        rows = _rows(segments)
        return [rows] if rows else []
    crossing = [s for s in segments if s.box.left < gutter - _TOUCHES and s.box.right > gutter + _TOUCHES]
    beside = [s for s in segments if not (s.box.left < gutter - _TOUCHES and s.box.right > gutter + _TOUCHES)]
    blocks: list[list[Row]] = []
    above = float("-inf")
    for stop in [*sorted(crossing, key=lambda s: s.box.top), None]:
        below = stop.box.y if stop is not None else float("inf")
        band = [s for s in beside if above <= s.box.y < below]
        left = [s for s in band if s.box.right <= gutter + _TOUCHES]
        right = [s for s in band if s.box.right > gutter + _TOUCHES]
        if _side_by_side([s.box for s in left], [s.box for s in right]):
            blocks += _columns(left, prose, depth + 1) + _columns(right, prose, depth + 1)
        elif band:
            blocks.append(_rows(band))
        if stop is not None:
            blocks.append(_rows([stop]))
        above = below
    return _join_blocks(blocks)


def _join_blocks(blocks: list[list[Row]]) -> list[list[Row]]:
    """Blocks of single crossing rows that follow one another closely are one block again."""
    found: list[list[Row]] = []
    for block in filter(None, blocks):
        if len(block) == 1 and found and _follows(block[0], found[-1][-1]):
            found[-1].append(block[0])
        else:
            found.append(block)
    return found


def _follows(row: Row, last: Row) -> bool:
    down, across = row.box.top - last.box.top, row.box.left - last.box.left
    return 0 <= down < _FOLLOWS * last.height and abs(across) < _LEAST_COLUMN


def _prose(segment: Segment) -> bool:
    """Whether a segment looks like a line of running text, not like a cell."""
    if len(segment.words) < _PROSE_WORDS:
        return False
    worded = sum(len(word.text) for word in segment.words if word.text.strip(_POINTS).isalpha())
    return worded >= _PROSE_LETTERS and worded > _PROSE_SHARE * sum(len(word.text) for word in segment.words)


def _gutter(segments: list[Segment], prose: Prose) -> float | None:
    """The x of white space between two columns of prose, or None. The right column's left edges give it away."""
    lines = [segment.box for segment in segments if id(segment) in prose]
    if len(lines) < _LEAST_LINES:
        return None
    lefts, rights = np.array([box.left for box in lines]), np.array([box.right for box in lines])
    edge = float(lefts.min()) + _LEAST_COLUMN
    starts = Counter(round(box.left / _BIN) for box in lines if box.left > edge)
    best: tuple[int, float] | None = None
    for place, votes in starts.items():
        if votes + starts[place - 1] < _COLUMN_LINES:
            continue
        x = place * _BIN - _GUTTER
        before = rights <= x + _BIN
        # Numbers may hang left of a column's lines, in the white space before it.
        start = min(x - _BIN, float(rights[before].max(initial=-np.inf)) + _TOUCHES)
        behind = lefts >= start
        crossing = int(np.count_nonzero((lefts < start) & (rights > x + _BIN)))
        sides = int(np.count_nonzero(before)), int(np.count_nonzero(behind))
        if min(sides) < _COLUMN_LINES or crossing > _CROSSING * sum(sides):
            continue
        left, right = list(compress(lines, before)), list(compress(lines, behind))
        if not _side_by_side(left, right):
            continue
        # Lines of a column fill it, or both are as wide and have levels of their own: else it is a table's first.
        filled = median([box.width for box in left]) >= _FILLED * (x - around(left).left)
        beyond = [segment for segment in segments if segment.box.left >= start]
        narrow, wide = sorted((around(left).width, around(right).width))
        if not filled and not (narrow >= _ALIKE * wide and _share_level(left, [each.box for each in beyond]) <= _LEVEL):
            continue
        if _are_figures(beyond) and (not filled or _are_short(segments, prose, x)):
            continue
        score = min(len(left), len(right)) - crossing
        if best is None or score > best[0]:
            best = (score, min(box.left for box in right))
    return best[1] if best else None


def _share_level(left: Sequence[Box], right: Sequence[Box]) -> float:
    """The share of the lines on the left that stand level with one on the right."""
    levels = np.sort([box.y for box in right])
    ys, heights = np.array([box.y for box in left]), np.array([box.height for box in left])
    after = levels[np.minimum(np.searchsorted(levels, ys), len(levels) - 1)]
    before = levels[np.maximum(np.searchsorted(levels, ys) - 1, 0)]
    return float(np.mean(np.minimum(abs(after - ys), abs(before - ys)) < _ON_LEVEL * heights))


def _band(segments: Sequence[Segment], prose: Prose) -> float | None:
    """The y of white space across the page, above or below which text surely runs in columns; None without one."""
    ordered = sorted(segments, key=lambda segment: segment.box.top)
    gaps: list[tuple[float, int]] = []
    bottom = ordered[0].box.bottom
    for place, segment in enumerate(ordered):
        if segment.box.top > bottom:
            gaps.append((segment.box.top - bottom, place))
        bottom = max(bottom, segment.box.bottom)
    for _, place in sorted(gaps, reverse=True)[:_MOST_BANDS]:
        for part in (ordered[:place], ordered[place:]):
            gutter = _gutter(part, prose)
            if gutter is not None and _are_full(part, prose, gutter):
                return ordered[place].box.top
    return None


def _are_full(segments: Sequence[Segment], prose: Prose, gutter: float) -> bool:
    """Whether many lines of prose stand on both sides of the gutter, whose middle ones nearly fill the left column."""
    lines = [segment.box for segment in segments if id(segment) in prose]
    left = [box for box in lines if box.right <= gutter + _TOUCHES]
    right = [box for box in lines if box.left >= gutter - _TOUCHES]
    if min(len(left), len(right)) < _BAND_LINES:
        return False
    least = _BAND_FILLED * around(left).width
    return all(median([box.width for box in side]) >= least for side in (left, right))


def _are_figures(beyond: Sequence[Segment]) -> bool:
    """Whether mostly figures stand right of a gutter: a table, however many titles it has."""
    texts = [segment.text for segment in beyond]
    figures = sum(any(map(str.isdigit, text)) and not any(map(str.isalpha, text)) for text in texts)
    return figures > _FIGURES * len(texts)


def _are_short(segments: Sequence[Segment], prose: Prose, x: float) -> bool:
    """Whether the lines left of x are as short as a table's labels."""
    labels = [len(segment.words) for segment in segments if segment.box.right <= x + _BIN and id(segment) in prose]
    return bool(labels) and median(labels) <= _LABEL_WORDS


def _side_by_side(left: Sequence[Box], right: Sequence[Box]) -> bool:
    """Whether both sides are there and stand beside one another over at least a few lines."""
    if len(left) < 2 or len(right) < 2:
        return False
    one, other = around(left), around(right)
    height = median([box.bottom - box.top for box in (*left, *right)])
    return min(one.bottom, other.bottom) - max(one.top, other.top) > _BESIDE * height


def _rows(segments: Sequence[Segment]) -> list[Row]:
    """Segments grouped by line, top to bottom; pieces that nearly touch become one segment."""
    rows: list[list[Segment]] = []
    for middle, _, _, segment in sorted([(s.box.y, s.box.left, place, s) for place, s in enumerate(segments)]):
        box = segment.box
        for row in reversed(rows[-_ROWS_BACK:]):
            head = row[0].box
            lower, higher = sorted((row[0], segment), key=lambda each: each.box.bottom - each.box.top)
            low, high = lower.box.bottom - lower.box.top, higher.box.bottom - higher.box.top
            # A raised mark stands on the line that it is a mark on, not on a line of its own height.
            mark = low < _RAISED * high and len(lower.text) <= _MARK_CHARS
            near = _SAME_LINE * max(high if mark else low, _LEAST_LINE)
            if abs(head.y - middle) < near and not any([_overlap(other.box, box) for other in row]):
                row.append(segment)
                break
        else:
            rows.append([segment])
    return [_row_of(_touching(sorted(row, key=lambda s: s.box.left))) for row in rows]


def _overlap(one: Box, other: Box) -> bool:
    """Whether two boxes cover more than a sliver of the same width."""
    return one.shared(other) > _SLIVER * min(one.right - one.left, other.right - other.left)


def _touching(row: list[Segment]) -> list[Segment]:
    found = [row[0]]
    for segment in row[1:]:
        last = found[-1]
        gap = segment.box.left - last.box.right
        height = max(last.box.height, segment.box.height, 1.0)
        marked = len(found) == 1 and gap < _MARK_GAP * height and _marks(last, segment)
        if gap < _CELL_GAP * height or marked:
            found[-1] = segment_of([*last.words, *segment.words])
        else:
            found.append(segment)
    return found


def _marks(mark: Segment, text: Segment) -> bool:
    """Whether a segment is a bullet or number before an item's text, which is no cell of a table."""
    return len(mark.words) == 1 and bool(_MARK.match(mark.words[0].text)) and text.words[0].text[:1].isalpha()
