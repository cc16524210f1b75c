"""Strips' scores kept by content: a passage read once is not read again, and what failed is asked anew."""

from __future__ import annotations

from collections.abc import Sequence

from crag.core.types import Grade, Passage
from crag.evaluation.grading import CachedStripGrader
from crag.testing.fakes import ScriptedStripGrader
from crag.testing.strips_contract import StripGraderContract

TEXT = "The tower was completed in 1889. It stands in Paris."
SPANS = [(0, 32), (33, len(TEXT))]
PASSAGE = Passage(id="p", text=TEXT)


class Kept(dict[str, Grade]):
    """A cache in memory."""

    def load_grades(self, keys: Sequence[str]) -> dict[str, Grade]:
        return {key: self[key] for key in keys if key in self}

    def save_grades(self, grades: dict[str, Grade]) -> None:
        self.update(grades)


class TestCached(StripGraderContract):
    def make(self) -> CachedStripGrader:
        return CachedStripGrader(ScriptedStripGrader(score=lambda strip, _: 0.9 if "1889" in strip else 0.1), Kept())


def test_a_passage_is_read_once() -> None:
    inner = ScriptedStripGrader(score=lambda strip, passage: 0.9 if "1889" in strip else 0.1)
    cached = CachedStripGrader(inner, Kept())
    assert [list(cached.grade_strips("When?", PASSAGE, SPANS)) for _ in range(2)] == [[0.9, 0.1]] * 2
    assert inner.read == [TEXT]
    cached.grade_strips("Where?", PASSAGE, SPANS)
    cached.grade_strips("When?", Passage(id="p", text=TEXT + "!"), SPANS)
    cached.grade_strips("When?", PASSAGE, [(0, 16)])
    assert len(inner.read) == 4


def test_what_could_not_be_judged_is_asked_again() -> None:
    inner = ScriptedStripGrader(score=lambda strip, passage: None if "Paris" in strip else 0.9)
    cached = CachedStripGrader(inner, Kept())
    assert [list(cached.grade_strips("When?", PASSAGE, SPANS)) for _ in range(2)] == [[0.9, None]] * 2
    assert inner.read == [TEXT, TEXT]
