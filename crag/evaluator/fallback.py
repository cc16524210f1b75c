"""An evaluator that stands in where another fails: what it graded instead is marked, and said once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from crag.core.protocols import RetrievalEvaluator
from crag.core.types import Grade, Passage

__all__ = ["FallbackEvaluator"]

GIVE_UP_AFTER = 3
"""Failures without any success after which the first evaluator is not asked again in this run."""


class FallbackEvaluator:
    """Asks `first`; passages whose grade failed are graded by `second`, their grades marked with the reason."""

    def __init__(
        self, first: RetrievalEvaluator, second: RetrievalEvaluator, told: Callable[[str], None] = lambda why: None
    ) -> None:
        """`told` is called once a run, with the first failure's words, when `second` steps in."""
        self._first, self._second, self._told = first, second, told
        self.id, self.calls_models = first.id, first.calls_models
        self._failures, self._successes = 0, 0

    def grade(self, question: str, passages: Sequence[Passage]) -> Iterator[Grade]:
        """One grade a passage: those of `first` as they come, then those that `second` makes up for."""
        failed: dict[str, Grade] = {}
        by_id = {passage.id: passage for passage in passages}
        if self._given_up:
            failed = {passage.id: self._skipped(passage.id) for passage in passages}
        else:
            for grade in self._first.grade(question, passages):
                if grade.failed and isinstance(by_id[grade.passage_id].text, str):
                    self._failures += 1
                    failed[grade.passage_id] = grade
                else:
                    self._successes += not grade.failed
                    yield grade
        if not failed:
            return
        self._said(next(iter(failed.values())))
        for grade in self._second.grade(question, [by_id[passage_id] for passage_id in failed]):
            yield self._marked(grade, failed[grade.passage_id])

    def grade_joint(self, question: str, passages: Sequence[Passage]) -> Grade:
        """The joint grade of `first`, or of `second` where that failed."""
        failed = self._skipped("joint") if self._given_up else self._first.grade_joint(question, passages)
        if not failed.failed or not passages:
            return failed
        self._failures += 1
        self._said(failed)
        return self._marked(self._second.grade_joint(question, passages), failed)

    @property
    def _given_up(self) -> bool:
        return self._failures >= GIVE_UP_AFTER and not self._successes

    def _skipped(self, passage_id: str) -> Grade:
        why = f"{self._first.id} failed {self._failures} times and is not asked again in this run."
        return Grade(passage_id=passage_id, score=None, error=why, evaluator=self._first.id)

    def _said(self, failed: Grade) -> None:
        told, self._told = self._told, lambda why: None
        told(failed.error or "")

    @staticmethod
    def _marked(grade: Grade, failed: Grade) -> Grade:
        return replace(grade, instead_of=f"{failed.evaluator}: {failed.error}")
