"""Dates in texts: as exact as they are named, however they are written."""

import pytest

from crag.text.dates import dates_in


@pytest.mark.parametrize(
    ("text", "readings"),
    [
        ("March 3, 2018", [(2018, 3, 3)]),
        ("3 March 2018", [(2018, 3, 3)]),
        ("2018-03-03", [(2018, 3, 3)]),
        ("03/04/2018", [(2018, 3, 4), (2018, 4, 3)]),
        ("25.12.2018", [(2018, 12, 25)]),
        ("March 2018", [(2018, 3, 0)]),
        ("Sept. 5", [(0, 9, 5)]),
        ("FY18", [(2018, 0, 0)]),
        ("2018", [(2018, 0, 0)]),
    ],
)
def test_a_date_is_read(text: str, readings: list[tuple[int, int, int]]) -> None:
    [day] = dates_in(text)
    assert sorted(day.readings) == sorted(readings) and (day.start, day.end) == (0, len(text))


def test_ranges_decades_and_centuries() -> None:
    assert [day.readings for day in dates_in("1997-98")] == [((1997, 0, 0),), ((1998, 0, 0),)]
    assert [day.readings for day in dates_in("May 3-5, 2018")] == [((2018, 5, 3),), ((2018, 5, 5),)]
    [decade], [century] = dates_in("the 1990s"), dates_in("the 19th century")
    assert 1994 in decade.years and 1890 in century.years and 1794 not in century.years


@pytest.mark.parametrize("text", ["$2018", "2018%", "2,018", "2018 million", "12018", "99/99/2018 is none"])
def test_what_is_no_date(text: str) -> None:
    assert all(day.readings == ((2018, 0, 0),) and "99" in text for day in dates_in(text))
