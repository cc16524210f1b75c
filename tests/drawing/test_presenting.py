"""A run presented, and a conversation exported: what is drawn, and that nothing of a source is markup in it."""

import io
import re

import pytest
from PIL import Image

from crag.core.trace import Trace
from crag.core.types import Rect
from crag.export.html import pages, slides
from crag.export.html.page_pictures import cut
from tests.support.inspector import Inspector
from tests.support.whole_run import approved, events, refused


def turn(made) -> pages.Turn:
    return pages.Turn(trace=Trace.from_events(made()), events=made, stale={}, pictures=dict)


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


def test_a_conversation_is_one_page_with_a_run_a_turn_each_with_its_replay():
    whole = pages.conversation(map(turn, (events, approved, refused)), 3)
    seen = Inspector(whole)
    assert not seen.open and len(re.findall('<section class="run"', whole)) == 3
    assert whole.count('class="states"') == whole.count('class="cx slideshow"') == whole.count('class="evidence"') == 3
    assert [value for name, value in seen.attributes if name == "href" and value.startswith("#")] == [
        *("#turn-1", "#turn-2", "#turn-3")
    ]
    assert not [value for name, value in seen.attributes if name == "src"]


def test_of_a_long_conversation_the_last_turns_hold_their_evidence():
    one = Trace.from_events(refused())
    turns = (pages.Turn(trace=one, events=list, stale={}, pictures=dict) for _ in range(63))
    whole = pages.conversation(turns, 63)
    assert whole.count('class="run"') == 63 and whole.count('class="states"') == 60
    assert "The last 60 hold their evidence" in whole
