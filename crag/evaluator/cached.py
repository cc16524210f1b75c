"""An evaluator that asks its inner one only for what was never graded: grades are kept by content."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import replace

from crag.core.protocols import GradeCache, RetrievalEvaluator
from crag.core.types import Grade, Passage


class CachedEvaluator:
    """Wraps any evaluator. The key is evaluator id, question and text; failed grades are never kept."""

    def __init__(self, inner: RetrievalEvaluator, cache: GradeCache) -> None:
        self.inner, self.cache = inner, cache
        self.id, self.calls_models = inner.id, inner.calls_models

    def grade(self, question: str, passages: Sequence[Passage]) -> Iterator[Grade]:
        """Known grades first, then new ones as they come; new ones are saved when all have come."""
        keys = {passage.id: self._key(question, passage.text) for passage in passages}
        known = self.cache.load_grades(list(dict.fromkeys(keys.values())))
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
            if fresh:
                self.cache.save_grades(fresh)

    def grade_joint(self, question: str, passages: Sequence[Passage]) -> Grade:
        """The stored joint grade over exactly these texts, or a new one."""
        key = self._key(question, *(passage.text for passage in passages), "joint")
        found = self.cache.load_grades([key]).get(key)
        if found is not None:
            return replace(found, cached=True, seconds=0.0)
        grade = self.inner.grade_joint(question, passages)
        if not grade.failed and not grade.instead_of:
            self.cache.save_grades({key: grade})
        return grade

    def _key(self, *parts: str) -> str:
        """Each part is hashed with its length, so that no two lists of parts share a key."""
        digest = hashlib.sha256()
        for part in (self.id, *parts):
            data = part.encode("utf-8", "surrogatepass")
            digest.update(len(data).to_bytes(8, "big"))
            digest.update(data)
        return digest.hexdigest()
