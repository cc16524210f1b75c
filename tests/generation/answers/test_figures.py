"""Figures of a sentence against what it cites: the same value otherwise written stands, another one is missing."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crag.core.types import Strip
from crag.generation.figures import check_figures, in_context
from tests.support.whole_run import chunk


def states(sentence: str, *cited: str) -> list[tuple[str, str]]:
    return [(each.text, each.state) for each in check_figures(sentence, dict(enumerate_ids(cited)))]


def enumerate_ids(texts: tuple[str, ...]) -> list[tuple[str, str]]:
    return [(f"s{place}", text) for place, text in enumerate(texts)]


@pytest.mark.parametrize(
    ("sentence", "cited"),
    [
        ("It cost 1,200 million.", "(in millions)\nCost: 2018 1,200; 2017 900"),
        ("It cost about 1,600 dollars.", "It cost 1,577 dollars."),
        ("It rose by 3,5 metres.", "It rose by 3.5 metres."),
        ("It has 12 rooms.", "It has twelve rooms."),
        ("It was 3 March 2018.", "It was 2018-03-03."),
        ("It was March 3, 2018.", "Of 2018. On 3 March it was."),
        ("It was fiscal 2018.", "It was FY2018."),
        ("It was the 1990s.", "It was 1994."),
        ("A350 it was.", "It was the A-350."),
    ],
)
def test_the_same_value_stands_however_it_is_written(sentence: str, cited: str) -> None:
    found = states(sentence, cited)
    assert found and {state for _, state in found} == {"stands"}


@pytest.mark.parametrize(
    ("sentence", "cited", "missing"),
    [
        ("It cost $1.3 billion.", "It cost $1,200 million.", "$1.3 billion"),
        ("It cost $1,200 billion.", "It cost $1,200 million.", "$1,200 billion"),
        ("It fell by 5 %.", "It fell by $5.", "5 %"),
        ("It was in 2019.", "It was in 2018.", "2019"),
        ("It was March 4, 2018.", "It was March 3, 2018.", "March 4, 2018"),
        ("It was built by Edith Piaf.", "It was built by Gustave Eiffel.", "Edith Piaf"),
        ("It has nine members.", "It has seven members.", "nine"),
        ("It is the A330.", "It is the A320.", "A330"),
    ],
)
def test_another_value_is_missing_at_the_very_figure(sentence: str, cited: str, missing: str) -> None:
    [found] = [each for each in check_figures(sentence, {"s": cited}) if each.state == "missing"]
    assert found.text == missing == sentence[found.start : found.end] and found.strip_id == ""


def test_counts_of_what_is_listed_and_list_numbers_are_no_figures() -> None:
    assert states("She won four times.", "Won: 1990, 1992, 1993 and 1999") == []
    assert states("2. It is so.", "It is so.") == []


def test_a_row_stands_in_its_document_and_under_its_tables_head() -> None:
    def strip(text: str, why: str) -> Strip:
        return Strip(id=text, source_id="c0", origin="internal", start=0, end=1, text=text, score=1, kept=True, why=why)  # type: ignore[arg-type]

    row, head = strip("Net sales: 2018 1,577; 2017 1,498", "score"), strip("(in thousands)", "context")
    text = in_context(row, [head, row], chunk(0, row.text))
    assert "(in thousands)" in text and text.endswith(row.text)
    assert states("Net sales were 1,577 million in 2018.", text)[0] == ("1,577 million", "missing")


@given(st.integers(min_value=1_000, max_value=999_999), st.integers(min_value=1, max_value=9))
def test_a_changed_digit_never_stands(value: int, step: int) -> None:
    said = f"It has {value:,} seats."
    assert states(said, said)[0][1] == "stands"
    assert states(f"It has {value + step:,} seats.", said)[0][1] == "missing"


@given(st.text(max_size=200), st.text(max_size=200))
def test_figures_lie_in_order_in_any_sentence(sentence: str, cited: str) -> None:
    found = check_figures(sentence, {"s": cited})
    assert all(sentence[each.start : each.end] == each.text for each in found)
    assert [each.start for each in found] == sorted(each.start for each in found)
    assert found == check_figures(sentence, {"s": cited})


@pytest.mark.slow
@pytest.mark.parametrize("piece", ["1 ", "Aa Bb, ", "2018; ", "1: 2; ", "$1-", "increase of 77 "])
def test_a_hostile_sentence_is_cut_short(piece: str) -> None:
    text = piece * (60_000 // len(piece))
    assert len(check_figures(text, {"s": text[::-1]})) <= 200
