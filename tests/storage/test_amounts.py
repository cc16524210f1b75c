"""What is embedded of a table: its labels."""

from __future__ import annotations

from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crag.core.types import Chunk
from crag.text.numerals import without_amounts


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Cash and equivalents: 2019 $5,794; 2018 $4,225\nOther, net: (99); —", "Cash and equivalents; Other, net"),
        ("Growth: 12.5%; (3)%; -4 %", "Growth"),
        ("Form 10-K | 8K | Q4 | 3M Company", "Form 10-K; 8K; Q4; 3M Company"),
        ("1; 2\n3", "1; 2\n3"),
    ],
)
def test_labels_stay_and_amounts_go(text: str, words: str) -> None:
    assert without_amounts(text) == words


@given(st.text())
def test_any_text_keeps_something(text: str) -> None:
    assert bool(without_amounts(text)) == bool(text)


def test_a_table_is_embedded_by_context_and_labels_and_prose_by_heading_and_text() -> None:
    def chunk(kind: Literal["text", "table"], context: str) -> Chunk:
        return Chunk(
            id="c", document_id="d", source="s.pdf", title="T", page=1, ordinal=0, start=0, end=13,
            text="Sales: 12; 13", context=context, kind=kind,
        )  # fmt: skip

    assert chunk("table", "T › Income").indexed_text == "T › Income\nSales"
    assert chunk("text", "T › Income").indexed_text == "Income\nSales: 12; 13"
    assert chunk("text", "T").indexed_text == "Sales: 12; 13"
    assert chunk("text", "").indexed_text == "Sales: 12; 13"
