"""The reader of every language."""

import numpy as np
import pytest

from crag.models.any_language import AnyLanguage
from crag.models.cross_encoder import KEPT_CLIP
from crag.models.runtime import E5
from tests.support.local_models import parts

EMBEDDER: E5 = parts()["embedder"]
MODEL = AnyLanguage(EMBEDDER, threads=1)
BERGEN = "Bergen\nDie Stadt hat etwa 290.000 Einwohner. Sie liegt im Westen von Norwegen und hat einen großen Hafen."


@pytest.mark.parametrize(
    "question", ["Wie viele Einwohner hat Bergen?", "How many inhabitants has Bergen?", "卑尔根有多少居民？"]
)
def test_a_text_that_answers_is_told_from_one_about_something_else(question: str) -> None:
    [right, wrong] = MODEL.read(question, [BERGEN, "Turin\nDer Bahnhof wurde 1864 gebaut. Er hat zwanzig Gleise."])
    assert right is not None and wrong is not None
    assert right.relevance > wrong.relevance
    assert "290.000" in BERGEN[right.start : right.end]
    assert right.kept(7, 45) > right.kept(46, len(BERGEN))


def test_a_long_text_is_as_good_as_its_best_window() -> None:
    filler = "Der Hafen ist groß und wird von vielen Schiffen angelaufen. " * 30
    [alone, within] = MODEL.read("Wie viele Einwohner hat Bergen?", [BERGEN, BERGEN + "\n" + filler])
    assert alone is not None and within is not None
    assert within.relevance > alone.relevance - 2
    assert within.kept(len(BERGEN) + 200, len(BERGEN) + 300) > -KEPT_CLIP, "evidence is read in all windows"


@pytest.mark.parametrize("text", ["", " \n ", "\ud800", "؟ " * 200, "|" * 5_000, "一" * 5_000])
def test_odd_texts_are_read_or_have_no_words(text: str) -> None:
    for question in ("", "متى بني؟", "why " * 500):
        [reading] = MODEL.read(question, [text])
        assert reading is None or np.isfinite([reading.relevance, reading.span, *reading.keep]).all()
