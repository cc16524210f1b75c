"""Whether an answer is right, and what the shipped evaluator reads of it."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

from corpora.answer_questions import AnswerQuestion
from crag.analysis.questions.matching import answer_match, asked_scale
from crag.core.types import Answer, QuotedAnswer
from crag.evaluation.local import LocalEvaluator

MANIFEST = Path(__file__).resolve().parent.parent / "crag" / "models" / "local-evaluator" / "manifest.json"
SHARED_WORDS = 0.5
"""An answer of words, without a number, is right from this token F1 on."""
_SCALE_BEHIND = re.compile(r" (?:thousand|million|billion)$")


def evaluator_version() -> str:
    """A digest of the list of the shipped model's files, which holds their digests: another model, another version."""
    return hashlib.sha256(MANIFEST.read_bytes()).hexdigest()[:16]


class NotingEvaluator(LocalEvaluator):
    """Keeps what it reads of the latest answer, in place of a confidence."""

    layer = "answers"
    noted: tuple[float, ...] = ()

    def grade_answer(self, question: str, answer: QuotedAnswer) -> float | None:
        self.layer, self.noted = self.answer_features(question, answer)
        return None


def shown(answer: Answer) -> str:
    """The result or the words that are shown in bold; empty where there are none."""
    if answer.calculation:
        return answer.calculation.result
    return answer.short.value if answer.short else ""


def is_right(answer: Answer, question: AnswerQuestion) -> bool:
    """Whether what the answer says first is an accepted answer: its short answer, or else its text."""
    if answer.abstained or not question.answerable:
        return False
    return is_accepted(shown(answer), answer.text, question)


def is_accepted(short: str, text: str, question: AnswerQuestion) -> bool:
    """Whether the short answer is accepted, or the text where there is none.

    An accepted amount that names no scale is met by a cell with the scale of its table.
    """
    scale = asked_scale(question.question)
    for said in (short, _SCALE_BEHIND.sub("", short)) if short else (text,):
        for accepted in question.answers:
            match = answer_match(said, [accepted], scale=scale)
            words_alone = bool(short) and not any(letter.isdigit() for letter in accepted)
            if match and (match.holds or (words_alone and match.f1 >= SHARED_WORDS)):
                return True
    return False
