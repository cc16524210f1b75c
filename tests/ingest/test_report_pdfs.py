"""PDFs of kinds that people reported trouble with in other products: each with the value that a person reads there."""

import pytest

from crag.core.config import AppConfig
from crag.core.errors import EmptyError
from crag.ingest.chunking import chunk_document
from crag.ingest.reader import read_document
from crag.ingest.scans import installed
from tests.support.reported import REPORTS, report, text_of, value

pytestmark = pytest.mark.usefixtures("read_here")


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("supnum", "minimum order quantity is 250 [2] and the warranty lasts 36 [1] months"),
        ("supnum", "withstands 10^6 load cycles"),
        ("supnum", "\n[2] Returning customers may order less."),
        ("marks", "limited to 500 [a] GB per user, the SLA is 99.9% [*] and the room covers 42 m² or 12.5 kg/m³."),
        ("marks", "Emissions of CO2 fell to 3.2 × 10^−4 t. It opened on the 21st of May at 9.81 m s⁻²."),
        ("marks", "In 2023 [1,2], profits rose. [12]"),
        ("marks", "\n[3] Refunded at the end."),
        ("fonts", "The integration tests run at 570 volts and cost 124 euros."),
        ("fonts", "Nasa paid 350 dollars for item 9 [4]."),
    ],
)
def test_raised_marks_stand_apart_and_exponents_behind_a_sign(name: str, said: str) -> None:
    assert said in text_of(report(f"{name}.pdf"))


@pytest.mark.parametrize(
    ("name", "row", "column", "right"),
    [
        ("supnum", "BP-10", "Price (EUR)", "1,480"),
        ("supnum", "BP-20", "Weight (kg)", "34"),
        ("light", "Gate valve DN 80", "Delivered", "12"),
        ("light", "Flange set PN 16", "Weight (kg)", "77.3"),
        ("stacked", "Elbow 90 degrees", "Price", "0.95"),
        ("stacked", "Inspection of a large boiler with all of its safety valves", "Fee", "210"),
        ("fleet", "KL-332", "Mileage (km)", "44,152"),
        ("fleet", "KL-350", "Mileage (km)", "60,550"),
        ("mixed", "Soot number", "Found", "0"),
        ("mixed", "Soot number", "Allowed", "1"),
        ("mixed", "CO content", "Allowed", "500 ppm"),
        ("merged", "South wing, Floor First floor", "Rent (EUR)", "495"),
        ("merged", "North wing, Floor Attic", "Rent (EUR)", "410"),
        ("merged", "Passport", "Fee in euros › Minors", "37.50"),
        ("merged", "Identity card", "Days to wait › Express", "5"),
        ("merged", "Room 163", "Price", "249"),
        ("open_tables", "Lock cylinder", "Unit price", "42.00"),
        ("open_tables", "February", "Visitors", "1,577"),
        ("open_tables", "North, Emden", "2023", "88"),
        ("hebrew", "פיקדון", "סכום", "9,000"),
        ("arabic", "قطع الغيار", "المبلغ", "3,200"),
        ("long_cells", "09:45", "Talk", "Breakwaters of rubble: what forty winters taught us about armour stone"),
        ("long_cells", "SC-131", "Price (EUR)", "7.45"),
        ("long_cells", "Jonas Weidenfeller-Kruse (trainee)", "Station", "Bay B, with Agnes Brandt"),
    ],
)
def test_a_cell_stands_under_its_column_beside_its_label(name: str, row: str, column: str, right: str) -> None:
    assert value(report(f"{name}.pdf"), row, column) == right


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("hebrew", "הסכם שכירות"),
        ("hebrew", "דמי השכירות החודשיים הם 4,500 שקלים חדשים."),
        ("hebrew", "תקופת השכירות היא 24 חודשים ומתחילה ביום 1 במרץ 2025."),
        ("arabic", "تتعهد شركة Nile Lift Services بصيانة المصاعد في المبنى رقم 17 خلال 48 ساعة من البلاغ."),
        ("arabic", "يسري العقد من 1 مارس 2024 حتى 28 فبراير 2026."),
    ],
)
def test_a_line_from_right_to_left_is_read_as_it_is_written(name: str, said: str) -> None:
    assert said in text_of(report(f"{name}.pdf"))


def test_prose_in_two_columns_is_no_table() -> None:
    pages = report("long_cells.pdf").pages
    assert "the herring the book fills quickly, and a clerk was hired to write it. He was paid" in pages[1].text
    assert [len(page.tables) for page in pages] == [2, 1, 0]


def test_words_from_right_to_left_lie_where_they_are_printed() -> None:
    page = report("hebrew.pdf").pages[0]
    start = page.text.index("פיקדון")
    label = next(line for line in page.lines if line.start <= start < line.end)
    amount = next(line for line in page.lines if line.start <= page.text.index("9,000") < line.end)
    assert label.rect.left > amount.rect.right > 0


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("kpi", "\n3.7 tonnes of CO2 emitted per container handled in 2024\n"),
        ("kpi", "\n412 apprentices employed at all our terminals in 2023\n"),
        ("tiles", "\n€ 4.1 m invested in new operating theatres\n"),
        ("tiles", "\n31 days until an operation, on average\n"),
        ("tiles", "\nMembers: 2,310\nClubs abroad: 14\n"),
    ],
)
def test_a_large_figure_is_read_with_its_caption(name: str, said: str) -> None:
    assert said in text_of(report(f"{name}.pdf"))


def test_a_sentence_over_the_end_of_a_page_is_one_and_names_both() -> None:
    last = (
        "the last part of the grant is paid only after the final report has been approved by the auditor of the trust."
    )
    chunks = chunk_document(report("pages.pdf"), "document", "pages.pdf")
    (chunk,) = (chunk for chunk in chunks if last in chunk.text)
    assert chunk.where == "pages 3 and 4"
    at = chunk.text.index("final report")
    assert {rect.page for rect in chunk.rects(at, at + 12)} == {4}
    assert report("pages.pdf").pages[3].text.startswith("2 Visits")


@pytest.mark.skipif(not installed(), reason="text recognition is not installed")
def test_a_page_whose_fonts_name_no_letters_is_read_from_its_picture() -> None:
    document = report("nomap.pdf")
    assert "The sprinklers are tested on the first Monday of every month at 14:00." in document.pages[0].text
    assert any("without saying which" in warning for warning in document.warnings)


def test_without_recognition_such_a_page_is_refused_with_its_reason() -> None:
    with pytest.raises(EmptyError, match=r"nomap\.pdf is a scan: page 1 is an image without text"):
        read_document((REPORTS / "nomap.pdf").read_bytes(), "nomap.pdf", AppConfig.of(recognise_pages=0))
