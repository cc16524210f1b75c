"""The benchmark of tables' cells: what counts as told, and that its lists are whole."""

from __future__ import annotations

import pytest

from benchmarks.table_cells import Cell, told
from crag.core.types import Chunk, LineBox, Rect

CELL = Cell(
    file="a.pdf",
    page=1,
    value="7,500",
    row="Boats",
    columns=["Year ended May 31,", "2018"],
    unit="in millions",
    box=[400, 100, 430, 110],
    under="Sales",
)


def chunk(text: str, context: str = "") -> Chunk:
    at = text.index("7,500")
    rect = Rect(page=1, left=398.0, top=99.0, right=432.0, bottom=111.0)
    return Chunk(
        id="1",
        document_id="2",
        source="a.pdf",
        title="",
        page=1,
        ordinal=0,
        start=0,
        end=len(text),
        text=text,
        context=context,
        lines=(LineBox(start=at, end=at + 5, rect=rect),),
    )


@pytest.mark.parametrize(
    ("text", "context", "together", "itself"),
    [
        ("Boats: 2019 6,489; 2018 7,500", "in millions › Year ended May 31, › 2019 | 2018", True, True),
        ("Boats: 6,489; 7,500", "in millions › Year ended May 31, › 2019 | 2018", True, False),
        ("Boats: 2019 6,489; 2018 7,500", "Year ended May 31,", False, True),
        ("Oars: 2019 6,489; 2018 7,500", "in millions › Year ended May 31,", False, False),
    ],
)
def test_what_a_chunk_tells_of_a_cell(text: str, context: str, together: bool, itself: bool) -> None:
    found = told(CELL, [chunk(text, context)])
    assert (found.found, found.together, found.itself, found.under) == (True, together, itself, False)
