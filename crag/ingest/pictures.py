"""Pages as pictures: of a PDF drawn by PDFium, of an image file as it is, upright as its own notes say.

Runs inside the reader's child process. Image files are read here: every picture in one is a page without text.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Protocol

import pypdfium2 as pdfium
from PIL import Image, ImageOps

from crag.ingest.files import FileError
from crag.ingest.pdf import opened
from crag.ingest.sections import ComposedPage

if TYPE_CHECKING:
    from crag.core.documents import Media

_FORMATS = ("PNG", "JPEG", "TIFF", "WEBP", "BMP")
_MOST_PIXELS = 80_000_000  # of a picture in a file: a letter page at 900 dots an inch has 76 million
_LEAST_DPI, _MOST_DPI = 50, 1200  # a value beyond is no scanner's, but a program's default
_LONGEST = 1300.0  # points; a longer page was no sheet of paper, but a picture whose resolution is not known
_SHEET = 792.0  # points: the longer side of a picture whose resolution is not known
_TURNED = (5, 6, 7, 8)  # orientations that lie on their side
_ORIENTATION = 0x0112
_BROKEN = (OSError, ValueError, SyntaxError, EOFError)  # what Pillow raises for files that are none


class Pages(Protocol):
    """The pages of one file, numbered from 1, sizes in points as displayed. Every method may raise FileError."""

    @property
    def count(self) -> int:
        """How many there are."""

    def size(self, number: int) -> tuple[float, float]:
        """Width and height."""

    def density(self, number: int) -> float:
        """The most pixels a point that the page holds; infinite where it is drawn from lines and letters."""

    def draw(self, number: int, scale: float) -> Image.Image:
        """The page in red, green and blue, `scale` pixels a point."""


def pages_of(data: bytes, media: Media) -> Pages:
    """The pages of a PDF or an image file. Raises FileError."""
    return _Pictures(data) if media == "image" else _Drawn(data)


def read(data: bytes, job: dict[str, Any]) -> Iterator[dict[str, Any] | ComposedPage]:
    """An image file as pages without text. Raises FileError."""
    pages = _Pictures(data)
    if pages.count > int(job["max_pages"]):
        raise FileError("pages", str(pages.count))
    yield {"pages": pages.count, "title": ""}
    for number in range(1, pages.count + 1):
        width, height = pages.size(number)
        yield ComposedPage(number, round(width, 2), round(height, 2), scanned=True)


class _Drawn:
    """A PDF's pages."""

    def __init__(self, data: bytes) -> None:
        self._document = pdfium.PdfDocument(opened(data))

    @property
    def count(self) -> int:
        return len(self._document)

    def size(self, number: int) -> tuple[float, float]:
        width, height = self._page(number).get_size()
        if width <= 0 or height <= 0:
            raise FileError("damaged", f"page {number} has no size")
        return width, height

    def density(self, number: int) -> float:
        return float("inf")

    def draw(self, number: int, scale: float) -> Image.Image:
        return _rgb(self._page(number).render(scale=scale).to_pil())

    def _page(self, number: int) -> Any:
        try:
            return self._document[number - 1]
        except pdfium.PdfiumError as error:
            raise FileError("damaged", f"page {number} can't be loaded") from error


class _Pictures:
    """An image file's pictures: each of a TIFF, the first of any other."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._known = self._opened()
        try:
            self.count = int(getattr(self._known, "n_frames", 1)) if self._known.format == "TIFF" else 1
        except _BROKEN as error:
            raise FileError("damaged", "its pictures can't be distinguished") from error

    def size(self, number: int) -> tuple[float, float]:
        image = self._at(self._known, number)
        across, down = image.size
        if image.format != "TIFF" and image.getexif().get(_ORIENTATION) in _TURNED:
            across, down = down, across  # a TIFF has its size turned already
        density = self.density(number)
        return across / density, down / density

    def density(self, number: int) -> float:
        image = self._at(self._known, number)
        longer = max(image.size)
        resolution = image.info.get("dpi", (0.0, 0.0))[0]
        if _LEAST_DPI <= resolution <= _MOST_DPI and longer * 72 / resolution <= _LONGEST:
            return float(resolution) / 72
        return max(1.0, longer / _SHEET)

    def draw(self, number: int, scale: float) -> Image.Image:
        width, height = self.size(number)
        wanted = max(1, round(width * scale)), max(1, round(height * scale))
        image = self._at(self._opened(), number)  # again: what is decoded small has another size
        try:
            image.draft("RGB", (max(wanted), max(wanted)))
            image.load()
            upright = ImageOps.exif_transpose(_plain(image))
        except _BROKEN as error:
            raise FileError("damaged", f"page {number} can't be decoded") from error
        if upright.size != wanted:
            shrinks = upright.width > wanted[0]
            upright = upright.resize(wanted, Image.Resampling.BOX if shrinks else Image.Resampling.BICUBIC)
        return _rgb(upright)

    def _opened(self) -> Image.Image:
        try:
            return Image.open(io.BytesIO(self._data), formats=_FORMATS)
        except Image.DecompressionBombError as error:
            raise FileError("pixels") from error
        except _BROKEN as error:
            raise FileError("damaged", "its pictures can't be distinguished") from error

    def _at(self, image: Image.Image, number: int) -> Image.Image:
        try:
            if self.count > 1:
                image.seek(number - 1)
        except Image.DecompressionBombError as error:
            raise FileError("pixels") from error
        except _BROKEN as error:
            raise FileError("damaged", f"page {number} can't be found") from error
        across, down = image.size
        if across * down > _MOST_PIXELS:
            raise FileError("pixels", f"{across:,} × {down:,}")
        return image


def _plain(image: Image.Image) -> Image.Image:
    """Grey or colours in 256 steps: of what has more, the least becomes black and the most white."""
    if image.mode == "1":
        return image.convert("L")
    if image.mode == "P":
        return image.convert("RGBA" if "transparency" in image.info else "RGB")
    if not image.mode.startswith(("I", "F")):
        return image
    low, high = image.getextrema()
    if not (isinstance(low, int | float) and isinstance(high, int | float) and high > low):
        return Image.new("L", image.size, 255)
    factor = 255 / (high - low)
    return image.point(lambda value: value * factor - low * factor).convert("L")


def _rgb(image: Image.Image) -> Image.Image:
    """The picture on white paper."""
    if image.mode in ("RGBA", "LA", "PA", "La", "RGBa"):
        paper = Image.new("RGBA", image.size, "white")
        return Image.alpha_composite(paper, image.convert("RGBA")).convert("RGB")
    return image.convert("RGB")
