"""What a question names, and which sources are about something else."""

from __future__ import annotations

from dataclasses import replace

import pytest

from crag.core.types import Chunk, WebPage
from crag.generation.subjects import names_of, subjects_of, years_of
from crag.testing.fakes import chunk_of

WAUSAU = "Location: Wausau, WI. The airplane skidded on packed snow in 2008."
MADILL = "Location: Madill, OK. The airplane departed the runway."


def page(text: str, title: str = "") -> WebPage:
    return WebPage(id=text, url="https://example.org", title=title, text=text, provider="p", query="q", rank=1)


def foreign(question: str, *sources: Chunk | WebPage, kept: int = 0) -> list[int]:
    """The places of the foreign ones of the sources, of which the first `kept` are kept (0: all)."""
    held = sources[:kept] if kept else sources
    found = subjects_of(question, [each.id for each in held], {each.id: each for each in sources})
    return [place for place, each in enumerate(sources) if each.id in found.foreign]


def unnamed(question: str, *sources: Chunk | WebPage) -> tuple[str, ...]:
    return subjects_of(question, [each.id for each in sources], {each.id: each for each in sources}).unnamed


def test_a_source_that_lacks_what_another_has_is_foreign() -> None:
    question = "Why did the airplane skid off the runway at Wausau?"
    assert foreign(question, page(WAUSAU), page(MADILL)) == [1]
    assert foreign("Why did the airplane skid?", page(WAUSAU), page(MADILL)) == []
    assert foreign(question, page(MADILL), page("The airplane left the runway.")) == []


def test_the_year_that_is_asked_about_tells_documents_apart() -> None:
    first, second = page("The report of fiscal year 2017."), page("The report of fiscal year 2019.")
    assert foreign("How many claims came in FY 2017?", first, second) == [1]
    assert foreign("How many claims came in FY17?", first, second) == [1]


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("How many people does OPM employ?", "The Office of Personnel Management employs many."),
        ("Who leads the Office of Personnel Management?", "OPM has a director."),
        ("What is Beyoncé known for in Houston?", "She was born in Houston."),
        ("Who are American Express's customers?", "american express serves them"),
        ("How did JnJ's sales grow?", "Johnson & Johnson sold more."),
        ("What does Foot Locker sell?", "FOOTLOCKER_2022_8K sells shoes."),
        ("When did the Reims F172 crash?", "The F172 crashed."),
    ],
)
def test_a_name_is_met_however_it_is_written(question: str, text: str) -> None:
    assert names_of(question)
    named = replace(chunk_of(text), title=text.split()[0])
    assert foreign(question, named, page("Nothing of the kind stands here.")) == [1]


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ("Who is the mayor of Springfield?", ("Springfield",)),
        ("What did Amelia Earhart fly at Wausau?", ("Amelia Earhart",)),
        ("What happened in 1492?", ()),
        ("How is the F172 flown?", ()),
        ("What Is The Capital Of The Moon?", ()),
        ("What fell in March on a Monday?", ()),
    ],
)
def test_only_what_is_sure_to_be_a_name_is_missed(question: str, said: tuple[str, ...]) -> None:
    assert unnamed(question, page(WAUSAU), page(MADILL)) == said


def test_years_are_found_in_all_their_forms() -> None:
    assert years_of("FY2018, FY 17, 2019 and 1,999 or 20191") == {"2018", "2017", "2019"}


@pytest.mark.parametrize(
    "question",
    [
        "What was the Real change in sales of the Consumer segment?",
        "What was the Net Income in 2018?",
        "Total Revenue?",
    ],
)
def test_a_measure_with_a_capital_is_no_name_that_nothing_found_has(question: str) -> None:
    names = names_of(question)
    assert not {"Real", "Net Income", "Total Revenue"} & {name.text for name in names}


@pytest.mark.parametrize(
    ("question", "proper"),
    [
        ("Wie hoch war der Gesamtumsatz von Acme im Jahr 2018?", False),
        ("What did the war in Gaul cost, and who paid for it?", True),
        ("Acme Gesamtumsatz", True),
    ],
)
def test_a_german_noun_is_no_name(question: str, proper: bool) -> None:
    assert any(name.proper for name in names_of(question)) is proper
