"""The lines of a statement that a question of figures is after."""

from __future__ import annotations

import pytest

from crag.storage.search import line_items


@pytest.mark.parametrize(
    ("question", "says"),
    [
        ("What is 3M's quick ratio for FY2022?", "receivable"),
        ("Did PP&E grow in 2021?", "property"),
        ("What was spent on R & D?", "research"),
        ("Compare the EFFECTIVE TAX RATES of both years.", "provision"),
        ("What is the three year average of capex as a % of revenue?", "purchases"),
    ],
)
def test_a_figure_is_sought_by_the_lines_it_is_made_of(question: str, says: str) -> None:
    assert says in line_items(question).split()


@pytest.mark.parametrize(
    "question",
    ["", "Who was R. D. Laing?", "Which airplane skidded at Wausau?", "Where did D. A. Pennebaker live?", "漢字"],
)
def test_other_questions_are_left_as_they_are(question: str) -> None:
    assert line_items(question) == ""


def test_what_the_question_says_itself_is_not_said_again() -> None:
    found = line_items("Is the quick ratio above one, given cash and cash equivalents? And the quick ratio?").split()
    assert "cash" not in found and len(set(found)) == len(found)
