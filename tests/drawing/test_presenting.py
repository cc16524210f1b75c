"""A run presented: what is drawn, and that nothing of a source is markup in it."""

import io

import pytest
from PIL import Image

from crag.core.trace import Trace
from crag.core.types import Rect
from crag.export.html import pages, slides
from crag.export.html.page_pictures import cut
from tests.support.inspector import Inspector
from tests.support.whole_run import approved, events, refused


@pytest.mark.parametrize("made", [events, approved, refused])
def test_every_moment_of_a_run_is_drawn_and_presented_well_formed_and_inert(made):
    run = made()
    for length in range(1, len(run) + 1):
        trace = Trace.from_events(run[:length])
        for drawn in ("".join(pages.sections(trace)), slides.show_slides(trace, {}, name="r")):
            seen = Inspector(drawn)
            assert not seen.open and not {"img", "script"} & set(seen.tags)
            assert not [name for name, _ in seen.attributes if name.startswith("on")]


def test_a_cut_of_a_page_holds_the_marked_words():
    page = Image.new("RGB", (550, 800), "white")
    page.paste("red", (50, 600, 500, 620))
    png = io.BytesIO()
    page.save(png, "png", dpi=(72, 72))
    cited = [Rect(page=1, left=50, top=600, right=500, bottom=620)]
    with Image.open(io.BytesIO(cut(png.getvalue(), cited))) as made:
        assert made.size == (550, 308)
        reds = [y for y in range(made.height) if made.convert("RGB").getpixel((200, y))[1] < 90]
    assert len(reds) >= 18 and min(reds) > 40, "some lines above them are there"
