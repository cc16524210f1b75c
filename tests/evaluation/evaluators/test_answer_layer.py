"""How likely a quoted answer is right: what is read of it, and the layer that weighs that."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from crag.core.protocols import AnswerGrader
from crag.core.types import QuotedAnswer
from crag.evaluation.heads import ANSWER_FEATURES, AnswerLayer, Lexicon, ReadText, answer_features
from crag.evaluation.local import LocalEvaluator
from crag.models.cross_encoder import Reading
from tests.support.local_models import parts, with_layer

LEXICON = Lexicon(100, {"tower": 20, "built": 40, "paris": 1})
TEXT = "The tower\nIt was built in 1889 in Paris. Many people see it every day."
QUESTION = "When was the tower built?"


def read_text(text: str, words: str, odds: float = 2.0) -> ReadText:
    start = text.index(words)
    reading = Reading(relevance=2.0, span=4.0, closeness=0.5, start=start, end=start + len(words), tokens=20)
    return ReadText(text, reading, odds)


def features(
    question: str = QUESTION,
    *,
    sentence: str = "It was built in 1889 in Paris.",
    others: tuple[ReadText, ...] = (),
    **of: Any,
) -> dict[str, float]:
    start = TEXT.index(sentence)
    answer = QuotedAnswer(texts=(TEXT,), start=start, end=start + len(sentence), **of)
    return dict(
        zip(
            ANSWER_FEATURES, answer_features(question, answer, [read_text(TEXT, "1889"), *others], LEXICON), strict=True
        )
    )


def test_a_rare_word_that_the_text_has_not_counts_more_than_a_common_one() -> None:
    assert features()["covered"] == 1.0
    rare, common = features("Was the tower zorbed in Paris?"), features("Was the tower people built in Paris?")
    assert rare["covered"] < common["covered"] <= 1.0


def test_a_layer_weighs_what_is_read() -> None:
    layer = AnswerLayer(tuple(float(name == "score") for name in ANSWER_FEATURES), 0.0)
    low, high = ({**features(), "score": score} for score in (-2.0, 2.0))
    assert layer.confidence(tuple(low.values())) < 0.5 < layer.confidence(tuple(high.values())) < 1.0


QUOTED = QuotedAnswer(texts=(TEXT,), start=TEXT.index("It was"), end=TEXT.index(" Many"), words="1889", confidence=0.8)


def test_without_a_layer_or_a_model_there_is_no_confidence(tmp_path: Path) -> None:
    with_layer(tmp_path, "answers", None)
    assert LocalEvaluator(folder=tmp_path / "model").grade_answer(QUESTION, QUOTED) is None
    assert LocalEvaluator(folder=tmp_path / "none").grade_answer(QUESTION, QUOTED) is None


def test_the_local_evaluator_grades_answers(tmp_path: Path) -> None:
    weights = [float(name == "score") for name in ANSWER_FEATURES]
    folder = with_layer(tmp_path, "answers", {"features": list(ANSWER_FEATURES), "weights": weights, "bias": 0.0})
    evaluator = LocalEvaluator(threads=1, folder=folder)
    right, wrong = (evaluator.grade_answer(each, QUOTED) for each in (QUESTION, "Who sings the song of the whale?"))
    assert right is not None and wrong is not None and 0.0 <= wrong < right <= 1.0


@pytest.mark.parametrize("text", ["", " \n ", "— * —"])
def test_a_text_without_words_has_no_confidence_and_is_no_error(text: str) -> None:
    evaluator: AnswerGrader = parts()["evaluator"]
    assert evaluator.grade_answer(QUESTION, replace(QUOTED, texts=(text,), start=0, end=0)) is None
