"""Office files of which parts are replaced by others."""

import zipfile
from collections.abc import Mapping
from io import BytesIO

W = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
S = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'
BODY, SHEET = "word/document.xml", "xl/worksheets/sheet1.xml"


def blank_pptx() -> bytes:
    """One slide with nothing on it."""
    from pptx import Presentation

    made = Presentation()
    made.slides.add_slide(made.slide_layouts[6])
    held = BytesIO()
    made.save(held)
    return held.getvalue()


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
