"""Where the answers of a question set are lost: each step, and what is left out."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from crag.analysis.evaluate import add_set, evaluate, evaluations
from crag.analysis.questions.sets import Question, QuestionSet
from crag.analysis.stages.funnel import STEPS, Funnel, trace_funnel
from crag.core.protocols import RunRequest
from crag.core.strategies import strategy
from crag.engine import Engine
from crag.export.explanations import funnel_values
from crag.messages.evaluations import (
    funnel_sentence,
    left_out_sentence,
    loss_sentence,
    shown_steps,
)
from tests.support.small_library import CLAIMS, HIRING, SURVEY, add_document

ASKED = "How many days did hiring take in 2019?"


def expect(page: int | None = None, question: str = ASKED, **known: Any) -> Question:
    """A question with an expected page of the report."""
    pages = (page,) if page else ()
    return Question(id="", question=question, **{"sources": ("report.pdf",), "pages": pages, **known})


def run(engine: Engine, questions: list[Question], name: str = "paper", **changes: Any) -> str:
    """The id of an evaluation of these questions."""
    numbered = tuple(replace(each, id=f"q{place}") for place, each in enumerate(questions, 1))
    id = add_set(engine.library(), QuestionSet("made.csv", numbered, kind="CSV"))
    settings = strategy(name).settings.changed(**changes)
    list(evaluate(engine, id, RunRequest("", name, settings=settings)))
    return evaluations(engine.library())[0].id


def funnel(engine: Engine, questions: list[Question], name: str = "paper", **changes: Any) -> Funnel:
    return trace_funnel(engine.library(), run(engine, questions, name, **changes))


def test_each_question_is_lost_at_the_first_step_that_its_page_does_not_pass(engine: Engine) -> None:
    found = funnel(
        engine,
        [expect(HIRING), expect(CLAIMS), expect(SURVEY), expect(1, sources=("nowhere.pdf",)), expect(9)],
        k=2,
        strip_filter=0.5,
    )
    assert found.followed == 5 and not found.left_out and found.graded
    assert {loss.question_id: loss.lost for loss in found.losses} == {
        "q2": "evidence",
        "q3": "search",
        "q4": "library",
        "q5": "library",
    }
    assert [found.passed[step] for step in STEPS] == [3, 2, 2, 1, 1, 1]
    assert all(loss.run_id in engine.library().runs.ids() for loss in found.losses)
    said = [loss_sentence(loss) for loss in found.losses]
    assert "below the strip filter" in said[0] and "was not retrieved" in said[1]
    assert said[2].startswith("nowhere.pdf is not in the library") and "has no page 9" in said[3]
    assert funnel_sentence(found).startswith("Lost of 5 questions: 2 before the search, 1 in the search and 1 betw")


def test_a_low_grade_and_an_uncited_page_have_steps_of_their_own(make: Callable[..., Engine]) -> None:
    low = make(lambda text: 0.3 if "iring" in text else 0.02)
    found = funnel(low, [expect(HIRING), expect(CLAIMS)], lower=0.2, upper=0.6)
    assert [loss.lost for loss in found.losses] == ["grade"] and found.losses[0].question_id == "q2"
    all_kept = funnel(make(), [expect(CLAIMS)], strip_filter=0.0, strip_top_k=0, answer_sentences=1)
    assert [loss.lost for loss in all_kept.losses] == ["answer"]
    assert "cites another strip first" in loss_sentence(all_kept.losses[0])


def test_questions_without_a_place_an_answer_or_a_run_are_counted_apart(engine: Engine) -> None:
    questions = [
        expect(HIRING),
        expect(HIRING, labels=("unanswerable",)),
        expect(sources=()),
        expect(sources=("https://example.org/page",)),
        expect(HIRING, question="x" * 5_000),
        expect(CLAIMS),
    ]
    id = run(engine, questions)
    engine.library().runs.delete(f"{id}-6")
    found = trace_funnel(engine.library(), id)
    assert found.followed == 1
    assert found.left_out == {"no answer": 1, "no place": 2, "failed": 1, "deleted": 1}
    assert left_out_sentence(found).count(",") >= 2 and "2 without a known place" in left_out_sentence(found)


def test_an_evaluation_whose_runs_are_all_gone_says_so(engine: Engine) -> None:
    id = run(engine, [expect(HIRING), expect(CLAIMS)])
    for run_id in engine.library().runs.ids():
        engine.library().runs.delete(run_id)
    found = trace_funnel(engine.library(), id)
    assert found.followed == 0 and found.left_out == {"deleted": 2}
    assert funnel_sentence(found).startswith("Of 2 questions, none can be followed")
    assert "deleted" in left_out_sentence(found)


def test_plain_rag_has_no_grade_to_be_lost_at(engine: Engine) -> None:
    found = funnel(engine, [expect(HIRING), expect(SURVEY)], "plain-rag", k=1)
    assert not found.graded and "grade" not in shown_steps(found)
    assert [loss.lost for loss in found.losses] == ["search"]


def test_a_document_without_a_page_and_a_sentence_without_a_document_are_places(engine: Engine) -> None:
    add_document(engine, "other.pdf", ["Nothing of it was ever said."])
    sentence = "Retirement claims are handled within sixty days"
    questions = [
        expect(),
        expect(sources=("Other",)),
        expect(sources=(), answers=(sentence,)),
        expect(sources=(), answers=("Nobody ever wrote this sentence here",)),
    ]
    found = funnel(engine, questions, k=2, strip_filter=0.5, lookup_reach=0)
    assert found.left_out == {"no place": 1}
    assert {loss.question_id: loss.lost for loss in found.losses} == {"q2": "search", "q3": "evidence"}
    assert found.losses[1].miss.wanted.text == sentence


def test_a_right_answer_from_another_page_is_not_lost(engine: Engine) -> None:
    found = funnel(engine, [expect(SURVEY, answers=("eighty days",)), expect(HIRING, answers=("nine weeks",))], k=2)
    assert found.followed == 2 and not found.losses


def test_the_values_have_every_loss(engine: Engine) -> None:
    found = funnel(engine, [expect(HIRING), expect(SURVEY), expect(labels=("unanswerable",))], k=1)
    record = funnel_values(found)
    assert record["lost"] == {"search": 1}
    assert [each["question_id"] for each in record["losses"]] == ["q2"]
    assert record["left_out"] == {"no answer": 1} and record["losses"][0]["step"] == "search"


@pytest.mark.parametrize("name", ["binary-any", "binary-strict", "joint", "three-way", "balanced"])
def test_every_kind_of_strategy_is_followed(engine: Engine, name: str) -> None:
    found = funnel(engine, [expect(HIRING), expect(CLAIMS), expect(SURVEY)], name)
    assert found.followed == 3 and found.passed["support"] + len(found.losses) == 3
    assert all(loss_sentence(loss) for loss in found.losses)
