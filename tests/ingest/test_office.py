"""Word, PowerPoint and Excel files: what a person sees of them is read, and cited by section, slide and sheet."""

import datetime
import zipfile
from io import BytesIO

import pytest

from crag.core.config import AppConfig
from crag.core.errors import EncryptedError, UnknownMediaError
from crag.core.tables import SEPARATOR
from crag.ingest.chunking import chunk_document
from crag.ingest.files import media_of
from crag.ingest.reader import read_document
from crag.ingest.sheets import format_cell
from tests.support.reported import kind, text_of
from tests.support.small_office import body, edited, paragraph

pytestmark = pytest.mark.usefixtures("read_here")

CONFIG = AppConfig()
OLD = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(512)


# ---- Word ----------------------------------------------------------------------------------------------------------


def test_a_word_document_is_cited_by_its_sections() -> None:
    parsed = read_document(kind("report.docx"), "report.pdf", CONFIG)
    assert (parsed.kind, parsed.title) == ("docx", "Harbour report")
    places = {chunk.place: chunk.text for chunk in chunk_document(parsed, "id", "report.pdf")}
    assert list(places) == ["section The fleet", "section Nets", "document properties"]
    assert "came back" in places["section The fleet"] and "sister" in places["section Nets"]


def test_a_table_of_a_word_document_is_told_with_its_header() -> None:
    [page] = read_document(kind("report.docx"), "report.docx", CONFIG).pages
    [table] = page.tables
    assert SEPARATOR.join(table.heads) == "Port | Boats | Tonnage"
    assert page.text[table.start : table.end].splitlines() == [
        "Port; Boats; Tonnage",
        "Whitby: Boats 41; Tonnage 1,200",
        "Hull: Boats 77; Tonnage 9,800",
    ]


def test_what_nobody_sees_of_a_word_document_is_left_out_and_said() -> None:
    parsed = read_document(kind("report.docx"), "report.docx", CONFIG)
    assert not any(word in text_of(parsed) for word in ("vanished", "white words", "tiny", "really"))
    assert parsed.warnings == (
        "It holds text that can't be seen (5 words): it was left out.",
        "It holds 1 comment: it was left out.",
    )


def test_tracked_changes_are_taken_as_accepted_and_macros_are_said() -> None:
    changed = (
        "<w:p><w:r><w:t>The fee is </w:t></w:r><w:del><w:r><w:delText>five old</w:delText></w:r></w:del>"
        "<w:ins><w:r><w:t>seven</w:t></w:r></w:ins><w:r><w:t> crowns.</w:t></w:r></w:p>"
    )
    data = edited(kind("report.docx"), body(changed) | {"word/vbaProject.bin": b"x"})
    parsed = read_document(data, "fees.docm", CONFIG)
    assert text_of(parsed) == "The fee is seven crowns."
    assert "It holds 2 words that its tracked changes delete: they were left out." in parsed.warnings
    assert "It holds macros: they are not run and not read." in parsed.warnings


def test_a_document_that_says_it_holds_macros_is_a_document() -> None:
    name = "[Content_Types].xml"
    data = kind("report.docx")
    types = zipfile.ZipFile(BytesIO(data)).read(name).decode()
    plain = "application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"
    assert plain in types
    types = types.replace(plain, "application/vnd.ms-word.document.macroEnabled.main+xml")
    assert "came back" in text_of(read_document(edited(data, {name: types.encode()}), "a.docm", CONFIG))


def test_boxes_notes_and_controls_are_read_once() -> None:
    box = "<w:txbxContent>{}</w:txbxContent>"
    inner = (
        '<w:p xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006"><w:r><w:t>Before.</w:t></w:r>'
        f"<w:r><mc:AlternateContent><mc:Choice>{box}</mc:Choice><mc:Fallback>{box}</mc:Fallback>"
        "</mc:AlternateContent></w:r></w:p>"
        "<w:sdt><w:sdtContent>{}</w:sdtContent></w:sdt>"
    ).format(paragraph("In the box."), paragraph("In the box."), paragraph("In the control."))
    parsed = read_document(edited(kind("report.docx"), body(inner)), "a.docx", CONFIG)
    assert text_of(parsed) == "Before.\n\nIn the box.\n\nIn the control."


def test_short_bold_paragraphs_are_headings_where_there_are_no_others() -> None:
    bold = "<w:p><w:r><w:rPr><w:b/></w:rPr><w:t>{}</w:t></w:r></w:p>"
    inner = bold.format("Fares") + paragraph("The fare rose. " * 9) * 2 + bold.format("Nets") + paragraph("Mended.") * 2
    [page] = read_document(edited(kind("report.docx"), body(inner)), "a.docx", CONFIG).pages
    assert [text for _, text in page.headings] == ["Fares", "Nets"]


# ---- PowerPoint ----------------------------------------------------------------------------------------------------


def test_a_presentation_is_cited_by_its_slides() -> None:
    parsed = read_document(kind("crossing.pptx"), "ferry.pptx", CONFIG)
    assert parsed.kind == "pptx"
    assert [page.place for page in parsed.pages] == ["slide 1", "slide 3", "notes of slide 3"]
    third = parsed.pages[1]
    assert third.headings[0] == (0, "Ferry 3") and "carried 103 passengers" in third.text
    assert [SEPARATOR.join(table.heads) for table in third.tables] == ["Route | Fare", "Trips"]
    assert "North: Fare 5 crowns" in third.text and "2020: Trips 13.5" in third.text
    assert parsed.pages[2].text == "Say that the fare rose twice."


def test_merged_cells_of_a_slide_s_table_hold_for_their_columns_and_points_stand_under_theirs() -> None:
    from pptx import Presentation

    made = Presentation()
    shapes = made.slides.add_slide(made.slide_layouts[5]).shapes
    points = shapes.add_textbox(0, 0, 9, 9).text_frame
    points.text = "A pass holds for\nthe ferry\nthe bus"
    points.paragraphs[1].level = points.paragraphs[2].level = 1
    table = shapes.add_table(4, 3, 0, 0, 3_000_000, 900_000).table
    for at, said in enumerate(["Service", "Fee", "", "", "Adult", "Child", "Pass", "5", "3", "Card", "7", "4"]):
        table.cell(at // 3, at % 3).text = said
    table.cell(0, 1).merge(table.cell(0, 2))
    table.cell(0, 0).merge(table.cell(1, 0))
    held = BytesIO()
    made.save(held)
    text = text_of(read_document(held.getvalue(), "a.pptx", CONFIG))
    assert "Card: Fee › Adult 7; Fee › Child 4" in text and "A pass holds for\n• the ferry\n• the bus" in text


def test_hidden_slides_and_what_lies_beside_a_slide_are_left_out_and_said() -> None:
    parsed = read_document(kind("crossing.pptx"), "ferry.pptx", CONFIG)
    assert "Ferry 2" not in text_of(parsed) and "beside" not in text_of(parsed)
    assert parsed.warnings == (
        "Slide 3 holds text that can't be seen (3 words): it was left out.",
        "It holds 1 hidden slide: it was left out.",
    )


# ---- Excel ---------------------------------------------------------------------------------------------------------


def test_a_workbook_is_cited_by_its_sheets_with_values_as_they_are_shown() -> None:
    parsed = read_document(kind("revenue.xlsx"), "revenue.xlsx", CONFIG)
    [page] = parsed.pages
    assert (page.place, page.headings) == ("sheet Revenue", ((0, "Revenue by harbour"),))
    assert page.text.splitlines()[2:] == [
        "Harbour; 2019; Margin; Closed",
        "Harbour 0: 2019 $1,000.50; Margin 25.5%; Closed 2020-01-02",
        "Harbour 2: 2019 $1,002.50; Margin 25.5%; Closed 2020-01-02",
    ]
    [table] = page.tables
    assert (SEPARATOR.join(table.heads), table.header) == (
        "Harbour | 2019 | Margin | Closed",
        ("Harbour", "2019", "", "Margin", "Closed"),
    )
    [first, _] = table.rows
    assert page.text[first.start : first.label] == "Harbour 0"
    assert [page.text[cell.start : cell.end] for cell in first.cells] == ["$1,000.50", "25.5%", "2020-01-02"]
    assert [table.name(cell) for cell in first.cells] == ["2019", "Margin", "Closed"]
    assert parsed.warnings == (
        "It holds 1 hidden sheet: it was left out.",
        "It holds 1 hidden row: it was left out.",
        "It holds 1 hidden column: it was left out.",
    )


@pytest.mark.parametrize(
    ("value", "form", "text"),
    [
        (0.256, "0%", "26%"),
        (-0.5, "0.00%", "-50.00%"),
        (1234567.891, "#,##0.00", "1,234,567.89"),
        (-12, '"$"#,##0_);("$"#,##0)', "-$12"),
        (7, "000", "007"),
        (True, "General", "TRUE"),
        (datetime.datetime(2020, 1, 2), "yyyy", "2020-01-02"),
        ("#DIV/0!", "0%", "#DIV/0!"),
    ],
)
def test_values_are_shown_as_their_format_says(value: object, form: str, text: str) -> None:
    assert format_cell(value, form) == text


# ---- what is told before anything is parsed ------------------------------------------------------------------------


def test_a_workbook_with_a_part_named_like_a_word_documents_is_a_workbook() -> None:
    assert media_of(edited(kind("revenue.xlsx"), {"xl/media/word.bin": b"word/ppt/"}), "a") == "xlsx"


def test_locked_and_old_office_files_say_so() -> None:
    with pytest.raises(EncryptedError, match=r"a\.xlsx is locked with a password"):
        read_document(OLD + "EncryptedPackage".encode("utf-16-le"), "a.xlsx", CONFIG)
    with pytest.raises(
        UnknownMediaError, match=r"older than 2007, which is not read here.*add that file: PDF, Word document"
    ):
        read_document(OLD, "a.doc", CONFIG)
