"""The words that answer: from which text they are read, in which sentence they must stand, and cells of tables."""

from __future__ import annotations

from dataclasses import replace

import pytest

from crag.core.settings import Settings
from crag.core.types import Answer, Chunk, LineBox, Rect, ShortAnswer, Strip
from crag.generation.extractive import ExtractiveGenerator
from crag.generation.short import cell_of
from crag.testing.contracts import BRIDGE, KNOWLEDGE, PAGE, strip_of, whole
from crag.testing.fakes import ScriptedReader, chunk_of, table_chunk_of
from tests.support.extracted import extracted

QUESTION = "When was the bridge opened?"


def answered(
    reader: ScriptedReader, knowledge: list[Strip] | None = None, question: str = QUESTION, **changes: object
) -> Answer:
    generator = ExtractiveGenerator(reader=reader)
    return whole(generator, question, KNOWLEDGE if knowledge is None else knowledge, Settings().changed(**changes))


def short_of(answer: Answer) -> ShortAnswer:
    assert answer.short is not None
    return answer.short


def test_the_words_come_with_their_place_and_citation() -> None:
    answer = answered(ScriptedReader(words={"2,467 metres": 0.9}), question="How many metres long is the bridge?")
    short = short_of(answer)
    assert (short.text, short.confidence) == ("2,467 metres", 0.9)
    assert BRIDGE.text[short.start : short.end] == "2,467 metres"
    (cited,) = [each for each in answer.citations if each.number == short.citation]
    assert (cited.strip_id, cited.source_id) == (short.strip_id, short.source_id) == (KNOWLEDGE[1].id, BRIDGE.id)
    assert "2,467 metres" in cited.quote and short.labelled == "2,467 metres"


def test_a_chunk_is_read_whole_with_its_context_and_a_page_around_its_strip() -> None:
    reader = ScriptedReader(words={})
    chunk = replace(BRIDGE, context="Report › The bridge")
    far = replace(PAGE, text="far " * 400 + PAGE.text + " far" * 400)
    strips = [strip_of(chunk, "It is 2,467 metres long.", 0.9), strip_of(far, "Eight men were saved", 0.8)]
    list(ExtractiveGenerator(reader=reader).answer("How?", strips, {chunk.id: chunk, far.id: far}, Settings()))
    texts = [text for question, text in reader.asked if question == "How?"]
    assert f"Report › The bridge\n{BRIDGE.text}" in texts
    around = next(text for text in texts if "Eight men" in text and "far" in text)
    assert around.startswith("The bridge\n") and len(around) < 1200


def test_words_that_are_not_quoted_are_no_answer() -> None:
    only = [strip_of(BRIDGE, "It is 2,467 metres long.", 0.9)]
    assert answered(ScriptedReader(words={"1890": 0.99}), only).short is None


def test_the_words_are_those_of_the_sentence_that_answers() -> None:
    reader = ScriptedReader(words={"Eight men": 0.95, "1890": 0.8})
    answer = answered(reader, question="Who was saved from the water while the bridge was built?")
    assert short_of(answer).text == "Eight men" and answer.text.startswith("Eight men were saved")


@pytest.mark.parametrize(("floor", "shown"), [(0.0, True), (0.8, True), (0.81, False), (1.0, False)])
def test_the_setting_is_the_floor_and_one_is_off(floor: float, shown: bool) -> None:
    reader = ScriptedReader(words={"in 1890": 0.8})
    assert (answered(reader, short_answer=floor).short is not None) is shown


def test_the_words_lie_on_the_page() -> None:
    box = Rect(page=7, left=0, top=50, right=len(BRIDGE.text), bottom=60)
    chunk = replace(BRIDGE, lines=(LineBox(start=0, end=len(BRIDGE.text), rect=box),))
    (rect,) = short_of(extracted(QUESTION, KNOWLEDGE[:1], chunk, pointed="1890")).rects
    assert BRIDGE.text[round(rect.left) : round(rect.right)] == "1890"


INCOME = table_chunk_of(
    ["", "2018", "2017"], ["Net revenues", "$1,577", "$1,373"], ["Gross margin", "45.1%", "44.0%"], ["Staff:", "612"]
)
MEASURES = table_chunk_of(
    ["", "Performance Measure", "FY 2015 Results", "FY 2016 Results"], ["1.4", "Percent of enrollees", "-*", "74.3%"]
)


@pytest.mark.parametrize(
    ("chunk", "pointed", "years", "said"),
    [
        (INCOME, "$1,373", set(), ("$1,373", "Net revenues", "2017")),
        (INCOME, "$1,373", {"2018"}, ("$1,577", "Net revenues", "2018")),
        (INCOME, "Net revenues", {"2017"}, ("$1,373", "Net revenues", "2017")),
        (MEASURES, "74.3%", set(), ("74.3%", "Performance Measure Percent of enrollees", "FY 2016 Results")),
        (INCOME, "Staff", set(), ("612", "Staff", "2018")),
        (INCOME, "Net revenues", set(), None),
        (replace(INCOME, tables=()), "$1,373", set(), None),
    ],
)
def test_a_cell_has_its_row_and_column(
    chunk: Chunk, pointed: str, years: set[str], said: tuple[str, str, str] | None
) -> None:
    start = chunk.text.index(pointed)
    found = cell_of(chunk, start, start + len(pointed), frozenset(years))
    assert (found and (chunk.text[found[0] : found[1]], *found[2:])) == said


@pytest.mark.parametrize(
    ("context", "pointed", "said"),
    [
        ("Income (in millions, except per share data)", "$1,577", "Net revenues, 2018: $1,577 million"),
        ("Income ($ millions)", "$1,577", "Net revenues, 2018: $1,577 million"),
        ("Income", "$1,577", "Net revenues, 2018: $1,577"),
        ("Income (in millions)", "45.1", "Gross margin, 2018: 45.1%"),
    ],
)
def test_a_cell_tells_what_its_table_counts_in(context: str, pointed: str, said: str) -> None:
    chunk = replace(INCOME, context=context)
    row = next(line for line in chunk.text.split("\n") if pointed in line)
    answer = extracted("How much in 2018?", [strip_of(chunk, row, 0.9)], chunk, pointed=pointed)
    assert short_of(answer).labelled == said


@pytest.mark.parametrize(("score", "abstained"), [(0.9, False), (Settings().upper - 0.01, True)])
def test_a_name_that_nothing_has_is_said_and_an_unsure_answer_kept_back(score: float, abstained: bool) -> None:
    strips = [strip_of(BRIDGE, "The bridge was opened in 1890.", score), strip_of(PAGE, "Eight men were saved", score)]
    answer = answered(ScriptedReader(words={"1890": 0.99}), strips, "When was the bridge at Springfield opened?")
    assert answer.unnamed == ("Springfield",) and answer.short is None
    assert answer.abstained is abstained and answer.low_confidence
    assert len({citation.source_id for citation in answer.citations}) == (0 if abstained else 1)
    if abstained:
        assert answer.text == "Nothing found names Springfield."


def test_plain_rag_answers_all_the_same() -> None:
    strips = [replace(strip, score=None) for strip in KNOWLEDGE]
    answer = answered(ScriptedReader(words={}), strips, "When was Springfield founded?", min_answer_score=0.0)
    assert not answer.abstained and answer.unnamed == ("Springfield",)


def test_a_sentence_of_another_year_is_left_out_where_one_is_of_the_right_year() -> None:
    chunk = chunk_of("In 2017 it was 40 percent. In 2016 it was 30 percent. It was never more.")
    strips = [strip_of(chunk, text, 0.9) for text in ("In 2017 it was 40 percent.", "In 2016 it was 30 percent.")]
    assert extracted("How much was it in 2017?", strips, chunk).text == "In 2017 it was 40 percent [1]."
    assert len(extracted("How much was it in 2015?", strips, chunk).citations) == 2


def test_of_values_alike_in_a_sentence_none_is_told_alone() -> None:
    chunk = chunk_of("Fees are due at once. The limit is $6,350 for an individual and $12,700 for a family.")
    strip = strip_of(chunk, chunk.text, 0.9)
    answer = extracted("What is the limit for a family?", [strip], chunk, pointed="$6,350")
    assert answer.short is None and "$12,700 for a family" in answer.text
