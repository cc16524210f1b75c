"""Where on the drawn page the cited words begin."""

import zlib

import pytest

from crag.core.config import AppConfig
from crag.core.types import Rect
from crag.ingest.reader import render_page
from tests.support.small_pdf import small_pdf
from ui.run import pageview


def rect(top: float) -> Rect:
    return Rect(page=1, left=60, top=top, right=200, bottom=top + 12)


@pytest.mark.parametrize("width", [300, 1100])
def test_the_depth_of_a_rectangle_is_its_share_of_the_page(width):
    png = render_page(small_pdf("Words."), 1, AppConfig(), width=width)
    assert pageview._depth(png, [rect(594), rect(700)]) == pytest.approx(594 / 792, abs=0.003)
    assert (
        pageview._depth(png, []) == 0
        and pageview._depth(png, [rect(-5)]) == 0
        and pageview._depth(png, [rect(1e9)]) == 1
    )


@pytest.mark.parametrize(
    "damage", [b"", b"\x89PNG", b"\x89PNG\r\n\x1a\n" + bytes(40), zlib.compress(bytes(99)), b"\xff" * 60]
)
def test_an_image_that_tells_nothing_is_shown_from_its_top(damage):
    assert pageview._depth(damage, [rect(594)]) == 0
