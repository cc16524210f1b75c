"""What is worked out from cells of tables: which questions have a formula, what it comes to, and when there is none."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from crag.core.ranking import rank_chunks
from crag.core.settings import Settings
from crag.core.types import Answer, Chunk
from crag.generation.arithmetic import looks_up, reach_cells, read_arithmetic, work_out
from crag.generation.verification import CitationVerifier
from crag.testing.contracts import strip_of
from crag.testing.fakes import ScriptedEvaluator
from tests.generation.answers.test_cells import chunk_of_rows
from tests.support.extracted import extracted

INCOME = chunk_of_rows(
    ["", "2020", "2019"],
    ["Net sales", "$1,200", "$1,000"],
    ["Cost of sales", "(900)", "(800)"],
    ["Operating income", "150", "100"],
    ["Net income (loss)", "(40)", "60"],
    name="income",
    heading="CONSOLIDATED STATEMENTS OF INCOME",
    unit="in millions",
)
BALANCE = chunk_of_rows(
    ["", "December 31, 2020", "December 31, 2019"],
    ["Accounts receivable", "80", "70"],
    ["Total current assets", "300", "280"],
    ["Total current liabilities", "150", "140"],
    ["Goodwill", "25", "—"],
    name="balance",
    heading="CONSOLIDATED BALANCE SHEETS",
    unit="in millions",
)
CASH = chunk_of_rows(
    ["", "2020", "2019"],
    ["Capital expenditures", "(60,000)", "(50,000)"],
    name="cash",
    heading="CONSOLIDATED STATEMENTS OF CASH FLOWS",
    unit="in thousands",
)
SOURCES = {chunk.id: chunk for chunk in (INCOME, BALANCE, CASH)}


def worked(question: str, sources: dict[str, Chunk] = SOURCES) -> str:
    made = work_out(question, sources)
    return made.result if made else ""


@pytest.mark.parametrize(
    ("question", "result"),
    [
        ("What was the percentage change in net sales from 2019 to 2020?", "20.0%"),
        ("By how much did net sales increase in 2020 compared to 2019?", "200 million"),
        ("What is the difference between net sales and operating income in 2020?", "1,050 million"),
        ("What is the difference between net sales in 2020 and net sales in 2019?", "200 million"),
        ("What was the sum of net sales in 2019 and 2020?", "2,200 million"),
        ("What was operating income as a percentage of net sales in 2020?", "12.5%"),
        ("What was the ratio of net sales in 2020 to 2019?", "1.20"),
        ("What percentage of net sales was operating income in 2020?", "12.5%"),
        ("What was the two year average of net sales from 2019 to 2020?", "1,100.0 million"),
    ],
)
def test_what_a_question_words_is_worked_out(question: str, result: str) -> None:
    assert worked(question) == result
    assert looks_up(question)


@pytest.mark.parametrize(
    "question",
    [
        "What was the percentage change in tuition revenue from 2019 to 2020?",  # no such item
        "What was the percentage change in goodwill from 2019 to 2020?",  # by zero
        "What was the change in cost of sales from 2019 to 2020?",  # brackets may or may not be a sign
        "What was the ratio of net sales to cost of sales in 2020? Leave out disposals.",
        "What was the average of net sales for 2018, 2019 and 2020?",
        "What was the three year average of net sales from 2019 to 2020?",
        "What was the weighted average of net sales for 2019 and 2020?",
        "What was the sum of net sales in 2019 and 2020, in billions?",
        "What was the change in operating income as a percentage of net sales from 2019 to 2020?",
        "What was the net sales CAGR from 2019 to 2020?",
        "What were net sales in 2020?",
    ],
)
def test_what_is_not_understood_or_not_there_is_not_worked_out(question: str) -> None:
    assert worked(question) == ""


@pytest.mark.parametrize(
    "names", [("2020 £m", "2019 £m"), ("2020 $'000", "(Restated) 2019 $'000"), ("2020 %", "2019 %")]
)
def test_what_a_column_counts_in_is_no_part_of_its_item(names: tuple[str, str]) -> None:
    made = work_out(
        f"What was the average {'discount rate' if '%' in names[0] else 'net debt'} for 2019 and 2020?",
        {"a": chunk_of_rows(["", *names], ["Net debt", "30.5", "20.5"], ["Discount rate", "3.0", "2.0"])},
    )
    expected = {"£": "25.50 million", "$": "25.50 thousand", "%": "2.50%"}
    assert made is not None and made.result == next(said for sign, said in expected.items() if sign in names[0])


def test_the_formula_names_its_cells_and_counts_all_as_the_first_is() -> None:
    made = work_out("What were capital expenditures as a percentage of net sales in 2020?", SOURCES)
    assert made is not None and made.formula == "#1 ÷ #2"
    assert made.values == ("60,000 thousand", "1,200 million")
    assert [cell.row for cell in made.cells] == ["Capital expenditures", "Net sales"]


def test_tables_that_count_in_nothing_known_are_not_mixed_with_others() -> None:
    [table] = CASH.tables
    bare = replace(CASH, tables=(replace(table, unit=""),))
    assert worked("What were capital expenditures as a share of net sales in 2020?", {**SOURCES, "cash": bare}) == ""


def test_documents_that_come_to_several_results_have_none() -> None:
    [table] = INCOME.tables
    other = replace(INCOME, id="again", document_id="other", text=INCOME.text.replace("1,200", "1,500"))
    question = "What was the percentage change in net sales from 2019 to 2020?"
    assert table.rows and worked(question, {**SOURCES, "again": other}) == ""


@pytest.mark.parametrize("text", ["(" * 400, "average " * 50, "2019 and " * 45, "a / " * 100, "a" * 9_000])
def test_nothing_is_worked_out_of_hostile_questions(text: str) -> None:
    assert read_arithmetic(f"What was the change in {text} 2020?") is None


def test_each_year_of_a_range_is_an_item() -> None:
    made = read_arithmetic("What was the average of net sales from 2016 to 2020?")
    assert made is not None and len(made.items) == 5


def answered(question: str, sources: Sequence[Chunk], pointed: str = "") -> Answer:
    """The answer from all rows of the chunks."""
    strips = [
        strip_of(chunk, chunk.text[row.start : row.end], 0.9) for chunk in sources for row in chunk.tables[0].rows
    ]
    return extracted(question, strips, *sources, pointed=pointed)


def test_one_row_is_cited_once() -> None:
    answer = answered("What was the percentage change in net sales from 2019 to 2020?", [INCOME, BALANCE, CASH])
    assert answer.calculation is not None and len(answer.citations) == 1
    assert {cell.citation for cell in answer.calculation.cells} == {1}
    assert answer.text.count("[1]") == 1


def test_the_check_of_citations_finds_the_rows_also_where_their_strips_were_dropped() -> None:
    strips = [strip_of(INCOME, INCOME.text[INCOME.tables[0].rows[0].start : INCOME.tables[0].rows[0].end], 0.9)]
    question, settings = "What was cost of sales as a share of net sales in 2020?", Settings(lookup_reach=40)
    answer = extracted(question, strips, INCOME, lookup_reach=40)
    assert answer.calculation is not None and len(answer.citations) == 2
    made = CitationVerifier(ScriptedEvaluator(score=lambda text: 0.5)).verify(
        answer, strips, {"income": INCOME}, settings
    )
    assert [check.supported for check in made.checks] == [True, True]
    assert extracted(question, strips, INCOME).calculation is None


@pytest.mark.parametrize(
    "question",
    [
        "What was the percentage change in net sales from 2017 to 2020?",
        "What was the average, over all of the quarters, of net sales?",
        "What was net sales divided by the number of stores in 2020?",
    ],
)
def test_no_cell_stands_for_a_result_that_is_not_worked_out(question: str) -> None:
    assert answered(question, [INCOME], pointed="$1,200").short is None


def test_the_chunks_that_alone_have_the_cells_take_the_last_places() -> None:
    others = [replace(BALANCE, id=f"other {number}") for number in range(4)]
    found = rank_chunks([*others, INCOME, CASH])
    question = "What were capital expenditures as a percentage of net sales in 2020?"
    assert [each.rank for each in reach_cells(question, found, 4)] == [1, 2, 5, 6]
    assert [each.rank for each in reach_cells(question, found[::-1], 4)] == [6, 5, 4, 3]
    assert [each.rank for each in reach_cells("What is the average of patents in 2020 and 2019?", found, 4)] == [
        1,
        2,
        3,
        4,
    ]
