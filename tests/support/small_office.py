"""Small Office files, made by the libraries that read them, and their parts replaced by others."""

import datetime
import zipfile
from collections.abc import Mapping
from io import BytesIO
from typing import Any

W = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
S = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'
BODY, SHEET = "word/document.xml", "xl/worksheets/sheet1.xml"


def small_docx() -> bytes:
    """Two sections, a table, and words of each kind that nobody sees."""
    from docx import Document
    from docx.shared import Pt, RGBColor

    made = Document()
    made.add_heading("Harbour report", 0)
    made.add_heading("The fleet", 1)
    text = made.add_paragraph("The fleet came back to the harbour in 1931. ")
    text.add_run("vanished words ").font.hidden = True
    text.add_run("white words ").font.color.rgb = RGBColor(255, 255, 255)
    text.add_run("tiny").font.size = Pt(1)
    rows = [("Port", "Boats", "Tonnage"), ("Whitby", "41", "1,200"), ("Hull", "77", "9,800")]
    table = made.add_table(rows=0, cols=3)
    for row in rows:
        for cell, said in zip(table.add_row().cells, row, strict=True):
            cell.text = said
    made.add_heading("Nets", 2)
    nets = made.add_paragraph("Nets were mended on Sundays by the harbour master's sister.")
    made.add_comment(nets.runs, text="really?", author="A")
    return _saved(made)


def small_pptx() -> bytes:
    """Three slides, the second hidden; on the third a table, a chart, notes and a box beside the slide."""
    from pptx import Presentation
    from pptx.chart.data import CategoryChartData
    from pptx.enum.chart import XL_CHART_TYPE
    from pptx.util import Inches

    made = Presentation()
    for number in (1, 2, 3):
        slide = made.slides.add_slide(made.slide_layouts[1])
        slide.shapes.title.text = f"Ferry {number}"
        slide.placeholders[1].text = f"The ferry of year {number} carried {100 + number} passengers."
    made.slides[1]._element.set("show", "0")
    shapes = made.slides[2].shapes
    table = shapes.add_table(2, 2, Inches(1), Inches(4), Inches(4), Inches(1)).table
    for at, said in enumerate(["Route", "Fare", "North", "5 crowns"]):
        table.cell(at // 2, at % 2).text = said
    figures = CategoryChartData()
    figures.categories = ["2019", "2020"]
    figures.add_series("Trips", (12, 13.5))
    shapes.add_chart(XL_CHART_TYPE.COLUMN_CLUSTERED, Inches(5), Inches(5), Inches(3), Inches(2), figures)
    shapes.add_textbox(-Inches(5), 0, Inches(1), Inches(1)).text_frame.text = "beside the slide"
    made.slides[2].notes_slide.notes_text_frame.text = "Say that the fare rose twice."
    return _saved(made)


def blank_pptx() -> bytes:
    """One slide with nothing on it."""
    from pptx import Presentation

    made = Presentation()
    made.slides.add_slide(made.slide_layouts[6])
    return _saved(made)


def small_xlsx(rows: int = 3) -> bytes:
    """A sheet with so many rows of harbours, one row and one column of it hidden, and a hidden sheet."""
    from openpyxl import Workbook

    made = Workbook()
    sheet = made.active
    sheet.title = "Revenue"
    sheet.append(["Revenue by harbour"])
    sheet.append([])
    sheet.append(["Harbour", 2019, 2020, "Margin", "Closed"])
    for number in range(rows):
        sheet.append([f"Harbour {number}", 1000.5 + number, 2000 + number, 0.255, datetime.date(2020, 1, 2)])
        sheet.cell(sheet.max_row, 2).number_format = '"$"#,##0.00'
        sheet.cell(sheet.max_row, 4).number_format = "0.0%"
    sheet.row_dimensions[5].hidden = True
    sheet.column_dimensions["C"].hidden = True
    hidden = made.create_sheet("Secret")
    hidden.append(["secret", "words"])
    hidden.sheet_state = "hidden"
    return _saved(made)


def edited(data: bytes, parts: Mapping[str, bytes]) -> bytes:
    """The file with these parts in place of its own, or beside them."""
    held = BytesIO()
    with zipfile.ZipFile(BytesIO(data)) as before, zipfile.ZipFile(held, "w", zipfile.ZIP_DEFLATED) as after:
        for name in dict.fromkeys([*before.namelist(), *parts]):
            after.writestr(name, parts[name] if name in parts else before.read(name))
    return held.getvalue()


def swollen(data: bytes, part: str) -> bytes:
    """The file with one more part, which says that it holds 700 MB when unpacked."""
    held = BytesIO(data)
    with zipfile.ZipFile(held, "a") as file:
        file.writestr(part, b"")
        file.getinfo(part).file_size = 700_000_000
    return held.getvalue()


def body(inner: str, before: str = "") -> dict[str, bytes]:
    """A document's body; `before` stands before it."""
    return {BODY: f"{before}<w:document {W}><w:body>{inner}</w:body></w:document>".encode()}


def sheet(inner: str, before: str = "") -> dict[str, bytes]:
    """A workbook's first sheet; `before` stands before it."""
    return {SHEET: f"{before}<worksheet {S}><sheetData>{inner}</sheetData></worksheet>".encode()}


def paragraph(text: str) -> str:
    return f"<w:p><w:r><w:t>{text}</w:t></w:r></w:p>"


def _saved(made: Any) -> bytes:
    held = BytesIO()
    made.save(held)
    return held.getvalue()
