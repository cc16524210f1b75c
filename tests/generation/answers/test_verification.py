"""Citation checks: quoted, scored, invented, missing, failed; and the share that holds."""

from __future__ import annotations

import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crag.core.errors import CancelledError
from crag.core.settings import Settings
from crag.core.types import Answer, Citation, SentenceCheck, Strip
from crag.evaluation.refinement import make_strip
from crag.generation.citations import literal, quotable, split_cited_sentences, with_mark
from crag.generation.extractive import ExtractiveGenerator
from crag.generation.verification import CitationVerifier, faithfulness
from crag.testing.contracts import BRIDGE, KNOWLEDGE, SOURCES, strip_of
from crag.testing.fakes import ScriptedEvaluator, chunk_of


def citation(number: int, strip: Strip) -> Citation:
    return Citation(
        number=number, strip_id=strip.id, source_id=strip.source_id, origin=strip.origin, source="s", quote=strip.text
    )


def checked(text: str, score: float | None = 0.1) -> tuple[list[SentenceCheck], ScriptedEvaluator]:
    evaluator = ScriptedEvaluator(score=lambda _: score)
    citations = tuple(citation(number, strip) for number, strip in enumerate(KNOWLEDGE, start=1))
    answer = Answer(text=text, by="test", citations=citations)
    return list(CitationVerifier(evaluator).verify(answer, KNOWLEDGE, SOURCES, Settings()).checks), evaluator


def test_a_quote_of_another_strip_of_the_cited_place_is_one_and_asked_of_nobody() -> None:
    checks, evaluator = checked("It is 2,467 metres long [1].")
    assert checks[0].supported and checks[0].note == "quoted" and evaluator.graded == []


def test_part_of_a_number_is_no_quote() -> None:
    assert not literal("2,467 metres long", "It is 12,467 metres long.")
    assert not literal("opened in 189", "It was opened in 1890.")
    assert literal("opened in 1890.", "It was opened in 1890, in spring.")


@pytest.mark.parametrize(("score", "supported"), [(0.49, False), (0.5, True), (1.0, True)])
def test_a_paraphrase_is_scored_against_each_strip_of_what_it_cites(score: float, supported: bool) -> None:
    checks, evaluator = checked("Traffic across began in 1890 [1].", score)
    assert [(check.supported, check.score, check.citations) for check in checks] == [(supported, score, (1,))]
    assert {text for _, text in evaluator.graded[:2]} == {strip.text for strip in KNOWLEDGE[:2]}


def test_an_invented_number_supports_nothing() -> None:
    checks, _ = checked("The bridge is painted red [9].")
    assert (checks[0].supported, checks[0].note, checks[0].invented) == (False, "invented", (9,))
    assert checks[0].citations == (9,)


def test_a_citation_of_a_strip_that_was_not_given_is_invented() -> None:
    answer = Answer(
        text="Trains cross it [1].", by="x", citations=(citation(1, strip_of(BRIDGE, "Trains cross it", 1)),)
    )
    made = CitationVerifier(ScriptedEvaluator(score=lambda _: 1.0)).verify(answer, KNOWLEDGE, SOURCES, Settings())
    assert made.checks[0].supported is False and made.checks[0].note == "invented"


@pytest.mark.parametrize(
    ("text", "cited"),
    [
        ("Director:\n• Daily limit: $75,000\n• Fee: $5", "Daily limit: $75,000"),
        ("They may bring:\n• Dogs\n• Cats\nNo more.", "They may bring:\n• Dogs\n• Cats"),
    ],
)
def test_a_line_or_list_that_was_reached_may_be_cited_beside_the_strips(text: str, cited: str) -> None:
    source, start = chunk_of(text), text.index(cited)
    strip = make_strip(source.id, text, "internal", start, start + len(cited), None, kept=False)
    answer = Answer(text=with_mark(quotable(cited), 1), by="x", citations=(citation(1, strip),))
    made = CitationVerifier(ScriptedEvaluator(score=lambda _: 0.0)).verify(
        answer, KNOWLEDGE, {source.id: source, **SOURCES}, Settings()
    )
    assert made.checks[0].note == "quoted" and made.checks[0].supported


def test_where_no_judge_can_tell_it_is_unknown_and_why_is_said() -> None:
    checks, _ = checked("Traffic began early [1].", None)
    assert checks[0].supported is None
    assert checks[0].note == "not scored" and checks[0].why
    assert faithfulness(checks) is None


def test_faithfulness_is_the_supported_share_of_what_was_checkable() -> None:
    checks, _ = checked("The bridge was opened in 1890 [1]. It is 2,467 metres long [2]. Nobody came [3]. So what?")
    assert faithfulness(checks) == pytest.approx(2 / 3)
    assert faithfulness([]) is None


def test_an_abstention_is_not_checkable() -> None:
    *_, answer = ExtractiveGenerator().answer("Why?", [], SOURCES, Settings())
    assert isinstance(answer, Answer)
    made = CitationVerifier(ScriptedEvaluator(score=lambda _: 0.0)).verify(answer, [], SOURCES, Settings())
    assert faithfulness(made.checks) is None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("A cat sat [1]. A dog ran [2, 3].", [("A cat sat.", (1,)), ("A dog ran.", (2, 3))]),
        ("A cat slept. [1] A dog ran. [2]", [("A cat slept.", (1,)), ("A dog ran.", (2,))]),
        ("A cat sat.[1][2]\n\nA dog ran", [("A cat sat.", (1, 2)), ("A dog ran", ())]),
        ("[1] A cat sat.", [("A cat sat.", (1,))]),
        ("A cat [1] and a dog [1; 2] sat.", [("A cat and a dog sat.", (1, 2))]),
        ("See [note] and [2019a].", [("See [note] and [2019a].", ())]),
        ("", []),
    ],
)
def test_marks_belong_to_their_sentence(text: str, expected: list[tuple[str, tuple[int, ...]]]) -> None:
    assert split_cited_sentences(text) == expected


SENTENCE = st.text(alphabet="abc XY.!?\"'”)([]12,;:|…\n", min_size=1, max_size=60).filter(
    lambda text: any(character.isalnum() for character in text)
)


@given(SENTENCE, st.integers(1, 999))
def test_a_marked_quote_reads_back_as_a_quote_with_that_mark(source: str, number: int) -> None:
    quote = quotable(source)
    for sentence, numbers in split_cited_sentences(with_mark(quote, number)):
        assert numbers == (number,)
        assert literal(sentence, source)


def test_stop_ends_the_check_of_an_answer_between_two_sentences() -> None:
    evaluator = ScriptedEvaluator(score=lambda _: 0.1)
    cancel = threading.Event()

    def check() -> None:
        if cancel.is_set():
            raise CancelledError("The run was stopped.")
        cancel.set()

    answer = Answer(text="The bridge is very red. " * 500, by="test")
    with pytest.raises(CancelledError):
        CitationVerifier(evaluator, check=check).verify(answer, KNOWLEDGE, SOURCES, Settings())
    assert len({sentence for sentence, _ in evaluator.graded}) <= 1
