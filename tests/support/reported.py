"""Files of tests/data as other programs write them, and what their tables say.

tests/data/reports holds kinds that people reported trouble with, among them:

ships.xlsx        lines with a title, a date and a unit above the table
regions.xlsx      cells merged across and down, and a formula without its value
flats.docx        the same of Word
numbered.docx     lists in lists that Word numbers: a heading, a bullet amid them, and a list that starts again
letterhead.docx   a header of the first part and a footer of the second
power.docx        a raised figure in a formula, and one beside it that is a note

tests/data/kinds holds one file a program:

crane.eml         a reply of Outlook: HTML with a table, and the earlier mail below a header in the text
tides.eml         Apple Mail: text, a file amid it, more text, a quoted mail, and a logo that the text shows
key.eml           answers between the lines of what they quote, in ISO 8859-1 as quoted-printable
cupboard.eml      a text in UTF-16 as base64
kiln.msg          a message of Outlook with a page as its text, a file and a mail in it
lift.rtf          Word: a letterhead, a heading, a table, hidden words and an embedded program
key.rtf           LibreOffice: Cyrillic, and hidden words
kites.epub        a book of two chapters whose files stand in another order than they are read in
ferry.odt         a heading, hidden words, a deleted sentence, a comment and a table with a merged label
fuel.ods          a sheet with rows repeated to its end, a hidden row and a hidden sheet
report.docx       two sections, a table, and words of each kind that nobody sees
crossing.pptx     three slides, the second hidden; on the third a table, a chart, notes and a box beside the slide
revenue.xlsx      a sheet of harbours, one row and one column of it hidden, and a hidden sheet
pier.odp          two slides, the second hidden, and notes
berth.pdf         a filled form: a list, radio buttons, boxes to tick, a field without a printed label, and with it
                  scripts that run when it is opened, a password, a hidden field and empty ones
notes.pdf         a line of text with a typed note, a sticky note and its popup, a marked line and a hidden note
notes_alone.pdf   the same without the line of text
"""

from functools import cache
from pathlib import Path

from crag.core.config import AppConfig
from crag.core.ingesting import ParsedDocument
from crag.ingest.reader import read_document

DATA = Path(__file__).resolve().parents[1] / "data"
REPORTS = DATA / "reports"


def kind(name: str) -> bytes:
    """The bytes of a file of tests/data/kinds."""
    return (DATA / "kinds" / name).read_bytes()


@cache
def report(name: str) -> ParsedDocument:
    return read_document((REPORTS / name).read_bytes(), name, AppConfig())


def text_of(parsed: ParsedDocument) -> str:
    return "\n".join(each.text for each in parsed.pages)


def value(parsed: ParsedDocument, label: str, column: str) -> str:
    """What the tables say in the one row and column of these names."""
    [found] = [
        page.text[cell.start : cell.end]
        for page in parsed.pages
        for table in page.tables
        for row in table.rows
        if page.text[row.start : row.label].strip(" :") == label
        for cell in row.cells
        if table.name(cell) == column
    ]
    return found
