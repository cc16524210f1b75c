"""Sentences that cite nothing: held against what the writer was shown, numbered on, or flagged."""

from __future__ import annotations

from dataclasses import replace

import pytest

from crag.core.settings import Settings
from crag.core.types import Answer, Grade, Strip, Verification
from crag.generation.citations import fit_strips
from crag.generation.verification import CitationVerifier, faithfulness
from crag.testing.contracts import BRIDGE, KNOWLEDGE, SOURCES
from crag.testing.fakes import ScriptedEvaluator
from tests.generation.answers.test_verification import citation

OPENED, LENGTH, MEN = KNOWLEDGE


def verified(text: str, score: float | None = 0.1, *, cites: tuple[Strip, ...] = ()) -> Verification:
    citations = tuple(citation(number, strip) for number, strip in enumerate(cites, start=1))
    answer = Answer(text=text, by="test", citations=citations)
    verifier = CitationVerifier(ScriptedEvaluator(score=lambda _: score))
    return verifier.verify(answer, KNOWLEDGE, SOURCES, Settings())


def test_a_sentence_gets_the_citation_that_it_lacks_with_its_place() -> None:
    made = verified("The bridge was opened in 1890.")
    (check,), (found,) = made.checks, made.found
    assert (check.supported, check.attributed, check.citations) == (True, True, (1,))
    assert (found.number, found.strip_id, found.found) == (1, OPENED.id, True)
    assert (found.source, found.page, found.quote) == (BRIDGE.source, BRIDGE.page, OPENED.text)


def test_a_strip_that_is_cited_already_keeps_its_number() -> None:
    made = verified("It is 2,467 metres long [1]. 2,467 metres long is it.", cites=(LENGTH,))
    assert [check.citations for check in made.checks] == [(1,), (1,)]
    assert made.found == () and [check.attributed for check in made.checks] == [False, True]


def test_new_numbers_go_on_from_the_answers_own_and_never_make_an_invented_one_true() -> None:
    made = verified("It is 2,467 metres long [1]. It is red [2]. The bridge was opened in 1890.", cites=(LENGTH,))
    assert [check.note for check in made.checks] == ["quoted", "invented", "quoted"]
    assert [found.number for found in made.found] == [3]


def test_what_nothing_shown_supports_is_flagged_and_counts_against_the_answer() -> None:
    made = verified("The bridge was opened in 1890. The bridge was painted red by its owners.", 0.1)
    flagged = made.checks[1]
    assert (flagged.supported, flagged.note, flagged.citations) == (False, "nothing shown", ())
    assert faithfulness(made.checks) == 0.5


def test_where_no_judge_can_tell_nothing_is_flagged() -> None:
    check = verified("The bridge was opened early.", None).checks[0]
    assert check.supported is None and check.note == "not scored" and check.why


@pytest.mark.parametrize(("score", "found"), [(0.55, False), (0.6, True)])
def test_a_found_source_must_say_it_more_surely_than_one_that_was_cited(score: float, found: bool) -> None:
    assert verified("Men were saved while the bridge was under construction.", score).checks[0].attributed is found


def test_two_strips_that_say_it_together_are_cited_together() -> None:
    verifier = CitationVerifier(ScriptedEvaluator(score=lambda text: 0.9 if "\n" in text else 0.2))
    answer = Answer(text="The bridge, opened in 1890, is 2,467 metres long.", by="test")
    made = verifier.verify(answer, [LENGTH, OPENED], SOURCES, Settings())
    assert {found.strip_id for found in made.found} == {OPENED.id, LENGTH.id}
    assert made.checks[0].citations == (1, 2)


def test_only_what_the_writer_was_shown_is_looked_at() -> None:
    long = replace(LENGTH, id="long", text="Words. " * 500, score=0.99)
    settings = Settings(answer_context=Settings.model_fields["answer_context"].metadata[0].ge)
    assert fit_strips([long, OPENED], settings.answer_context) == [long]
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
    assert model.graded == [("In 1890 the bridge was opened.", OPENED.text)]
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
    assert [check.note for check in made.checks] == ["nothing shown"] and made.found == ()
