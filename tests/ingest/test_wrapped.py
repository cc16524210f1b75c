"""Lines that were broken to keep them short are one paragraph, in every language; others stay."""

import textwrap

import pytest

from crag.core.config import AppConfig
from crag.ingest.reader import read_document
from crag.ingest.wrapped import unwrap

GERMAN = (
    "Anspruch auf ein Zwölftel des Jahresurlaubs hat der Arbeitnehmer für Zeiten, für die er wegen Nichterfüllung der "
    "Wartezeit keinen vollen Urlaubsanspruch erwirbt. Im Fall der Übertragung muss der Urlaub in den ersten drei "
    "Monaten des folgenden Kalenderjahrs gewährt und genommen werden; die Wünsche der Arbeitnehmer sind zu beachten."
)
ENGLISH = (
    "Reports go to the Office of Information and Regulatory Affairs in Washington. The Federal Acquisition Regulation "
    "names who signs them for the Department of Homeland Security and for the General Services Administration."
)
NOTES = "Bread and butter\nMilk\nCall Anna about the Fair\nTrain leaves at nine from Platform Two\nHotel Astoria\n"
VERSE = "The harbour sleeps beneath a shawl of rain,\nAnd lanterns drift\nBetween the moored and silent boats again,\n"
FIELDS = "From: A Person <a@b.example>\nTo: Another <c@d.example>\n"


@pytest.mark.parametrize("name", ["a.txt", "a.md", "a.eml"])
@pytest.mark.parametrize("said", [GERMAN, ENGLISH])
@pytest.mark.parametrize("width", [48, 72])
def test_a_paragraph_is_one_whatever_its_lines_begin_with(said: str, width: int, name: str) -> None:
    head = "Content-Type: text/plain; charset=utf-8\n\n" if name == "a.eml" else ""
    text = f"{head}{textwrap.fill(said, width)}\n\n{textwrap.fill(f'{said} {said}', width)}\n"
    [page] = read_document(text.encode(), name, AppConfig()).pages
    assert page.text.endswith(f"{said}\n\n{said} {said}")


def test_what_goes_on_under_an_item_is_part_of_it_and_items_stay_apart() -> None:
    items = [textwrap.fill(ENGLISH, 60, initial_indent=mark, subsequent_indent="    ") for mark in ("-   ", "2.  ")]
    assert unwrap("\n".join(items)) == f"-   {ENGLISH}\n2.  {ENGLISH}"


@pytest.mark.parametrize(
    "kept",
    [
        *(NOTES * 3, VERSE * 3, FIELDS * 5, textwrap.fill(ENGLISH, 30), "她說的話很多。\n" * 8, "| one | Two |\n" * 9),
        *(f"```\n{textwrap.fill(ENGLISH, 60)}\n```", "Name        Amount of it     Year of it\n" * 9),
        "A line with a break of its own  \nOf Markdown\n" * 9,
    ],
)
def test_lines_that_mean_something_stay(kept: str) -> None:
    assert unwrap(kept) == kept
