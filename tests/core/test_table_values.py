"""Tables as values: rows that stay where they stand in a part of the text, sections, and what is refused."""

from __future__ import annotations

import json
from typing import Any

import pytest

from crag.core.tables import Cell, Row, Table, dump_tables, load_tables, place_sections
from crag.testing.fakes import table_chunk_of

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


def test_an_empty_table_has_no_part() -> None:
    assert Table(start=0, end=4).within(0, 4) is None
