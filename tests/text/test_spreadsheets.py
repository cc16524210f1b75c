"""Exports: nothing written runs as a formula, and everything comes back."""

import csv
import io
import json
import re
import sys
import unicodedata
from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crag.analysis.questions.sets import Question, QuestionSet, read_set
from crag.text.spreadsheets import NUMBER, csv_export, guard_formula, json_export, unguard_formula
from ui.evaluate.sets import questions_table


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


TEXTS = st.text(st.characters(codec="utf-8", exclude_characters="\0"))
LIVELY = st.text("""aé1'"=+-@,;|\t\r\n \u00a0\u200b\ufeff\u202e\uff1d|""", max_size=12)


@given(st.lists(st.tuples(TEXTS | LIVELY, st.integers()), max_size=5))
def test_every_table_comes_back_and_no_cell_is_live(rows: list[tuple[str, int]]) -> None:
    _, *read = back(csv_export(["text", "number"], rows))
    assert [int(number) for _, number in read] == [number for _, number in rows]
    assert [unguard_formula(text) for text, _ in read] == [given_text for given_text, _ in rows]
    for text, _ in read:
        assert not text or text[0] not in "=+-@\t\r" or text[1:].replace(".", "").replace("e", "").isalnum()


@cache
def unseen() -> list[str]:
    return [chr(code) for code in range(1, sys.maxunicode + 1) if unicodedata.category(chr(code)) in ("Cf", "Zs", "Cc")]


@pytest.mark.parametrize("sign", ["=", "+", "-", "@", "\uff1d", "\ufe66"])
def test_whatever_is_not_seen_in_front_of_a_formula_is_guarded(sign: str) -> None:
    for mark in [*unseen(), "\u2028", "\u2029", "\u3164", "\ufe0f", '"', "\ufeff \u200b"]:
        assert "\0" in mark or guard_formula(f"{mark}{sign}1+1").startswith("'"), repr(mark)
        assert f";'{mark}{sign}" in guard_formula(f"a;{mark}{sign}1+1") or mark in "\t\r\n", repr(mark)


@pytest.mark.parametrize("mark", [",", ";", "\t", "|", "\n", "\r", "\r\n", "; ", ", \u200b"])
def test_a_formula_behind_a_mark_at_which_another_program_parts_cells_is_guarded(mark: str) -> None:
    text = f"a{mark}=1+1"
    assert not parted(csv_export(["a"], [[text]])) & {"=1+1", '=1+1"'}
    assert unguard_formula(guard_formula(text)) == text


@given(LIVELY)
def test_no_program_that_parts_cells_elsewhere_meets_a_formula(text: str) -> None:
    """Cells as a program makes them that knows no quotation marks, or none but at the start of a cell."""
    for cell in parted(csv_export(["a", "b"], [["first", text]])):
        seen = cell.strip("".join(unseen()) + '"')
        assert not seen.startswith(("=", "+", "-", "@", "\uff1d")) or NUMBER.fullmatch(seen), (text, cell)


def parted(data: bytes) -> set[str]:
    return set(re.split(r"[,;|\t\r\n]", data.decode("utf-8-sig")))


def test_plain_words_are_not_guarded() -> None:
    for text in ("a - b", "1, 2; 3", "x=1", "say: -5", "it's", "'quoted'", "-3.5", "a@b.c, d@e.f"):
        assert guard_formula(text) == text


def test_exported_questions_are_read_again_as_they_were() -> None:
    values = ("=1+1", "'=1", "a;=2", "-5", "plain", "\u200b@x")
    rows = [Question(f"q{place}", each, (each, "b"), (each,), (1, 4), (each,)) for place, each in enumerate(values)]
    found = read_set("set", csv_export(*questions_table(QuestionSet("set", tuple(rows)))))
    assert found.questions == tuple(rows)
    foreign = read_set("set", b"question,answer\n'=1+1,it's; '-5\n").questions[0]
    assert (foreign.question, foreign.answers) == ("'=1+1", ("it's; '-5",))


def test_half_a_character_is_exported_too() -> None:
    assert back(csv_export(["a"], [["x\ud800"]]))[1] == ["x?"]
    assert json.loads(json_export(["a"], [["x\ud800"]])) == [{"a": "x?"}]
