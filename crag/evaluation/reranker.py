"""Any server with the common /v1/rerank form as retrieval evaluator: query and documents in, a score for each out."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence

from crag.core.errors import ProviderError
from crag.core.protocols import RerankServer, RetrievalEvaluator
from crag.core.types import Grade, Passage
from crag.evaluation.refinement import joint_grade
from crag.runtime.provider import EvaluatorParts, EvaluatorProvider


class RerankEvaluator:
    """Scores as the server gives them where they lie in 0..1; logits, where any lies outside, through a sigmoid."""

    calls_models = True

    def __init__(self, server: RerankServer) -> None:
        self._server = server
        self.id = f"reranker:{server.id}"

    def grade(self, question: str, passages: Sequence[Passage]) -> Iterator[Grade]:
        """One grade a passage, in order, from one call. Where it fails, all have failed."""
        began = time.perf_counter()
        texts = [passage.text if isinstance(passage.text, str) else "" for passage in passages]
        readable = [place for place, text in enumerate(texts) if text.strip()]
        scores: dict[int, float] = {}
        failed = ProviderError("")
        if readable:
            try:
                found = self._server.rerank(question, [texts[place] for place in readable])
                scores = dict(zip(readable, _in_range(found), strict=True))
            except ProviderError as failure:
                failed = failure
        seconds = (time.perf_counter() - began) / max(1, len(passages))
        for place, passage in enumerate(passages):
            if place in scores:
                score = scores[place]
                grade = Grade(passage_id=passage.id, score=score, reason="reranked", evaluator=self.id, seconds=seconds)
            elif place in readable:
                grade = Grade(
                    passage_id=passage.id,
                    score=None,
                    error=failed.cause,
                    who=failed.who,
                    fault=failed.reason,
                    evaluator=self.id,
                    seconds=seconds,
                )
            elif isinstance(passage.text, str):
                grade = Grade(passage_id=passage.id, score=0.0, reason="nothing to be reranked", evaluator=self.id)
            else:
                grade = Grade(passage_id=passage.id, score=None, error="the passage is no text", evaluator=self.id)
            yield grade

    def grade_joint(self, question: str, passages: Sequence[Passage]) -> Grade:
        """The best passage's grade, or that of the best three read as one."""
        return joint_grade(self.grade, question, passages, self.id)


def _in_range(scores: Sequence[float]) -> list[float]:
    """Scores in 0..1: as they are, or through a sigmoid where they are logits."""
    if all(0 <= score <= 1 for score in scores):
        return list(scores)
    return [1 / (1 + math.exp(-max(-30.0, min(30.0, score)))) for score in scores]


def _build_reranker(parts: EvaluatorParts) -> RetrievalEvaluator:
    assert parts.reranker is not None  # the record says that it is needed
    return RerankEvaluator(parts.reranker)


RERANKER = EvaluatorProvider(
    name="reranker",
    title="Reranking server",
    about="One call for all chunks of a question. Where it fails, the local evaluator grades instead.",
    needs="reranker",
    calls="retrieval",
    address="rerank_base_url",
    server="reranking",
    example="http://127.0.0.1:8080/v1",
    key="rerank",
    make=_build_reranker,
)
