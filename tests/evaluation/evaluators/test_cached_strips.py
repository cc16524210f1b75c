"""Strips' scores kept by content: a passage read once is not read again, and what failed is asked anew."""

from collections.abc import Sequence

import pytest

from crag.core.errors import StorageError
from crag.core.types import Grade, Passage
from crag.evaluation.grading import CachedStripGrader, GradeBatch
from crag.testing.contracts import StripGraderContract
from crag.testing.fakes import ScriptedStripGrader

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


class Counted(Kept):
    """Counts how often it is written to; `broken`: it can't be."""

    def __init__(self, *, broken: bool = False) -> None:
        super().__init__()
        self.writes, self.broken = 0, broken

    def save_grades(self, grades: dict[str, Grade]) -> None:
        self.writes += 1
        if self.broken:
            raise StorageError("The disk is full.", "Free some space.")
        super().save_grades(grades)


def test_the_grades_of_many_sources_are_stored_in_one_write() -> None:
    inner, cache = ScriptedStripGrader(score=lambda strip, passage: 0.9), Counted()
    batch = GradeBatch(cache)
    cached = CachedStripGrader(inner, batch)
    for text in (TEXT, TEXT + "!", TEXT):
        cached.grade_strips("When?", Passage(id="p", text=text), SPANS)
    assert (cache.writes, len(inner.read)) == (0, 2), "what is held is known"
    batch.store()
    assert (cache.writes, len(cache)) == (1, 4)
    batch.store()
    assert cache.writes == 1


@pytest.mark.parametrize("broken", [False, True])
def test_a_full_disk_ends_nothing(broken: bool) -> None:
    cache = Counted(broken=broken)
    batch = GradeBatch(cache)
    CachedStripGrader(ScriptedStripGrader(score=lambda strip, passage: 0.9), batch).grade_strips("?", PASSAGE, SPANS)
    batch.store()
    assert (cache.writes, len(cache)) == (1, 0 if broken else 2)
