"""Image files as pages: their sizes, turns, modes and pictures, and how they are drawn. Nothing is recognised here."""

import io
import struct
import zlib

import pytest
from PIL import Image

from crag.core.config import AppConfig
from crag.core.errors import DocumentError, EncryptedError, LimitError, SettingsError, UnknownMediaError
from crag.core.types import Rect
from crag.ingest.files import FileError, media_of
from crag.ingest.pictures import pages_of, read
from crag.ingest.reader import read_document, render_page
from crag.ingest.sections import ComposedPage
from tests.support.tiny_pdf import line, locked, pdf


def saved(image: Image.Image, kind: str, **more: object) -> bytes:
    buffer = io.BytesIO()
    image.save(buffer, kind, **more)  # type: ignore[arg-type]
    return buffer.getvalue()


def half(mode: str = "RGB", size: tuple[int, int] = (300, 600)) -> Image.Image:
    """White above, black below."""
    image = Image.new("L", size, 255)
    image.paste(0, (0, size[1] // 2, *size))
    if mode == "I;16":
        return image.convert("I").point(lambda value: value * 256).convert("I;16")
    return image.convert(mode)


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "TIFF", "WEBP", "BMP"])
def test_each_kind_is_known_by_its_bytes_and_drawn(kind: str) -> None:
    data = saved(half(), kind)
    assert media_of(data, "a.txt") == "image"
    pages = pages_of(data, "image")
    assert pages.count == 1
    picture = pages.draw(1, pages.density(1))
    assert (picture.mode, picture.size) == ("RGB", (300, 600))
    assert picture.getpixel((150, 100)) > (240, 240, 240) and picture.getpixel((150, 500)) < (15, 15, 15)


@pytest.mark.parametrize("mode", ["1", "L", "P", "LA", "RGBA", "I;16", "CMYK"])
def test_every_mode_is_drawn_as_it_looks(mode: str) -> None:
    picture = pages_of(saved(half(mode), "TIFF"), "image").draw(1, 1.0)
    assert picture.getpixel((150, 100)) > (240, 240, 240) and picture.getpixel((150, 500)) < (15, 15, 15)


@pytest.mark.parametrize(
    ("size", "dpi", "points"),
    [
        ((1700, 2200), 200, (612, 792)),
        ((300, 600), None, (300, 600)),
        ((3000, 4000), None, (594, 792)),  # a photograph: taken for a sheet
        ((3000, 4000), 72, (594, 792)),  # four feet of it: no scanner said that
        ((1700, 2200), 1, (612, 792)),
    ],
)
def test_a_page_is_as_large_as_its_resolution_says(
    size: tuple[int, int], dpi: int | None, points: tuple[int, int]
) -> None:
    more = {} if dpi is None else {"dpi": (dpi, dpi)}
    assert pages_of(saved(Image.new("L", size, 255), "PNG", **more), "image").size(1) == pytest.approx(points, abs=1)


@pytest.mark.parametrize("kind", ["JPEG", "TIFF", "PNG"])
def test_a_picture_that_lies_on_its_side_is_turned_up(kind: str) -> None:
    exif = Image.Exif()
    exif[0x0112] = 6  # to be turned clockwise
    data = saved(half(), kind, exif=exif)
    pages = pages_of(data, "image")
    assert pages.size(1) == (600, 300)
    picture = pages.draw(1, 1.0)
    assert picture.size == (600, 300)
    assert picture.getpixel((500, 150)) > (240, 240, 240) and picture.getpixel((100, 150)) < (15, 15, 15)
    assert pages.size(1) == (600, 300)


def test_a_tiff_has_a_page_for_each_picture() -> None:
    others = [Image.new("L", (100 * place, 100), 255) for place in (2, 3)]
    data = saved(Image.new("L", (100, 100), 255), "TIFF", save_all=True, append_images=others)
    facts, *pages = read(data, {"max_pages": 3})
    assert facts == {"pages": 3, "title": ""}
    assert [page.width for page in pages if isinstance(page, ComposedPage) and page.scanned] == [100, 200, 300]
    with pytest.raises(LimitError, match="3 pages"):
        read_document(data, "a.tiff", AppConfig.of(max_pages=2))


def test_a_marked_line_shows_on_the_picture() -> None:
    rect = Rect(page=1, left=50, top=100, right=250, bottom=120)
    shown = Image.open(io.BytesIO(render_page(saved(half(), "PNG"), 1, AppConfig(), highlights=[rect], width=600)))
    assert shown.size == (600, 1200)
    red, _, blue = shown.getpixel((300, 220))  # type: ignore[misc]
    assert red > 200 and blue < 200


def _huge() -> bytes:
    """A few bytes that say they are a picture of 900 million pixels."""

    def part(kind: bytes, body: bytes) -> bytes:
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    head = struct.pack(">IIBBBBB", 30_000, 30_000, 1, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + part(b"IHDR", head) + part(b"IDAT", zlib.compress(bytes(99))) + part(b"IEND", b"")


def test_a_picture_of_too_many_pixels_is_refused_before_it_is_decoded() -> None:
    with pytest.raises(LimitError, match="too many pixels"):
        read_document(_huge(), "bomb.png", AppConfig())
    with pytest.raises(FileError, match="pixels"):
        pages_of(saved(Image.new("1", (9_100, 9_000)), "PNG"), "image").size(1)


# Page images: the right size, the highlight in the right place, the same errors as reading


LIMITS = AppConfig()
DATA = pdf([line(100, 600, "A line to be lit up")])


def _image(png: bytes) -> Image.Image:
    return Image.open(io.BytesIO(png)).convert("RGB")


def _lit(pixel: object) -> bool:
    red, green, blue = pixel  # type: ignore[misc]
    return bool(red > 200 and green > 150 and blue < 200)


@pytest.mark.slow
@pytest.mark.parametrize("turn", [0, 90, 180, 270])
def test_the_highlight_covers_the_line(turn: int) -> None:
    data = pdf([line(100, 600, "A line to be lit up")], page_entries=b"/Rotate %d" % turn)
    page = read_document(data, "a.pdf", AppConfig()).pages[0]
    rect = page.lines[0].rect
    plain = _image(render_page(data, 1, LIMITS, width=600))
    lit = _image(render_page(data, 1, LIMITS, width=600, highlights=[rect]))
    over = _image(render_page(data, 1, LIMITS, width=600, highlights=[rect], strong=[rect]))
    assert over.tobytes() != lit.tobytes() != plain.tobytes()
    assert plain.size == lit.size
    assert lit.width == 600
    scale = 600 / page.width
    box = (rect.left * scale, rect.top * scale, rect.right * scale, rect.bottom * scale)
    dark = [
        (x, y)
        for x in range(plain.width)
        for y in range(plain.height)
        if sum(plain.getpixel((x, y))) < 300  # type: ignore[arg-type]
    ]
    assert dark
    assert all(box[0] - 2 <= x <= box[2] + 2 and box[1] - 2 <= y <= box[3] + 2 for x, y in dark)
    assert _lit(lit.getpixel((int(box[0]) + 1, int(box[1]) + 2)))
    assert not _lit(lit.getpixel((2, 2)))


def test_a_huge_page_is_made_small() -> None:
    image = _image(render_page(pdf([b""], page_entries=b"/MediaBox [0 0 200 14400]"), 1, LIMITS, width=2000))
    assert image.width * image.height <= 13_000_000


def test_errors() -> None:
    with pytest.raises(DocumentError, match="only 1 pages"):
        render_page(DATA, 2, LIMITS)
    with pytest.raises(EncryptedError):
        render_page(locked("secret", b"sesame"), 1, LIMITS)
    with pytest.raises(UnknownMediaError):
        render_page(b"no document\0at all", 1, LIMITS)
    with pytest.raises(DocumentError, match="no pages"):
        render_page(b"text alone", 1, LIMITS)
    with pytest.raises(SettingsError):
        render_page(DATA, 1, LIMITS, width=100_000)


def test_the_limits_are_those_under_which_documents_are_read() -> None:
    large = DATA + b"\n" * 2 * 1024**2
    with pytest.raises(LimitError, match="at most 1 MB"):
        render_page(large, 1, AppConfig.of(max_file_mb=1))
    assert render_page(large, 1, AppConfig.of(max_file_mb=3)).startswith(b"\x89PNG")
