"""Rows of tables as lines of text, and that no sentence ends inside one."""

import pytest

from crag.text.names import Names, names_in
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


# Names in texts, and whether another text holds them


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("It was sung by Edith Piaf in Paris.", ["Edith Piaf", "Paris"]),
        ("Edith Piaf's song is old.", ["Edith Piaf"]),
        ("Revenue rose in the Board report.", []),
        ("In May the United Nations met Haruki's Friends.", ["United Nations", "Haruki", "Friends"]),
        ("NET SALES ROSE IN SPRINGFIELD LAST YEAR AGAIN", []),
    ],
)
def test_names_are_told_by_their_capitals(text: str, names: list[str]) -> None:
    assert [name.text for name in names_in(text)] == names


@pytest.mark.parametrize(
    ("text", "held"),
    [("The UN met.", True), ("united nations", True), ("The Nations united.", True), ("The union met.", False)],
)
def test_a_name_is_held_however_it_is_written(text: str, held: bool) -> None:
    [name] = names_in("They met at the United Nations.")
    # "united" and "nations" are no words that all names have, but for "united"
    assert Names(text).holds(name) is held


def test_another_surname_is_another_name() -> None:
    [name] = names_in("It was won by Michael Johnson.")
    assert not Names("It was won by Michael Jordan.").holds(name)
    assert Names("Johnson won it.").holds(name)
