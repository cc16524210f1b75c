"""How sure recognition is of a chunk, and how that is said."""

from dataclasses import replace

import pytest

from crag.core.documents import LOW_RECOGNITION, LineBox, Rect
from crag.messages.wording import recognised_text
from crag.testing.fakes import chunk_of

RECT = Rect(page=1, left=0, top=0, right=9, bottom=9)
CHUNK = replace(
    chunk_of("read well and read badly"),
    lines=(
        LineBox(start=0, end=10, rect=RECT, confidence=0.9),
        LineBox(start=10, end=20, rect=RECT, confidence=0.6),
        LineBox(start=20, end=24, rect=RECT),
    ),
)


def test_a_chunk_is_as_sure_as_the_lines_that_were_recognised() -> None:
    assert CHUNK.recognised == pytest.approx(0.75)
    assert CHUNK.recognised_in(0, 10) == pytest.approx(0.9)
    assert CHUNK.recognised_in(20, 24) is None
    assert chunk_of("what the file says").recognised is None


def test_what_is_unsure_is_said_to_be() -> None:
    assert recognised_text(None) == ""
    assert recognised_text(LOW_RECOGNITION) == "read by text recognition"
    assert recognised_text(0.61) == "read by text recognition, low confidence (61%)"
