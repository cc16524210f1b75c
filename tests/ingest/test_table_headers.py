"""What is said of every row of a table: headers of several lines, groups, units, sections, tables that go on."""

import pytest

from crag.core.config import AppConfig
from crag.core.ingesting import Page
from crag.core.tables import SEPARATOR
from crag.ingest.chunking import chunk_document
from crag.ingest.reader import read_document
from crag.ingest.units import unit_in
from tests.support.tiny_pdf import line, pdf

pytestmark = pytest.mark.usefixtures("read_here")

CONFIG = AppConfig()


def _pages(*contents: bytes) -> tuple[Page, ...]:
    return read_document(pdf(contents), "t.pdf", CONFIG).pages


def _cells(y: float, *texts: str, at: tuple[float, ...] = (300, 380, 460, 540), size: float = 10) -> bytes:
    """Texts that end at these places, "" for none."""
    return b"".join(line(x - 5 * len(text), y, text, size) for x, text in zip(at, texts, strict=False) if text)


def _row(y: float, label: str, *values: str, indent: float = 60) -> bytes:
    return line(indent, y, label, 10) + _cells(y, *values)


def _rule(left: float, right: float, y: float) -> bytes:
    return b"%g %g m %g %g l S\n" % (left, y, right, y)


def _rows(page: Page, number: int = 0) -> list[str]:
    table = page.tables[number]
    return page.text[table.start : table.end].split("\n")


def test_a_header_of_several_lines_is_read_column_by_column() -> None:
    content = (
        _cells(736, "Oars", "", "Long") + _cells(724, "and", "", "and wet") + _cells(712, "sails", "Boats", "voyages")
    )
    content += _row(696, "Revenues:") + _row(684, "Home", "1,200", "30", "4") + _row(672, "Abroad", "1,300", "31", "5")
    (page,) = _pages(content)
    assert SEPARATOR.join(page.tables[0].heads) == "Oars and sails | Boats | Long and wet voyages"
    assert _rows(page) == [
        "Oars and sails; Boats; Long and wet voyages",
        "Revenues:",
        "Home: Oars and sails 1,200; Boats 30; Long and wet voyages 4",
        "Abroad: Oars and sails 1,300; Boats 31; Long and wet voyages 5",
    ]


def test_a_rule_says_which_columns_a_group_has() -> None:
    content = line(330, 724, "Sales", 10) + _rule(270, 462, 720) + _cells(708, "Oars", "Boats", "Sails", "Total")
    content += _row(690, "Home", "1,200", "30", "4", "1,234") + _row(678, "Abroad", "1,300", "31", "5", "1,336")
    (page,) = _pages(content)
    assert "Home: Sales Oars 1,200; Sales Boats 30; Sales Sails 4; Total 1,234" in _rows(page)
    assert _rows(page)[0] == "Sales – Oars; Boats; Sails; Total"


def test_a_sign_at_its_column_s_edge_belongs_to_the_amount_behind() -> None:
    content = _cells(708, "2021", "2020", "2019") + line(230, 690, "$", 10) + line(303, 690, "$", 10)
    content += line(383, 690, "$", 10) + _row(690, "Home", "1,200", "30", "4") + _row(678, "Abroad", "1,300", "31", "5")
    (page,) = _pages(content)
    assert "Home: 2021 $1,200; 2020 $30; 2019 $4" in _rows(page)


def test_a_column_of_percentages_says_so() -> None:
    content = _cells(708, "Sales", "Share") + _row(690, "Home", "1,200", "48%")
    content += _row(678, "Abroad", "1,200", "48") + _row(666, "Sea", "100", "4")
    (page,) = _pages(content)
    assert "Abroad: Sales 1,200; Share % 48" in _rows(page)


def test_a_small_mark_behind_an_amount_is_no_amount() -> None:
    content = _cells(708, "2021", "2020") + _row(690, "Home", "387", "12") + line(306, 690, "(13)", 5)
    (page,) = _pages(content + _row(678, "Abroad", "263", "13"))
    assert "Home: 2021 387 (13); 2020 12" in _rows(page)


def test_labels_beside_figures_are_no_column_of_prose() -> None:
    content = b""
    for top in (740, 440):
        for number, title in enumerate(
            ("Boats and Sons Limited", "Statements of the Income", "In full, and unaudited")
        ):
            content += line(233, top - 12 * number, title, 10)
        content += _cells(top - 48, "2021", "2020", at=(400, 500))
        for number in range(10):
            content += line(60, top - 62 - 12 * number, "Net sales of boats", 10)
            content += _cells(top - 62 - 12 * number, f"1,{number}00", f"2,{number}00", at=(400, 500))
    (page,) = _pages(content)
    assert "Net sales of boats: 2021 1,300; 2020 2,300" in page.text


@pytest.mark.parametrize(
    ("text", "unit"),
    [
        (
            "CONSOLIDATED BALANCE SHEETS (Amounts in millions, except share data)",
            "Amounts in millions, except share data",
        ),
        ("The provision for income taxes is as follows (in millions):", "in millions"),
        ("REPORTED SALES vs. PRIOR PERIOD ($MM)", "$MM"),
        ("Expense (Income), in Millions", "Expense (Income), in Millions"),
        ("It was $36 million ($28 million, or $0.10 per share, after-tax) in all.", ""),
        ("In May (the third of five) two million boats were sold in millions of places, and so on.", ""),
    ],
)
def test_the_unit_that_a_line_names(text: str, unit: str) -> None:
    assert unit_in([text]) == unit


def _table(top: float) -> bytes:
    return _cells(top, "2021", "2020") + _row(top - 14, "Home", "10", "11") + _row(top - 26, "Abroad", "20", "21")


def test_the_unit_is_told_above_the_table() -> None:
    (page,) = _pages(line(60, 740, "Sales by coast were as follows (in thousands):", 10) + _table(722))
    assert SEPARATOR.join(page.tables[0].heads) == "in thousands › 2021 | 2020"


def test_the_unit_of_the_notes_is_told_in_their_title() -> None:
    first = line(200, 740, "Notes to Consolidated Financial Statements", 12) + line(
        200, 726, "(dollars in millions)", 10
    )
    second = line(60, 740, "Note 9. Of boats.", 10) + _table(700)
    third = line(60, 740, "Item 9. Changes in and disagreements with accountants", 10) + _table(700)
    pages = _pages(first, second, third)
    assert SEPARATOR.join(pages[1].tables[0].heads) == "dollars in millions › 2021 | 2020"
    assert SEPARATOR.join(pages[2].tables[0].heads) == "2021 | 2020"


def test_a_table_goes_on_on_the_next_page() -> None:
    first = line(60, 740, "Sales were as follows (in thousands):", 10) + _table(722)
    second = _row(740, "Rivers", "30", "31") + _row(728, "Lakes", "40", "41")
    third = line(60, 740, "Of quite another thing there is much to be said before its table. " * 3, 4) + line(
        60, 726, "It is told at such length that no table of the page before can be meant to go on below.", 10
    )
    pages = _pages(first, second, third + _row(640, "Hills", "50", "51") + _row(628, "Dales", "60", "61"))
    assert SEPARATOR.join(pages[1].tables[0].heads) == "in thousands › 2021 | 2020"
    assert "Lakes: 2021 40; 2020 41" in pages[1].text
    assert "Dales: 60; 61" in pages[2].text


def test_a_header_that_comes_again_on_every_page_stays_with_its_table() -> None:
    pages = _pages(*(_table(740) + line(60, 300, f"On page {number} more is said.", 10) for number in "1234"))
    assert all("Abroad: 2021 20; 2020 21" in page.text for page in pages)


def test_every_chunk_of_a_table_says_unit_columns_and_section() -> None:
    content = line(60, 740, "Sales by coast were as follows (in thousands):", 10) + _cells(722, "2021", "2020")
    top = 710
    for section in ("Oars of the coast", "Sails of the coast"):
        content += line(60, top, f"{section}:", 10)
        for number in range(12):
            top -= 12
            content += _row(top, f"Harbour number {number} of all that there are", "1,000", "2,000", indent=70)
        top -= 12
        content += _row(top, "Total", "9,000", "8,000", indent=70)
        top -= 12
    parsed = read_document(pdf([content]), "t.pdf", CONFIG)
    chunks = chunk_document(parsed, "0" * 64, "t.pdf")
    assert len(chunks) > 2
    for chunk in chunks:
        whole = f"{chunk.context}\n{chunk.text}"
        assert "in thousands" in whole
        assert parsed.pages[0].text[chunk.start : chunk.end] == chunk.text
    inner = [chunk for chunk in chunks if chunk.text.startswith("Harbour")]
    assert inner
    for chunk in inner:
        before = parsed.pages[0].text[: chunk.start]
        assert chunk.context.endswith("Sails of the coast" if "Sails" in before else "Oars of the coast")
