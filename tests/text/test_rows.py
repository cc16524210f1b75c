"""Rows of tables as lines of text, and that no sentence ends inside one."""

from __future__ import annotations

import pytest

from crag.text.sentences import is_table_row, sentences


@pytest.mark.parametrize(
    ("line", "row"),
    [
        ("Segment: Oper. Income $627; Net Rev. 1,024; Oper. Margin 5%", True),
        ("Sales: 2018 $1,024; 2017 (12); 2016 –", True),
        ("Name Ada; Place London; Year 1843", True),
        ("He came; he saw. Then he left; nothing remained", False),
        ("The board met; the vote passed; the chair resigned.", False),
        ("Sales rose in 2018. Costs fell; margins grew; 4 plants closed", False),
        ("Total 627", False),
    ],
)
def test_what_a_row_is(line: str, row: bool) -> None:
    assert is_table_row(line) is row


def test_a_row_is_one_sentence_and_prose_is_not() -> None:
    text = (
        "Segment: Oper. Income $627; Net Rev. 1,024; Oper. Margin 5%\nIt rose. Costs fell.\n3M: Total Oper. Income $627"
    )
    assert [text[start:end] for start, end in sentences(text)] == [
        "Segment: Oper. Income $627; Net Rev. 1,024; Oper. Margin 5%",
        "It rose.",
        "Costs fell.",
        "3M: Total Oper. Income $627",
    ]
