"""Numbers in texts: what they may stand for, however they are written."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crag.text.numerals import numbers_in


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("1,577", (1577.0,)),
        ("$1.2 billion", (1.2e9,)),
        ("€3m", (3e6,)),
        ("3,5", (3.5,)),
        ("12.345,67", (12345.67,)),
        ("1.234", (1.234, 1234.0)),
        ("1\u00a0234", (1234.0,)),
        ("1,00,000", (100_000.0,)),
        ("twenty-five", (25.0,)),
        ("two hundred and five thousand", (205_000.0,)),
        ("11th", (11.0,)),
        ("mid-2018", (2018.0,)),
        (".5", (0.5,)),
    ],
)
def test_a_number_is_read_by_its_value(text: str, values: tuple[float, ...]) -> None:
    [number] = numbers_in(text)
    assert number.values == pytest.approx(values)


def test_units_and_steps() -> None:
    found = {number.text: number for number in numbers_in("4.0 percent, $1.6 billion, (20), 10 to 15 million")}
    assert (found["4.0 percent"].unit, found["$1.6 billion"].unit) == ("%", "$")
    assert found["$1.6 billion"].steps == pytest.approx((1e8,))
    assert found["20"].values == (20.0,) and found["10"].values == (10.0, 1e7)


@given(st.text(alphabet="0123456789.,$%( -–ab K1Million", max_size=60))
def test_numbers_lie_in_order_in_their_text(text: str) -> None:
    found = numbers_in(text)
    assert all(text[number.start : number.end] == number.text for number in found)
    assert all(one.end <= other.start for one, other in pairwise(found))
