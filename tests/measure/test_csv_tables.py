"""Exports: nothing written runs as a formula, and everything comes back."""

from __future__ import annotations

import csv
import io
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crag.measure.tables import csv_export, csv_records, json_export


def back(data: bytes) -> list[list[str]]:
    return list(csv.reader(io.StringIO(data.decode("utf-8-sig"), newline="")))


@pytest.mark.parametrize("text", ["=1+1", "+1+1", "-1+1", "@SUM(A1)", "\tx", "\rx", "\nx", "  =1", "\uff1dA1", "-"])
def test_what_begins_like_a_formula_is_guarded(text: str) -> None:
    assert back(csv_export(["a"], [[text]])) == [["a"], [f"'{text}"]]
    assert back(csv_export([text], [])) == [[f"'{text}"]]
    assert back(csv_export(["a"], [[(text, "b")]]))[1] == [f"'{text}|b"]


@pytest.mark.parametrize(
    ("value", "cell"),
    [
        *((-3, "-3"), (-0.25, "-0.25"), (1e-7, "1e-07"), (True, "yes"), (None, ""), (float("nan"), "")),
        *((float("-inf"), ""), ("-3.5", "-3.5"), ("+1e5", "+1e5"), (("a", 2), "a|2"), ("a=1", "a=1"), ("x\0y", "xy")),
        *(('say "no", twice', 'say "no", twice'), ("two\nlines", "two\nlines"), ("Zürich 東京", "Zürich 東京")),
    ],
)
def test_everything_else_is_written_as_it_is(value: object, cell: str) -> None:
    assert back(csv_export(["a", "b"], [[value, "end"]])) == [["a", "b"], [cell, "end"]]


@given(st.lists(st.tuples(st.text(st.characters(codec="utf-8", exclude_characters="\0")), st.integers()), max_size=5))
def test_every_table_comes_back_and_no_cell_is_live(rows: list[tuple[str, int]]) -> None:
    _, *read = back(csv_export(["text", "number"], rows))
    assert [int(number) for _, number in read] == [number for _, number in rows]
    for (text, _), (given_text, _) in zip(read, rows, strict=True):
        assert text in (given_text, f"'{given_text}")
        assert not text or text[0] not in "=+-@\t\r" or text[1:].replace(".", "").replace("e", "").isalnum()


def test_half_a_character_is_exported_too() -> None:
    assert back(csv_export(["a"], [["x\ud800"]]))[1] == ["x?"]
    assert json.loads(json_export(["a"], [["x\ud800"]])) == [{"a": "x?"}]


def test_json_is_plain() -> None:
    data = json_export(["a", "b"], [["=1+1", 0.5], ["é", float("inf")]])
    assert json.loads(data) == [{"a": "=1+1", "b": 0.5}, {"a": "é", "b": None}]
    assert "é".encode() in data


def test_an_exported_table_is_read_again() -> None:
    data = csv_export(["question", "page"], [["Who, then?", 4], ['A "b"\nc?', None]])
    rows = list(csv_records(data.decode("utf-8-sig"), ["question"]))
    assert rows == [(1, ["question", "page"]), (2, ["Who, then?", "4"]), (3, ['A "b"\nc?', ""])]
