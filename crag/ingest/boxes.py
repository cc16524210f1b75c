"""The box in which something stands on a page: one value for words, lines, cells, tables and what is drawn."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple


class Box(NamedTuple):
    """An upright rectangle in points as displayed, origin at the page's top left."""

    left: float
    top: float
    right: float
    bottom: float

    @property
    def x(self) -> float:
        """The middle between left and right."""
        return (self.left + self.right) / 2

    @property
    def y(self) -> float:
        """The middle between top and bottom."""
        return (self.top + self.bottom) / 2

    @property
    def width(self) -> float:
        return self.right - self.left

    @property
    def height(self) -> float:
        return self.bottom - self.top

    def shared(self, other: Box) -> float:
        """The width that both cover; below 0: how far they stand apart."""
        return min(self.right, other.right) - max(self.left, other.left)

    def turned(self, turns: int, width: float, height: float) -> Box:
        """The box after so many quarter turns, clockwise, of a page of this width and height."""
        if turns % 4 == 1:
            return Box(height - self.bottom, self.left, height - self.top, self.right)
        if turns % 4 == 2:
            return Box(width - self.right, height - self.bottom, width - self.left, height - self.top)
        if turns % 4 == 3:
            return Box(self.top, width - self.right, self.bottom, width - self.left)
        return self


def around(boxes: Iterable[Box]) -> Box:
    """The least box that holds all of these, of which there must be one."""
    lefts, tops, rights, bottoms = zip(*boxes, strict=True)
    return Box(min(lefts), min(tops), max(rights), max(bottoms))
