"""Question sets made to take all memory or hours: each is refused, or named, before it is made."""

import json
import tracemalloc
from collections.abc import Callable

import pytest

from crag.analysis.evaluate import _id_of
from crag.analysis.questions.sets import MOST_BYTES, Question, QuestionSet, read_set
from crag.analysis.questions.values import MOST_VALUES, json_in, pages_in, texts_in
from crag.core.errors import InputError
from tests.support.sizes import sized

MIB = 1024 * 1024
SIZE = sized(MOST_BYTES, 2_000_000)
"""Bytes of a file without end: with all of it, as many as one may have."""


def one(**more: object) -> bytes:
    return json.dumps({"question": "Who?", **more}).encode()


def most_held(action: Callable[[], object]) -> int:
    """The most bytes that were held at a time on the way."""
    tracemalloc.start()
    try:
        action()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def held_for(data: bytes) -> tuple[str, int]:
    """What is said of a file, and the most bytes that were held at a time meanwhile."""
    said: list[str] = []
    held = most_held(lambda: said.append(problem(data)))
    return said[0], held


def problem(data: bytes) -> str:
    """What is said of the only row, or of the first where there are more."""
    try:
        return read_set("set", data).problems[0].what
    except InputError as error:
        return error.message


# ---- one row -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [100_000, 1_500_000])
@pytest.mark.parametrize("shape", ["JSON", "CSV", "list"])
def test_pages_are_counted_before_they_are_made(size: int, shape: str) -> None:
    pages = "1-1000;" * (size // 7)
    data = {
        "JSON": one(page=pages),
        "CSV": f'question,page\nWho?,"{pages}"\n'.encode(),
        "list": one(page=["1-1000"] * (size // 10)),
    }[shape]
    said, held = held_for(data)
    assert "pages: it has over 1,000" in said and held < 12 * size + 3 * MIB


def test_as_much_as_a_field_may_have_is_read() -> None:
    assert len(texts_in(json.dumps(["it, or: [that]"] * MOST_VALUES), bars=False)) == MOST_VALUES
    assert pages_in("1-1000") == tuple(range(1, 1001))
    assert pages_in("p. 3, , 5-6;") == (3, 5, 6)
    with pytest.raises(ValueError, match="over 1,000"):
        pages_in("1-1000;1001")


@pytest.mark.parametrize("field", ["answer", "source", "labels", "page"])
@pytest.mark.parametrize(
    "value", ["|" * 500_000, "a|" * 200_000, "[" + '"a",' * 100_000 + '"a"]', "[" + "{}," * 200_000 + "{}]"]
)
def test_a_field_of_very_many_values_is_named_and_not_made(field: str, value: str) -> None:
    bars = field == "page" or value[0] == "["
    said = problem(one(**{field: value}) if bars else f"question,{field}\nWho?,{value}\n".encode())
    assert "it has over 1,000" in said


# ---- many rows -----------------------------------------------------------------------------------------------------


def test_what_all_rows_hold_together_is_bounded() -> None:
    """0.9 MB that would make a hundred million pages."""
    data = b"question,page\n" + b"A?,1-999\n" * 99_000
    with pytest.raises(InputError, match="holds too much: over 2,000,000"):
        read_set("set", data)


def test_equal_ids_of_every_kind_are_told_apart_in_one_walk() -> None:
    """The second "x" finds x-2, x-3 … taken: it looks at each once, not once for each copy."""
    many = sized(30_000, 5_000)
    rows = "".join(f"x-{number},Q?\n" for number in range(2, many)) + "x,Q?\n" * many
    found = read_set("set", f"id,question\n{rows}".encode())
    assert len({each.id for each in found.questions}) == 2 * many - 2


# ---- tables --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "each", ["{}", '{"a":1}', "[" * 90 + "]" * 90, '""', "1.5", '{"a":' * 90 + "1" + "}" * 90], ids=range(6)
)
def test_json_takes_at_most_fifty_times_its_size(each: str) -> None:
    data = f"[{(each + ',') * (SIZE // (len(each) + 1) - 1)}1]".encode()
    said, held = held_for(data)
    assert said and held < 50 * len(data)


@pytest.mark.parametrize("table", [b"question" + b"," * SIZE, b"question,answer\nWho?," + b"|" * SIZE])
def test_a_table_takes_at_most_thirty_times_its_size(table: bytes) -> None:
    said, held = held_for(table)
    assert said and held < 30 * SIZE


def test_a_file_of_more_is_refused() -> None:
    with pytest.raises(InputError, match="over 10 MiB"):
        read_set("set", b" " * (MOST_BYTES + 1))


def test_more_columns_than_a_table_may_have_are_refused_by_number() -> None:
    assert "over 1,000 columns" in problem(one(**{f"x{number}": 1 for number in range(1500)}))
    with pytest.raises(InputError, match="1,501 columns, more than 1,000"):
        read_set("set", b"question" + b",x" * 1500 + b"\nA?\n")


def test_the_blank_rows_that_a_spreadsheet_writes_are_read_over() -> None:
    found = read_set("set", b"question,answer\nWho?,Ann\n" + b",\n" * sized(1_048_574, 100_000))
    assert len(found.questions) == 1 and not found.problems


def test_a_long_cell_is_read() -> None:
    found = read_set("set", f'question,context\nA?,"{"word " * 800_000}"\nC?,c'.encode())
    assert [each.question for each in found.questions] == ["A?", "C?"]


# ---- JSON ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", ["[" * 100_000, '{"a":' * 5000, "9" * 10_000, "[" + "9" * 10_000 + "]", "{", "[1,]"])
def test_json_that_is_none_is_named_in_words(text: str) -> None:
    with pytest.raises(ValueError, match="it is no JSON"):
        json_in(text)


# ---- what is said --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "data",
    [
        b"hunter2:x:0:0\nhunter2:y\n",
        b"hunter2,b\n1,2\n",
        b'{"hunter2": "hunter2"}',
        b'["hunter2", "hunter2"]',
        b'{hunter2',
        b'"hunter2\n',
        b'{"question": {"hunter2": 1}, "hunter2": 2}',
        b'{"question": "Q?", "page": "hunter2"}',
        b"question,page\nQ?,hunter2\n",
        b"question\n" + b"hunter2" * 1000,
        b"id,question\nhunter2,A?\nhunter2,B?",
        b"\n" + b"hunter2," * 2000,
    ],
)  # fmt: skip
def test_no_message_repeats_what_a_file_holds(data: bytes) -> None:
    try:
        said = [str(each) for each in read_set("set", data).problems]
    except InputError as error:
        said = [error.message, error.remedy]
    assert said and "hunter2" not in " ".join(said)


def test_a_set_has_the_id_of_its_questions_whatever_it_is_called() -> None:
    made = QuestionSet("set", (Question("a", "Où?", ("x", "y"), ("r.pdf",), (4,)), Question("b", 'B"?')))
    assert _id_of(made) == "88146c0d5e6d13b91bced8090ea9607b"
    assert _id_of(QuestionSet("other", made.questions)) == _id_of(made)
