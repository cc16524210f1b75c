"""Sentences held against what their writer was shown: marks found, replaced and dropped, numbered on, or flagged."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest

from crag.core.settings import Settings
from crag.core.types import Answer, Chunk, FigureCheck, Grade, Judgement, QuotedAnswer, Strip, Verification, WebPage
from crag.generation.extractive import ExtractiveGenerator
from crag.generation.judges import join_judgements
from crag.generation.places import group_strips
from crag.generation.verification import CitationVerifier, claims, faithfulness
from crag.messages.answers import check_sentence
from crag.testing.contracts import BRIDGE, KNOWLEDGE, PAGE, SOURCES, strip_of, whole
from crag.testing.fakes import ScriptedAnswerGrader, ScriptedEvaluator, ScriptedReader, chunk_of
from tests.generation.answers.test_verification import citation

OPENED, LENGTH, MEN = KNOWLEDGE


def verified(text: str, score: float | None = 0.1, *, cites: tuple[Strip, ...] = ()) -> Verification:
    citations = tuple(citation(number, strip) for number, strip in enumerate(cites, start=1))
    answer = Answer(text=text, by="test", citations=citations)
    verifier = CitationVerifier(ScriptedEvaluator(score=lambda _: score))
    return verifier.verify(answer, KNOWLEDGE, SOURCES, Settings())


def test_a_sentence_gets_the_citation_that_it_lacks_with_its_place() -> None:
    made = verified("The bridge was opened in 1890.")
    (check,), (found,) = made.checks, made.answer.citations
    assert made.answer.text == "The bridge was opened in 1890 [1]."
    assert (check.supported, check.attributed, check.citations) == (True, True, (1,))
    assert (found.number, found.strip_id, found.found) == (1, OPENED.id, True)
    assert (found.source, found.page, found.quote) == (BRIDGE.source, BRIDGE.page, OPENED.text)


def test_a_place_that_is_cited_already_keeps_its_number_and_quotes_all_that_is_used_of_it() -> None:
    made = verified("It is 2,467 metres long [1]. The bridge was opened in 1890.", cites=(LENGTH,))
    assert [check.citations for check in made.checks] == [(1,), (1,)]
    assert [check.attributed for check in made.checks] == [False, True]
    (cited,) = made.answer.citations
    assert (cited.strip_id, cited.quote, cited.found) == (LENGTH.id, f"{OPENED.text} {LENGTH.text}", False)


def test_new_numbers_go_on_from_the_answers_own_and_never_make_an_invented_one_true() -> None:
    made = verified(f"It is 2,467 metres long [1]. It is red [2]. {MEN.text}", cites=(LENGTH,))
    assert [check.note for check in made.checks] == ["quoted", "invented", "quoted"]
    assert [(each.number, each.found) for each in made.answer.citations] == [(1, False), (3, True)]
    assert made.answer.text == f"It is 2,467 metres long [1]. It is red [2]. {MEN.text[:-1]} [3]."


def test_what_nothing_shown_supports_is_flagged_and_counts_against_the_answer() -> None:
    made = verified("The bridge was opened in 1890. The bridge was painted red by its owners.", 0.1)
    flagged = made.checks[1]
    assert (flagged.supported, flagged.note, flagged.citations) == (False, "nothing shown", ())
    assert faithfulness(made.checks) == 0.5


def test_what_supports_a_sentence_stays_and_the_rest_of_its_marks_goes() -> None:
    made = verified("The bridge was opened in 1890 [1][2][7].", cites=(OPENED, MEN))
    (check,) = made.checks
    assert (check.supported, check.citations, check.dropped, check.invented) == (True, (1,), (2, 7), (7,))
    assert made.answer.text == "The bridge was opened in 1890 [1]."
    assert [each.number for each in made.answer.citations] == [1]


@pytest.mark.parametrize("mark", ["[2]", "[9]", "[2][9]"])
def test_a_wrong_mark_is_replaced_where_another_place_says_it(mark: str) -> None:
    made = verified(f"The bridge was opened in 1890 {mark}.", cites=(LENGTH, MEN))
    assert made.answer.text == "The bridge was opened in 1890 [1]." and not made.answer.low_confidence
    assert made.checks[0].attributed and 1 not in made.checks[0].dropped
    assert "stands in [1]" in check_sentence(made.checks[0])


def judging(text: str, supports: Callable[[str], bool], knowledge: Sequence[Strip] = (LENGTH, OPENED)) -> Verification:
    verifier = CitationVerifier(ScriptedEvaluator(score=lambda said: 0.9 if supports(said) else 0.2))
    cited = tuple(citation(number, strip) for number, strip in enumerate(knowledge, 1))
    answer = Answer(text=text, by="test", citations=cited, confidence=0.8)
    return verifier.verify(answer, knowledge, {**SOURCES, CROSSED.id: CROSSED}, Settings())


CROSSED = chunk_of("Trains cross the bridge daily. Nobody swims.", page=9)


def test_two_strips_count_together_where_the_first_has_every_figure() -> None:
    trains = strip_of(CROSSED, "Trains cross the bridge daily.", 0.6)
    made = judging("Trains daily cross the bridge opened in 1890 [1][2].", lambda said: "\n" in said, [OPENED, trains])
    assert made.checks[0].supported and made.checks[0].citations == (1, 2)


@pytest.mark.parametrize("marks", ["", " [1]", " [1][2]", " [1][2][3][4][5]"])
def test_a_figure_of_another_strip_is_supported_by_no_number_of_marks(marks: str) -> None:
    made = judging(f"The bridge of 1890 was opened 2,467 times{marks}.", lambda said: "\n" in said)
    assert made.checks[0].supported is False and len(made.checks[0].citations) <= 2
    assert made.answer.low_confidence and made.answer.confidence == 0.0


def test_the_halves_of_a_sentence_may_stand_in_two_strips() -> None:
    said = "The bridge was opened in 1890, and the bridge is 2,467 metres long [1]."
    made = judging(said, lambda text: "\n" not in text)
    assert made.checks[0].supported and made.checks[0].citations == (1,)
    assert made.answer.citations[0].quote == f"{OPENED.text} {LENGTH.text}"
    assert judging(said, lambda text: "1890" in text).checks[0].supported is False


def test_only_what_the_writer_was_shown_is_looked_at() -> None:
    long = replace(LENGTH, id="long", text="Words. " * 500, score=0.99)
    settings = Settings(answer_context=Settings.model_fields["answer_context"].metadata[0].ge)
    (shown,) = group_strips([long, OPENED], SOURCES, settings.answer_context)
    assert shown.text.endswith(" …") and OPENED.text not in shown.text
    answer = Answer(text="The bridge was opened in 1890.", by="test")
    verifier = CitationVerifier(ScriptedEvaluator(score=lambda _: 0.9))
    assert verifier.verify(answer, [long, OPENED], SOURCES, settings).checks[0].note == "nothing shown"


def test_a_model_is_asked_of_cited_sentences_alone_and_does_not_decide_alone() -> None:
    local, model = ScriptedEvaluator(score=lambda _: 0.9), ScriptedEvaluator(score=lambda _: 0.0, id="weak")
    answer = Answer(
        text="In 1890 the bridge was opened [1]. It is 2,467 metres long. Trains were crossing.",
        by="test",
        citations=(citation(1, OPENED),),
    )
    made = CitationVerifier(local, model).verify(answer, KNOWLEDGE, SOURCES, Settings())
    assert model.graded == [("In 1890 the bridge was opened.", f"{OPENED.text}\n{LENGTH.text}")]
    check = made.checks[0]
    assert check.supported is True
    assert [(each.judge, each.by, each.score) for each in check.objecting] == [("model", "weak", 0.0)]
    assert {each.judge for each in check.judgements} == {"words", "figures", "evaluator", "model"}


def test_a_judge_that_another_stood_in_for_has_said_nothing() -> None:
    class Failing(ScriptedEvaluator):
        def _grade(self, passage_id: str, score: float | None) -> Grade:
            return Grade(
                passage_id=passage_id, score=1.0, evaluator="local", instead_of="llm", why="is gone", who="llm"
            )

    local = ScriptedEvaluator(score=lambda _: 0.1)
    answer = Answer(text="The bridge is red [1].", by="test", citations=(citation(1, OPENED),))
    made = CitationVerifier(local, Failing(score=lambda _: 1.0)).verify(answer, KNOWLEDGE, SOURCES, Settings())
    (model,) = (each for each in made.checks[0].judgements if each.judge == "model")
    assert (model.supported, model.why, model.who) == (None, "is gone", "llm")
    assert made.checks[0].supported is False


def test_a_sentence_that_names_no_subject_gets_no_source_since_any_with_its_number_would_fit() -> None:
    made = verified("The answer is: 1890.", 0.99)
    assert [check.note for check in made.checks] == ["nothing shown"] and made.answer.citations == ()


# Which sentences need a source: those that claim something, and any that may


@pytest.mark.parametrize(
    "sentence",
    [
        "Hello!",
        "I hope this helps.",
        "Here is what the sources say:",
        "## Summary",
        "Is that enough?",
        "The sources do not say when it was opened.",
        "There is no information about the engineer.",
        "I could not find that in the documents.",
        "Unfortunately, the documents do not explicitly state this.",
        "**Here is what they say:**",
        "Please provide more context.",
    ],
)
def test_what_claims_nothing(sentence: str) -> None:
    assert not claims(sentence)


@pytest.mark.parametrize(
    "sentence",
    [
        "Paris",
        "Yes.",
        "Hello, the bridge was opened in 1890.",
        "The company did not report a loss.",
        "There is no evidence that it was paid, but the director resigned.",
        "The sources do not say when, but it was opened in 1890.",
        "The report does not mention a loss; profits rose by 5 %.",
        "Revenue rose by 5 % in 2019, for these reasons:",
        "Documents state that nobody paid.",
        "**Chester A. Arthur**",
        "## The increase was 7.9 percent",
        "The increase was 7.9 percent, right?",
        "So Arthur signed it, right?",
    ],
)
def test_what_needs_a_source(sentence: str) -> None:
    assert claims(sentence)


# The confidence of a quoted answer: what the grader is given, and what becomes of what the grader says


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
    assert graded.text == f"Report › The bridge\n{BRIDGE.text}"


def test_the_confidence_of_the_words_is_given_where_some_are_read() -> None:
    sources: dict[str, Chunk | WebPage] = {BRIDGE.id: BRIDGE, PAGE.id: PAGE}
    hidden = graded_answer(KNOWLEDGE, sources, {"in 1890": 0.8}, short_answer=0.81)
    assert (hidden.confidence, graded_answer(KNOWLEDGE, sources).confidence) == (0.8, None)


@pytest.mark.parametrize(("floor", "abstained"), [(0.0, False), (0.3, False), (0.31, True)])
def test_below_the_floor_no_answer_is_given(floor: float, abstained: bool) -> None:
    generator = ExtractiveGenerator(grader=ScriptedAnswerGrader(0.3))
    answer = whole(generator, QUESTION, KNOWLEDGE, Settings(min_answer_confidence=floor))
    assert (answer.abstained, answer.confidence) == (abstained, 0.3)
    assert bool(answer.citations) is not abstained


def test_without_a_confidence_there_is_no_floor() -> None:
    for generator in (ExtractiveGenerator(), ExtractiveGenerator(grader=ScriptedAnswerGrader(None))):
        assert not whole(generator, QUESTION, KNOWLEDGE, Settings(min_answer_confidence=1.0)).abstained


# Several judges' words as one: no judge alone, and what each of them said is kept


def said(**scores: float | None) -> list[Judgement]:
    """Judges by name with their scores; words are for a sentence or can't tell."""
    return [
        Judgement(
            judge=name,  # type: ignore[arg-type]
            supported=None if score is None or (name == "words" and score < 0.9) else score >= 0.5,
            score=score,
        )
        for name, score in scores.items()
    ]


@pytest.mark.parametrize(
    ("judgements", "supported"),
    [
        (said(words=0.3, evaluator=0.8), True),
        (said(words=0.8, evaluator=0.2), False),
        (said(words=0.7, evaluator=0.9, model=0.0), True),  # as many for as against: the words that are there tell
        (said(words=0.2, evaluator=0.2, model=1.0), False),
        (said(words=0.5, evaluator=None), None),
    ],
)
def test_most_of_those_that_can_tell_decide(judgements: list[Judgement], supported: bool | None) -> None:
    assert join_judgements(judgements)[0] is supported


def test_a_number_that_stands_nowhere_decides_against_all_others() -> None:
    missing = FigureCheck(start=0, end=4, text="1891", kind="number", state="missing")
    judged = [*said(words=0.95, evaluator=0.9, model=1.0), Judgement(judge="figures", supported=False, score=0.0)]
    assert join_judgements(judged, [missing]) == (False, None)


def test_a_name_that_stands_nowhere_is_one_voice_among_others() -> None:
    missing = FigureCheck(start=0, end=4, text="Acme", kind="name", state="missing")
    objects = Judgement(judge="figures", supported=False, score=0.5)
    assert join_judgements([*said(words=0.8, evaluator=0.9), objects], [missing])[0] is True
    assert join_judgements([*said(words=0.2, evaluator=0.6), objects], [missing])[0] is False
