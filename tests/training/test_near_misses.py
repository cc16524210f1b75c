"""Questions about another year, number or name of the same passage."""

import random

from corpora.near_misses import swap_within

TEXT = "In 1901 Anna Berg paid 300 crowns for the mill. In 1907 Carl Dahl sold it for 450 crowns."


def test_each_kind_that_the_question_has_is_swapped_for_another_of_the_text() -> None:
    found = swap_within("Who paid 300 crowns in 1901, before Anna Berg left?", TEXT, [], random.Random(1))
    assert found == {
        "year": "Who paid 300 crowns in 1907, before Anna Berg left?",
        "number": "Who paid 450 crowns in 1901, before Anna Berg left?",
        "name": "Who paid 300 crowns in 1901, before Carl Dahl left?",
    }


def test_what_an_answer_holds_takes_no_place() -> None:
    sold = TEXT.index("1907")
    assert "year" not in swap_within("What was paid in 1901?", TEXT, [(sold, sold + 4)], random.Random(1))
    assert swap_within("What was sold?", TEXT, [], random.Random(1)) == {}
