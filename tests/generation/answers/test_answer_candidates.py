"""What is quoted of about as good texts: rows that the question names, and sentences with the figure asked for."""

from __future__ import annotations

from dataclasses import replace

import pytest

from crag.core.settings import Settings
from crag.core.types import Answer, Chunk
from crag.generation.candidates import is_without_figure, named_rows, names_item
from crag.generation.extractive import ExtractiveGenerator
from crag.testing.contracts import strip_of
from crag.testing.fakes import chunk_of, table_chunk_of

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
    *_, answer = ExtractiveGenerator().answer(question, strips, {chunk.id: chunk}, Settings().changed(**changes))
    assert isinstance(answer, Answer)
    return answer


@pytest.mark.parametrize(
    ("question", "labels"),
    [
        ("How much methane goes to air?", ["Methane (CH4)"]),
        ("And nitrous oxide?", ["Nitrous oxide (N2O)"]),
        ("Is non-methane compounds' release larger?", ["Non-methane compounds"]),
        ("How much sulphur goes to air?", []),
        ("", []),
    ],
)
def test_a_row_is_named_whose_whole_label_the_question_says(question: str, labels: list[str]) -> None:
    [table] = RELEASES.tables
    found = named_rows(question, RELEASES.text, table.rows)
    assert [RELEASES.text[row.start : row.label].strip(" :") for row in found] == labels


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
    ("question", "text", "without"),
    [
        (
            "What was the Management Score in FY 2019?",
            "In FY 2019 it had its highest Management Score in five years.",
            True,
        ),
        ("How many years was the Management Score the best?", "It was so for five years.", False),
        ("What was the Management Score in FY 2019?", "In FY 2019 the Management Score was 73.", False),
        ("Which cruising speed was used?", "A vehicle model of 2010 was used.", True),
        ("How many boats sank?", "Twelve of them sank.", False),
        ("How many boats sank?", "None did.", False),
        ("What was the purpose of the budget?", "It pays for boats.", False),
        ("What Collaborative Management Score did it reach?", "It reached its best.", True),
        ("Which factors affect the price?", "The weather does.", False),
        ("What drives the price?", "The weather does.", False),
        ("How many boats sank?", "§ 3.3.2.4 The number of boats that sank is logged.", True),
        ("What is the harbour's telephone number?", "Section 4.2: ask for Margaret.", True),
        ("What is the harbour's telephone number?", "Call (508) 324-2331.", False),
        ("Which e-mail address does the harbour have?", "Call (508) 324-2331.", True),
        ("Which e-mail address does the harbour have?", "Write to boats@harbour.org.", False),
        ("Who answers the telephone?", "Margaret does.", False),
    ],
)
def test_what_is_without_the_figure_that_is_asked_for(question: str, text: str, without: bool) -> None:
    assert is_without_figure(question, text) is without


@pytest.mark.parametrize(("score", "first"), [(0.5, "The score was 73"), (0.2, "In 2019 the score rose")])
def test_a_sentence_with_the_figure_stands_for_one_about_as_good_without_it(score: float, first: str) -> None:
    chunk = chunk_of("In 2019 the score rose to its best. The score was 73 at the end.")
    scored = zip(chunk.text.split(". "), (0.9, score), strict=True)
    strips = [strip_of(chunk, sentence, each) for sentence, each in scored]
    *_, answer = ExtractiveGenerator().answer("What was the score in 2019?", strips, {chunk.id: chunk}, Settings())
    assert isinstance(answer, Answer) and answer.text.startswith(first)
    assert (answer.lookup, answer.low_confidence) == (("no figure", True) if score == 0.2 else (answer.lookup, False))


@pytest.mark.parametrize(
    ("question", "item", "named"),
    [
        ("What is the maximum for client gifts?", "• Client gifts: Maximum $100", True),
        ("What is the origination fee of a loan?", "• $50 origination fee", True),
        ("What do meeting refreshments cost?", "• Client gifts: Maximum $100", False),
        ("What is the naming of other branches?", "Naming: hotfix/123", False),
        ("What is 5?", "5", False),
        ("What is the wait period for named ailments?", "Wait periods:\nInitial wait period 30 days", False),
        ("What is the transaction limit of a director?", "Director:\n• Transaction limit: $25,000", True),
    ],
)
def test_an_item_is_named_whose_words_the_question_says(question: str, item: str, named: bool) -> None:
    assert names_item(question, item) is named


STEPS = chunk_of(
    "$10,000 - $50,000 needs a manager.\n$50,001 - $150,000 needs a director.\nOver $150,001 the board decides."
)


@pytest.mark.parametrize(("score", "said"), [(0.6, "director"), (0.2, "board")])
def test_the_step_of_a_scale_with_the_amounts_asked_for_stands_for_others(score: float, said: str) -> None:
    scores = {"$10,000": 0.5, "$50,001": score, "Over": 0.9}
    assert said in quoted("Who decides on $50,001 to $150,000?", STEPS, scores, answer_sentences=1).text


def test_without_such_a_step_or_amounts_nothing_changes() -> None:
    for question in ("Who decides on $7,000 to $9,000?", "Who decides?"):
        assert "board" in quoted(question, STEPS, {"$50,001": 0.8, "Over": 0.9}, answer_sentences=1).text


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
    strip = strip_of(chunk, chunk.text, 0.9)
    *_, answer = ExtractiveGenerator().answer(question, [strip], {chunk.id: chunk}, Settings())
    assert isinstance(answer, Answer) and answer.text == said


@pytest.mark.parametrize(("asked", "low"), [("a director", False), ("a clerk", True)])
def test_an_item_is_of_low_confidence_where_its_chunk_has_not_all_words_of_the_question(asked: str, low: bool) -> None:
    chunk = chunk_of("Director:\n• Transaction Limit: $25,000")
    question, item = f"What is the transaction limit of {asked}?", "• Transaction Limit: $25,000"
    sources = {chunk.id: chunk}
    *_, answer = ExtractiveGenerator().answer(question, [strip_of(chunk, item, 0.9)], sources, Settings())
    assert isinstance(answer, Answer) and answer.low_confidence is low


ROLES = "Senior Manager of Sales", "Manager of Sales", "Director of Sales"


@pytest.mark.parametrize(
    ("question", "score", "said"),
    [
        ("How many years must the Senior Manager of Sales have?", 0.5, "7 years"),
        ("How many years must the manager of sales have?", 0.5, "5 years"),
        ("How many years must the Senior Manager of Sales have?", 0.2, "9 years"),
        ("How many years must a salesperson have?", 0.5, "9 years"),
    ],
)
def test_the_section_that_the_question_names_stands_for_sections_named_alike(
    question: str, score: float, said: str
) -> None:
    texts = ("• 7 years of work in sales", "• 5 years of work in sales", "• 9 years of work in sales")
    chunks = [
        replace(chunk_of(text, ordinal=at), context=f"paper.pdf › {role}")
        for at, (role, text) in enumerate(zip(ROLES, texts, strict=True))
    ]
    strips = [strip_of(chunk, chunk.text, of) for chunk, of in zip(chunks, (score, score + 0.05, 0.9), strict=True)]
    sources = {chunk.id: chunk for chunk in chunks}
    *_, answer = ExtractiveGenerator().answer(question, strips, sources, Settings().changed(answer_sentences=1))
    assert isinstance(answer, Answer) and said in answer.text


@pytest.mark.parametrize(("score", "said"), [(0.5, "7+ years"), (0.2, "5+ years")])
def test_of_a_list_the_item_with_more_words_of_the_question_stands_for_others(score: float, said: str) -> None:
    chunk = chunk_of("• 7+ years of product management experience\n• 5+ years of management experience")
    answer = quoted(
        "How many years of product management experience?", chunk, {"• 7+": score, "• 5+": 0.7}, answer_sentences=1
    )
    assert said in answer.text


LESSONS = chunk_of("The program pays for much. Lessons that are covered:\n• Skiing\n• Scuba diving\nIt ends in May.")


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ("Which lessons are covered?", "Lessons that are covered: • Skiing • Scuba diving [1]."),
        ("How many lessons are covered?", "Lessons that are covered: [1]."),
    ],
)
def test_a_line_that_leads_to_a_list_is_quoted_with_it_where_things_are_asked_for(question: str, said: str) -> None:
    strip = strip_of(LESSONS, "Lessons that are covered:", 0.9)
    *_, answer = ExtractiveGenerator().answer(question, [strip], {LESSONS.id: LESSONS}, Settings())
    assert isinstance(answer, Answer) and answer.text == said
    [citation] = answer.citations
    assert citation.quote in LESSONS.text


def test_numbers_of_a_list_end_no_sentence() -> None:
    chunk = chunk_of("The report says:\n1. Who was there.\n2. What happened.")
    *_, answer = ExtractiveGenerator().answer(
        "What does the report say?", [strip_of(chunk, "The report says:", 0.9)], {chunk.id: chunk}, Settings()
    )
    assert isinstance(answer, Answer)
    assert answer.text == "The report says: (1) Who was there [1]. (2) What happened [1]."


def test_a_figure_under_its_label_is_quoted_with_it() -> None:
    chunk = chunk_of(
        "Contact\nThe office answers all questions.\nTelephone (Monday through Friday)\n785-296-3671\nFax: none"
    )
    strips = [
        strip_of(chunk, "The office answers all questions.", 0.4),
        strip_of(chunk, "Telephone (Monday through Friday)", 0.8),
    ]
    question = "What is the telephone number of the office?"
    *_, answer = ExtractiveGenerator().answer(question, strips, {chunk.id: chunk}, Settings())
    assert isinstance(answer, Answer) and "785-296-3671" in answer.text and answer.lookup != "no figure"


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
    *_, answer = ExtractiveGenerator().answer(question, [strip_of(chunk, text, 0.9)], {chunk.id: chunk}, Settings())
    assert isinstance(answer, Answer) and (answer.lookup == "opposite", answer.low_confidence) == (opposite, opposite)
