"""Wherever two texts are compared word by word: what is said twice, and what is there."""

from __future__ import annotations

import pytest

from crag.generation.judges import said_in, share_of_words
from crag.text.words import CHARS, loop_in

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


# Word for word; and what looks so and says another thing


TEXT = "In 2018, the agency closed 1,577 cases. It did not open an office in Ohio. Rates rose from 5 to 6 percent."


@pytest.mark.parametrize("sentence", ["The agency closed 1,577 cases.", "it did not open an  office in Ohio"])
def test_the_same_words_are_there(sentence: str) -> None:
    assert said_in(sentence, [TEXT]).supported is True


@pytest.mark.parametrize(
    "sentence",
    [
        "The agency closed 1,578 cases in 2018.",
        "1,577 cases were closed by the agency in 2018.",
        "The agency did not close 1,577 cases in 2018.",
        "It did open an office in Ohio.",
        "Rates rose from 6 to 5 percent.",
        "The agency closed an office in Ohio.",
    ],
)
def test_other_words_or_another_sense_are_not(sentence: str) -> None:
    assert said_in(sentence, [TEXT]).supported is None


def test_the_share_counts_telling_words_by_their_stems() -> None:
    assert share_of_words("The closing of cases", "Cases were closed.") == 1.0
    assert share_of_words("Trains and ferries", "trains") == 0.5
    assert share_of_words("of the", "trains") == 0.0
