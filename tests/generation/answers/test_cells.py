"""Which cell of the retrieved tables a question asks for, and when there is none."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from crag.core.ranking import rank_chunks
from crag.core.settings import Settings
from crag.core.types import Answer, Chunk
from crag.generation.cells import Lookup, look_up, reach_figure
from crag.generation.extractive import ExtractiveGenerator
from crag.generation.llm import LlmGenerator
from crag.generation.periods import Period, is_same_period, periods_in
from crag.generation.wanted import wanted_of
from crag.messages.answers import conflict_sentences
from crag.testing.contracts import strip_of
from crag.testing.fakes import FakeChat, table_chunk_of
from tests.support.extracted import extracted

TITLE = "Acme Corporation, Form 10-K, fiscal year ended August 29, 2021"


def chunk_of_rows(
    *rows: Sequence[str], name: str = "a", heading: str = "", section: str = "", title: str = TITLE, unit: str = ""
) -> Chunk:
    """A table of a filing under a heading; all its rows stand in one section."""
    chunk = table_chunk_of(*rows)
    [table] = chunk.tables
    placed = tuple(row._replace(section=section) for row in table.rows)
    context = " › ".join(part for part in (title, heading) if part)
    return replace(
        chunk, id=name, title=title, context=context, tables=(replace(table, rows=placed, unit=unit, title=heading),)
    )


INCOME = chunk_of_rows(
    ["", "52 Weeks Ended August 29, 2021", "52 Weeks Ended August 30, 2020"],
    ["Net sales", "$192,052", "$163,220"],
    ["Membership fees", "3,877", "3,541"],
    ["Total revenue", "195,929", "166,761"],
    ["Merchandise costs", "170,684", "144,939"],
    ["Net income including noncontrolling interests", "5,079", "4,059"],
    ["Net income attributable to noncontrolling interests", "(72)", "(57)"],
    ["NET INCOME ATTRIBUTABLE TO ACME", "$5,007", "$4,002"],
    name="income",
    heading="CONSOLIDATED STATEMENTS OF INCOME",
    unit="amounts in millions, except per share data",
)
BALANCE = chunk_of_rows(
    ["", "August 29, 2021", "August 30, 2020"],
    ["Merchandise inventories", "14,215", "12,242"],
    ["Total current assets", "29,505", "28,120"],
    ["TOTAL ASSETS", "$59,268", "$55,556"],
    name="balance",
    heading="CONSOLIDATED BALANCE SHEETS",
    unit="amounts in millions",
)
CASH = chunk_of_rows(
    ["", "52 Weeks Ended August 29, 2021", "52 Weeks Ended August 30, 2020"],
    ["Additions to property and equipment", "(3,588)", "(2,810)"],
    ["Merchandise inventories", "(1,892)", "(791)"],
    name="cash",
    heading="CONSOLIDATED STATEMENTS OF CASH FLOWS",
    section="Changes in operating assets and liabilities",
    unit="amounts in millions",
)
INVESTING = replace(
    CASH,
    id="investing",
    tables=(replace(CASH.tables[0], rows=tuple(row._replace(section="") for row in CASH.tables[0].rows[:1])),),
)
STAFF = chunk_of_rows(
    ["", "2021", "2020", "2019"],
    ["United States", "192,000", "181,000", "167,000"],
    ["Total employees", "288,000", "273,000", "254,000"],
    name="staff",
    heading="Human Capital",
)
SEGMENTS = chunk_of_rows(
    ["", "United States Operations", "Canadian Operations", "Total"],
    ["Total assets", "38,366", "5,270", "55,556"],
    name="segments",
    heading="Note 12—Segment Reporting",
    section="2020",
    unit="amounts in millions",
)
BRANDS = chunk_of_rows(
    ["", "FISCAL 2021", "FISCAL 2020", "% CHANGE"],
    ["Footwear", "$28,021", "$23,305", "20%"],
    ["Apparel", "12,865", "10,953", "17%"],
    name="brands",
    heading="REVENUES",
    section="Acme Brand Revenues by",
)
ALL = (INCOME, BALANCE, CASH, INVESTING, STAFF, SEGMENTS, BRANDS)


def looked_up(question: str, *chunks: Chunk) -> Lookup:
    found = look_up(question, {chunk.id: chunk for chunk in chunks or ALL})
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("question", "value", "scale"),
    [
        ("How many employees did Acme have at the end of fiscal 2021?", "288,000", ""),
        ("What were Acme's net sales in fiscal 2020?", "$163,220", "million"),
        ("What was Acme's net income in fiscal 2021?", "$5,007", "million"),
        ("What were total assets of Acme's Canadian operations at the end of fiscal 2020?", "5,270", "million"),
        ("What was Acme's capital expenditure in 2020?", "(2,810)", "million"),
        ("How much did Acme spend on property and equipment in 2021?", "(3,588)", "million"),
        ("How much inventory did Acme have at the end of 2020?", "12,242", "million"),
    ],
)
def test_the_cell_of_the_item_and_the_period(question: str, value: str, scale: str) -> None:
    found = looked_up(question)
    assert found.cell is not None
    assert (found.cell.text, found.cell.scale) == (value, scale)


@pytest.mark.parametrize(
    ("question", "outcome"),
    [
        ("What was Acme's merchandise inventory at the end of fiscal 2015?", "no period"),
        ("How much did Acme spend on solar panels in 2021?", "no item"),
        ("What were Zenith's net sales in fiscal 2020?", "no item"),
        ("What were Acme's net sales in Portugal in 2020?", "no item"),
        ("What was the increase in Acme's net sales in 2021?", "no item"),
    ],
)
def test_no_cell_stands_for_another_item_company_segment_or_period(question: str, outcome: str) -> None:
    assert looked_up(question).outcome == outcome


@pytest.mark.parametrize(
    "question",
    [
        "Why did Acme's net sales grow in 2021?",
        "Which segment of Acme had the highest revenue in 2021?",
        "What is Acme's ratio of net income to total assets in 2021?",
        "What were Acme's net sales in 2021 and 2020?",
        "Who signed the report?",
    ],
)
def test_a_question_that_asks_for_more_than_a_cell_is_no_look_up(question: str) -> None:
    assert wanted_of(question) is None


def test_a_row_that_the_question_names_word_by_word_is_nearest() -> None:
    debts = chunk_of_rows(
        ["", "2021", "2020"],
        ["Less valuation allowance", "12", "11"],
        ["Equity", "497", "410"],
        ["Total shareholders’ equity", "339", "355"],
        ["Cash equivalents and other short-term investments", "1,778", "1,500"],
        name="debts",
        unit="in millions",
    )
    for item, value in (
        ("less valuation allowance", "12"),
        ("total shareholders' equity", "339"),
        ("cash equivalents and other short-term investments", "1,778"),
    ):
        cell = looked_up(f"What was the {item} of Acme in 2021?", debts).cell
        assert cell is not None and cell.text == value


def test_the_beginning_of_a_period_is_not_its_end() -> None:
    cash = chunk_of_rows(
        ["", "2021", "2020"],
        ["Cash and cash equivalents beginning of year", "6,055", "4,546"],
        ["Cash and cash equivalents end of year", "8,384", "6,055"],
        name="flows",
        unit="in millions",
    )
    for when, value in (("at the beginning of", "6,055"), ("at the end of", "8,384")):
        cell = looked_up(f"What were the cash and cash equivalents of Acme {when} fiscal 2021?", cash).cell
        assert cell is not None and cell.text == value


def test_tables_that_do_not_agree_give_no_cell() -> None:
    other = chunk_of_rows(["", "2021", "2020"], ["Total employees", "280,000", "270,000"], name="other")
    found = looked_up("How many employees did Acme have in 2021?", STAFF, other)
    assert (found.outcome, found.cell, {cell.text for cell in found.cells}) == ("several", None, {"288,000", "280,000"})


@pytest.mark.parametrize(
    ("asked", "shown", "same"),
    [
        ("fiscal 2021", "52 Weeks Ended August 29, 2021", True),
        ("fiscal 2021", "Three months ended August 29, 2021", False),
        ("Q2 2023", "Three Months Ended July 2, 2023", True),
        ("Q2 2023", "Six Months Ended July 2, 2023", False),
        ("June 30, 2023", "June 30, 2022", False),
        ("fiscal 2023", "January 28, 2023", False),
    ],
)
def test_a_column_is_of_the_period_or_not(asked: str, shown: str, same: bool) -> None:
    [one], [other] = periods_in(asked), periods_in(shown)
    assert is_same_period(one, other) is same


def test_balances_of_a_quarterly_report_are_not_those_of_the_year() -> None:
    [ends] = periods_in("July 2, 2023")
    assert not is_same_period(Period(2023), ends, ends=ends)
    assert is_same_period(Period(2023), ends)


def answered(question: str, chunk: Chunk, rows: Sequence[int], pointed: str = "") -> Answer:
    """The answer from some rows of the chunk, of which the first is scored best."""
    lines = [chunk.text[row.start : row.end] for row in chunk.tables[0].rows]
    strips = [strip_of(chunk, lines[row], 0.9 - place / 10) for place, row in enumerate(rows)]
    return extracted(question, strips, chunk, pointed=pointed)


def test_the_looked_up_row_is_the_answer_and_its_cell_the_short_one() -> None:
    answer = answered("What were Acme's net sales in fiscal 2020?", INCOME, [3, 0], pointed="144,939")
    assert answer.short is not None
    assert answer.short.labelled == "Net sales, 52 Weeks Ended August 30, 2020: $163,220 million"
    assert answer.text.startswith("Net sales: ") and answer.lookup == "found"
    [cited] = answer.citations
    assert cited.quote.startswith("Net sales") and "Merchandise" not in cited.quote


@pytest.mark.parametrize(
    ("asked", "pointed", "stands"),
    [("net sales", "5%", False), ("net sales", "$5 million", True), ("tax rate", "$5 million", False)],
)
def test_a_percentage_is_no_amount(asked: str, pointed: str, stands: bool) -> None:
    text = f"In fiscal 2021 the {asked} of Acme came to {pointed} after a good year for all."
    chunk = replace(table_chunk_of(["", "2021"], ["Other", "7"]), text=text, tables=(), title=TITLE)
    question = f"What was Acme's {asked} in fiscal 2021?"
    answer = extracted(question, [strip_of(chunk, text, 0.9)], chunk, pointed=pointed)
    assert (answer.short is not None) is stands


def test_the_chunk_that_alone_has_the_figure_takes_the_last_place() -> None:
    others = [replace(CASH, id=f"other {number}") for number in range(5)]
    found = rank_chunks([*others, STAFF])
    question = "How many employees did Acme have in 2021?"
    assert [each.rank for each in reach_figure(question, found, 3)] == [1, 2, 6]
    assert [each.rank for each in reach_figure(question, found[::-1], 3)] == [6, 5, 4]
    assert [each.rank for each in reach_figure("How many patents did Acme have in 2021?", found, 3)] == [1, 2, 3]


def test_a_cell_further_down_that_fits_better_takes_the_last_place() -> None:
    costs = chunk_of_rows(
        ["", "2021", "2020"],
        ["Net sales", "57", "61"],
        name="costs",
        section="Share-based compensation",
        unit="in millions",
    )
    others = [replace(CASH, id=f"other {number}") for number in range(5)]
    found = rank_chunks([costs, *others, INCOME])
    assert [each.rank for each in reach_figure("What were Acme's net sales in fiscal 2021?", found, 3)] == [1, 2, 7]


def test_no_other_cell_stands_for_a_figure_that_was_not_found() -> None:
    answer = answered("What was Acme's equipment revenue in fiscal 2021?", BRANDS, [0, 1], pointed="20%")
    assert (answer.short, answer.lookup) == (None, "no item")


def test_an_answer_about_a_period_that_no_row_has_is_of_low_confidence() -> None:
    answer = answered("What were Acme's net sales in fiscal 2012?", INCOME, [0], pointed="$192,052")
    assert (answer.short, answer.lookup, answer.low_confidence) == (None, "no period", True)


@pytest.mark.parametrize(("reach", "cited"), [(40, ["288,000", "280,000"]), (0, ["192,000"])])
def test_rows_that_differ_are_all_cited_where_rows_may_be_reached(reach: int, cited: list[str]) -> None:
    other = chunk_of_rows(["", "2021", "2020"], ["Total employees", "280,000", "270,000"], name="other")
    strip = strip_of(STAFF, "United States: 2021 192,000; 2020 181,000; 2019 167,000", 0.9)
    question = "How many employees did Acme have in 2021?"
    answer = extracted(question, [strip], STAFF, other, lookup_reach=reach)
    assert (answer.short, answer.lookup, answer.low_confidence) == (None, "several", True)
    quotes = [each.quote for each in answer.citations]
    assert len(quotes) == len(cited) and all(map(str.__contains__, quotes, cited))


def inspection(of: int, *rows: tuple[str, str], header: tuple[str, str] = ("Bridge", "Cracks")) -> Chunk:
    """The table of an inspection report of that year, a document of its own."""
    made = chunk_of_rows(header, *rows, name=f"c{of}", title=f"Inspection report {of}")
    return replace(made, document_id=f"d{of}", source=f"inspection-{of}.csv", dated=f"{of}-05-01")


OLD = inspection(2018, ("Bridge 5", "17"), ("Bridge 6", "12"))


@pytest.mark.parametrize(
    ("other", "expected"),
    [
        (inspection(2019, ("Bridge 5", "19"), ("Bridge 6", "12")), [("17", "2018-05-01"), ("19", "2019-05-01")]),
        (inspection(2019, ("Bridge 5", "17"), ("Bridge 6", "14")), []),
        (inspection(2019, ("Bridge 6", "19"), ("Bridge 7", "14")), []),
        (inspection(2019, ("Bridge 5", "19"), header=("Bridge", "Cracks mended")), []),
        (replace(inspection(2019, ("Bridge 5", "19")), document_id=OLD.document_id), []),
        (None, []),
    ],
    ids=["another value", "the same value", "another bridge", "another column", "one document", "alone"],
)
def test_values_that_documents_give_differently_are_quoted_with_their_dates(
    other: Chunk | None, expected: list[tuple[str, str]]
) -> None:
    given = [chunk for chunk in (OLD, other) if chunk]
    strips, sources = [strip_of(each, each.text, 0.9) for each in given], {each.id: each for each in given}
    for writer in (ExtractiveGenerator(), LlmGenerator(FakeChat(reply=lambda messages: "It has 17 cracks [1]."))):
        *_, answer = writer.answer("How many cracks has bridge 5?", strips, sources, Settings(lookup_reach=40))
        assert isinstance(answer, Answer)
        assert [(each.value, each.dated) for each in answer.differing] == expected
        cited = {each.number: each.quote for each in answer.citations}
        assert all(f"Bridge 5: Cracks {each.value}" in cited[each.citation] for each in answer.differing)
        said = "Your documents give different values: 17 in inspection-2018.csv (2018-05-01) [1]; 19 in inspection-2019"
        assert "".join(conflict_sentences(answer)).startswith(said) is bool(expected)


def test_the_same_row_of_other_periods_is_no_other_value() -> None:
    titles = ("Acme, annual report 2018", "Acme, annual report 2019")
    one, other = (
        replace(chunk_of_rows(["", str(year), str(year - 1)], ["Working capital", now, before], title=title), id=title)
        for title, year, now, before in zip(titles, (2018, 2019), ("9,225", "9,667"), ("8,319", "9,455"), strict=True)
    )
    sources = {each.id: replace(each, document_id=each.id) for each in (one, other)}
    found = look_up("What was the working capital?", sources)
    assert found and (found.outcome, found.differing) == ("several", ())
    found = look_up("What was the working capital in 2018?", sources)
    assert found and [cell.text for cell in found.differing] == ["9,225", "9,455"]


@pytest.mark.parametrize("asked", ["invoice date", "tax", "account number"])
def test_a_total_is_not_what_another_word_asks_for(asked: str) -> None:
    bill = chunk_of_rows(
        *(["", "Amount"], ["Chair", "70.00"], ["Total", "279.84"]),
        title="Acme Invoice account",
        heading="Quantity Taxes",
    )
    assert looked_up("What is the total of the Acme invoice?", bill).cell is not None
    assert looked_up(f"What is the {asked} of the Acme invoice?", bill).cell is None


def test_a_row_that_names_no_item_answers_only_for_a_period_or_alone() -> None:
    trips = chunk_of_rows(["", "Discount"], ["2/5/2020", "15"], ["2/9/2020", "20"], title="Acme")
    assert looked_up("What is the discount of Acme?", trips).cell is None
    one = chunk_of_rows(["", "Discount"], ["2/5/2020", "15"], title="Acme")
    assert looked_up("What is the discount of Acme?", one).cell is not None


PRICES = chunk_of_rows(
    ["Description", "Amount"],
    ["Earthwork", "$3,169,463"],
    ['30" force main', "$2,334,594"],
    ['66" force main', "$9,680,727"],
    name="prices",
    heading="Date of amendment: October 24, 2025",
    title="Standard agreement 2019",
)


@pytest.mark.parametrize(
    ("question", "value"),
    [
        ("What is the amount for earthwork?", "$3,169,463"),
        ('How much does the 66" force main cost?', "$9,680,727"),
        ('What is the amount for the 30" force main?', "$2,334,594"),
        ("How much does the force main cost?", None),
        ("What was the amount for earthwork in 2021?", None),
    ],
)
def test_a_list_of_prices_is_of_its_document_and_sizes_tell_its_rows_apart(question: str, value: str | None) -> None:
    found = look_up(question, {PRICES.id: PRICES})
    assert (found.cell.text if found and found.cell else None) == value


@pytest.mark.parametrize(("reach", "abstained"), [(40, False), (0, True)])
def test_a_cell_is_quoted_with_low_confidence_where_no_strip_was_kept(reach: int, abstained: bool) -> None:
    answer = extracted("What is the amount for earthwork?", [], PRICES, lookup_reach=reach)
    assert answer.abstained is abstained
    if not abstained:
        assert answer.low_confidence and "$3,169,463" in answer.text and answer.citations[0].source_id == PRICES.id


def test_what_no_table_has_is_not_answered_where_no_strip_was_kept() -> None:
    assert extracted("What is the amount for sand?", [], PRICES, lookup_reach=40).abstained


def test_a_column_of_specifications_names_no_item_and_a_rate_need_be_no_share() -> None:
    rows = (["Feature", "Specifications"], ["Refresh rate", "60 Hz"], ["Width", "309.4 mm"])
    display = chunk_of_rows(*rows, name="display", heading="Display", title="Setup guide")
    for question, value in (("What is the refresh rate of the display?", "60 Hz"), ("What is the width?", "309.4 mm")):
        found = look_up(question, {display.id: display})
        assert found is not None and found.cell is not None and found.cell.text == value
    taxed = chunk_of_rows(
        ["", "2021"], ["Tax at the statutory rate", "$5,007"], ["Effective tax rate", "21%"], name="t"
    )
    found = look_up("What was the effective tax rate in 2021?", {taxed.id: taxed})
    assert found is not None and found.cell is not None and found.cell.text == "21%"
