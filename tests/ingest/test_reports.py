"""Kinds of trouble that people report of other readers: inputs of `data/reports` with the right value, and others."""

import csv
import io

import pytest

from crag.core.config import AppConfig
from crag.core.ingesting import ParsedDocument
from crag.ingest.raised import write_lowered, write_raised
from crag.ingest.reader import read_document
from tests.support.reported import report, text_of, value

pytestmark = pytest.mark.usefixtures("read_here")

CONFIG = AppConfig()


def page(source: str, name: str = "a.html") -> ParsedDocument:
    source = f"<html><body>{source}</body></html>" if name.endswith("html") else source
    return read_document(source.encode(), name, CONFIG)


@pytest.mark.parametrize(
    ("name", "label", "column", "right"),
    [
        ("rowspan.html", "Motorway, Lanes Six", "Base value", "2.1333"),
        ("rowspan.html", "Trunk road, Lanes Four", "Daily traffic", "15,000 to 30,000"),
        ("two_heads.html", "Passport", "Fee in euros › Minors", "37.50"),
        ("two_heads.html", "Passport", "Days to wait › Express", "3"),
        ("supnum.html", "BP-10", "Price (EUR)", "1,480"),
        ("hours.html", "Thursday", "", "13:00 to 18:30"),
        ("segments.xlsx", "Valves", "Sales (a)", "455"),
        ("segments.xlsx", "Valves", "Operating profit", "61"),
        ("ships.xlsx", "Anna", "Tonnage", "1200"),
        ("regions.xlsx", "South", "Sales › 2024", "8"),
        ("regions.xlsx", "South", "Staff", "3"),
        ("flats.docx", "1B", "Rent › warm", "820"),
        ("contract.docx", "South wing, Floor First", "Area (sqm)", "495"),
    ],
)
def test_a_value_stands_under_its_row_and_column(name: str, label: str, column: str, right: str) -> None:
    assert value(report(name), label, column) == right


@pytest.mark.parametrize(
    ("name", "right"),
    [
        ("supnum.html", "minimum order quantity is 250 [2] and the warranty lasts 36 [1] months"),
        ("supnum.html", "withstands 10^6 load cycles"),
        ("supnum.html", "[3] Without motor."),
        ("contract.docx", "Service contract SC-2291"),
        ("contract.docx", "registered in Dublin"),
        ("steps.docx", "3. Wait until the lamp is green."),
        ("rowspan.html", "Motorway, Lanes Six: Base value 2.1333; Daily traffic 45,000 to 60,000"),
    ],
)
def test_a_page_says(name: str, right: str) -> None:
    assert right in text_of(report(name))


def test_a_period_and_a_unit_above_the_header_are_the_table_s_own() -> None:
    [each] = report("segments.xlsx").pages
    [table] = each.tables
    assert table.unit == "In millions of EUR" and "January–June 2024" in table.captions
    assert each.headings == ((0, "2. Segment figures"),)


def test_lines_above_a_sheet_s_table_speak_for_it() -> None:
    [table] = report("ships.xlsx").pages[0].tables
    assert (table.unit, table.title) == ("in thousands", "The fleet › As of 30 June 2024 (in thousands)")


# ---- raised and lowered text ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("before", "raised", "after", "right"),
    [
        ("at least 250", "2", " units", "at least 250 [2] units"),
        ("the fleet", "a", ".", "the fleet [a]."),
        ("the city", "[3]", ".", "the city [3]."),
        ("1,480", "3", "", "1,480 [3]"),
        ("total", "1, 2", "", "total [1, 2]"),
        ("5 × 10", "−6", " m", "5 × 10^−6 m"),
        ("withstands 10", "6", "", "withstands 10^6"),
        ("2010", "1", "", "2010 [1]"),
        ("20 m", "2", "", "20 m²"),
        ("Area (km", "2", ")", "Area (km²)"),
        ("12 ft", "2", "", "12 ft²"),
        ("registered in", "2", " towns", "registered in [2] towns"),
        ("R", "2", " is", "R^2 is"),
        ("the 21", "st", " century", "the 21st century"),
        ("Brand", "®", "", "Brand®"),
        ("1", "1", "/2", "1 1/2"),
        ("", "4", "With motor.", "[4] With motor."),
    ],
)
def test_raised_text_keeps_its_meaning(before: str, raised: str, after: str, right: str) -> None:
    assert before + write_raised(before, raised, after) + after == right


def test_lowered_text_stays_with_its_word() -> None:
    assert write_lowered("CO", "2") == "2" and write_lowered("log 7", "10") == "_10"
    found = page("<p>CO<sub>2</sub> of 12 kg/m<sup>3</sup>, see <span style='vertical-align: super'>7</span>.</p>")
    assert text_of(found) == "CO2 of 12 kg/m³, see [7]."


# ---- lists ---------------------------------------------------------------------------------------------------------


def test_lists_are_numbered_as_they_are_shown() -> None:
    found = page(
        "<ol><li>One<ol type=a><li>sub</li><li><p>sub two</p></li></ol></li><li value=5>Five</li><li>Six</li></ol>"
        "<ol start=4 type=I><li>Four</li></ol><ol reversed><li>B</li><li>A</li></ol><ul><li>Dot</li></ul>"
    )
    assert text_of(found).split("\n\n") == [
        *("1. One", "a. sub", "b. sub two", "5. Five", "6. Six", "IV. Four", "2. B", "1. A", "• Dot")
    ]
    assert text_of(page("3. Wait\n4. Close\n\n   Slowly.\n", "a.md")).split("\n\n") == [
        "3. Wait",
        "4. Close",
        "Slowly.",
    ]


def test_numbers_are_those_that_word_sets() -> None:
    parsed = report("numbered.docx")
    assert text_of(parsed).split("\n\n") == [
        *("1. Scope", "1.1 Windows", "(a) outside", "Between.", "1.2 Floors", "• Dot", "2. Term", "1. Again")
    ]
    assert parsed.pages[0].headings == ((0, "1. Scope"),)


def test_definitions_are_labels_with_values() -> None:
    found = page("<dl><dt>Open<dt>Start<dd>8:00<dd>13:00</dd><div><dt>Close<dd>18:30</div></dl>")
    assert value(found, "Close", "") == "18:30" and "Open, Start: 8:00, 13:00" in text_of(found)
    long = page(f"<dl><dt>Term<dd>{'Many words. ' * 60}<dt>Close<dd>18:30</dl>")
    assert long.pages[0].tables == () and "18:30" in text_of(long)


# ---- tables of other makes -----------------------------------------------------------------------------------------


def test_two_header_rows_without_a_mark() -> None:
    found = page(
        "<table><tr><td rowspan=2>Product<td colspan=2>Price (EUR)<td rowspan=2>Stock<tr><td>net<td>gross"
        "<tr><td>Bolt<td>1.00<td>1.19<td>5<tr><td>Nut<td>2.00<td>2.38<td>7</table>"
    )
    assert (value(found, "Nut", "Price (EUR) › gross"), value(found, "Nut", "Stock")) == ("2.38", "7")


def test_a_formula_without_a_stored_value_is_said() -> None:
    said = "Sheet Revenue holds 1 formula without a stored value: save it in Excel, and add it again."
    assert said in report("regions.xlsx").warnings


# ---- Word ----------------------------------------------------------------------------------------------------------


def test_notes_formulas_and_letterheads_of_word() -> None:
    parts = text_of(report("letterhead.docx")).split("\n\n")
    assert parts == ["Ashgrove, contract SC-9", "The fee is 5.", "Registered in Dublin"]
    assert text_of(report("power.docx")) == "It is x^2 m, not 250 [2]"


# ---- CSV -----------------------------------------------------------------------------------------------------------


def rows_of(header: str, name: str) -> str:
    held = io.StringIO()
    csv.writer(held).writerows([header.split(","), *([f"{name}{at}", str(100 + 3 * at)] for at in range(30))])
    return held.getvalue()


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        (rows_of("部屋,料金", "会議室"), "cp932"),
        (rows_of("部屋,料金", "和室"), "cp932"),
        (rows_of("房间,价格", "客房"), "gb18030"),
        (rows_of("名称,数量", "仓库钥匙"), "gb18030"),
        (rows_of("房間,價格", "會議室"), "big5"),
        (rows_of("품명,수량", "창고 열쇠"), "cp949"),
        (rows_of("Комната,Цена", "Зал собраний "), "cp1251"),
        (rows_of("Pokój,Cena", "Sala świąteczna "), "cp1250"),
        (rows_of("Oda,Fiyat", "Çalışma odası "), "cp1254"),
        (rows_of("Zimmer,Preis", "Büro für Gäste "), "cp1252"),
    ],
)
def test_a_csv_file_of_thirty_rows_is_read_in_its_encoding(text: str, encoding: str) -> None:
    parsed = read_document(text.encode(encoding), "a.csv", CONFIG)
    name, column = text.splitlines()[4].split(",")[0], text.splitlines()[0].split(",")[1]
    assert value(parsed, name.strip(), column) == "109"


def test_an_encoding_that_is_a_guess_is_said() -> None:
    [warning] = read_document("객실,요금\n".encode("cp949"), "a.csv", CONFIG).warnings
    assert "is a guess. If letters are wrong, save it as UTF-8." in warning
    assert read_document("Größe,5\n".encode("cp1252"), "a.csv", CONFIG).warnings == ()


def test_a_file_that_is_cut_off_amid_a_letter_is_still_what_it_was() -> None:
    whole = rows_of("Zimmer,Preis", "Büro für Gäste ").encode()
    parsed = read_document(whole[: whole.rindex("ü".encode()) + 1], "a.csv", CONFIG)
    assert value(parsed, "Büro für Gäste 3", "Preis") == "109" and parsed.warnings == ()


# ---- bad input -----------------------------------------------------------------------------------------------------


def test_tables_in_tables_and_cells_without_end_are_read_within_bounds() -> None:
    deep = page("<table><tr><td>a<td>" * 100 + "deep words")
    assert "deep words" in text_of(deep)
    wide = page(
        "<table>" + "".join(f"<tr><td rowspan=65000 colspan=1000>x{at}<td>y" for at in range(1000)) + "</table>"
    )
    assert "x0" in text_of(wide)
