"""Page images: the right size, the highlight in the right place, the same errors as reading."""

from __future__ import annotations

import io

import pytest
from PIL import Image

from crag.core.config import AppConfig
from crag.core.errors import DocumentError, EncryptedError, LimitError, SettingsError, UnknownMediaError
from crag.core.types import Rect
from crag.ingest.reader import read_document, render_page
from tests.support.tiny_pdf import line, locked, pdf

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


def test_highlights_of_other_pages_are_left_out() -> None:
    rect = Rect(page=2, left=0, top=0, right=600, bottom=700)
    assert render_page(DATA, 1, LIMITS, highlights=[rect]) == render_page(DATA, 1, LIMITS)


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
