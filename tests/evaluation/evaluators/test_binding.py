"""Whether the figures and names of a question stand in the sentence that answers, or only somewhere around it."""

import pytest

from crag.evaluation.binding import PLACES, bind

HEADING, AROUND = "Annual report 2020", "In 2018 the fund moved. Boston paid 300 dollars."


@pytest.mark.parametrize(
    ("asked", "sentence", "place"),
    [
        ("What was the premium in 2019?", "The premium of 2019 was 4.0 percent.", "sentence"),
        ("What was the premium in 2020?", "The premium was 4.0 percent.", "heading"),
        ("What was the premium in 2018?", "The premium was 4.0 percent.", "elsewhere"),
        ("What was the premium in 1999?", "The premium was 4.0 percent.", "absent"),
        ("What costs 1,500 dollars?", "It costs 1500 dollars.", "sentence"),
        ("متى ارتفع بنسبة 4.0؟", "ارتفع بنسبة 4.0 في عام 2019.", "sentence"),
    ],
)
def test_a_figure_is_found_at_the_first_place_that_has_it(asked: str, sentence: str, place: str) -> None:
    found = bind(asked, sentence, HEADING, AROUND)
    assert found.figures[PLACES.index(place)] == 1.0
    assert sum(found.figures) == 1.0


def test_another_figure_of_the_same_kind_stands_in_its_place() -> None:
    found = bind("What was the premium in 2018?", "The premium of 2020 was 4.0 percent.", "", AROUND)
    assert found.missed == ("2018", "2020")


@pytest.mark.parametrize(
    ("asked", "sentence"),
    [
        ("What was the premium in 2018?", "The premium was 4.0 percent."),  # a number is no year
        ("What was the premium in 2018?", "From 2018 to 2020 it was 4.0 percent."),
        ("From 2018 to 2020, what was the premium?", "In 2020 it was 4.0 percent."),  # what is asked for is no rival
    ],
)
def test_what_can_not_be_meant_instead_is_no_rival(asked: str, sentence: str) -> None:
    assert bind(asked, sentence, "", "").missed == ()


def test_shares_are_of_all_that_is_named() -> None:
    found = bind("Did Anna Berg meet Carl Dahl in 2018 or 2019?", "Anna Berg left in 2018.", "", "Carl Dahl stayed.")
    assert found.figures == (0.5, 0.0, 0.0, 0.5)
    assert found.names == (0.5, 0.0, 0.5, 0.0)


def test_nothing_named_binds_nothing() -> None:
    found = bind("what is the fee?", "", "", "")
    assert found.figures == found.names == (0.0,) * len(PLACES)


@pytest.mark.parametrize("unit", ["2018 ", "Anna Berg ", "1,", "9" * 50, "( ", "٣٤ ", "A.B."])
def test_long_texts_are_read_in_proportion_to_their_length(unit: str) -> None:
    found = bind(unit * 200, unit * 5_000, unit * 10, unit * 5_000)
    assert all(0.0 <= share <= 1.0 for share in (*found.figures, *found.names))
