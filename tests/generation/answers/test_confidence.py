"""The confidence of a quoted answer: what the grader is given, and what becomes of what the grader says."""

from __future__ import annotations

from dataclasses import replace

import pytest

from crag.core.settings import Settings
from crag.core.types import Answer, Chunk, QuotedAnswer, Strip, WebPage
from crag.generation.extractive import ExtractiveGenerator
from crag.testing.contracts import BRIDGE, KNOWLEDGE, PAGE, strip_of, whole
from crag.testing.fakes import ScriptedAnswerGrader, ScriptedReader

QUESTION = "When was the bridge opened?"


def graded_answer(
    knowledge: list[Strip],
    sources: dict[str, Chunk | WebPage],
    words: dict[str, float] | None = None,
    **changes: object,
) -> QuotedAnswer:
    """What the grader is given of the answer."""
    grader = ScriptedAnswerGrader(confidence=0.7)
    generator = ExtractiveGenerator(reader=ScriptedReader(words=words or {}), grader=grader)
    *_, answer = generator.answer(QUESTION, knowledge, sources, Settings().changed(**changes))
    assert isinstance(answer, Answer) and answer.confidence == 0.7
    (graded,) = grader.graded
    return graded


def test_an_answer_has_the_confidence_that_its_grader_gives() -> None:
    for confidence in (0.0, 0.4, 1.0, None):
        assert (
            whole(ExtractiveGenerator(grader=ScriptedAnswerGrader(confidence)), QUESTION, KNOWLEDGE).confidence
            == confidence
        )
    assert whole(ExtractiveGenerator(), QUESTION, KNOWLEDGE).confidence is None


def test_the_grader_reads_the_text_that_is_quoted_first_behind_its_title() -> None:
    chunk = replace(BRIDGE, context="Report › The bridge")
    strips = [strip_of(PAGE, "Eight men were saved", 0.5), strip_of(chunk, "It is 2,467 metres long.", 0.9)]
    graded = graded_answer(strips, {chunk.id: chunk, PAGE.id: PAGE})
    first, other = graded.texts
    assert first == f"Report › The bridge\n{BRIDGE.text}" and other.startswith("The bridge\nEight men")
    assert first[graded.start : graded.end] == "It is 2,467 metres long."


def test_the_words_are_given_where_they_are_shown_and_their_confidence_always() -> None:
    sources: dict[str, Chunk | WebPage] = {BRIDGE.id: BRIDGE, PAGE.id: PAGE}
    shown = graded_answer(KNOWLEDGE, sources, {"in 1890": 0.8}, short_answer=0.8)
    hidden = graded_answer(KNOWLEDGE, sources, {"in 1890": 0.8}, short_answer=0.81)
    assert (shown.words, shown.confidence) == ("in 1890", 0.8)
    assert (hidden.words, hidden.confidence) == ("", 0.8)
    assert graded_answer(KNOWLEDGE, sources).confidence is None


@pytest.mark.parametrize(("floor", "abstained"), [(0.0, False), (0.3, False), (0.31, True)])
def test_below_the_floor_no_answer_is_given(floor: float, abstained: bool) -> None:
    generator = ExtractiveGenerator(grader=ScriptedAnswerGrader(0.3))
    answer = whole(generator, QUESTION, KNOWLEDGE, Settings(min_answer_confidence=floor))
    assert (answer.abstained, answer.confidence) == (abstained, 0.3)
    assert bool(answer.citations) is not abstained
    assert ("0.30" in answer.text and "0.31" in answer.text) is abstained


def test_without_a_confidence_there_is_no_floor() -> None:
    for generator in (ExtractiveGenerator(), ExtractiveGenerator(grader=ScriptedAnswerGrader(None))):
        assert not whole(generator, QUESTION, KNOWLEDGE, Settings(min_answer_confidence=1.0)).abstained
