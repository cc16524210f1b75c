"""Tables: rows a person can read, headers with their values, no number lost, and prose left alone."""

import re
from collections import Counter
from pathlib import Path

import pypdfium2
import pytest

from crag.core.config import AppConfig
from crag.core.ingesting import Page
from crag.core.tables import SEPARATOR, Table
from crag.ingest.reader import read_document
from tests.support.tiny_pdf import line, pdf

pytestmark = pytest.mark.usefixtures("read_here")

CONFIG = AppConfig()
NUMBER = re.compile(r"\d[\d,.]*\d|\d")


def _page(content: bytes) -> Page:
    return read_document(pdf([content]), "t.pdf", CONFIG).pages[0]


def _row(y: float, label: str, *values: str, size: float = 10, indent: float = 60) -> bytes:
    """A label at the left and right-aligned values at 380, 460 and 540."""
    out = line(indent, y, label, size) if label else b""
    for place, value in zip((380, 460, 540), values, strict=False):
        out += line(place - 5 * len(value), y, value, size) if value else b""
    return out


def values_of(text: str, table: Table) -> dict[tuple[str, str], list[tuple[str, str]]]:
    """What a table's rows hold, by section and label: each value with the name of its column."""
    return {
        (row.section, text[row.start : row.label]): [
            (table.name(cell), text[cell.start : cell.end]) for cell in row.cells
        ]
        for row in table.rows
    }


def test_a_borderless_table_becomes_rows_with_headers() -> None:
    content = (
        line(60, 740, "We sell boats. The table shows what they brought in, by year.", 10)
        + line(400, 712, "Year ended May 31,", 10)
        + _row(700, "(in millions)", "2019", "2018", "2017")
        + _row(686, "Revenues:")
        + _row(672, "Boats", "6,489", "7,500", "7,017", indent=70)
        + line(345, 672, "$", 10)
        + _row(658, "Oars and sails, net of returns", "(12", "—", "3.5%", indent=70)
        + line(383, 658, ")", 10)
        + _row(644, "Total", "6,477", "7,500", "7,020")
        + line(60, 600, "The year 2019 was wet, and 12 boats were lost in 3 storms.", 10)
    )
    page = _page(content)
    (table,) = page.tables
    rows = page.text[table.start : table.end].split("\n")
    assert "Boats: 2019 $6,489; 2018 7,500; 2017 7,017" in rows
    assert "Oars and sails, net of returns: 2019 (12); 2018 —; 2017 3.5%" in rows
    assert "Total: 2019 6,477; 2018 7,500; 2017 7,020" in rows
    assert "Revenues:" in rows
    assert SEPARATOR.join(table.heads) == "in millions › Year ended May 31, › 2019 | 2018 | 2017"
    assert (table.unit, table.captions, table.header) == (
        "in millions",
        ("Year ended May 31,", "(in millions)"),
        ("2019", "2018", "2017"),
    )
    assert values_of(page.text, table) == {
        ("", "Revenues:"): [],
        ("Revenues", "Boats"): [("2019", "$6,489"), ("2018", "7,500"), ("2017", "7,017")],
        ("Revenues", "Oars and sails, net of returns"): [("2019", "(12)"), ("2018", "—"), ("2017", "3.5%")],
        ("Revenues", "Total"): [("2019", "6,477"), ("2018", "7,500"), ("2017", "7,020")],
    }
    assert "The year 2019 was wet" in page.text[table.end :]
    assert "We sell boats." in page.text[: table.start]


def test_groups_of_columns_keep_their_group() -> None:
    content = b""
    for x, text in ((265, "2021"), (435, "2020")):
        content += line(x, 700, text, 10)
    for x, text in ((220, "Units"), (300, "Sales"), (390, "Units"), (470, "Sales")):
        content += line(x, 686, text, 10)
    for y, label, values in ((672, "Boats", "5678"), (658, "Oars", "1234")):
        content += line(60, y, label, 10)
        for x, digit in zip((235, 315, 405, 485), values, strict=True):
            content += line(x, y, digit * 2, 10)
    page = _page(content)
    assert "Boats: 2021 Units 55; 2021 Sales 66; 2020 Units 77; 2020 Sales 88" in page.text


def _ruled(cells: list[list[str]]) -> bytes:
    """A grid with a rule round every cell: columns of 130 points from x = 60, rows of 40 from y = 700 down."""
    xs = [60 + 130 * number for number in range(len(cells[0]) + 1)]
    ys = [700 - 40 * number for number in range(len(cells) + 1)]
    content = b"1 w\n"
    for y in ys:
        content += b"%d %d m %d %d l S\n" % (xs[0], y, xs[-1], y)
    for x in xs:
        content += b"%d %d m %d %d l S\n" % (x, ys[0], x, ys[-1])
    for y, row in zip(ys, cells, strict=False):
        for x, text in zip(xs, row, strict=False):
            content += line(x + 5, y - 15, text, 10)
    return content


def test_a_ruled_table_is_read_by_its_cells() -> None:
    cells = [["Harbour", "Depth", "Remark"], ["Leith", "7 m", "closed in"], ["Wick", "4 m", "sandy"]]
    content = _ruled(cells) + line(325, 660 - 30, "hard winters", 10)
    page = _page(content)
    (table,) = page.tables
    assert page.text[table.start : table.end].split("\n") == [
        "Harbour; Depth; Remark",
        "Leith: Depth 7 m; Remark closed in hard winters",
        "Wick: Depth 4 m; Remark sandy",
    ]
    assert SEPARATOR.join(table.heads) == "Harbour | Depth | Remark"
    assert values_of(page.text, table) == {
        ("", "Leith"): [("Depth", "7 m"), ("Remark", "closed in hard winters")],
        ("", "Wick"): [("Depth", "4 m"), ("Remark", "sandy")],
    }


@pytest.mark.parametrize(
    ("first", "second", "headed"),
    [
        ("5 mA", "8 ms", False),
        ("-0.3 V to 6.0 V", "8 ms", False),
        ("99% - 100%", "94% - 98.99%", False),
        ("January 17, 2022", "February 9, 2022", False),
        ("December 31, 2019", "about 8", True),
        ("5 V", "closed", False),
    ],
)
def test_a_first_row_like_those_below_it_is_no_header(first: str, second: str, headed: bool) -> None:
    page = _page(_ruled([["Alpha", first], ["Beta", second], ["Gamma", second]]))
    (table,) = page.tables
    assert any(table.header) is headed
    assert (("", "Alpha") in values_of(page.text, table)) is not headed


def test_a_first_row_whose_words_stand_below_as_values_names_no_column() -> None:
    ways = [["Workers", "Inhalation", "1468 mg/m3"], ["Cooks", "Inhalation", "734 mg/m3"], ["Guests", "Skin", "37 mg"]]
    assert _page(_ruled(ways)).text.splitlines() == [f"{who}: {way}; {amount}" for who, way, amount in ways]


def test_every_value_has_the_box_it_is_printed_in() -> None:
    content = _row(700, "", "2019", "2018") + _row(686, "Boats", "6,489", "7,500") + _row(672, "Oars", "12", "13")
    page = _page(content)
    at = page.text.index("6,489")
    box = next(box for box in page.lines if box.start <= at < box.end)
    assert page.text[box.start : box.end] == "6,489"
    assert box.rect.left == pytest.approx(355, abs=3)
    assert box.rect.top < 792 - 688 < box.rect.bottom


@pytest.mark.parametrize("name", ["ULTABEAUTY_2023Q4_EARNINGS.pdf", "AMAZON_2019_10K.pdf"])
def test_no_number_of_a_real_report_is_lost(shared_data: Path, name: str) -> None:
    data = (shared_data / "financebench" / "pdfs" / name).read_bytes()
    plain = pypdfium2.PdfDocument(data)
    wanted = lost = 0
    for page in read_document(data, name, CONFIG).pages:
        there = Counter(NUMBER.findall(plain[page.number - 1].get_textpage().get_text_bounded()))
        found = Counter(NUMBER.findall(page.text))
        wanted += there.total()
        lost += (there - found).total()
    plain.close()
    assert wanted > 400
    assert lost <= 0.005 * wanted


def test_the_income_statement_of_a_real_report(shared_data: Path) -> None:
    data = (shared_data / "financebench" / "pdfs" / "AMAZON_2019_10K.pdf").read_bytes()
    parsed = read_document(data, "AMAZON_2019_10K.pdf", CONFIG)
    text = parsed.pages[37].text
    assert "Net product sales: 2017 $118,573; 2018 $141,915; 2019 $160,408" in text
    assert "Diluted earnings per share: 2017 $6.15; 2018 $20.14; 2019 $23.01" in text
    assert "AMAZON" in parsed.title
    assert "2019" in parsed.title


def test_a_year_alone_over_the_labels_names_no_column() -> None:
    content = line(60, 726, "Year ended December", 10) + line(60, 714, "31, 2019", 10)
    content += line(60, 700, "Accounts receivable", 10) + line(60, 686, "Deferred revenue", 10)
    for x, (one, other) in {330: ("$97,948", "$4,483"), 430: ("$7,117", "$(618)")}.items():
        content += line(x, 700, one, 10) + line(x, 686, other, 10)
    assert "Accounts receivable: $97,948; $7,117" in _page(content).text
