"""An evaluator that stands in where another fails: what it graded instead is marked, and said once."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from crag.core.protocols import RetrievalEvaluator
from crag.core.types import Grade, Passage

GIVE_UP_AFTER = 3
"""Failures without any success after which the first evaluator is not asked again in this run."""


class FallbackEvaluator:
    """Asks `first`; passages whose grade failed are graded by `second`, their grades marked with the reason.

    Several threads may ask at once.
    """

    def __init__(
        self, first: RetrievalEvaluator, second: RetrievalEvaluator, told: Callable[[Grade], None] = lambda failed: None
    ) -> None:
        """`told` is called once a run, with the first grade that failed, when `second` steps in."""
        self._first, self._second, self._told = first, second, told
        self.id, self.calls_models = first.id, first.calls_models
        self._failures, self._successes = 0, 0
        self._last: Grade | None = None
        self._lock = threading.Lock()

    def grade(self, question: str, passages: Sequence[Passage]) -> Iterator[Grade]:
        """One grade a passage: those of `first` as they come, then those that `second` makes up for."""
        failed: dict[str, Grade] = {}
        by_id = {passage.id: passage for passage in passages}
        waiting = dict.fromkeys(by_id)
        for grade in self._asked(question, passages):
            waiting.pop(grade.passage_id, None)
            if not isinstance(by_id[grade.passage_id].text, str):
                yield grade
            elif self._counted(grade).failed:
                failed[grade.passage_id] = grade
            else:
                yield grade
        failed.update({passage_id: self._skipped(passage_id) for passage_id in waiting})
        if not failed:
            return
        self._tell_once(next(iter(failed.values())))
        for grade in self._second.grade(question, [by_id[passage_id] for passage_id in failed]):
            yield self._marked(grade, failed[grade.passage_id])

    def grade_joint(self, question: str, passages: Sequence[Passage]) -> Grade:
        """The joint grade of `first`, or of `second` where that failed."""
        if not passages:
            return self._first.grade_joint(question, passages)
        joint = self._skipped("joint") if self._given_up else self._counted(self._first.grade_joint(question, passages))
        if not joint.failed:
            return joint
        self._tell_once(joint)
        return self._marked(self._second.grade_joint(question, passages), joint)

    def _asked(self, question: str, passages: Sequence[Passage]) -> Iterator[Grade]:
        """The grades of `first` until it is given up; what it has not graded by then is no longer asked for."""
        if self._given_up:
            return
        for grade in self._first.grade(question, passages):
            yield grade
            if self._given_up:
                return

    def _counted(self, grade: Grade) -> Grade:
        with self._lock:
            if grade.failed:
                self._failures, self._last = self._failures + 1, grade
            else:
                self._successes += 1
        return grade

    @property
    def _given_up(self) -> bool:
        return self._failures >= GIVE_UP_AFTER and not self._successes

    def _skipped(self, passage_id: str) -> Grade:
        last = self._last or Grade(passage_id=passage_id, score=None, error="no grade came back")
        return replace(last, passage_id=passage_id, evaluator=self._first.id, failed_before=self._failures)

    def _tell_once(self, failed: Grade) -> None:
        with self._lock:
            told, self._told = self._told, lambda failed: None
        told(failed)

    @staticmethod
    def _marked(grade: Grade, failed: Grade) -> Grade:
        return replace(
            grade,
            instead_of=failed.evaluator,
            why=failed.error or "",
            who=failed.who,
            failed_before=failed.failed_before,
        )
