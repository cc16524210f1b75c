"""Pages that are pictures to pages of text: drawn, recognised, and laid out as all others are.

Runs inside the reader's child process.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

from PIL import Image

from crag.ingest.compose import LaidPage, compose, lay_out
from crag.ingest.files import FileError
from crag.ingest.lines import Find, Found, recogniser
from crag.ingest.pdf import with_repeats
from crag.ingest.pictures import Pages, pages_of
from crag.ingest.scans import Skew, laid_back, page_words
from crag.ingest.sections import ComposedPage
from crag.ingest.words import PageWords

_DENSITY = 200 / 72  # pixels a point; 150 dots an inch read as well, but for small print
_MOST_PIXELS = 9_000_000  # of a drawn page: a sheet of twice a letter's size
_WIDEST = 100_000.0  # points; a larger page is a broken number
_LEAST_SIDE = 24  # pixels; what is lower or narrower holds no line
_IN_TIME = 0.7  # of a page's processor time after which the rest of it is left
_UNEVEN = 1.12  # times the usual height of a line: recognised ones vary so much without being headings
_PLAIN = 8  # of 255: a picture with no more contrast shows nothing


def recognise(
    data: bytes, job: dict[str, Any], send: Callable[[dict[str, Any]], None], engine: Callable[[], Find] = recogniser
) -> Iterator[ComposedPage]:
    """The pages that the job numbers, each with its text; `send` is called with each as soon as it is read.

    Raises FileError for a file that can't be opened. A page that can't be drawn comes marked as failed.
    """
    pages = pages_of(data, job["media"])
    seconds = int(job["seconds"]) * _IN_TIME
    find: Find | None = None
    skews: dict[int, Skew] = {}
    heights: Counter[float] = Counter()

    def laid() -> Iterator[LaidPage]:
        nonlocal find
        for number in job["numbers"]:
            words, skew = PageWords(612.0, 792.0, [], 1.0, [], failed=True), Skew(0.0, 612.0, 792.0)
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
                words, skew = page_words(found.lines, picture.width / scale, picture.height / scale, scale)
                words.cut = found.cut
            skews[number] = skew
            for word in words.words:
                box = word.box
                heights[round((box.bottom - box.top) * 2) / 2] += len(word.text)
            send({"recognised": number})
            yield lay_out(number, words)

    for page, repeated in with_repeats(laid()):
        body = _UNEVEN * heights.most_common(1)[0][0] if heights else 10.0
        yield _compose_page(page, repeated, body, skews.pop(page.number))


def _compose_page(laid: LaidPage, repeated: set[Any], body: float, skew: Skew) -> ComposedPage:
    page = compose(laid, repeated, body)
    page.lines = [tuple(line) for line in laid_back(page.lines, page.text, skew)]
    return page


def _draw_page(pages: Pages, number: int) -> tuple[Image.Image, float]:
    """The page as a picture, and its pixels a point."""
    width, height = pages.size(number)
    if max(width, height) > _WIDEST:
        raise FileError("damaged", f"page {number} is no page")
    scale = min(_DENSITY, pages.density(number), (_MOST_PIXELS / (width * height)) ** 0.5)
    return pages.draw(number, scale), scale


def _shows(picture: Image.Image) -> bool:
    """Whether there is anything to be read."""
    if min(picture.size) < _LEAST_SIDE:
        return False
    low, high = picture.convert("L").getextrema()
    return isinstance(low, int) and isinstance(high, int) and high - low > _PLAIN
