"""Files of kinds that people reported trouble with, from tests/data/reports, and what their tables say."""

from functools import cache
from pathlib import Path

from crag.core.config import AppConfig
from crag.core.ingesting import ParsedDocument
from crag.ingest.reader import read_document

REPORTS = Path(__file__).resolve().parents[1] / "data" / "reports"


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
