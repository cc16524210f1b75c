"""Words to blocks in reading order: segments, columns, rows. Pure geometry; knows neither PDFium nor tables."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from crag.ingest.words import PageWords, Word

__all__ = ["Frame", "Row", "Segment", "frames", "read_order"]

_CELL_GAP = 0.95  # of a line's height: wider white space parts cells
_SAME_LINE = 0.55  # of a line's height: middles closer than this share a line
_MARK = re.compile(r"^(?:[•‣◦▪●○·*–—-]|\(?(?:\d{1,2}|[a-zA-Z]|[ivx]{1,4})[.)])$")
_POINTS = ".,;:()[]\"'“”‘’!?-–\u00ad"
_MANY = 400  # more segments than this are no columns of prose: the quadratic search is skipped


@dataclass(slots=True)
class Segment:
    """Words that stand together on one line, closer than cells do. Coordinates are the frame's."""

    words: list[Word]
    left: float
    top: float
    right: float
    bottom: float

    @property
    def text(self) -> str:
        return " ".join(word.text for word in self.words)

    @property
    def middle(self) -> float:
        return (self.top + self.bottom) / 2

    @property
    def height(self) -> float:
        return self.bottom - self.top


@dataclass(slots=True)
class Row:
    """Segments on one line, left to right: one for prose, several for a table's cells."""

    segments: list[Segment]

    @property
    def left(self) -> float:
        return self.segments[0].left

    @property
    def right(self) -> float:
        return max(segment.right for segment in self.segments)

    @property
    def top(self) -> float:
        return min(segment.top for segment in self.segments)

    @property
    def bottom(self) -> float:
        return max(segment.bottom for segment in self.segments)

    @property
    def height(self) -> float:
        """That of the longest segment: a bullet's font says nothing."""
        return max(self.segments, key=lambda segment: segment.right - segment.left).height

    @property
    def size(self) -> float:
        """The middle height of its words: a drop capital or a formula makes no line large."""
        heights = sorted(word.bottom - word.top for segment in self.segments for word in segment.words)
        return heights[len(heights) // 2]

    @property
    def text(self) -> str:
        return " ".join(segment.text for segment in self.segments)

    @property
    def bold(self) -> bool:
        """All words are bold, as far as their fonts' names tell."""
        return all(segment.words[0].bold and segment.words[-1].bold for segment in self.segments)


@dataclass(slots=True)
class Frame:
    """The words of one direction, turned so that they read left to right, and the way back to the page."""

    turn: int
    width: float
    height: float
    words: list[Word]

    def back(self, left: float, top: float, right: float, bottom: float) -> tuple[float, float, float, float]:
        """A rectangle of this frame in displayed page coordinates."""
        if self.turn == 1:
            return top, self.width - right, bottom, self.width - left
        if self.turn == 2:
            return self.width - right, self.height - bottom, self.width - left, self.height - top
        if self.turn == 3:
            return self.height - bottom, left, self.height - top, right
        return left, top, right, bottom


def frames(page: PageWords) -> list[Frame]:
    """One frame for each direction in which text runs, the fullest first."""
    by_turn: dict[int, list[Word]] = {}
    for word in page.words:
        by_turn.setdefault(word.turn, []).append(word)
    found = []
    for turn, words in sorted(by_turn.items(), key=lambda item: -len(item[1])):
        if turn:
            for word in words:
                box = _turned(word, turn, page.width, page.height)
                word.left, word.top, word.right, word.bottom = box
        size = (page.height, page.width) if turn % 2 else (page.width, page.height)
        found.append(Frame(turn, *size, words))
    return found


def _turned(word: Word, turn: int, width: float, height: float) -> tuple[float, float, float, float]:
    if turn == 1:
        return height - word.bottom, word.left, height - word.top, word.right
    if turn == 2:
        return width - word.right, height - word.bottom, width - word.left, height - word.top
    return word.top, width - word.right, word.bottom, width - word.left


def read_order(words: Sequence[Word]) -> list[list[Row]]:
    """Blocks of rows in reading order: one for a plain page, one a column where prose runs in columns."""
    return _columns(_segments(words), 0)


def _segments(words: Sequence[Word]) -> list[Segment]:
    """Neighbouring words in content order, joined while they stay on a line and close together."""
    found: list[Segment] = []
    current: Segment | None = None
    for word in words:
        if current is not None and _continues(current, word):
            current.words.append(word)
            current.left = min(current.left, word.left)
            current.right = max(current.right, word.right)
            current.top = min(current.top, word.top)
            current.bottom = max(current.bottom, word.bottom)
        else:
            current = Segment([word], word.left, word.top, word.right, word.bottom)
            found.append(current)
    return found


def _continues(segment: Segment, word: Word) -> bool:
    last = segment.words[-1]
    height = max(last.bottom - last.top, word.bottom - word.top, 1.0)
    gap = word.left - last.right
    offset = abs((last.top + last.bottom) - (word.top + word.bottom)) / 2
    return -0.4 * height < gap < _CELL_GAP * height and offset < _SAME_LINE * height


def _columns(segments: list[Segment], depth: int) -> list[list[Row]]:
    """Split at a gutter where there is one, else rows. Segments that cross the gutter part the page in bands."""
    gutter = _gutter(segments) if depth < 3 and 8 <= len(segments) <= _MANY else None
    if gutter is None:
        rows = _rows(segments)
        return [rows] if rows else []
    crossing = sorted((s for s in segments if s.left < gutter - 1 and s.right > gutter + 1), key=lambda s: s.top)
    beside = [s for s in segments if not (s.left < gutter - 1 and s.right > gutter + 1)]
    blocks: list[list[Row]] = []
    above = float("-inf")
    for stop in [*crossing, None]:
        below = stop.middle if stop is not None else float("inf")
        band = [s for s in beside if above <= s.middle < below]
        beside_left = [s for s in band if s.right <= gutter + 1]
        beside_right = [s for s in band if s.right > gutter + 1]
        if _parallel(beside_left, beside_right):
            blocks += _columns(beside_left, depth + 1) + _columns(beside_right, depth + 1)
        elif band:
            blocks.append(_rows(band))
        if stop is not None:
            blocks.append(_rows([stop]))
        above = below
    return _joined(blocks)


def _joined(blocks: list[list[Row]]) -> list[list[Row]]:
    """Blocks of single crossing rows that follow one another closely are one block again."""
    found: list[list[Row]] = []
    for block in blocks:
        if not block:
            continue
        last = found[-1][-1] if found else None
        first = block[0]
        near = last is not None and 0 <= first.top - last.top < 2.5 * last.height and abs(first.left - last.left) < 60
        if near and len(block) == 1:
            found[-1].append(first)
        else:
            found.append(block)
    return found


def _prose(segment: Segment) -> bool:
    """Whether a segment looks like a line of running text, not like a cell."""
    if len(segment.words) < 3:
        return False
    worded = sum(len(word.text) for word in segment.words if word.text.strip(_POINTS).isalpha())
    return worded >= 12 and worded > 0.6 * sum(len(word.text) for word in segment.words)


def _gutter(segments: list[Segment]) -> float | None:
    """The x of white space between two columns of prose, or None. The right column's left edges give it away."""
    prose = [s for s in segments if _prose(s)]
    if len(prose) < 8:
        return None
    edge = min(s.left for s in prose)
    starts: dict[int, int] = {}
    for segment in prose:
        if segment.left > edge + 60:
            starts[round(segment.left / 4)] = starts.get(round(segment.left / 4), 0) + 1
    best: tuple[int, float] | None = None
    for bin_, votes in starts.items():
        votes += starts.get(bin_ - 1, 0)
        if votes < 4:
            continue
        x = bin_ * 4 - 5.0
        left = [s for s in prose if s.right <= x + 4]
        right = [s for s in prose if s.left >= x - 4]
        crossing = [s for s in prose if s.left < x - 4 and s.right > x + 4]
        if min(len(left), len(right)) < 4 or len(crossing) > 0.6 * (len(left) + len(right)):
            continue
        if not _parallel(left, right):
            continue
        # Lines of a column fill it: short labels beside a text are a table's first column.
        room_left = x - min(s.left for s in left)
        if median(s.right - s.left for s in left) < 0.5 * room_left:
            continue
        score = min(len(left), len(right)) - len(crossing)
        if best is None or score > best[0]:
            best = (score, x + 1)
    return best[1] if best else None


def _parallel(left: Sequence[Segment], right: Sequence[Segment]) -> bool:
    """Whether both sides are there and stand beside one another over at least a few lines."""
    if len(left) < 2 or len(right) < 2:
        return False
    top = max(min(s.top for s in left), min(s.top for s in right))
    bottom = min(max(s.bottom for s in left), max(s.bottom for s in right))
    return bottom - top > 2.0 * median(s.height for s in [*left, *right])


def _rows(segments: Sequence[Segment]) -> list[Row]:
    """Segments grouped by line, top to bottom; pieces that nearly touch become one segment."""
    rows: list[list[Segment]] = []
    for segment in sorted(segments, key=lambda s: (s.middle, s.left)):
        for row in reversed(rows[-3:]):
            head = row[0]
            near = abs(head.middle - segment.middle) < _SAME_LINE * max(min(head.height, segment.height), 2.0)
            if near and not any(_overlap(other, segment) for other in row):
                row.append(segment)
                break
        else:
            rows.append([segment])
    return [Row(_touching(sorted(row, key=lambda s: s.left))) for row in rows]


def _overlap(one: Segment, other: Segment) -> bool:
    """Whether two segments cover more than a sliver of the same width."""
    shared = min(one.right, other.right) - max(one.left, other.left)
    return shared > 0.5 * min(one.right - one.left, other.right - other.left)


def _touching(row: list[Segment]) -> list[Segment]:
    found = [row[0]]
    for segment in row[1:]:
        last = found[-1]
        gap = segment.left - last.right
        height = max(last.height, segment.height, 1.0)
        marked = last is row[0] and gap < 4 * height and _marks(last, segment)
        if gap < _CELL_GAP * height or marked:
            last.words.extend(segment.words)
            last.right = max(last.right, segment.right)
            last.top, last.bottom = min(last.top, segment.top), max(last.bottom, segment.bottom)
        else:
            found.append(segment)
    return found


def _marks(mark: Segment, text: Segment) -> bool:
    """Whether a segment is a bullet or number before an item's text, which is no cell of a table."""
    return len(mark.words) == 1 and bool(_MARK.match(mark.words[0].text)) and text.words[0].text[:1].isalpha()
