"""Fields of forms: the row whose label the question says, in the document that it names; else none."""

from __future__ import annotations

from dataclasses import replace

import pytest

from crag.core.tables import BESIDE, Cell, Row, Table
from crag.core.types import Chunk
from crag.generation.cells import look_up
from crag.generation.fields import find_field
from crag.testing.fakes import chunk_of

WAUSAU = (
    ("Registered Owner", "Flying Service"),
    ("Runway Length/Width", "3078 ft / 100 ft"),
    ("Runway Surface Type", "asphalt"),
    ("Aircraft", "Cessna 172"),
    ("Aircraft Damage", "substantial"),
    ("Visibility", "10 miles"),
    ("Visibility (RVR)", "6000 ft"),
    ("Airplane Rating(s)", "single-engine"),
    ("Report Date", "01/31/2008"),
    ("Age", "61"),
)


def form(document: str, town: str, pairs: tuple[tuple[str, str], ...], heading: str = "Pilot Information") -> Chunk:
    text, rows = "", list[Row]()
    for label, value in pairs:
        start = len(text)
        text += f"{label}: {value}".rstrip() + "\n"
        at = start + len(label) + 2
        cells = (Cell(BESIDE, at, at + len(value)),) if value else ()
        rows.append(Row(start, at + len(value) if value else at - 1, at - 1, cells))
    title = f"Accident report – {town}"
    table = Table(start=0, end=len(text), rows=tuple(rows))
    return replace(chunk_of(text, name=document), title=title, context=f"{title} › {heading}", tables=(table,))


MADILL = form("b", "Madill", (("Aircraft", "Cessna 152"), ("Registered Owner", "Versatile Aviation"), ("Age", "32")))
CHUNKS = [form("a", "Wausau", WAUSAU), MADILL]


EMPTY = form("c", "Chevroux", (("Seats", ""), ("Registered Owner", "Airclub")))


def field_of(question: str) -> str | None:
    found = find_field(question, CHUNKS)
    return found and found.chunk.text[found.row.start : found.row.end]


@pytest.mark.parametrize(
    ("question", "row"),
    [
        ("Who is the registered owner in the Wausau report?", "Registered Owner: Flying Service"),
        ("Who is the registered owner in the Madill report?", "Registered Owner: Versatile Aviation"),
        ("What was the length of the runway at Wausau?", "Runway Length/Width: 3078 ft / 100 ft"),
        ("What was the visibility at Wausau?", "Visibility: 10 miles"),
        ("What was the visibility (RVR) at Wausau?", "Visibility (RVR): 6000 ft"),
        ("Which airplane rating did the pilot have in the Wausau accident?", "Airplane Rating(s): single-engine"),
    ],
)
def test_the_field_that_a_question_names(question: str, row: str | None) -> None:
    assert field_of(question) == row


@pytest.mark.parametrize(
    "question",
    [
        "Who is the registered owner?",  # two documents differ
        "What was the date of the accident at Wausau?",  # no label says no more than that
        "Who owned the aircraft at Wausau?",  # asks for more than the label says
        "Why was there aircraft damage at Wausau?",
        "What was the aircraft damage at Springfield?",  # of another place
        "How old was the pilot?",
    ],
)
def test_what_names_no_field_of_one_document_is_none(question: str) -> None:
    assert field_of(question) is None


def test_a_field_is_looked_up_as_a_cell_is() -> None:
    lookup = look_up("Who is the registered owner in the Wausau report?", {each.id: each for each in CHUNKS})
    assert lookup is not None
    assert lookup.cell is not None
    assert lookup.cell.labelled == "Registered Owner: Flying Service"
    assert lookup.outcome == "found"


def test_an_empty_field_is_found_empty_not_taken_from_another_document() -> None:
    sources = {each.id: each for each in (*CHUNKS, EMPTY)}
    lookup = look_up("What number of seats is given in the Chevroux report?", sources)
    assert lookup is None or lookup.outcome != "found"
    lookup = look_up("Seats of the Chevroux accident?", sources)
    assert lookup is not None
    assert (lookup.outcome, lookup.found) == ("empty", ())


def paper(document: str, *lines: str) -> Chunk:
    text = "\n".join(lines)
    title = f"{document} Inc. – Invoice"
    return replace(chunk_of(text, name=document), title=title, context=title)


PAPERS = {
    each.id: each
    for each in (
        paper("Acme", "Invoice No.: 4218", "PO Number: 7", "Due Date: 04/04/2023", "Note: it rained all day", "Tax: 5"),
        paper(
            "Zenith", "Invoice No.: 99", "Payment terms: Net 30 days", "Order: see above: below", "Opening: 06/30/2027"
        ),
    )
}


@pytest.mark.parametrize(
    ("question", "value"),
    [
        ("What is the invoice number of the Acme invoice?", "4218"),
        ("What are the payment terms?", "Net 30 days"),
        ("When is the Acme invoice due?", "04/04/2023"),
        ("When must the opening of Zenith take place?", "06/30/2027"),
        ("What must the opening of Zenith achieve?", None),
        ("What is the account number of Acme?", None),
        ("What is the invoice number?", None),
        ("What is the order of Zenith?", None),
    ],
)
def test_a_line_of_label_and_value_answers_only_what_its_label_says(question: str, value: str | None) -> None:
    found = look_up(question, PAPERS)
    assert (found.cell.text if found and found.cell else None) == value


LIMITS = """Department Manager:
• Transaction Limit: $5,000
• Daily Limit: $15,000
Director:
• Transaction Limit: $25,000
• Daily Limit: $75,000
Nothing else is paid out.
• Fee: $50
SEV 3 - Minor
• Response time: 1 hour
Chief Operating Officer
Location: Any major city
Reports To: the board
Restricted License — Art. 2
• Minimum age of 15
• Practice 25 hours by day
Unrestricted License — Art. 3
• Minimum age 17"""


@pytest.mark.parametrize(
    ("question", "found"),
    [
        ("What is the daily limit of a director?", ("Director", "$75,000")),
        ("What is the transaction limit of a department manager?", ("Department Manager", "$5,000")),
        ("What is the response time of SEV 3?", ("SEV 3 - Minor", "1 hour")),
        ("Where is the Chief Operating Officer located?", ("Chief Operating Officer", "Any major city")),
        ("What is the minimum age for a restricted license?", ("Restricted License — Art. 2", "15")),
        ("What is the minimum age for an unrestricted license?", ("Unrestricted License — Art. 3", "17")),
        ("What is the minimum age for a farm license?", None),
        ("What is the daily limit of a clerk?", None),
        ("What is the daily limit?", None),  # of two that differ
        ("What is the response time of SEV 5?", None),
        ("What is the fee of a director?", None),  # a sentence ends the list
        ("Where is the Chief Financial Officer located?", None),
    ],
)
def test_a_line_of_a_list_is_named_with_the_line_over_it(question: str, found: tuple[str, str] | None) -> None:
    chunk = replace(chunk_of(LIMITS), title="Policies", context="Policies")
    lookup = look_up(question, {"x": chunk})
    cell = lookup.cell if lookup else None
    assert (cell and (cell.column, cell.text)) == found


def test_a_field_of_a_form_is_named_with_the_line_over_it() -> None:
    owner = form("d", "Sligo", (("Salary", "by agreement"), ("Hours", "40")))
    headed = "Customer Service\n" + owner.text
    moved = tuple(table.moved(len("Customer Service\n")) for table in owner.tables)
    chunk = replace(owner, text=headed, end=len(headed), tables=moved)
    assert (found := find_field("What is the salary of customer service?", [chunk])) and found.value == "by agreement"
    assert find_field("What is the salary of a pilot of a seaplane?", [chunk]) is None
