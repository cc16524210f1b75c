"""Grids of cells to tables: spans, header rows, captions, labels and signs, whatever format they came from."""

import pytest

from crag.ingest.grid import GridCell, GridTable, cells_of_rows, is_header_of, place_cells, read_grid
from tests.support.work import takes_longer

Spanned = tuple[str, int, int]
"""A cell's text, with how many rows and columns it covers."""


def grid(*rows: list[str | Spanned]) -> GridTable:
    """The table of rows of cells, placed as HTML places them."""
    return read_grid(
        place_cells(
            [
                GridCell(row=0, column=0, text=cell[0], rows=cell[1], columns=cell[2])
                if isinstance(cell, tuple)
                else GridCell(row=0, column=0, text=cell)
                for cell in row
            ]
            for row in rows
        )
    )


def said(table: GridTable) -> list[str]:
    """Each row as "label: name value; name value"."""
    return [
        f"{table.label(row)}: "
        + "; ".join(f"{table.header[at] if table.header else ''} {cell.text}".strip() for at, cell in row.cells)
        for row in table.rows
    ]


def test_a_merged_label_holds_for_each_of_its_rows_and_the_next_column_tells_them_apart() -> None:
    found = grid(
        ["Building", "Floor", "Area"],
        [("North wing", 2, 1), "Ground", "420"],
        ["First", "380"],
        [("South wing", 2, 1), "Ground", "510"],
        ["First", "495"],
    )
    assert said(found)[3] == "South wing, Floor First: Area 495"


def test_labels_are_told_apart_on_as_many_levels_as_are_merged() -> None:
    found = grid(
        ["Dept", "Team", "Head", "Staff"],
        [("Works", 3, 1), ("Roads", 2, 1), "Ann", "5"],
        ["Bea", "6"],
        ["Parks", "Cy", "7"],
    )
    assert said(found)[2] == "Works, Team Parks, Head Cy: Staff 7"


def test_labels_that_most_rows_share_take_the_next_column_with_them_unless_it_holds_amounts() -> None:
    found = grid(["Depot", "Kind", "Cost"], ["North", "Crane", "310"], ["North", "Van", "95"], ["South", "Van", "9"])
    assert said(found)[0] == "North, Kind Crane: Cost 310"
    assert said(grid(["Month", "Paid", "Left"], ["May", "3", "9"], ["May", "4", "5"]))[0] == "May: Paid 3; Left 9"


def test_blanks_below_a_label_mean_the_label_above_where_labels_are_groups() -> None:
    groups = grid(
        ["Region", "City", "Sales"],
        ["North", "Hull", "5"],
        ["", "Leeds", "6"],
        ["South", "Ayr", "7"],
        ["", "Bath", "8"],
    )
    assert said(groups)[3] == "South, City Bath: Sales 8"
    titles = grid(["Title", "Name", "Age"], ["Dr", "Anna", "5"], ["", "Ben", "6"], ["Dr", "Cy", "7"], ["", "Dee", "9"])
    assert said(titles)[1] == ": Name Ben; Age 6"


def test_header_rows_join_to_a_path() -> None:
    merged = grid(
        [("Service", 2, 1), ("Fee in euros", 1, 2), ("Days", 1, 2)],
        ["Adults", "Minors", "Normal", "Express"],
        ["Passport", "70.00", "37.50", "28", "3"],
    )
    assert merged.header == (
        "Service",
        "Fee in euros › Adults",
        "Fee in euros › Minors",
        "Days › Normal",
        "Days › Express",
    )
    unmerged = grid(["", "2023", "", "2024", ""], ["", "Q1", "Q2", "Q1", "Q2"], ["Sales", "1", "2", "3", "4"])
    assert unmerged.header == ("", "2023 › Q1", "2023 › Q2", "2024 › Q1", "2024 › Q2")
    units = grid(["Model", "Price", "Weight"], ["", "EUR", "kg"], ["BP-10", "1,480", "21"], ["BP-20", "2,150", "34"])
    assert units.header == ("Model", "Price EUR", "Weight kg")


def test_what_speaks_for_all_columns_stands_above_them() -> None:
    found = grid(
        ["Segments", "", "", ""],
        ["In millions of EUR", "", "", "2024"],
        ["", "Sales (a)", "Profit", "Depreciation"],
        ["Valves", "455", "61", "-18"],
    )
    assert [cell.text for cell in found.captions] == ["Segments", "In millions of EUR", "2024"]
    assert found.unit == "In millions of EUR"
    assert said(found) == ["Valves: Sales (a) 455; Profit 61; Depreciation -18"]


def test_sections_stand_between_rows_and_only_a_header_takes_them_for_its_own() -> None:
    found = grid(["Assets", "", ""], ["Cash", "5", "6"], ["Liabilities", "", ""], ["Debt", "7", "8"])
    assert (found.captions, found.header) == ((), ())
    assert [(found.label(row), len(row.cells)) for row in found.rows] == [
        ("Assets", 0),
        ("Cash", 2),
        ("Liabilities", 0),
        ("Debt", 2),
    ]


@pytest.mark.parametrize(
    ("rows", "header"),
    [
        ([["Name", "Anna"], ["Age", "37"], ["Town", "Hull"]], ()),
        ([["Seats", "40"], ["Length", "12 m"]], ()),
        ([["Name:", "Anna", "B"], ["Town:", "Hull", "C"]], ()),
        ([["", "2021"], ["Sales", "12"], ["Costs", "7"]], ("", "2021")),
        ([["Route", "Fare"], ["North", "5 crowns"], ["South", "7 crowns"]], ("Route", "Fare")),
        ([["", "31.12.2023", "31.12.2022"], ["Cash", "5", "6"]], ("", "31.12.2023", "31.12.2022")),
        ([["Name", "Role", "Room"], ["Anna", "clerk", "A 2"], ["Ben", "guard", "B 1"]], ("Name", "Role", "Room")),
        ([["Hull", "5", "6"], ["Leeds", "7", "8"]], ()),
    ],
)
def test_a_first_row_is_a_header_by_what_stands_below_it(rows: list[list[str]], header: tuple[str, ...]) -> None:
    found = read_grid(cells_of_rows(rows))
    assert found.header == header and len(found.rows) == len(rows) - bool(header)


def test_a_bold_first_row_is_a_header_even_of_numbers() -> None:
    rows = [["Size", "34", "36"], ["Chest", "80", "84"], ["Waist", "64", "68"]]
    cells = [
        GridCell(row=at, column=column, text=text, bold=not at)
        for at, row in enumerate(rows)
        for column, text in enumerate(row)
    ]
    assert said(read_grid(cells))[1] == "Waist: 34 64; 36 68"


def test_a_row_of_the_header_that_comes_again_is_dropped_and_a_table_that_goes_on_keeps_it() -> None:
    head = ["Van", "Mileage (km)"]
    first = grid(head, ["KL-330", "41,200"], head, ["KL-331", "52,000"])
    assert said(first) == ["KL-330: Mileage (km) 41,200", "KL-331: Mileage (km) 52,000"]
    more = read_grid(cells_of_rows([["KL-350", "60,550"], ["KL-351", "1,050"]]), first)
    assert said(more)[0] == "KL-350: Mileage (km) 60,550"


def test_a_sign_in_a_cell_of_its_own_belongs_to_its_amount() -> None:
    found = grid(
        ["", ("2023", 1, 2), "", ("2022", 1, 3)],
        ["Sales", "$", "1,234", "", "$", "(5", ")"],
        ["Costs", "", "7", "", "", "8", ""],
    )
    assert said(found) == ["Sales: 2023 $1,234; 2022 $(5)", "Costs: 2023 7; 2022 8"]
    assert found.header.count("2023") == 1


def test_a_unit_under_the_name_of_its_amount_stands_behind_it() -> None:
    found = grid(
        ["Service", ("Fee", 1, 2), "Who"], ["Passport", "70", "EUR", "all"], ["Card", "free", "of charge", "all"]
    )
    assert said(found) == ["Passport: Fee 70 EUR; Who all", "Card: Fee free; Fee of charge; Who all"]


def test_names_of_rows_that_the_source_marks_are_no_header() -> None:
    rows = [("Name", "Seagull II"), ("Length", "12.4 m"), ("Built", "1998")]
    cells = [
        GridCell(row=at, column=column, text=text, header=not column)
        for at, row in enumerate(rows)
        for column, text in enumerate(row)
    ]
    assert said(read_grid(cells)) == ["Name: Seagull II", "Length: 12.4 m", "Built: 1998"]


def test_labels_under_one_name_are_called_by_it_once() -> None:
    found = grid([("Location", 1, 2), "Area"], [("North", 2, 1), "Ground", "420"], ["First", "380"])
    assert said(found) == ["North, Ground: Area 420", "North, First: Area 380"]


def test_each_row_keeps_a_unit_of_its_own() -> None:
    found = grid(["Parameter", "Unit", "Found", "Allowed"], ["Soot number", "–", "0", "1"], ["Loss", "%", "7.5", "9"])
    assert said(found) == ["Soot number: Unit –; Found 0; Allowed 1", "Loss: Unit %; Found 7.5; Allowed 9"]


def test_a_value_that_is_merged_holds_for_each_of_its_columns_and_rows() -> None:
    found = grid(["Route", "Adult", "Child"], ["North", ("5", 2, 1), "3"], ["South", "2"], ["West", ("free", 1, 2)])
    assert said(found) == ["North: Adult 5; Child 3", "South: Adult 5; Child 2", "West: Adult free; Child free"]


def test_what_a_reader_hands_over_comes_back() -> None:
    cells = [GridCell(row=0, column=at, text=text, payload=(at,)) for at, text in enumerate(["Cash", "$", "5"])]
    [row] = read_grid(cells).rows
    assert [cell.payload for cell in row.labels] == [(0,)] and row.cells[0][1].payload == (1, 2)


def test_rows_that_blank_ones_part_from_their_header_are_known() -> None:
    head, body = list(cells_of_rows([["", "Sales", "Profit"]])), list(cells_of_rows([["Valves", "455", "61"]]))
    assert is_header_of(head, body)
    assert not is_header_of(body, head) and not is_header_of(head, head)


@pytest.mark.parametrize(
    "cells",
    [
        [GridCell(row=at, column=0, text="x", rows=65_000, columns=1_000) for at in range(3_000)],
        [GridCell(row=at, column=at * 10, text="x", rows=9, columns=300) for at in range(1_000)],
        [GridCell(row=at * 10**6, column=at, text="x", rows=10**9, columns=10**9) for at in range(300)],
    ],
)
def test_spans_without_end_take_time_by_the_cells_alone(cells: list[GridCell]) -> None:
    assert len(read_grid(cells).rows) + 10 > len(cells)
    assert not takes_longer(2, read_grid, cells)


def test_nothing_is_no_table() -> None:
    assert read_grid([]) == GridTable() == grid(["", " "])
