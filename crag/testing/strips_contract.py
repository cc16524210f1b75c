"""What every strip grader must do. A test class inherits this and gives `make`."""

from __future__ import annotations

from typing import Any, cast

import pytest

from crag.core.protocols import StripGrader
from crag.core.types import Passage

QUESTION = "When was the Eiffel Tower completed?"
SENTENCES = (
    "The Eiffel Tower stands in Paris.",
    "It was completed in March 1889 for the World's Fair.",
    "French culture has shaped cuisine, fashion and painting.",
)
TEXT = " ".join(SENTENCES)
SPANS = [(TEXT.index(each), TEXT.index(each) + len(each)) for each in SENTENCES]


class StripGraderContract:
    """Inherit and implement `make`."""

    def make(self) -> StripGrader:
        raise NotImplementedError

    @pytest.fixture
    def grader(self) -> StripGrader:
        return self.make()

    def test_one_score_a_strip_in_range_and_in_order(self, grader: StripGrader) -> None:
        forward = self._scores(grader, TEXT, SPANS)
        backward = self._scores(grader, TEXT, SPANS[::-1])
        assert forward == pytest.approx(backward[::-1], abs=1e-4)
        assert max(range(3), key=lambda place: forward[place]) == 1

    def test_reading_again_gives_the_same_scores(self, grader: StripGrader) -> None:
        assert self._scores(grader, TEXT, SPANS) == self._scores(self.make(), TEXT, SPANS)

    def test_no_strips_no_scores(self, grader: StripGrader) -> None:
        assert list(grader.grade_strips(QUESTION, Passage(id="p", text=TEXT), [])) == []
        assert list(grader.grade_strips(QUESTION, Passage(id="p", text=""), [])) == []

    @pytest.mark.parametrize("bad", ["", " \n ", "\x00\ud800\x07" * 50, "x" * 50_000, "word " * 20_000, "漢字。" * 500])
    def test_a_bad_text_has_a_score_in_range_or_none(self, grader: StripGrader, bad: str) -> None:
        spans = [(0, len(bad)), (0, 0), (len(bad) // 2, len(bad))]
        found = grader.grade_strips(QUESTION, Passage(id="bad", text=bad), spans)
        assert len(found) == 3
        assert all(score is None or 0 <= score <= 1 for score in found)

    def test_what_is_no_text_is_not_judged(self, grader: StripGrader) -> None:
        found = grader.grade_strips(QUESTION, Passage(id="bad", text=cast(Any, None)), [(0, 4)])
        assert list(found) == [None]

    @staticmethod
    def _scores(grader: StripGrader, text: str, spans: list[tuple[int, int]]) -> list[float]:
        found = grader.grade_strips(QUESTION, Passage(id="p", text=text), spans)
        assert len(found) == len(spans)
        scores = [score for score in found if score is not None]
        assert len(scores) == len(spans) and all(0 <= score <= 1 for score in scores)
        return scores
