"""Whether what an answer says stands in what it cites: sentence by sentence, literally first, then by evaluator."""

from __future__ import annotations

import contextvars
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from crag.core.protocols import RetrievalEvaluator
from crag.core.types import Answer, Passage, SentenceCheck, Strip
from crag.generate.citations import cited_sentences, literal

SUPPORTED_FROM = 0.5
"""The evaluator's score from which a cited text counts as supporting a sentence."""
AT_ONCE = 8
"""Sentences that are checked side by side where a check is a call."""


class CitationVerifier:
    """Checks citations against the strips they name, never against what the answer says of itself."""

    def __init__(self, evaluator: RetrievalEvaluator) -> None:
        self._evaluator = evaluator

    def verify(self, answer: Answer, knowledge: Sequence[Strip]) -> list[SentenceCheck]:
        """One check a sentence, in order. `supported` is None where nothing is cited or scoring failed."""
        strips = {strip.id: strip.text for strip in knowledge}
        cited = {
            citation.number: strips[citation.strip_id] for citation in answer.citations if citation.strip_id in strips
        }
        found = cited_sentences(answer.text)
        if not self._evaluator.calls_models:
            return [self._check(sentence, numbers, cited) for sentence, numbers in found]
        contexts = [contextvars.copy_context() for _ in found]
        with ThreadPoolExecutor(max(1, min(len(found), AT_ONCE)), "check") as threads:
            checks = [
                threads.submit(context.run, self._check, sentence, numbers, cited)
                for context, (sentence, numbers) in zip(contexts, found, strict=True)
            ]
            return [check.result() for check in checks]

    def _check(self, sentence: str, numbers: tuple[int, ...], cited: dict[int, str]) -> SentenceCheck:
        if not numbers:
            return SentenceCheck(sentence=sentence, citations=(), supported=None, note="no citation")
        invented = [number for number in numbers if number not in cited]
        if invented:
            return SentenceCheck(
                sentence=sentence, citations=numbers, supported=False, note="invented", invented=tuple(invented)
            )
        if any(literal(sentence, cited[number]) for number in numbers):
            return SentenceCheck(sentence=sentence, citations=numbers, supported=True, score=1.0, note="quoted")
        passage = Passage(id="cited", text="\n".join(cited[number] for number in numbers))
        grade = next(iter(self._evaluator.grade(sentence, [passage])), None)
        if grade is None or grade.score is None:
            why, who = ("no grade came back", "") if grade is None else (grade.error or "", grade.who)
            return SentenceCheck(
                sentence=sentence, citations=numbers, supported=None, note="not scored", why=why, who=who
            )
        return SentenceCheck(
            sentence=sentence,
            citations=numbers,
            supported=grade.score >= SUPPORTED_FROM,
            score=grade.score,
            note="scored",
            by=grade.evaluator or self._evaluator.id,
        )


def faithfulness(checks: Sequence[SentenceCheck]) -> float | None:
    """The supported share of the sentences that could be checked, 0..1; None where none could."""
    checkable = [check.supported for check in checks if check.supported is not None]
    return sum(checkable) / len(checkable) if checkable else None
