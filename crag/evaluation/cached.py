"""An evaluator that asks its inner one only for what was never graded: grades are kept by content."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Iterator, Sequence
from dataclasses import replace

from crag.core.errors import LibraryError
from crag.core.protocols import GradeCache, RetrievalEvaluator, StripGrader
from crag.core.types import Grade, Passage

_log = logging.getLogger(__name__)


class CachedEvaluator:
    """Wraps any evaluator. The key is evaluator id, question and text; failed grades are never kept."""

    def __init__(self, inner: RetrievalEvaluator, cache: GradeCache) -> None:
        self.inner, self.cache = inner, cache
        self.id, self.calls_models = inner.id, inner.calls_models

    def grade(self, question: str, passages: Sequence[Passage]) -> Iterator[Grade]:
        """Known grades first, then new ones as they come; new ones are saved when all have come."""
        keys = {passage.id: _key(self.id, question, passage.text) for passage in passages}
        known = _load(self.cache, list(keys.values()))
        todo = []
        for passage in passages:
            found = known.get(keys[passage.id])
            if found is None:
                todo.append(passage)
            else:
                yield replace(found, passage_id=passage.id, cached=True, seconds=0.0)
        if not todo:
            return
        fresh: dict[str, Grade] = {}
        try:
            for grade in self.inner.grade(question, todo):
                if not grade.failed and not grade.instead_of:
                    fresh[keys[grade.passage_id]] = grade
                yield grade
        finally:
            _save(self.cache, fresh)

    def grade_joint(self, question: str, passages: Sequence[Passage]) -> Grade:
        """The stored joint grade over exactly these texts, or a new one."""
        key = _key(self.id, question, *(passage.text for passage in passages), "joint")
        found = _load(self.cache, [key]).get(key)
        if found is not None:
            return replace(found, cached=True, seconds=0.0)
        grade = self.inner.grade_joint(question, passages)
        if not grade.failed and not grade.instead_of:
            _save(self.cache, {key: grade})
        return grade


class CachedStripGrader:
    """Wraps a strip grader. The key is its id, question, passage and span; what could not be judged is never kept."""

    def __init__(self, inner: StripGrader, cache: GradeCache) -> None:
        self.inner, self.cache, self.id = inner, cache, inner.id

    def grade_strips(self, question: str, passage: Passage, spans: Sequence[tuple[int, int]]) -> Sequence[float | None]:
        """The stored scores; the passage is read where one of them is not there."""
        if not isinstance(passage.text, str):
            return self.inner.grade_strips(question, passage, spans)
        keys = [_key(self.id, question, passage.text, "strip", str(start), str(end)) for start, end in spans]
        known = _load(self.cache, keys)
        if all(key in known for key in keys):
            return [known[key].score for key in keys]
        found = self.inner.grade_strips(question, passage, spans)
        scored = [(key, score) for key, score in zip(keys, found, strict=True) if score is not None]
        _save(self.cache, {key: Grade(passage_id="strip", score=score, evaluator=self.id) for key, score in scored})
        return found


def _load(cache: GradeCache, keys: Sequence[str]) -> dict[str, Grade]:
    """The stored grades; none where the cache can't be read, because a cache never ends a run."""
    try:
        return cache.load_grades(list(dict.fromkeys(keys)))
    except LibraryError as error:
        _log.info("stored grades can't be read: %s", error.message)
        return {}


def _save(cache: GradeCache, grades: dict[str, Grade]) -> None:
    """Store the grades where that is possible: a full disk or a limit costs the next run time, not this one its end."""
    if not grades:
        return
    try:
        cache.save_grades(grades)
    except LibraryError as error:
        _log.info("grades are not stored: %s", error.message)


def _key(*parts: str) -> str:
    """Each part is hashed with its length, so that no two lists of parts share a key."""
    digest = hashlib.sha256()
    for part in parts:
        data = part.encode("utf-8", "surrogatepass")
        digest.update(len(data).to_bytes(8, "big"))
        digest.update(data)
    return digest.hexdigest()
