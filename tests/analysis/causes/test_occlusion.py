"""Why a chunk got its score: parts left out one after another, and layers."""

from dataclasses import replace

import pytest

from crag.analysis.causes import SENTENCES, WORDS, GradeExplanation, explain_grade
from crag.core.errors import NotFoundError
from crag.core.protocols import RunRequest
from crag.core.strategies import strategy
from crag.core.trace import Trace
from crag.engine import Engine
from crag.messages.explanations import grade_sentences, untried_sentence
from crag.testing.fakes import FixedRetriever, chunk_of
from tests.analysis.causes.conftest import SharedWords
from tests.support.small_library import HIRING, TEXTS

ASKED = "How many average days did hiring take in 2019?"


def ask(engine: Engine, question: str = ASKED, name: str = "paper", text: str = "", **changes: object) -> Trace:
    """A run; of another store with this one text, where it is given."""
    retriever = FixedRetriever(chunks=[chunk_of(text)]) if text else None
    settings = strategy(name).settings.changed(**changes)
    return engine.trace(RunRequest(question, name, settings=settings, retriever=retriever))


def explain(engine: Engine, trace: Trace, page: int = HIRING) -> GradeExplanation:
    id = next(found.chunk.id for found in trace.rounds[0].chunks if found.chunk.page == page)
    return explain_grade(engine, engine.library(), trace, id)


def test_the_score_falls_most_without_the_words_and_the_sentence_that_made_it(engine: Engine) -> None:
    found = explain(engine, ask(engine))
    words = {ASKED[start:end]: each.score for each in found.words for start, end in each.spans}
    assert list(words) == ["average", "days", "hiring", "take", "2019"] and not found.more_words
    # "take" is the one word that the page does not have, so without it the share of the others is larger.
    assert words["take"] == max(words.values()) > found.score > words["hiring"]
    page = TEXTS[HIRING - 1]
    sentences = {page[start:end]: each.score for each in found.sentences for start, end in each.spans}
    assert len(sentences) == 2 and min(sentences, key=lambda text: sentences[text]).startswith("Hiring took")
    said = " ".join(grade_sentences(found))
    assert "The word “take” counts against it" in said and "The sentence “Hiring took eighty days" in said


def test_what_was_graded_once_is_not_graded_again(engine: Engine, evaluator: SharedWords) -> None:
    trace = ask(engine)
    first, graded = explain(engine, trace), len(evaluator.graded)
    assert explain(engine, trace) == first and len(evaluator.graded) == graded


def test_a_long_question_and_a_text_of_a_thousand_sentences_are_tried_in_part(engine: Engine) -> None:
    text = " ".join(f"The agency wrote sentence {place} about spending." for place in range(1000))
    words = " ".join(f"spending{place}" for place in range(100))
    found = explain(engine, ask(engine, f"Which {words}?", text=text), page=1)
    assert 1 <= len(found.words) <= WORDS and len(found.words) + found.more_words == 100
    assert 1 <= len(found.sentences) <= SENTENCES and found.more_sentences > 300
    assert "content words and" in untried_sentence(found)
    assert len(engine.evaluator.graded) < 3 * (WORDS + SENTENCES)


def test_a_deleted_document_s_chunk_is_explained_from_the_run(engine: Engine) -> None:
    trace = ask(engine, lower=0.3, upper=0.6)
    before = explain(engine, trace)
    engine.library().documents.delete("report.pdf")
    after = explain(engine, trace)
    assert (after.words, after.sentences) == (before.words, before.sentences)


def test_what_the_run_does_not_have_is_refused(engine: Engine) -> None:
    with pytest.raises(NotFoundError, match="no such chunk"):
        explain_grade(engine, engine.library(), ask(engine), "nothing")


@pytest.mark.parametrize(
    ("name", "reason", "said"), [("plain-rag", "not graded", "did not grade"), ("joint", "together", "in one grade")]
)
def test_a_chunk_without_a_score_of_its_own_says_why(engine: Engine, name: str, reason: str, said: str) -> None:
    found = explain(engine, ask(engine, name=name))
    assert (found.reason, found.score, found.words) == (reason, None, ())
    assert said in grade_sentences(found)[0]


def test_a_model_and_an_evaluator_that_is_gone_are_not_asked(engine: Engine, evaluator: SharedWords) -> None:
    trace = ask(engine, lower=0.3, upper=0.6)
    graded = len(evaluator.graded)
    for id, reason, said in (
        ("llm:openai:gpt-x:3", "model", "one more call"),
        ("local-2", "other", "not the evaluator in use"),
    ):
        grades = {chunk: replace(grade, evaluator=id) for chunk, grade in trace.rounds[0].grades.items()}
        found = explain(engine, replace(trace, rounds=(replace(trace.rounds[0], grades=grades),)))
        assert found.reason == reason and not found.words and not found.parts
        assert said in " ".join(grade_sentences(found))
    assert len(evaluator.graded) == graded


@pytest.mark.parametrize("question", ["hiring", "What?", "招聘"])
def test_a_question_of_one_word_or_none_keeps_it(engine: Engine, question: str) -> None:
    found = explain(engine, ask(engine, question))
    assert not found.words and len(found.sentences) == 2
