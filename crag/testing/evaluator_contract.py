"""What every retrieval evaluator must do. A test class inherits this and gives `make`."""

from __future__ import annotations

from typing import Any, cast

import pytest

from crag.core.protocols import RetrievalEvaluator
from crag.core.types import Passage

QUESTION = "When was the Eiffel Tower completed?"
TEXTS = {
    "tower": "The Eiffel Tower was completed in March 1889 for the World's Fair. It stands in Paris.",
    "culture": "French culture has shaped cuisine, fashion and painting. Many museums are free on Sundays.",
    "rate": "The central bank raised its interest rate by a quarter of a point in 2019.",
}


class EvaluatorContract:
    """Inherit and implement `make`."""

    def make(self) -> RetrievalEvaluator:
        raise NotImplementedError

    @pytest.fixture
    def evaluator(self) -> RetrievalEvaluator:
        return self.make()

    def test_one_grade_a_passage_with_its_id_and_a_score_in_range(self, evaluator: RetrievalEvaluator) -> None:
        grades = list(evaluator.grade(QUESTION, [Passage(id=name, text=text) for name, text in TEXTS.items()]))
        assert sorted(grade.passage_id for grade in grades) == sorted(TEXTS)
        for grade in grades:
            assert grade.score is not None
            assert 0 <= grade.score <= 1
            assert grade.reason
            assert grade.seconds >= 0
            assert grade.evaluator == evaluator.id

    def test_a_grade_belongs_to_its_passage_in_any_order(self, evaluator: RetrievalEvaluator) -> None:
        def scores(names: list[str]) -> dict[str, float | None]:
            passages = [Passage(id=name, text=TEXTS[name]) for name in names]
            return {grade.passage_id: grade.score for grade in evaluator.grade(QUESTION, passages)}

        forward, backward = scores(list(TEXTS)), scores(list(TEXTS)[::-1])
        alone = {name: scores([name])[name] for name in TEXTS}
        assert forward == pytest.approx(backward, abs=1e-4)
        assert forward == pytest.approx(alone, abs=1e-4)
        assert max(forward, key=lambda name: forward[name] or 0) == "tower"

    def test_grading_again_gives_the_same_scores(self, evaluator: RetrievalEvaluator) -> None:
        passages = [Passage(id=name, text=text) for name, text in TEXTS.items()]
        first = [grade.score for grade in evaluator.grade(QUESTION, passages)]
        assert first == [grade.score for grade in self.make().grade(QUESTION, passages)]

    def test_no_passages_no_grades(self, evaluator: RetrievalEvaluator) -> None:
        assert list(evaluator.grade(QUESTION, [])) == []

    @pytest.mark.parametrize(
        "bad", ["", " \n ", "\x00\ud800\x07" * 50, "x" * 100_000, "word " * 40_000, "漢字。" * 500, None, 7]
    )
    def test_a_bad_passage_is_graded_or_failed_alone(self, evaluator: RetrievalEvaluator, bad: object) -> None:
        passages = [
            Passage(id="bad", text=cast(Any, bad)),
            Passage(id="tower", text=TEXTS["tower"]),
        ]
        grades = {grade.passage_id: grade for grade in evaluator.grade(QUESTION, passages)}
        assert set(grades) == {"bad", "tower"}
        assert not grades["tower"].failed
        assert grades["bad"].score is None or grades["bad"].score < (grades["tower"].score or 0)
        (grades["bad"].reason + (grades["bad"].error or "")).encode("utf-8")

    def test_a_joint_grade_is_one_grade_over_all(self, evaluator: RetrievalEvaluator) -> None:
        grade = evaluator.grade_joint(QUESTION, [Passage(id=name, text=text) for name, text in TEXTS.items()])
        assert grade.passage_id == "joint"
        assert grade.score is not None
        without = evaluator.grade_joint(QUESTION, [Passage(id="culture", text=TEXTS["culture"])])
        assert without.score is not None
        assert grade.score > without.score

    def test_a_joint_grade_of_nothing_is_a_failed_one(self, evaluator: RetrievalEvaluator) -> None:
        assert evaluator.grade_joint(QUESTION, []).failed
