"""What a strip needs: a row its header and caption, a sentence the one it leans on, an item its list's opening."""

from __future__ import annotations

import pytest

from crag.evaluation.strip_dependencies import needs

CAPTION = "The following table summarizes our restricted stock unit activity (in millions):"
HEADER = "Years ended December 31,; 2018; 2017; 2016"
ROWS = ["Commercial Airplanes: 2018 $604; 2017 $636; 2016 $830", "Global Services: 2018 231; 2017 180; 2016 209"]
AFTER = "Unallocated capital expenditures relate primarily to assets managed centrally on behalf of the segments."


def needed(strips: list[str], place: int) -> list[str]:
    return [strips[other] for other, _ in needs(strips)[place]]


def test_a_row_needs_its_tables_caption_and_header_and_no_other_row() -> None:
    strips = ["Sales rose in all three years.", CAPTION, HEADER, *ROWS, AFTER]
    assert needed(strips, 3) == needed(strips, 4) == [CAPTION, HEADER]
    assert {why for _, why in needs(strips)[4]} == {"context"}
    assert needed(strips, 5) == []


def test_a_row_of_two_values_and_one_of_cells_are_rows() -> None:
    for row in ("Unearned revenue: 2016 4,768; 2017 5,097", "Net income | 12 | 14 |"):
        assert needed([CAPTION, row], 1) == [CAPTION]


def test_prose_above_a_table_is_no_caption() -> None:
    assert needed([AFTER, *ROWS], 1) == []


@pytest.mark.parametrize(
    "text",
    [
        "It rose by 4 % in the second year.",
        "However, the segment shrank.",
        "These changes had no effect on sales.",
        "operational sales grew 6.2%.",
    ],
)
def test_a_sentence_that_leans_needs_the_one_before(text: str) -> None:
    strips = ["Net sales of the bakery segment were 5 million.", text]
    assert needs(strips) == [(), ((0, "neighbour"),)]


@pytest.mark.parametrize("text", ["Italy is a country.", "Thistles grow there.", "Net sales rose.", "Sophie left."])
def test_a_sentence_that_stands_by_itself_needs_none(text: str) -> None:
    assert needs(["Net sales of the bakery segment were 5 million.", text]) == [(), ()]


def test_an_item_needs_what_opens_its_list_which_needs_its_first_item() -> None:
    strips = ["We did three things last year:", "• we hired many people;", "• we moved to Rome;", "(c) we closed Oslo."]
    assert needs(strips) == [((1, "neighbour"),), *[((0, "neighbour"),)] * 3]
