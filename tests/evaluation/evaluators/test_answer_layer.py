"""How likely a quoted answer is right: what is read of it, and the layer that weighs that."""

from dataclasses import replace
from pathlib import Path

import pytest

from crag.core.protocols import AnswerGrader
from crag.core.types import QuotedAnswer
from crag.evaluation.heads import ANSWER_FEATURES, answer_features
from crag.evaluation.local import LocalEvaluator
from tests.support.local_models import parts, with_layer

TEXT = "The tower\nIt was built in 1889 in Paris. Many people see it every day."
QUESTION = "When was the tower built?"
QUOTED = QuotedAnswer(text=TEXT, confidence=0.8, facts={"chance": 1.5, "covered": 0.7})


def test_a_layer_weighs_what_is_read_and_what_is_known() -> None:
    relevance, words, chance, formula = answer_features("answers", QUOTED, {"relevance": 2.0})
    assert (relevance, chance, formula) == (2.0, 1.5, 0.0)
    assert answer_features("answers", replace(QUOTED, confidence=None), {})[1] < 0.0 < words
    assert answer_features("answers elsewhere", QUOTED, {"odds": 3.0, "crossing": 1.0}) == (3.0, 1.5, 1.0)


def test_without_a_layer_or_a_model_there_is_no_confidence(tmp_path: Path) -> None:
    with_layer(tmp_path, "answers", None)
    assert LocalEvaluator(folder=tmp_path / "model").grade_answer(QUESTION, QUOTED) is None
    assert LocalEvaluator(folder=tmp_path / "none").grade_answer(QUESTION, QUOTED) is None


def test_the_local_evaluator_grades_answers(tmp_path: Path) -> None:
    names = list(ANSWER_FEATURES["answers"])
    weights = [float(name == "relevance") for name in names]
    folder = with_layer(tmp_path, "answers", {"features": names, "weights": weights, "bias": 0.0})
    evaluator = LocalEvaluator(threads=1, folder=folder)
    right, wrong = (evaluator.grade_answer(each, QUOTED) for each in (QUESTION, "Who sings the song of the whale?"))
    assert right is not None and wrong is not None and 0.0 <= wrong < right <= 1.0


@pytest.mark.parametrize("text", ["", " \n ", "— * —"])
def test_a_text_without_words_has_no_confidence_and_is_no_error(text: str) -> None:
    evaluator: AnswerGrader = parts()["evaluator"]
    assert evaluator.grade_answer(QUESTION, replace(QUOTED, text=text)) is None
