"""Which of several values in one sentence a question means."""

from __future__ import annotations

import pytest

from crag.generation.qualifiers import MAX_SENTENCE, find_qualified

LIMITS = "The limit is $6,350 for an individual and $12,700 for a family."
RESPECTIVELY = (
    "For the years ended December 31, 2019 and 2018, the expense was $2.7 billion and $2.0 billion, respectively."
)
IN_TURN = "Net income was $302 million and $418 million in the prior and year-ago quarters, respectively."
BRACKET = "The guarantee at 31 December 2019 totalled £13.0 million (31 December 2018: £12.4 million)."
CHANGE = "Cash flow decreased by $4.8 million to $142.9 million from $147.7 million in the prior period."


def meant(question: str, sentence: str, read: str) -> str:
    """What the question means where `read` was read."""
    start = sentence.index(read)
    found = find_qualified(question, sentence, start, start + len(read))
    return sentence[slice(*found)] if found else read


@pytest.mark.parametrize(
    ("question", "sentence", "read", "value"),
    [
        ("What is the limit for a family?", LIMITS, "$6,350", "$12,700"),
        ("What is the limit for an individual?", LIMITS, "$12,700", "$6,350"),
        ("What was the expense in 2018?", RESPECTIVELY, "$2.7 billion", "$2.0 billion"),
        ("What was net income in the year-ago quarter?", IN_TURN, "$302 million", "$418 million"),
        ("What was the guarantee at 31 December 2018?", BRACKET, "£13.0 million", "£12.4 million"),
        ("What was the cash flow in 2019?", CHANGE, "$4.8 million", "$142.9 million"),
    ],
)
def test_the_value_is_the_one_whose_own_words_the_question_says(
    question: str, sentence: str, read: str, value: str
) -> None:
    assert meant(question, sentence, read) == value
    assert meant(question, sentence, value) == value


@pytest.mark.parametrize(
    ("question", "sentence", "read"),
    [
        ("What is the limit?", LIMITS, "$6,350"),
        ("What is the limit for an individual in a family?", LIMITS, "$6,350"),
        (
            "What was net income in 2021?",
            "Net income was $5 million in 2020, and revenue was $7 million in 2021.",
            "$5 million",
        ),
        ("By how much did cash flow decrease?", CHANGE, "$4.8 million"),
        ("How much did cash flow change?", CHANGE, "$4.8 million"),
        ("Where was the loss by 1991?", "Between 1991 and 2000 it rose from 415,000 to 587,000 acres.", "415,000"),
        ("What was net income in the third quarter?", IN_TURN, "$302 million"),
        ("Who sets the limit for a family?", LIMITS, "limit"),
    ],
)
def test_what_was_read_stays_where_the_question_names_no_one_value_alone(
    question: str, sentence: str, read: str
) -> None:
    assert meant(question, sentence, read) == read


def test_a_value_past_the_part_that_is_looked_at_stays() -> None:
    sentence = "a " * MAX_SENTENCE + LIMITS
    assert meant("What is the limit for a family?", sentence, "$6,350") == "$6,350"


def test_without_a_number_or_a_word_nothing_is_found() -> None:
    assert find_qualified("", "", 0, 0) is None
    assert find_qualified("?", "$5 for one and $6 for two", 0, 2) is None
