"""Recognised lines to the words of a page, levelled where the page lies askew, and their places back. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from crag.ingest.boxes import Box, around
from crag.ingest.lines import Line
from crag.ingest.words import PageWords, Word, clean_text

_LEAST_SKEW, _MOST_SKEW = 0.2, 12.0  # degrees; less moves no line by a third of its height, more is no skew
_PIECE = 50.0  # points; pieces of a line that lies askew
_TOLD = 5.0  # a line's length in heights from which it tells the skew
_SHRUNK = 0.12  # of its height, that a line's box reaches beyond its letters, above and below


@dataclass(frozen=True, slots=True)
class Skew:
    """How a page of this size in points lies: `angle` in radians, clockwise as displayed, about its middle."""

    angle: float
    width: float
    height: float

    def level(self, x: float, y: float) -> tuple[float, float]:
        """Where a point of the page stands once it is levelled."""
        return self._about(x, y, -self.angle)

    def back(self, x: float, y: float) -> tuple[float, float]:
        """Where a point of the levelled page stands on the page."""
        return self._about(x, y, self.angle)

    def _about(self, x: float, y: float, angle: float) -> tuple[float, float]:
        if not angle:
            return x, y
        across, down = x - self.width / 2, y - self.height / 2
        cosine, sine = math.cos(angle), math.sin(angle)
        return self.width / 2 + across * cosine - down * sine, self.height / 2 + across * sine + down * cosine


def page_words(lines: Sequence[Line], width: float, height: float, scale: float) -> tuple[PageWords, Skew]:
    """The words of a page of this size in points, levelled; the lines are a picture's, `scale` pixels a point."""
    skew = Skew(_angle(lines), width, height)
    words = [word for line in lines for word in _words(line, skew, scale)]
    return PageWords(width, height, words, 0.0, [], recognised=True), skew


def _angle(lines: Sequence[Line]) -> float:
    """The middle, by length, of the angles at which long lines run off their direction; 0 for as good as level."""
    told: list[tuple[float, float]] = []
    for line in lines:
        (x0, y0), (x1, y1), _, (x3, y3) = line.corners.tolist()
        length, high = math.hypot(x1 - x0, y1 - y0), math.hypot(x3 - x0, y3 - y0)
        if length < _TOLD * high:
            continue
        angle = math.atan2(y1 - y0, x1 - x0) + line.turn * math.pi / 2
        angle = (angle + math.pi) % (2 * math.pi) - math.pi
        if abs(angle) < math.radians(_MOST_SKEW):
            told.append((angle, length))
    half = sum(length for _, length in told) / 2
    for angle, length in sorted(told):
        half -= length
        if half <= 0:
            return angle if abs(angle) >= math.radians(_LEAST_SKEW) else 0.0
    return 0.0


def _words(line: Line, skew: Skew, scale: float) -> Iterable[Word]:
    corners = [skew.level(x / scale, y / scale) for x, y in line.corners.tolist()]
    first, second, third, fourth = corners
    for raw, start, end in line.words:
        text = clean_text(raw)
        if not text:
            continue
        above, below = _SHRUNK, 1 - _SHRUNK
        points = [
            _between(_between(first, fourth, down), _between(second, third, down), across)
            for down in (above, below)
            for across in (start, end)
        ]
        box = around([Box(x, y, x, y) for x, y in points])
        yield Word(text, box, line.turn, 0, 0, confidence=line.confidence)


def _between(one: tuple[float, float], other: tuple[float, float], share: float) -> tuple[float, float]:
    return one[0] + (other[0] - one[0]) * share, one[1] + (other[1] - one[1]) * share


def laid_back(lines: Iterable[Sequence[Any]], text: str, skew: Skew) -> list[tuple[Any, ...]]:
    """The line boxes of a levelled page as they lie on the page; those of one askew in pieces that follow it."""
    found: list[tuple[Any, ...]] = []
    for start, end, left, top, right, bottom, confidence in lines:
        for first, last in _pieces(text, start, end, right - left) if skew.angle else [(start, end)]:
            whole = max(1, end - start)
            box = Box(
                left + (right - left) * (first - start) / whole,
                top,
                left + (right - left) * (last - start) / whole,
                bottom,
            )
            x, y = skew.back(box.x, box.y)
            across, down = x - box.x, y - box.y
            placed = _on_page(Box(box.left + across, box.top + down, box.right + across, box.bottom + down), skew)
            found.append((first, last, *(round(value, 2) for value in placed), confidence))
    return found


def _pieces(text: str, start: int, end: int, width: float) -> list[tuple[int, int]]:
    """A line's characters cut before words into so many pieces that each is short; upright text stays whole."""
    most = max(1, round((end - start) * _PIECE / max(width, 1.0)))
    found = []
    while end - start > most:
        cut = text.rfind(" ", start + 1, start + most) + 1
        cut = cut if cut > start else start + most
        found.append((start, cut))
        start = cut
    return [*found, (start, end)]


def _on_page(box: Box, skew: Skew) -> Box:
    width, height = skew.width, skew.height
    return Box(
        min(max(box.left, 0.0), width),
        min(max(box.top, 0.0), height),
        min(max(box.right, 0.0), width),
        min(max(box.bottom, 0.0), height),
    )
