"""What is quoted of about as good texts: rows that the question names, and sentences with the figure asked for."""

from __future__ import annotations

from dataclasses import replace

import pytest

from crag.core.settings import Settings
from crag.core.types import Answer, Chunk
from crag.testing.contracts import strip_of
from crag.testing.fakes import chunk_of, table_chunk_of
from tests.support.extracted import extracted

RELEASES = table_chunk_of(
    ["", "to air", "to water"],
    ["Methane (CH4)", "100 000", "-"],
    ["Nitrous oxide (N2O)", "10 000", "-"],
    ["Non-methane compounds", "150 000", "-"],
)
PER_YEAR = table_chunk_of(
    ["", "", ""], ["December 31", "2019", "2018"], ["Tax credits", "52", "43"], ["Pay", "18", "15"]
)


def quoted(question: str, chunk: Chunk, scores: dict[str, float], **changes: object) -> Answer:
    lines = chunk.text.split("\n")
    strips = [
        strip_of(chunk, next(line for line in lines if line.startswith(label)), score)
        for label, score in scores.items()
    ]
    return extracted(question, strips, chunk, **changes)


def test_the_row_that_is_named_stands_for_others_that_score_about_as_much() -> None:
    scores = {"Methane (CH4)": 0.5, "Nitrous oxide (N2O)": 0.7, "Non-methane compounds": 0.6}
    answer = quoted("What is the largest release of methane?", RELEASES, scores)
    assert "Methane (CH4): to air 100 000" in answer.text and "Nitrous" not in answer.text


def test_a_named_row_that_scores_far_less_does_not() -> None:
    answer = quoted(
        "What is the largest release of methane?", RELEASES, {"Methane (CH4)": 0.2, "Non-methane compounds": 0.9}
    )
    assert answer.text.startswith("Non-methane")


def test_a_row_of_years_stays_beside_the_named_one() -> None:
    answer = quoted(
        "When were tax credits the largest?", PER_YEAR, {"December 31": 0.5, "Tax credits": 0.6, "Pay": 0.7}
    )
    assert "2019" in answer.text and "Tax credits" in answer.text and "Pay" not in answer.text


@pytest.mark.parametrize(("floor", "abstained"), [(Settings().min_answer_score, True), (0.0, False)])
def test_no_other_row_stands_for_a_name_that_nothing_has(floor: float, abstained: bool) -> None:
    outlets = table_chunk_of(["", "outlets"], ["Denmark", "40.9"], ["Finland", "31.7"])
    question = "How many outlets does Norway have?"
    answer = quoted(question, outlets, {"Denmark": 0.9, "Finland": 0.8}, min_answer_score=floor)
    assert answer.abstained is abstained and answer.unnamed == ("Norway",)


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ("What is the maximum for client gifts?", "Client gifts: Maximum $100 [1]."),
        ("What is the maximum for parking fees?", "Client gifts: Maximum $100 • Taxi rides: Maximum $50 [1]."),
        ("Client gifts and taxi rides?", "Client gifts: Maximum $100 • Taxi rides: Maximum $50 [1]."),
    ],
)
def test_of_a_list_the_one_item_that_the_question_names_is_quoted(question: str, said: str) -> None:
    chunk = chunk_of("• Client gifts: Maximum $100\n• Taxi rides: Maximum $50")
    assert extracted(question, [strip_of(chunk, chunk.text, 0.9)], chunk).text == said


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("Disclosures #326\nRob was asked. He comes.\n\nNext", "Disclosures #326 Rob was asked [1]. He comes [1]."),
        ("Can I bring my dog?\nYes, on a lead.\nCan I smoke?", "Can I bring my dog [1]? Yes, on a lead [1]."),
        ("• Disclosures #326\n\nRob: I was asked.\n\n• Policies", "Disclosures #326 Rob: I was asked [1]."),
        ("Office hours\nBy appointment alone\nAsk Ms Day", "Office hours [1]."),
        ("Fee: 20 euros\nIt is due in May.", "Fee: 20 euros [1]."),
    ],
)
def test_a_heading_or_a_question_is_quoted_with_the_sentences_under_it(text: str, said: str) -> None:
    chunk = chunk_of(text)
    assert extracted("What is asked?", [strip_of(chunk, text.partition("\n")[0], 0.9)], chunk).text == said


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("Lessons that are covered:\n• Skiing\n• Diving\nIt ends.", "Lessons that are covered: • Skiing • Diving [1]."),
        ("(1) Books are\n\n1. notes,\n\n2. maps.\n\n(2) No other.", "(1) Books are (1) notes, (2) maps [1]."),
        ("You enter it\na) at login,\nb) to install.\nNever else.", "You enter it a) at login, b) to install [1]."),
        ("Each day:\n1. work\n- at a desk\n(a) rest", "Each day: (1) work - at a desk (a) rest [1]."),
        ("It is open\nto all.\n• Skiing", "It is open to all [1]."),
        ("• Skiing\n• Diving", "Skiing [1]."),
    ],
)
def test_a_line_that_leads_to_a_list_is_quoted_with_it(text: str, said: str) -> None:
    chunk = chunk_of(text)
    answer = extracted("How many lessons?", [strip_of(chunk, text.partition("\n")[0], 0.9)], chunk)
    assert answer.text == said
    [citation] = answer.citations
    assert citation.quote in chunk.text


TRIPS = table_chunk_of(
    ["Trip", "Leader", "Price"], ["Ridge", "Ana Reyes", "25"], ["Gorge", "Jon Ek", "60"], ["Night", "Ana Reyes", "12"]
)


@pytest.mark.parametrize(
    ("question", "rows"),
    [("Which trips does Ana Reyes lead?", ["Ridge", "Night"]), ("Which trip of Ana Reyes costs 12?", ["Night"])],
)
def test_the_rows_with_most_of_the_values_that_are_named_are_quoted(question: str, rows: list[str]) -> None:
    answer = quoted(question, TRIPS, {"Ridge": 0.6, "Gorge": 0.1, "Night": 0.8})
    assert [row for row in ("Ridge", "Gorge", "Night") if row in answer.text] == rows
    assert len(answer.citations) == 1


def test_the_names_of_columns_are_not_quoted_with_the_first_row() -> None:
    first = strip_of(TRIPS, TRIPS.text[: TRIPS.tables[0].rows[0].end], 0.9)
    assert "Trip; Leader" in first.text
    assert extracted("What does the Ridge trip cost?", [first], TRIPS).text.startswith("Ridge: ")


@pytest.mark.parametrize(
    ("question", "meant", "other"),
    [
        (
            "Who decides on $50,001 to $150,000?",
            "$50,001 - $150,000 needs a director.",
            "From $150,001 on the board.",
        ),
        ("How many boats sank in 2019?", "In 2019 twelve boats sank.", "Since 2012 many boats sank."),
        ("How many years in sales?", "• 7+ years of sales experience", "• 5+ years of experience"),
    ],
)
def test_of_texts_that_score_alike_the_one_that_is_meant_is_quoted(question: str, meant: str, other: str) -> None:
    for lines in ((meant, other), (other, meant)):
        chunk = chunk_of("\n".join(lines))
        strips = [strip_of(chunk, line, 0.6) for line in lines]
        assert extracted(question, strips, chunk, answer_sentences=1).citations[0].quote == meant


def test_the_heading_of_a_text_says_whose_it_is() -> None:
    roles = "Senior Manager of Sales", "Manager of Purchases", "Director"
    chunks = [
        replace(chunk_of(f"{years} years of work", ordinal=years), context=f"paper.pdf › {role}")
        for years, role in zip((7, 5, 9), roles, strict=True)
    ]
    strips = [strip_of(chunk, chunk.text, 0.6) for chunk in chunks]
    for years, role in zip((7, 5, 9), roles, strict=True):
        answer = extracted(f"How many years must the {role} have?", strips, *chunks, answer_sentences=1)
        assert answer.text.startswith(str(years))


@pytest.mark.parametrize(
    ("question", "text", "opposite"),
    [
        ("Who may hold an unrestricted license?", "At 16 a restricted license may be held by all.", True),
        ("Who may hold a restricted license?", "At 16 an unrestricted license may be held by all.", True),
        ("Who may hold an unrestricted license?", "An unrestricted license follows a restricted one.", False),
        ("What is the minimum age for the license?", "The maximum age for the license is 70.", True),
        ("What is the income of the license office?", "All that come to the license office are served.", False),
    ],
)
def test_a_quote_with_the_opposite_of_a_word_is_of_low_confidence(question: str, text: str, opposite: bool) -> None:
    chunk = chunk_of(text)
    answer = extracted(question, [strip_of(chunk, text, 0.9)], chunk)
    assert (answer.lookup == "opposite", answer.low_confidence) == (opposite, opposite)
