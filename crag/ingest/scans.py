"""Pages without text, read by text recognition where it is installed, and the remarks about them."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any, Literal

from crag.core.config import AppConfig
from crag.core.documents import LOW_RECOGNITION, mean_confidence
from crag.core.errors import CancelledError, DocumentError, EmptyError
from crag.core.ingesting import Page
from crag.core.types import Media
from crag.ingest.lines import Line
from crag.ingest.objects import Box, around
from crag.ingest.sandbox import recognising, run_child
from crag.ingest.words import PageWords, Word, clean_text

_LEAST_SKEW, _MOST_SKEW = 0.2, 12.0  # degrees; less moves no line by a third of its height, more is no skew
_PIECE = 50.0  # points; pieces of a line that lies askew
_LEAST_LENGTH = 5.0  # a line's length in heights from which it tells the skew
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
    angles: list[tuple[float, float]] = []
    for line in lines:
        (x0, y0), (x1, y1), _, (x3, y3) = line.corners.tolist()
        length, high = math.hypot(x1 - x0, y1 - y0), math.hypot(x3 - x0, y3 - y0)
        if length < _LEAST_LENGTH * high:
            continue
        angle = math.atan2(y1 - y0, x1 - x0) + line.turn * math.pi / 2
        angle = (angle + math.pi) % (2 * math.pi) - math.pi
        if abs(angle) < math.radians(_MOST_SKEW):
            angles.append((angle, length))
    half = sum(length for _, length in angles) / 2
    for angle, length in sorted(angles):
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


Progress = Callable[[int, int, float], None]
"""Called with the page that is being recognised, the number of pages, and about how many seconds are left."""

SECONDS_A_PAGE = 3.0
"""What is said to be needed before anything is known: two cores, a letter page full of text, which took 2.7 to 3.7 s
(benchmarks/results/recognition.md)."""

_INSTALL = "Text recognition is not installed: make run installs it, and so does pip install -r requirements/scans.txt."
_MOST = "“Most scanned pages” in Settings, Program (CRAG_RECOGNISE_PAGES)"


def installed() -> bool:
    """Whether text recognition can be had here."""
    return find_spec("rapidocr") is not None and find_spec("cv2") is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class Unrecognised:
    """Pages without text that were not looked at, and why: recognition is `missing` or `off`, or it had an `error`.

    "limit": there are more than are read.
    """

    numbers: tuple[int, ...]
    why: Literal["missing", "off", "limit", "error"]
    error: DocumentError | None = None


@dataclass(frozen=True, slots=True)
class File:
    """A file that is read: its bytes, its kind, and its name in messages."""

    data: bytes
    media: Media
    name: str


def recognise(
    file: File,
    config: AppConfig,
    pages: Sequence[Page],
    pictured: Collection[int],
    taken: Callable[[Mapping[str, Any]], None],
    on_page: Progress | None = None,
    cancel: threading.Event | None = None,
) -> Unrecognised | None:
    """Reads those of the pages that have no text; `taken` is given each as the child's plain values.

    `pictured` are the numbers of pages that are a picture with little text over it, a stamp maybe: they are read too.
    What it can't read stays as it is, and is what it returns. Raises CancelledError.
    """
    numbers = tuple(page.number for page in pages if page.scanned or page.number in pictured)
    seen = numbers if _textless(pages) else tuple(page.number for page in pages if page.scanned)
    if not numbers or file.media not in ("pdf", "image"):
        return None
    if not installed() or not config.limits.recognise_pages:
        return Unrecognised(numbers=seen, why="off" if installed() else "missing") if seen else None
    wanted = numbers[: config.limits.recognise_pages]
    done: set[int] = set()
    try:
        for raw in _recognised(file, config, wanted, on_page, cancel):
            taken(raw)
            done.add(int(raw["number"]))
    except CancelledError:
        raise
    except DocumentError as error:
        left = tuple(number for number in seen if number not in done)
        return Unrecognised(numbers=left, why="error", error=error) if left else None
    left = tuple(number for number in seen if number not in wanted)
    return Unrecognised(numbers=left, why="limit") if left else None


def _recognised(
    file: File,
    config: AppConfig,
    numbers: Sequence[int],
    on_page: Progress | None,
    cancel: threading.Event | None,
) -> Iterator[Mapping[str, Any]]:
    job = {"task": "recognise", "media": file.media, "numbers": list(numbers)}
    began, read, total = time.monotonic(), 0, len(numbers)
    if on_page is not None:
        on_page(1, total, total * SECONDS_A_PAGE)
    for message, _ in run_child(job, file.data, file.name, config, cancel, limits=recognising(config)):
        if "page" in message:
            yield message["page"]
        elif "recognised" in message:
            read += 1
            if on_page is not None and read < total:
                on_page(read + 1, total, (time.monotonic() - began) / read * (total - read))


# ---- remarks -------------------------------------------------------------------------------------------------------


def notices(pages: Sequence[Page], unread: Unrecognised | None) -> list[str]:
    """What a person should know of pages that are pictures."""
    found = []
    read = [(page.number, sure) for page in pages if (sure := confidence(page)) is not None]
    low = [(number, sure) for number, sure in read if sure < LOW_RECOGNITION]
    if read:
        mean = sum(sure for _, sure in read) / len(read)
        found.append(f"{format_pages([n for n, _ in read])} read by text recognition, with a confidence of {mean:.0%}.")
    if low:
        listed = ", ".join(f"{number} ({sure:.0%})" for number, sure in low)
        found.append(f"Low confidence in what text recognition read on page{'s' * (len(low) > 1)} {listed}.")
    if nothing := _nothing(pages, unread):
        found.append(f"{format_pages(nothing)} {_images(nothing)} in which text recognition found nothing.")
    if unread is not None and unread.numbers:
        found.append(f"{format_pages(unread.numbers)} {_images(unread.numbers)} without text.{_reason(unread)}")
    return found


def empty(
    name: str, pages: Sequence[Page], unread: Unrecognised | None, pictured: Collection[int] = ()
) -> DocumentError | None:
    """The error for a document of which no page can be read because they are pictures; None where they are not."""
    if unread is not None and unread.error is not None:
        return unread.error
    if unread is not None and unread.numbers:
        said = f"{name} is a scan: {format_pages(unread.numbers)} {_images(unread.numbers)} without text."
        return EmptyError(said, _remedy(unread))
    if nothing := [page.number for page in pages if page.scanned or page.number in pictured]:
        return EmptyError(
            f"{name} is a scan: {format_pages(nothing)} {_images(nothing)} in which text recognition found nothing.",
            "If the pages show text, scan them again, upright and at 300 dots an inch, and add the result.",
        )
    return None


def _textless(pages: Sequence[Page]) -> bool:
    return not any(page.text.strip() for page in pages)


def confidence(page: Page) -> float | None:
    """How sure recognition is of a page, 0..1; None where it read nothing of it."""
    return mean_confidence(page.lines)


def format_pages(numbers: Sequence[int]) -> str:
    """Page numbers as people write them: "pages 3, 7-9"."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    text = ", ".join(str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs)
    return f"{'page' if len(numbers) == 1 else 'pages'} {text}"


def _nothing(pages: Sequence[Page], unread: Unrecognised | None) -> list[int]:
    """Pictures that were looked at in vain."""
    left = unread.numbers if unread is not None else ()
    return [page.number for page in pages if page.scanned and page.number not in left]


def _images(numbers: Sequence[int]) -> str:
    return "is an image" if len(numbers) == 1 else "are images"


def _reason(unread: Unrecognised) -> str:
    match unread.why:
        case "missing":
            return f" {_INSTALL}"
        case "error" if unread.error is not None:
            return f" Text recognition ended there: {unread.error.message}"
        case "limit":
            return " Text recognition reads no more pages of a document; the limit is in Settings."
        case _:
            return ""


def _remedy(unread: Unrecognised) -> str:
    match unread.why:
        case "missing":
            return f"{_INSTALL} Then add the file again."
        case "off":
            return f"Text recognition is off. To turn it on, set {_MOST} above 0, then add the file again."
        case _:
            return f"Text recognition reads no more pages of a document. Raise {_MOST}, then add the file again."
