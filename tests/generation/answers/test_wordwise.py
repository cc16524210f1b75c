"""Word for word, or but for the order and small words; and what looks so and says another thing."""

from __future__ import annotations

import pytest

from crag.generation.judges import said_in, share_of_words

TEXT = "In 2018, the agency closed 1,577 cases. It did not open an office in Ohio. Rates rose from 5 to 6 percent."


@pytest.mark.parametrize(
    "sentence",
    [
        "The agency closed 1,577 cases.",
        "The agency closed 1,577 cases in 2018.",
        "1,577 cases were closed by the agency in 2018.",
        "An office in Ohio, it did not open.",
        "From 5 to 6 percent rates rose.",
    ],
)
def test_the_same_words_in_another_order_are_there(sentence: str) -> None:
    assert said_in(sentence, [TEXT]).supported is True


@pytest.mark.parametrize(
    "sentence",
    [
        "The agency closed 1,578 cases in 2018.",
        "The agency did not close 1,577 cases in 2018.",
        "It did open an office in Ohio.",
        "Rates rose from 6 to 5 percent.",
        "The agency closed an office in Ohio.",
    ],
)
def test_other_words_or_another_sense_are_not(sentence: str) -> None:
    assert said_in(sentence, [TEXT]).supported is None


def test_a_hedge_that_is_left_out_makes_another_sentence() -> None:
    assert said_in("The agency closes the office.", ["The agency may close the office."]).supported is None


def test_the_share_counts_telling_words_by_their_stems() -> None:
    assert share_of_words("The closing of cases", "Cases were closed.") == 1.0
    assert share_of_words("Trains and ferries", "trains") == 0.5
    assert share_of_words("of the", "trains") == 0.0
