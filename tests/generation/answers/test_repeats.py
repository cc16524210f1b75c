"""What repeats itself without end is found, and where its first copy is over; what only lists is left alone."""

from __future__ import annotations

import pytest

from crag.text.repeats import CHARS, loop_in

SENTENCE = "The agency hired four hundred people in 2019 [1]. "
TABLE = "In {0} it was {1}.{0} %, after {1}.{1} % the year before. "


@pytest.mark.parametrize("copies", [4, 20, 200])
def test_one_copy_of_a_sentence_is_kept(copies: int) -> None:
    text = "It is said so. " + SENTENCE * copies + SENTENCE[:7]
    assert text[: loop_in(text)] == "It is said so. " + SENTENCE


def test_a_word_a_mark_and_several_sentences() -> None:
    assert loop_in("the " * 60) == 4
    assert loop_in("[1]" * 80) == 3
    three = "Hiring is slow. It takes eighty days on average. That is more than in the year before. "
    assert loop_in(three * 3) == len(three)


def test_lines_that_differ_in_their_numbers_alone() -> None:
    lines = [f"{number}. The agency processes claims within sixty days.\n" for number in range(1, 6)]
    assert loop_in("".join(lines)) == len(lines[0])
    assert loop_in("".join(lines) + "6. The ag") == len(lines[0])


@pytest.mark.parametrize(
    "text",
    [
        "",
        "no no no, she said",
        "A sentence of its own. " * 2,
        "-" * (CHARS - 1),
        "".join(TABLE.format(year, number) for number, year in enumerate(range(1990, 2020))),
    ],
)
def test_what_is_no_loop(text: str) -> None:
    assert loop_in(text) is None
