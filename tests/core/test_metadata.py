"""The fields of a document: how they are named, typed, checked and written, and what kinds of value they have."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crag.core.errors import InputError
from crag.core.metadata import (
    FIXED,
    Value,
    checked_fields,
    days_in,
    field_name,
    fields_of,
    known_fields,
    number_in,
    read_field,
    written_field,
)
from crag.core.tables import Cell, Row, dump_tables, load_tables, place_sections
from crag.testing.fakes import chunk_of, table_chunk_of
from tests.support.made import document_of

DOCUMENT = document_of([chunk_of("Words.", name="acme.pdf")], title="Annual report", pages=12, confidence=0.8)


@pytest.mark.parametrize(
    ("typed", "name", "value"),
    [
        ("verified=true", "verified", True),
        ("tags=annual report,10-K", "tags", ("annual report", "10-K")),
        ("tags=[a, b, a,]", "tags", ("a", "b")),
        ("tags=2024", "tags", ("2024",)),
        ("price=12.5", "price", 12.5),
        ("cik=0000320193", "cik", "0000320193"),
        ('version="1.0"', "version", "1.0"),
        ('said="a ""b"""', "said", 'a "b"'),
        ("regions=[eu, us]", "regions", ("eu", "us")),
        ("note=", "note", None),
        ('note=""', "note", ""),
    ],
)
def test_a_field_is_read_as_it_is_typed(typed: str, name: str, value: Value | None) -> None:
    assert read_field(typed) == (name, value)
    assert type(read_field(typed)[1]) is type(value)


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ("verified", "gives no value"),
        ("=3", "can't name a field"),
        ("a" * 65 + "=3", "too long"),
        ("any of=3", "can't name a field"),
        ("pages=3", "comes with the file"),
        ("verified=yes", "Give it true or false"),
        ("confidence=1.1", "from 0 to 1"),
        ("note=a\0b", "no text"),
        ('tags=[a", b]', "double quote"),
    ],
)
def test_what_can_t_be_a_field_is_refused_in_words(typed: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        read_field(typed)


@pytest.mark.parametrize(
    "given",
    [
        {"a": {"b": 1}},
        {"a": [1]},
        {"a": float("nan")},
        {"a": 10**400},
        {"confidence": True},
        {f"f{number}": 1 for number in range(51)},
    ],
)
def test_what_a_program_gives_is_checked_too(given: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        checked_fields(given)


def test_what_a_program_gives_is_kept_as_json_can_hold_it() -> None:
    kept = checked_fields({"Tags": ["b", "a", "b"], "Titre": " e\u0301te\u0301  2024 ", "n": 3})
    assert kept == {"tags": ("b", "a"), "titre": "été 2024", "n": 3}


TYPED = st.one_of(
    st.text(max_size=30),
    st.floats(allow_nan=False, allow_infinity=False),
    st.integers(-(10**14), 10**14),
    st.booleans(),
    st.lists(st.text(max_size=10), max_size=4),
    st.sampled_from(["true", "007", "1.0", "[a]", '"', '""', '"a"', "2024", "2024-03", "-.5e3"]),
)


@given(st.sampled_from(["a", "tags", "source", "date", "confidence", "verified"]), TYPED)
def test_a_field_is_written_so_that_it_is_read_again(name: str, value: Any) -> None:
    try:
        ((_, kept),) = checked_fields({name: value}).items()
    except InputError:
        return
    assert read_field(written_field(name, kept)) == (name, kept)
    assert type(read_field(written_field(name, kept))[1]) is type(kept)


@given(st.text())
def test_any_text_is_a_field_or_is_refused(text: str) -> None:
    for read in (read_field, field_name, lambda text: read_field(f"a={text}")):
        try:
            found = read(text)
        except InputError:
            continue
        if read is field_name:
            assert field_name(str(found)) == found


@pytest.mark.parametrize("text", ["", "007", "1,000", "1.", "+1", "1_0", "٣", "1e999", "nan", "0x1", "."])
def test_what_only_looks_like_a_number_is_none(text: str) -> None:
    assert number_in(text) is None


def test_dates_are_as_exact_as_they_are_written() -> None:
    assert days_in("2024") == ("2024-01-01", "2024-12-31")
    assert days_in("2024-02") == ("2024-02-01", "2024-02-31")
    assert days_in("2024-02-29") == ("2024-02-29", "2024-02-29")
    assert not any(map(days_in, ["2023-02-29", "2024-13", "24", "3024", "2024-1", "20240301", "2024-03-01T10:00"]))


def test_a_document_has_its_fixed_fields_and_what_it_was_given() -> None:
    fields = fields_of(DOCUMENT, {"verified": True, "company": "Acme"})
    assert fields == {
        "id": "acme.pdf",
        "name": "acme.pdf",
        "title": "Annual report",
        "pages": 12,
        "added": "2026-01-01",
        "confidence": 0.8,
        "verified": True,
        "tags": (),
        "company": "Acme",
    }


def test_the_kinds_of_a_library_s_fields_are_known() -> None:
    known = known_fields([{"price": 1, "name": "2024"}, {"price": "n/a", "due": "2024-03", "ok": True, "who": ("a",)}])
    assert known["price"] == {"number", "text"}
    assert [*known["due"], *known["ok"], *known["who"]] == ["date", "boolean", "list"]
    assert {name: {kind} for name, kind in FIXED.items()}.items() <= known.items()


# Tables as values: rows that stay where they stand in a part of the text, sections, and what is refused


CHUNK = table_chunk_of(["", "2018", "2017"], ["Sales:"], ["Boats", "$1,577", "$1,373"], ["Oars", "12", "(13)"])
[TABLE] = CHUNK.tables


def test_a_part_of_a_table_has_whole_rows_under_the_whole_header() -> None:
    start = CHUNK.text.index("Boats") - 1
    part = TABLE.within(start, len(CHUNK.text))
    assert part is not None
    text = CHUNK.text[start:]
    assert part.header == ("", "2018", "2017")
    assert [text[row.start : row.label] for row in part.rows] == ["Boats", "Oars"]
    assert [text[cell.start : cell.end] for row in part.rows for cell in row.cells] == [
        "$1,577",
        "$1,373",
        "12",
        "(13)",
    ]
    assert TABLE.within(start, start + 8) is None


def test_tables_are_the_same_behind_a_pipe() -> None:
    plain = json.loads(json.dumps(dump_tables(CHUNK.tables)))
    assert load_tables(plain, len(CHUNK.text)) == CHUNK.tables


@pytest.mark.parametrize(
    "damage",
    [
        lambda table: table.__setitem__(1, 10_000),
        lambda table: table[7][0].__setitem__(1, 10_000),
        lambda table: table[7][1][5].__setitem__(0, 9),
        lambda table: table[7][1][5].__setitem__(2, "x"),
        lambda table: table[7][1][5].pop(),
        lambda table: table.pop(),
    ],
)
def test_tables_outside_their_text_are_refused(damage: Any) -> None:
    plain = json.loads(json.dumps(dump_tables(CHUNK.tables)))
    damage(plain[0])
    with pytest.raises((ValueError, TypeError)):
        load_tables(plain, len(CHUNK.text))


def sections(*rows: tuple[float, str]) -> list[str]:
    """The sections of rows given as (indent, label); a label that ends in a colon is a heading."""
    made = [
        (Row(0, 0, 0, () if label.endswith(":") else (Cell(0, 0, 0),), indent=indent), label) for indent, label in rows
    ]
    return [row.section for row in place_sections(made)]


def test_a_row_that_is_indented_less_than_others_closes_their_section() -> None:
    assert sections((0, "Earnings per share:"), (7, "Basic"), (0, "Dividends")) == ["", "Earnings per share", ""]


def test_headings_that_follow_one_another_are_read_together() -> None:
    assert sections((0, "ASSETS:"), (0, "Current assets:"), (7, "Cash"))[-1] == "ASSETS › Current assets"
    assert sections((0, "Sales:"), (0, "Boats"), (0, "Costs:"), (0, "Wood")) == ["", "Sales", "", "Costs"]
