"""Line numbers in a margin are no text; numbers of a list, a table or a page are."""

import pytest

from crag.core.config import AppConfig
from crag.ingest.reader import read_document
from tests.support.tiny_pdf import line, pdf

LINES = [
    f"the order was extended until the hearing of matter {word}, after which the court will hear the parties, and"
    for word in (
        "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
        "eighteen nineteen twenty alpha beta gamma delta"
    ).split()
]
TOP, STEP = 740, 28


def read(content: bytes) -> str:
    return read_document(pdf([content]), "order.pdf", AppConfig()).pages[0].text


def numbered(x: int, *, offset: int = 0, count: int = len(LINES)) -> bytes:
    return b"".join(line(x, TOP - STEP * at + offset, str(at + 1)) for at in range(count))


def prose(*, left: int = 90) -> bytes:
    return b"".join(line(left, TOP - STEP * at, text) for at, text in enumerate(LINES))


@pytest.mark.parametrize(("x", "offset"), [(50, 0), (50, 9), (590, 0)], ids=["left", "between the lines", "right"])
def test_line_numbers_are_left_out_and_the_lines_go_on(x: int, offset: int) -> None:
    text = read(numbered(x, offset=offset) + prose(left=90 if x < 90 else 40))
    assert not any(character.isdigit() for character in text)
    assert "the parties, and the order was extended until" in text.replace("\n", " ")


def test_numbers_beside_empty_lines_are_left_out() -> None:
    assert read(numbered(50) + line(90, TOP, "ORDER GRANTING A STAY")) == "ORDER GRANTING A STAY"


def test_double_spaced_lines_are_one_paragraph() -> None:
    assert "\n" not in read(prose())


def test_the_numbers_of_a_tables_rows_stay() -> None:
    rows = b"".join(line(90, TOP - STEP * at, "Harbour") + line(400, TOP - STEP * at, "deep") for at in range(25))
    text = read(numbered(50, count=25) + rows)
    assert all(str(number) in text for number in range(1, 26))


@pytest.mark.parametrize("count", [3, 12])
def test_a_few_numbers_stay(count: int) -> None:
    text = read(numbered(50, count=count) + prose())
    assert all(str(number) in text for number in range(1, count + 1))


def test_numbers_that_do_not_count_up_stay() -> None:
    years = b"".join(line(50, TOP - STEP * at, str(1990 + 3 * at)) for at in range(len(LINES)))
    assert "1990" in read(years + prose()) and "2002" in read(years + prose())
