"""Names in texts, and whether another text holds them."""

from __future__ import annotations

import pytest

from crag.text.names import Names, names_in


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
    [
        ("The UN met.", True),
        ("united nations", True),
        ("The Nations united.", True),
        ("The union met.", False),
    ],
)
def test_a_name_is_held_however_it_is_written(text: str, held: bool) -> None:
    [name] = names_in("They met at the United Nations.")
    # "united" and "nations" are no words that all names have, but for "united"
    assert Names(text).holds(name) is held


def test_another_surname_is_another_name() -> None:
    [name] = names_in("It was won by Michael Johnson.")
    assert not Names("It was won by Michael Jordan.").holds(name)
    assert Names("Johnson won it.").holds(name)
