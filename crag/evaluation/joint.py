"""One grade over several passages, for evaluators that grade single texts."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from crag.core.types import Grade, Passage

JOINED = 3
"""Best passages that are also read as one."""


def joint_grade(
    grade: Callable[[str, Sequence[Passage]], Iterator[Grade]], question: str, passages: Sequence[Passage], by: str
) -> Grade:
    """The best passage's grade, or that of the best three read as one if it is higher; failed if none was graded."""
    began = time.perf_counter()
    grades = list(grade(question, passages))
    scored = sorted((each for each in grades if each.score is not None), key=lambda each: -(each.score or 0))
    if not scored:
        failed = next((each for each in grades if each.error), None)
        took = time.perf_counter() - began
        if failed:
            return replace(failed, passage_id="joint", evaluator=by, seconds=took)
        return Grade(passage_id="joint", score=None, error="no passage could be graded", evaluator=by, seconds=took)
    texts = {passage.id: passage.text for passage in passages}
    graded = [scored[0]]
    if len(scored) > 1:
        joined = "\n".join(texts[each.passage_id] for each in scored[:JOINED])
        graded += [each for each in grade(question, [Passage(id="joint", text=joined)]) if each.score is not None]
    top = max(graded, key=lambda each: each.score or 0)
    reason = f"best of {len(scored)} passages: {top.reason}"
    return Grade(passage_id="joint", score=top.score, reason=reason, evaluator=by, seconds=time.perf_counter() - began)
