"""Grading as one service: the cache, the evaluator, its fallback, and storing what is new, in this order."""

from __future__ import annotations

import hashlib
import logging
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from crag.core.errors import LibraryError
from crag.core.protocols import GradeCache, RetrievalEvaluator, StripGrader
from crag.core.types import Grade, Passage

GIVE_UP_AFTER = 3
"""Failures without any success after which the evaluator is not asked again in this run."""

_log = logging.getLogger(__name__)


class GradingService:
    """Grades passages by an evaluator, as an evaluator does. Several threads may ask at once.

    1. Grades in `cache` are used again, by evaluator, question and text.
    2. The evaluator grades the others.
    3. What it fails at, `fallback` grades; those grades name the evaluator and its error. `report` is called once, with
       the first failed grade. After `GIVE_UP_AFTER` failures without a success the evaluator is not asked again.
    4. New grades of the evaluator are stored, where that is possible: a full disk ends no run.
    """

    def __init__(
        self,
        evaluator: RetrievalEvaluator,
        cache: GradeCache | None = None,
        fallback: RetrievalEvaluator | None = None,
        report: Callable[[Grade], None] = lambda failed: None,
    ) -> None:
        self.id, self.calls_models = evaluator.id, evaluator.calls_models
        self._evaluator, self._cache, self._report = evaluator, cache, report
        self._fallback = GradingService(fallback, cache) if fallback is not None else None
        self._failures, self._successes = 0, 0
        self._last: Grade | None = None
        self._lock = threading.Lock()

    def grade(self, question: str, passages: Sequence[Passage]) -> Iterator[Grade]:
        """One grade a passage: stored ones first, then new ones as they come, then those of the fallback."""
        by_id, asked = {passage.id: passage for passage in passages}, _half_key(self.id, question)
        keys = {id: asked + _half_key(each.text) for id, each in by_id.items() if isinstance(each.text, str)}
        known = _load(self._cache, list(keys.values()))
        waiting: dict[str, Passage] = {}
        for id, passage in by_id.items():
            found = known.get(keys.get(id, ""))
            if found is None:
                waiting[id] = passage
            else:
                yield replace(found, passage_id=id, cached=True, seconds=0.0)
        fresh: dict[str, Grade] = {}
        failed: dict[str, Grade] = {}
        try:
            for grade in self._evaluate(question, list(waiting.values())):
                id = grade.passage_id
                if self._fallback and id in keys and self._count(grade).failed:
                    failed[id] = grade
                    continue
                waiting.pop(id, None)
                if not grade.failed and not grade.instead_of:
                    fresh[keys[id]] = grade
                yield grade
        finally:
            _save(self._cache, fresh)
        if not self._fallback or not waiting:
            return
        failed |= {id: self._skip(id) for id in waiting if id not in failed}
        self._report_once(next(iter(failed.values())))
        for grade in self._fallback.grade(question, [waiting[id] for id in failed]):
            yield _mark(grade, failed[grade.passage_id])

    def grade_joint(self, question: str, passages: Sequence[Passage]) -> Grade:
        """One grade of all texts together: stored, new, or the fallback's where that failed."""
        key = _half_key(self.id, question) + _half_key(*(passage.text for passage in passages), "joint")
        if (found := _load(self._cache, [key]).get(key)) is not None:
            return replace(found, cached=True, seconds=0.0)
        grade = self._skip("joint") if self._given_up else self._evaluator.grade_joint(question, passages)
        if passages and self._fallback and (grade if self._given_up else self._count(grade)).failed:
            self._report_once(grade)
            return _mark(self._fallback.grade_joint(question, passages), grade)
        if not grade.failed and not grade.instead_of:
            _save(self._cache, {key: grade})
        return grade

    def _evaluate(self, question: str, passages: Sequence[Passage]) -> Iterator[Grade]:
        """The evaluator's grades, until it is given up."""
        if not passages or self._given_up:
            return
        for grade in self._evaluator.grade(question, passages):
            yield grade
            if self._given_up:
                return

    def _count(self, grade: Grade) -> Grade:
        with self._lock:
            if grade.failed:
                self._failures, self._last = self._failures + 1, grade
            else:
                self._successes += 1
        return grade

    @property
    def _given_up(self) -> bool:
        return self._fallback is not None and self._failures >= GIVE_UP_AFTER and not self._successes

    def _skip(self, passage_id: str) -> Grade:
        """The grade of a passage that the evaluator was not asked for, or did not return."""
        last = self._last or Grade(passage_id=passage_id, score=None, error="no grade came back")
        return replace(last, passage_id=passage_id, evaluator=self.id, failed_before=self._failures)

    def _report_once(self, failed: Grade) -> None:
        with self._lock:
            report, self._report = self._report, lambda failed: None
        report(failed)


class GradeBatch:
    """A cache of grades that holds new ones until `store` writes them, all in one transaction."""

    def __init__(self, cache: GradeCache) -> None:
        self._cache = cache
        self._new: dict[str, Grade] = {}

    def load_grades(self, keys: Sequence[str]) -> dict[str, Grade]:
        held = {key: self._new[key] for key in keys if key in self._new}
        return {**self._cache.load_grades([key for key in keys if key not in held]), **held}

    def save_grades(self, grades: dict[str, Grade]) -> None:
        self._new.update(grades)

    def store(self) -> None:
        """Write what is held, where that is possible."""
        new, self._new = self._new, {}
        _save(self._cache, new)


class CachedStripGrader:
    """Wraps a strip grader. The key is its id, question, passage and span; a strip without a score is not stored."""

    def __init__(self, inner: StripGrader, cache: GradeCache) -> None:
        self.inner, self.cache, self.id = inner, cache, inner.id

    def grade_strips(self, question: str, passage: Passage, spans: Sequence[tuple[int, int]]) -> Sequence[float | None]:
        """The stored scores. The passage is read where one of them is missing."""
        if not isinstance(passage.text, str):
            return self.inner.grade_strips(question, passage, spans)
        asked = _half_key(self.id, question)
        keys = [asked + _half_key(passage.text, "strip", str(start), str(end)) for start, end in spans]
        known = _load(self.cache, keys)
        if all(key in known for key in keys):
            return [known[key].score for key in keys]
        found = self.inner.grade_strips(question, passage, spans)
        scored = [(key, score) for key, score in zip(keys, found, strict=True) if score is not None]
        _save(self.cache, {key: Grade(passage_id="strip", score=score, evaluator=self.id) for key, score in scored})
        return found


def _mark(grade: Grade, failed: Grade) -> Grade:
    """A fallback's grade, with the evaluator it replaces and the reason."""
    return replace(
        grade, instead_of=failed.evaluator, why=failed.error or "", who=failed.who, failed_before=failed.failed_before
    )


def _load(cache: GradeCache | None, keys: Sequence[str]) -> dict[str, Grade]:
    """The stored grades; none where the cache can't be read: a cache never ends a run."""
    if cache is None:
        return {}
    try:
        return cache.load_grades(list(dict.fromkeys(keys)))
    except LibraryError as error:
        _log.info("stored grades can't be read: %s", error.message)
        return {}


def _save(cache: GradeCache | None, grades: dict[str, Grade]) -> None:
    """Store the grades where that is possible: a full disk costs the next run time, not this one its end."""
    if cache is None or not grades:
        return
    try:
        cache.save_grades(grades)
    except LibraryError as error:
        _log.info("grades are not stored: %s", error.message)


def _half_key(*parts: str) -> str:
    """The first half of a key is of evaluator and question, the other of what is graded.

    So the grades of one question lie side by side in the table, and are written on few of its pages. Each part is
    hashed with its length, so that no two lists of parts share a key.
    """
    digest = hashlib.sha256()
    for part in parts:
        data = part.encode("utf-8", "surrogatepass")
        digest.update(len(data).to_bytes(8, "big"))
        digest.update(data)
    return digest.hexdigest()[:32]
