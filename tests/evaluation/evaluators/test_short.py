"""Short answers of the local evaluator: where their words begin and end, and how sure they are."""

from dataclasses import replace
from pathlib import Path

import pytest

from crag.core.errors import ModelError
from crag.core.protocols import AnswerReader
from crag.evaluation.heads import ANSWER_FEATURES, SET_FEATURES, Layer, load_layer
from crag.evaluation.local import LONGEST, SHORT_FEATURES, LocalEvaluator, features, read_words, trim_answer
from crag.models.cross_encoder import Reading
from crag.testing.contracts import AnswerReaderContract
from tests.support.local_models import parts, with_layer

READING = Reading(relevance=2.0, span=4.0, closeness=0.5, start=0, end=1, tokens=20)


class TestLocalEvaluator(AnswerReaderContract):
    def make(self) -> AnswerReader:
        reader: AnswerReader = parts()["evaluator"]
        return reader


@pytest.mark.parametrize(
    ("text", "pointed", "said"),
    [
        ("an average of 4.0 percent in all", "4.0", "4.0 percent"),
        ("It cost $1,577 million then.", "1,577", "$1,577 million"),
        ("made by Wisconsin.", "Wisconsin.", "Wisconsin"),
        ("called “Lost control” there", "“Lost control", "Lost control"),
        ("Bank of Canada (BoC) rate", "Canada (BoC)", "Canada (BoC)"),
        ("OPM processed 52,811 of 92,125 claims", "92,125", "52,811 of 92,125"),
        ("the airplane skidded", "plane", "airplane"),
    ],
)
def test_the_words_are_told_as_one_would_quote_them(text: str, pointed: str, said: str) -> None:
    start = text.index(pointed)
    first, last = trim_answer(text, start, start + len(pointed))
    assert text[first:last] == said


@pytest.mark.parametrize(
    ("question", "said", "fits"),
    [
        ("How many claims were made?", "40 claims", 1.0),
        ("How many claims were made?", "claims", -1.0),
        ("In what year was it built?", "the harbour", -1.0),
        ("Who built it?", "Eiffel", 1.0),
        ("Who built it?", "the men", -1.0),
        ("Why was it built?", "the fair", 0.0),
    ],
)
def test_a_number_or_name_that_is_asked_for_should_be_said(question: str, said: str, fits: float) -> None:
    found = dict(zip(SHORT_FEATURES, features(question, said, (0, len(said)), READING, 0.5), strict=True))
    assert found["fits"] == fits


def test_words_of_the_question_are_no_answer_but_to_a_choice() -> None:
    layer, text = Layer((0.0,) * len(SHORT_FEATURES), 0.0), "The tower was built."
    words = replace(READING, start=4, end=9)
    assert read_words(layer, "When was the tower built?", text, words, 0.9) is None
    assert read_words(layer, "Was the bridge or the tower built?", text, words, 0.9) is not None


@pytest.mark.parametrize("text", ["— —", "a" * (LONGEST + 1)])
def test_no_words_and_too_many_are_no_short_answer(text: str) -> None:
    layer = Layer((0.0,) * len(SHORT_FEATURES), 0.0)
    assert read_words(layer, "Why?", text, replace(READING, end=len(text)), 0.9) is None


LAYERS = {"short": SHORT_FEATURES, "sets": SET_FEATURES, **ANSWER_FEATURES}
"""What the layers over a reading weigh, of words, of a set and of an answer, by their names in head.json."""


@pytest.mark.parametrize(("part", "features"), LAYERS.items())
def test_a_layer_that_is_not_there_is_none_and_one_of_another_make_an_error(
    tmp_path: Path, part: str, features: tuple[str, ...]
) -> None:
    assert load_layer(part, features, with_layer(tmp_path / "none", part, None)) is None
    for number, layer in enumerate(({}, 7, {"features": ["span"], "weights": [1.0], "bias": 0.0})):
        with pytest.raises(ModelError):
            load_layer(part, features, with_layer(tmp_path / str(number), part, layer))


def test_a_model_that_can_not_be_loaded_reads_nothing(tmp_path: Path) -> None:
    assert LocalEvaluator(folder=tmp_path).read("Why?", "Because.") is None
