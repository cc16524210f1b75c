"""Strips scored where they stand: in range, from the reading that graded the passage, of any text and any span."""

import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

from crag.core.types import Passage
from crag.evaluation.heads import STRIP_FEATURES, load_strip_head, strip_features
from crag.evaluation.local import REMEMBERED, LocalEvaluator
from crag.models.cross_encoder import FOLDER, Reading
from crag.models.runtime import MAX_CHARACTERS
from crag.testing.contracts import BAD_TEXTS, QUESTION, TEXTS, StripGraderContract
from crag.text.sentences import sentences
from tests.support.local_models import parts

SHIPPED: LocalEvaluator = parts()["evaluator"]
FILLER = "The committee met on Monday and talked about the budget of the town. "
TOWER = "The Eiffel Tower"
ABOUT = f"{TOWER}\n{FILLER}{TEXTS['tower']} {FILLER}"


class TestLocalEvaluator(StripGraderContract):
    def make(self) -> LocalEvaluator:
        return SHIPPED


def passage(text: Any) -> Passage:
    return Passage(id="1", text=cast("str", text))


def scores(text: str, spans: list[tuple[int, int]], by: LocalEvaluator = SHIPPED) -> list[float]:
    found = by.grade_strips(QUESTION, passage(text), spans)
    assert all(score is not None and 0 <= score <= 1 for score in found)
    return [score or 0.0 for score in found]


def test_one_score_a_span_in_order_and_the_sentence_that_answers_is_best() -> None:
    spans = sentences(ABOUT)
    found = scores(ABOUT, spans)
    assert len(found) == len(spans)
    best = max(zip(found, spans, strict=True))[1]
    assert "1889" in ABOUT[slice(*best)]
    assert scores(ABOUT, spans[::-1]) == pytest.approx(found[::-1], abs=1e-4)


@pytest.mark.slow
def test_the_same_scores_whether_or_not_the_passage_was_graded_before() -> None:
    spans = sentences(ABOUT)
    graded = LocalEvaluator()
    list(graded.grade(QUESTION, [passage(ABOUT), passage(TEXTS["culture"]), passage(FILLER * 90)]))
    assert scores(ABOUT, spans, graded) == pytest.approx(scores(ABOUT, spans, LocalEvaluator()), abs=1e-4)
    assert scores(ABOUT, spans, graded) == scores(ABOUT, spans, graded)


def test_what_was_graded_is_not_read_again(tmp_path: Path) -> None:
    """With the model gone, only what was read before has scores."""
    folder = tmp_path / "model"
    shutil.copytree(FOLDER, folder)
    evaluator = LocalEvaluator(folder=folder)
    list(evaluator.grade(QUESTION, [passage(ABOUT)]))
    evaluator._english_reader = LocalEvaluator(folder=tmp_path)._english_reader
    assert evaluator.grade_strips(QUESTION, passage(ABOUT), [(0, 40)])[0] is not None
    assert evaluator.grade_strips(QUESTION, passage(FILLER), [(0, 40)]) == [None]


@pytest.mark.slow
def test_only_the_latest_readings_are_kept() -> None:
    evaluator = LocalEvaluator()
    list(evaluator.grade(QUESTION, [passage(f"Town {number}.") for number in range(REMEMBERED + 20)]))
    assert len(evaluator._latest) == REMEMBERED


@pytest.mark.slow
def test_what_stands_past_what_is_read_of_a_very_long_text_is_not_judged() -> None:
    text = f"{TOWER}\n{TEXTS['tower']} {FILLER * 400}"
    at = MAX_CHARACTERS
    found = SHIPPED.grade_strips(QUESTION, passage(text), [(17, 85), (at - 40, at + 40), (at, at + 40)])
    assert found[0] is not None and found[1] is not None and found[0] > found[1]
    assert found[2] is None


def test_a_span_is_clipped_to_the_text() -> None:
    end = len(ABOUT)
    whole, clipped, past, empty, backwards, before = scores(
        ABOUT, [(0, end), (-7, end + 900), (end + 5, end + 90), (30, 30), (40, 20), (-9, -3)]
    )
    assert whole == clipped
    assert past == empty == backwards == before == 0.0


@pytest.mark.parametrize("text", [*BAD_TEXTS, "🙂 " * 100, "7 " * 200])
def test_nonsense_is_never_above_a_half(text: str) -> None:
    found = SHIPPED.grade_strips(QUESTION, passage(text), [(0, 60), (0, len(text)), (len(text) // 2, len(text))])
    assert len(found) == 3
    assert all(score is None or 0 <= score < 0.5 for score in found)


def test_a_passage_that_is_no_text_and_a_missing_model_have_no_scores(tmp_path: Path) -> None:
    assert SHIPPED.grade_strips(QUESTION, passage(None), [(0, 1), (1, 2)]) == [None, None]
    assert LocalEvaluator(folder=tmp_path).grade_strips(QUESTION, passage(ABOUT), [(0, 1)]) == [None]


def test_threads_get_the_same_scores() -> None:
    evaluator, spans = LocalEvaluator(), sentences(ABOUT)
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda _: scores(ABOUT, spans, evaluator), range(16)))
    for each in found:
        assert each == pytest.approx(found[0], abs=1e-4)


def test_a_strip_s_score_rises_with_its_tokens_and_with_its_passage() -> None:
    head = load_strip_head()
    assert len(head.weights) == len(STRIP_FEATURES)

    def score(keep: float, odds: float, span: float = -3.0) -> float:
        reading = Reading(0.0, span, 0.5, 0, 4, 1, np.array([keep], np.float32), np.array([(0, 4)], np.int32))
        return head.chance(strip_features(reading, 0, 4, odds))

    for odds in (-4.0, 0.0, 4.0):
        assert score(-6, odds) < score(0, odds) <= score(6, odds)
        assert score(0, odds, 6.0) >= score(0, odds)
    for keep in (-2.0, 0.0, 4.0):
        assert score(keep, -6) < score(keep, 6)
    assert min(head.weights) >= 0
    assert score(6, -8) < 0.5
    place = STRIP_FEATURES.index("place")
    assert strip_features(Reading(1, 4, 0, 5, 9, 1), 0, 5, 0.0)[place] == 0.0
    assert strip_features(Reading(1, 4, 0, 5, 9, 1), 0, 6, 0.0)[place] == 2.0
