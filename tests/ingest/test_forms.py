"""Forms: each label has the value that stands beside it, whatever the columns; other tables and prose stay theirs."""

from pathlib import Path

import pytest

from crag.core.config import AppConfig
from crag.core.ingesting import ParsedDocument
from crag.ingest.reader import read_document
from tests.support.tiny_pdf import line, pdf

pytestmark = pytest.mark.usefixtures("read_here")

CONFIG = AppConfig()
COLUMNS = (60, 180, 330, 460)


def _read(*pages: bytes) -> ParsedDocument:
    return read_document(pdf(pages), "form.pdf", CONFIG)


def _form(top: float, *rows: tuple[str, str, str, str]) -> bytes:
    """Two pairs a line, 17 points apart."""
    placed = [
        line(x, top - 17 * number, text, 9)
        for number, row in enumerate(rows)
        for x, text in zip(COLUMNS, row, strict=True)
        if text
    ]
    return b"".join(placed)


ROWS = (
    ("Location:", "Wausau, WI", "Report Number:", "CHI08"),
    ("Date:", "12/08/2007", "Certificate:", "Private"),
    ("Age:", "61", "Rating(s):", "None"),
    ("Registered Owner:", "", "Seats:", "4"),
)


def pairs_of(document: ParsedDocument) -> dict[str, str]:
    """Each row's label with its value, of all pages."""
    return {
        page.text[row.start : row.label].rstrip(": "): page.text[row.label : row.end].strip(": ")
        for page in document.pages
        for table in page.tables
        for row in table.rows
    }


def test_each_label_has_the_value_beside_it_and_an_empty_one_none() -> None:
    document = _read(line(60, 740, "Accident Report", 18) + _form(700, *ROWS))
    assert pairs_of(document) == {
        "Location": "Wausau, WI",
        "Report Number": "CHI08",
        "Date": "12/08/2007",
        "Certificate": "Private",
        "Age": "61",
        "Rating(s)": "None",
        "Registered Owner": "",
        "Seats": "4",
    }
    assert "\nRegistered Owner:\n" in document.pages[0].text


def test_an_empty_label_names_no_section() -> None:
    (table,) = _read(_form(700, *ROWS, ("Colour:", "red", "Doors:", "2"))).pages[0].tables
    assert {row.section for row in table.rows} == {""}


def test_labels_and_values_go_on_below_themselves() -> None:
    content = _form(700, *ROWS) + line(60, 632, "Inspection:", 9) + line(180, 632, "3861 hours at the", 9)
    content += line(330, 632, "Certificate(s)", 9) + line(460, 632, "none", 9)
    content += line(180, 622, "time of the accident", 9) + line(330, 622, "Held:", 9)
    pairs = pairs_of(_read(content))
    assert pairs["Inspection"] == "3861 hours at the time of the accident"
    assert pairs["Certificate(s) Held"] == "none"


def test_what_forms_of_one_kind_share_is_told_apart_by_their_first_values() -> None:
    cover = line(60, 740, "Accident Report", 18) + _form(700, *ROWS)
    assert _read(cover).title.endswith("Accident Report – Wausau, WI, CHI08")
    low = line(60, 740, "Accident Report", 18) + _form(200, *ROWS)
    assert _read(low).title.endswith("Accident Report")


def test_the_forms_of_a_real_report(shared_data: Path) -> None:
    name = "ntsb-20080122X00080.pdf"
    document = read_document((shared_data / "public_domain" / name).read_bytes(), name, CONFIG)
    pairs = pairs_of(document)
    assert pairs["Runway Length/Width"] == "3898 ft / 100 ft"
    assert pairs["Temperature/Dew Point"] == "4°C / 0°C"
    assert pairs["Turbulence Severity Forecast/Actual"] == "/"
    assert pairs["Operating Certificate(s) Held"] == "None"
    assert pairs["Total Injuries"] == "2 None"
    assert "Murfreesboro" in document.title


def test_a_form_of_labels_in_two_columns_is_one_even_where_all_is_empty() -> None:
    document = _read(_form(700, *((left, "", right, "") for left, _, right, _ in ROWS)))
    assert set(pairs_of(document).values()) == {""}
    assert len(pairs_of(document)) == 8


def _columns(top: float, *texts: str) -> bytes:
    return b"".join(line(x, top, text, 9) for x, text in zip(COLUMNS, texts, strict=False) if text)


PROSE = line(60, 600, "This is a sentence of prose that stands below, and it is as long as such sentences are.", 9)
INVOICE = {"Invoice Date": "03/20/2023", "Due Date": "04/04/2023", "Reference": "CUST 123"}


@pytest.mark.parametrize("colon", [":", ""])
def test_labels_on_one_line_have_the_values_on_the_line_below(colon: str) -> None:
    labels = _columns(700, *(f"{label}{colon}" for label in INVOICE))
    document = _read(labels + _columns(686, *INVOICE.values()) + PROSE)
    assert pairs_of(document) == INVOICE
    assert f"Due Date: {INVOICE['Due Date']}" in document.pages[0].text
    assert INVOICE["Due Date"] not in document.title


def test_a_label_alone_has_a_number_below_it_but_no_list() -> None:
    number = line(60, 700, "Account number:", 9) + line(60, 689, "296664039561", 9)
    assert pairs_of(_read(number + PROSE)) == {"Account number": "296664039561"}
    listed = line(60, 700, "Contents:", 9) + line(60, 689, "20 screws", 9) + line(60, 678, "20 nuts", 9)
    assert pairs_of(_read(listed + PROSE)) == {}


def test_addresses_below_their_labels_are_read_column_by_column() -> None:
    lines = _columns(700, "Bill To:", "Ship To:") + _columns(688, "Ann Lee", "The Store")
    document = _read(lines + _columns(676, "1 Hill Road", "2 Lake Road") + PROSE)
    assert pairs_of(document) == {"Bill To": "Ann Lee 1 Hill Road", "Ship To": "The Store 2 Lake Road"}


@pytest.mark.parametrize(
    "lines",
    [
        (("Item", "Price"), ("Chair", "70.00"), ("Table", "90.50")),
        (("Total", "Less than"), ("Commitment", "1 year")),
        (("he said that", "Others"), ("1200 people", "3400 people")),
    ],
)
def test_a_table_or_prose_has_no_labels_above_values(lines: tuple[tuple[str, str], ...]) -> None:
    document = _read(b"".join(_columns(700 - 13 * at, *texts) for at, texts in enumerate(lines)) + PROSE)
    assert not any(table.is_form(page.text) for page in document.pages for table in page.tables)
