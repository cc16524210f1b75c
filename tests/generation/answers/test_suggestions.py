"""Questions made from sentences, rows and headings by rules, and which headings tell anything."""

from dataclasses import replace
from typing import Any

import pytest

from crag.core.types import Chunk
from crag.generation.suggestions import proposals
from crag.testing.fakes import chunk_of
from crag.text.sentences import informative_heading


def made(text: str, asked: str = "Who won?", *, titled: bool = False, **changes: Any) -> list[str]:
    chunk: Chunk = replace(chunk_of(text), **{"title": "Report", **changes})
    return [each.question for each in proposals(asked, [chunk], titled=titled)]


@pytest.mark.parametrize(
    ("sentence", "question"),
    [
        ("OPM processed 104,065 claims in FY 2019.", "Who processed 104,065 claims in FY 2019?"),
        (
            "On January 16, President Arthur signed the Civil Service Act of 1883.",
            "Who signed the Civil Service Act of 1883 on January 16?",
        ),
    ],
)
def test_a_sentence_becomes_the_question_that_it_answers(sentence: str, question: str) -> None:
    assert made(sentence) == [question]


@pytest.mark.parametrize(
    "sentence",
    [
        "It was a good year.",
        "However, the agency processed 12 claims.",
        "Agencies also were invited to suggest initiatives in 2019.",
        "The Act was signed by the President.",
        "OPM developed strategies, plans, and 12 tools in 2019.",
        "La réunion était longue.",
        "∑" * 400,
    ],
)
def test_of_what_can_t_be_asked_about_by_itself_nothing_is_made(sentence: str) -> None:
    assert made(sentence) == []


@pytest.mark.parametrize(
    ("row", "question"),
    [
        ("Total current assets: 2021 $12; 2022 $15", "What were the total current assets in 2022?"),
        ("Number of cases in the inventory: FY 2018 Results 12; FY 2019 Results 9", "FY 2019"),
        ("Income/loss: 2021 $12", "What was the Income/loss in 2021?"),
        ("Operating margins: 12.5%", "What were the operating margins?"),
        ("Finance leases: 2020 12; 2019 9", "What were the finance leases in 2020?"),
        ("Cost of goods sold: 2020 12; 2019 9", "What was the cost of goods sold in 2020?"),
        ("Accounts payable: 2020 12; 2019 9", "What were the accounts payable in 2020?"),
        ("Research and development basis: 2020 12", "What was the research and development basis in 2020?"),
        ("U.S. equity securities: 2021 12; 2020 9", "What were the U.S. equity securities in 2021?"),
    ],
)
def test_a_row_is_asked_for_by_its_label_in_its_latest_year(row: str, question: str) -> None:
    [only] = made(row, kind="table")
    assert question in only


@pytest.mark.parametrize("row", ["Net sales: 13 Weeks Ended May 2, 2023 4; 52 Weeks Ended May 2, 2023 9"])
def test_of_a_row_with_two_figures_of_the_year_none_is_asked_for(row: str) -> None:
    assert made(row, kind="table") == []


@pytest.mark.parametrize("row", ["Ending balance: 2018 12; 2017 13", "2018: 12; 13", "Middle East: 2018 12", "x: 1"])
def test_a_label_that_is_no_measure_makes_no_question(row: str) -> None:
    assert made(row, kind="table") == []


def test_what_is_nearest_to_the_question_comes_first_and_never_the_question_itself() -> None:
    text = "Ada Long crossed the northern bridge in May 2018. Bo Short opened the southern harbour in June 2019."
    north, south = "Who crossed the northern bridge in May 2018?", "Who opened the southern harbour in June 2019?"
    assert made(text, "How old is the southern harbour?") == [south, north]
    assert made(text, south) == [north]


@pytest.mark.parametrize(
    ("heading", "told"),
    [
        ("ITEM 3. Legal Proceedings", "Legal Proceedings"),
        ("Note 12 – Income Taxes:", "Income Taxes"),
        ("FY 2019 Progress Update", ""),
        ("Congressional, Legislative and", ""),
        ("Appendix . . . . . . 59", ""),
        ("Overview", ""),
    ],
)
def test_a_heading_tells_something_or_is_left_out(heading: str, told: str) -> None:
    assert informative_heading(heading) == told
