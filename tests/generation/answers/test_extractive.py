"""The extractive answer: what it quotes, in which order, how it cites, and when it keeps silent."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crag.core.protocols import Generator
from crag.core.settings import Settings
from crag.core.types import Answer, LineBox, Rect, Strip
from crag.generation.citations import split_cited_sentences
from crag.generation.extractive import MAX_QUOTE, ExtractiveGenerator
from crag.generation.verification import CitationVerifier
from crag.testing.contracts import BRIDGE, KNOWLEDGE, PAGE, GeneratorContract, strip_of, whole
from crag.testing.fakes import ScriptedEvaluator, chunk_of
from tests.support.extracted import extracted

QUESTION = "When was the bridge opened?"


def plain_strip(text: str, score: float | None, name: str = "s") -> Strip:
    return Strip(id=name, source_id=name, origin="internal", start=0, end=len(text), text=text, score=score, kept=True)


def answered(knowledge: list[Strip], question: str = QUESTION, **changes: object) -> Answer:
    return whole(ExtractiveGenerator(), question, knowledge, Settings().changed(**changes))


class TestExtractiveGenerator(GeneratorContract):
    @pytest.fixture(params=["alone", "with evaluator"])
    def generator(self, request: pytest.FixtureRequest) -> Generator:
        return ExtractiveGenerator(None if request.param == "alone" else ScriptedEvaluator(score=lambda text: 0.5))


def test_the_sentence_that_answers_is_quoted_alone() -> None:
    answer = answered(KNOWLEDGE)
    assert answer.text == "The bridge was opened in 1890 [1]."
    assert answer.by == "extractive"
    assert not answer.low_confidence


SHIPS = "Ships pass under the bridge.", "Under the bridge ships pass each hour.", "At night ships pass there too."


def test_sentences_that_answer_about_as_well_are_quoted_by_source_in_reading_order() -> None:
    strips = [plain_strip(text, 0.8, name) for text, name in zip(SHIPS, "abc", strict=True)]
    for most in (1, 2):
        assert len(answered(strips, "Do ships pass under the bridge?", answer_sentences=most).citations) <= most


def test_the_same_said_twice_is_quoted_once() -> None:
    strips = [
        plain_strip("The bridge was opened in 1890.", 0.8, "a"),
        plain_strip("In 1890 the bridge was opened.", 0.8, "b"),
    ]
    assert len(answered(strips, answer_sentences=2).citations) == 1


def test_brackets_of_the_source_are_no_citations() -> None:
    answer = answered([plain_strip("It was opened in 1890 [7], says the [3, 4] record.", 0.9)])
    assert answer.text == "It was opened in 1890 (7), says the (3, 4) record [1]."


def test_each_sentence_of_a_quote_carries_the_mark_and_rows_are_sentences() -> None:
    answer = answered([plain_strip("It was opened in 1890. Dr. Smith cut the ribbon.\n1890 | 55", 0.9, "a")])
    assert answer.text == "It was opened in 1890 [1]. Dr. Smith cut the ribbon [1]. 1890 | 55 [1]."
    assert [numbers for _, numbers in split_cited_sentences(answer.text)] == [(1,), (1,), (1,)]


def test_short_strips_are_not_scored_again() -> None:
    evaluator = ScriptedEvaluator(score=lambda text: 0.1)
    whole(ExtractiveGenerator(evaluator), QUESTION, KNOWLEDGE)
    assert evaluator.graded == []


def test_a_sentence_without_end_is_cut_at_a_word() -> None:
    answer = answered([plain_strip("bridge " * 400, 0.8)])
    assert len(answer.text) <= MAX_QUOTE + 10
    assert answer.text.endswith("bridge [1]…")


def test_a_citation_lies_where_the_quote_lies_on_the_page() -> None:
    box = Rect(page=7, left=100, top=50, right=300, bottom=60)
    text = "abcdefghij0123456789"
    chunk = replace(chunk_of(text, page=7), lines=(LineBox(start=0, end=20, rect=box),))
    answer = extracted("digits?", [strip_of(chunk, "0123456789", 0.9)], chunk)
    assert answer.citations[0].rects == (Rect(page=7, left=200, top=50, right=300, bottom=60),)
    assert answer.citations[0].quote == "0123456789"


@pytest.mark.parametrize(
    ("score", "abstained", "low"),
    [
        (Settings().min_answer_score - 0.01, True, True),
        (Settings().min_answer_score, False, True),
        (Settings().upper - 0.01, False, True),
        (Settings().upper, False, False),
    ],
)
def test_floor_and_upper_threshold_are_inclusive(score: float, abstained: bool, low: bool) -> None:
    answer = answered([strip_of(PAGE, "Eight men were saved from the water", score)])
    assert (answer.abstained, answer.low_confidence) == (abstained, low)


@pytest.mark.parametrize("before", ["It was late.", "2018 | 40", "On this windy day in the spring of that year"])
def test_what_is_no_heading_is_quoted(before: str) -> None:
    answer = answered([plain_strip(f"{before}\nThe bridge was opened in 1890.", 0.9)])
    assert answer.text.startswith(before.rstrip("."))


@pytest.mark.parametrize(
    "item", ["• Client gifts: Maximum $100", "C 75%", "Client gifts: two a year", "- Gifts", "Gifts over $100"]
)
def test_an_item_of_a_list_is_no_heading_of_the_next(item: str) -> None:
    answer = answered([plain_strip(f"{item}\n• Taxi rides: Maximum $50", 0.9)])
    assert answer.text.startswith(item.lstrip("•- "))


def test_a_list_item_loses_its_bullet() -> None:
    assert answered([plain_strip("• Opened in 1890.", 0.9)]).text == "Opened in 1890 [1]."


def test_a_row_with_an_abbreviation_is_one_sentence() -> None:
    row = "Segment: Oper. Income $627; Net Rev. 1,024; Oper. Margin 61%"
    assert answered([plain_strip(row, 0.9)]).text.count("[1]") == 1


def test_what_was_never_scored_is_quoted_with_low_confidence() -> None:
    answer = answered(
        [plain_strip("Trains cross.", None, "a"), plain_strip("The bridge was opened in 1890.", None, "b")]
    )
    assert answer.text.startswith("The bridge was opened in 1890 [1].")
    assert answer.low_confidence and not answer.abstained


def test_a_failed_score_stands_behind_a_scored_strip() -> None:
    strips = [
        plain_strip("The bridge was opened in 1890.", None, "a"),
        plain_strip("In 1890 a prince opened the bridge.", 0.6, "b"),
    ]
    assert [citation.strip_id for citation in answered(strips, answer_sentences=1).citations] == ["b"]


def test_strips_without_words_are_no_knowledge() -> None:
    assert answered([plain_strip("— * —", 0.9)]).abstained


STRIPS = st.lists(st.tuples(st.text(max_size=80), st.one_of(st.none(), st.floats(0, 1))), max_size=8)


@given(STRIPS, st.integers(1, 8))
def test_any_knowledge_gives_a_whole_answer(given_strips: list[tuple[str, float | None]], limit: int) -> None:
    strips = [plain_strip(text, score, f"s{place}") for place, (text, score) in enumerate(given_strips)]
    (answer,) = ExtractiveGenerator().answer("What is a?", strips, {}, Settings(answer_sentences=limit))
    assert isinstance(answer, Answer)
    assert len(answer.citations) <= limit
    assert answer.abstained == (not answer.citations)


def test_unscored_chunks_are_answered_from_only_if_a_sentence_is_good_enough() -> None:
    """A strategy that grades all chunks together leaves no score on any one of them."""
    text = "The harbour has two basins. " * 20
    chunk = replace(BRIDGE, text=text, end=len(text))
    strip = strip_of(chunk, text, None)
    weak = ExtractiveGenerator(ScriptedEvaluator(score=lambda part: 0.05))
    *_, silent = weak.answer(QUESTION, [strip], {chunk.id: chunk}, Settings())
    *_, plain = weak.answer(QUESTION, [strip], {chunk.id: chunk}, Settings(min_answer_score=0.0))
    assert isinstance(silent, Answer) and isinstance(plain, Answer)
    assert silent.abstained and silent.text.endswith("says it.")
    assert not plain.abstained and plain.low_confidence


def test_the_dots_of_a_table_of_contents_are_no_sentences() -> None:
    strip = plain_strip("Management Approach . . . . . . . . . .10 Agency Goals ...........14", 0.9)
    assert answered([strip]).text == "Management Approach – 10 Agency Goals – 14 [1]."
    verifier = CitationVerifier(ScriptedEvaluator(score=lambda part: 0.0))
    (check,) = verifier.verify(answered([strip]), [strip], {}, Settings()).checks
    assert check.supported
