"""Pages that are pictures: drawn, recognised, levelled, and laid out as all others are.

Runs inside the reader's child process.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from PIL import Image

from crag.ingest.compose import compose_pages
from crag.ingest.files import FileError
from crag.ingest.objects import Box
from crag.ingest.pictures import Pages, pages_of
from crag.ingest.recognition import Find, Found, Line, Points, recogniser
from crag.ingest.sections import ComposedPage
from crag.ingest.words import PageWords, Word, clean_text

_DENSITY = 200 / 72  # pixels a point; 150 dots an inch read as well, but for small print
_MOST_PIXELS = 9_000_000  # of a drawn page: a sheet of twice a letter's size
_WIDEST = 100_000.0  # points; a larger page is a broken number
_LEAST_PICTURE = 24  # pixels; what is lower or narrower holds no line
_IN_TIME = 0.7  # of a page's processor time after which the rest of it is left
_UNEVEN = 1.12  # times the usual height of a line: recognised ones vary so much without being headings
_PLAIN = 8  # of 255: a picture with no more contrast shows nothing
_LEAST_SKEW, _MOST_SKEW = 0.2, 12.0  # degrees; less moves no line by a third of its height, more is no skew
_PIECE = 50.0  # points; pieces of a line that lies askew
_LEAST_LENGTH = 5.0  # a line's length in heights from which it shows the skew
_SHRUNK = 0.12  # of its height, that a line's box reaches beyond its letters, above and below


def recognise(
    data: bytes, job: dict[str, Any], send: Callable[[dict[str, Any]], None], engine: Callable[[], Find] = recogniser
) -> Iterator[ComposedPage]:
    """The pages that the job numbers, each with its text; `send` is called with each as soon as it is read.

    Raises FileError for a file that can't be opened. A page that can't be drawn comes marked as failed.
    """
    pages = pages_of(data, job["media"])
    seconds = int(job["seconds"]) * _IN_TIME
    find: Find | None = None
    angles: dict[int, float] = {}

    def read() -> Iterator[tuple[int, PageWords]]:
        nonlocal find
        for number in job["numbers"]:
            words, angles[number] = PageWords(612.0, 792.0, [], 1.0, [], failed=True), 0.0
            try:
                picture, scale = _draw_page(pages, number)
            except FileError as error:
                if error.kind == "pixels":
                    raise
            else:
                found = Found(())
                if _shows(picture):
                    find = find or engine()
                    found = find(picture, seconds)
                angles[number] = angle = _angle(found.lines)
                size = picture.width / scale, picture.height / scale
                placed = [word for line in found.lines for word in _words(line, angle, size, scale)]
                words = PageWords(*size, placed, 0.0, [], cut=found.cut, recognised=True)
            send({"recognised": number})
            yield number, words

    for page in compose_pages(read(), uneven=_UNEVEN):
        _lay_back(page, angles.pop(page.number))
        yield page


def _draw_page(pages: Pages, number: int) -> tuple[Image.Image, float]:
    """The page as a picture, and its pixels a point."""
    width, height = pages.size(number)
    if max(width, height) > _WIDEST:
        raise FileError("damaged", f"page {number} is no page")
    scale = min(_DENSITY, pages.density(number), (_MOST_PIXELS / (width * height)) ** 0.5)
    return pages.draw(number, scale), scale


def _shows(picture: Image.Image) -> bool:
    """Whether there is anything to be read."""
    if min(picture.size) < _LEAST_PICTURE:
        return False
    low, high = picture.convert("L").getextrema()
    return isinstance(low, int) and isinstance(high, int) and high - low > _PLAIN


def _angle(lines: Sequence[Line]) -> float:
    """The skew of a page in radians, clockwise as displayed; 0 if it is as good as level.

    It is the median, weighted by length, of the angles between long lines and their direction.
    """
    angles: list[tuple[float, float]] = []
    for line in lines:
        along, down = line.corners[1] - line.corners[0], line.corners[3] - line.corners[0]
        length = float(np.hypot(*along))
        angle = math.atan2(along[1], along[0]) + line.turn * math.pi / 2
        angle = (angle + math.pi) % (2 * math.pi) - math.pi
        if length >= _LEAST_LENGTH * float(np.hypot(*down)) and abs(angle) < math.radians(_MOST_SKEW):
            angles.append((angle, length))
    half = sum(length for _, length in angles) / 2
    for angle, length in sorted(angles):
        half -= length
        if half <= 0:
            return angle if abs(angle) >= math.radians(_LEAST_SKEW) else 0.0
    return 0.0


def _rotate(points: Points, angle: float, size: tuple[float, float]) -> Points:
    """Points of a page of this size, turned clockwise as displayed about its middle."""
    middle, cosine, sine = np.array(size) / 2, math.cos(angle), math.sin(angle)
    return (points - middle) @ np.array([[cosine, sine], [-sine, cosine]]) + middle if angle else points


def _words(line: Line, angle: float, size: tuple[float, float], scale: float) -> Iterator[Word]:
    """The words of a line of a picture, `scale` pixels a point, where they lie on the levelled page."""
    first, second, third, fourth = _rotate(line.corners / scale, -angle, size)
    for raw, start, end in line.words:
        if text := clean_text(raw):
            across = np.array([[start], [end]])
            above, below = first + (second - first) * across, fourth + (third - fourth) * across
            points = np.concatenate([above + (below - above) * _SHRUNK, below + (above - below) * _SHRUNK])
            box = Box(*points.min(axis=0).tolist(), *points.max(axis=0).tolist())
            yield Word(text, box, line.turn, 0, 0, confidence=line.confidence)


def _lay_back(page: ComposedPage, angle: float) -> None:
    """Put the lines of a levelled page where they lie on the page, those askew in pieces that follow them."""
    size = page.width, page.height
    lines, page.lines = page.lines, []
    for start, end, left, top, right, bottom, confidence, number in lines:
        width = (right - left) / max(1, end - start)
        for first, last in pairwise([start, *(_cuts(page.text, start, end, width) if angle else ()), end]):
            box = np.array([[left + width * (first - start), top], [left + width * (last - start), bottom]])
            middle = box.mean(axis=0)
            placed = np.clip(box + _rotate(middle, angle, size) - middle, 0.0, size).round(2)
            page.lines.append((first, last, *placed.ravel().tolist(), confidence, number))


def _cuts(text: str, start: int, end: int, width: float) -> Iterator[int]:
    """Where to cut a line before words so that its pieces are short. `width`: of a character."""
    most = max(1, round(_PIECE / max(width, 1.0 / (end - start))))
    while end - start > most:
        cut = text.rfind(" ", start + 1, start + most) + 1
        start = cut if cut > start else start + most
        yield start
