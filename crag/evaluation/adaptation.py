"""What an evaluator learned from a workspace's labels, as a value, and the evaluator that scores with it. Pure.

A chunk's log-odds get another slope and bias. Those of all chunks together also get weights for what the layer for
sets reads. `crag.analysis.adaptation` fits both, and says whether they help.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from pydantic import TypeAdapter, ValidationError

from crag.core.errors import StorageError
from crag.core.protocols import GradeExplainer, RetrievalEvaluator, SetGrader
from crag.core.types import Grade, GradedText, GradePart, Passage, SetGrade
from crag.evaluation.heads import probability, set_features

_LEAST = 1e-9
_MARK = "+"
"""Between an evaluator's id and the hash of what it learned."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Correction:
    """Log-odds become `slope` times what they were, plus `bias`, plus `weights` times the readings of a set."""

    slope: float
    bias: float
    weights: tuple[float, ...] = ()

    def score(self, score: float, values: Sequence[float] = ()) -> float:
        """The corrected score 0..1 of a shipped one; `values` are what the weights count, in their order."""
        weighed = sum(weight * value for weight, value in zip(self.weights, values, strict=True))
        return probability(self.slope * log_odds(score) + self.bias + weighed)

    def shipped(self, score: float) -> float:
        """The shipped score of a corrected one, where there are no weights."""
        return probability((log_odds(score) - self.bias) / self.slope)


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """How good scores are: mean log loss in nats, expected calibration error 0..1, area under the ROC curve 0..1."""

    loss: float
    error: float
    auc: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Lesson:
    """A correction and its worth on labels that were left out in turn, by question.

    `gain` is how much less the log loss is, `doubt` its standard error.
    """

    correction: Correction
    labels: int
    questions: int
    before: Figures
    after: Figures
    gain: float
    doubt: float

    @property
    def helps(self) -> bool:
        """Whether the gain is larger than its standard error: else the correction is not used."""
        return self.gain > self.doubt


@dataclass(frozen=True, slots=True, kw_only=True)
class Adaptation:
    """What a workspace uses: a correction of chunks' scores, of sets' scores, or both. `at` is ISO 8601, UTC.

    It is of the evaluator with the id `evaluator`, and of no other version.
    """

    evaluator: str
    at: str
    chunks: Lesson | None
    sets: Lesson | None

    @property
    def id(self) -> str:
        """The id of the evaluator with this correction: the key of its grades."""
        used = repr([each and each.correction for each in (self.chunks, self.sets)])
        return f"{self.evaluator}{_MARK}{hashlib.sha256(used.encode()).hexdigest()[:8]}"

    def correct(self, grade: Grade) -> Grade:
        """The grade of a text as this evaluator gives it, from a shipped one or from one of another correction."""
        if grade.score is None or shipped_id(grade.evaluator) != self.evaluator:
            return grade
        shipped = grade.score if grade.unadapted is None else grade.unadapted
        if self.chunks is None:
            return replace(grade, score=shipped, unadapted=None, evaluator=self.id)
        return replace(grade, score=self.chunks.correction.score(shipped), unadapted=shipped, evaluator=self.id)

    def correct_set(self, found: SetGrade) -> SetGrade:
        """The same of a grade of all texts together."""
        if shipped_id(found.evaluator) != self.evaluator:
            return found
        shipped = found.score if found.unadapted is None else found.unadapted
        if self.sets is None:
            return replace(found, score=shipped, unadapted=None, evaluator=self.id)
        score = self.sets.correction.score(shipped, set_features(found.readings))
        return replace(found, score=score, unadapted=shipped, evaluator=self.id)


_ADAPTATION: TypeAdapter[Adaptation] = TypeAdapter(Adaptation)


def write_adaptation(adaptation: Adaptation) -> str:
    """As JSON, as it is stored."""
    return _ADAPTATION.dump_json(adaptation).decode()


def read_adaptation(stored: str) -> Adaptation | None:
    """What is stored; None of nothing. Raises StorageError where it can't be read."""
    try:
        return _ADAPTATION.validate_json(stored) if stored else None
    except ValidationError as error:
        raise StorageError(
            "What the evaluator learned here can't be read.", "Stop using it: crag adapt --remove, or in Tune."
        ) from error


def adapt(evaluator: RetrievalEvaluator, stored: str) -> RetrievalEvaluator:
    """The evaluator with what a workspace has stored; as it is where that is nothing, or is of another evaluator."""
    found = read_adaptation(stored)
    return AdaptedEvaluator(evaluator, found) if found and found.evaluator == evaluator.id else evaluator


def shipped_id(id: str) -> str:
    """The id of an evaluator without what it learned."""
    return id.partition(_MARK)[0]


def log_odds(score: float) -> float:
    """Of a score 0..1; finite."""
    held = max(_LEAST, min(1 - _LEAST, score))
    return math.log(held / (1 - held))


class AdaptedEvaluator:
    """Grades as another evaluator does, and corrects its scores. The shipped score stays beside each."""

    def __init__(self, inner: RetrievalEvaluator, adaptation: Adaptation) -> None:
        self.id, self.calls_models = adaptation.id, inner.calls_models
        self._inner, self._adaptation = inner, adaptation

    def grade(self, question: str, passages: Sequence[Passage]) -> Iterator[Grade]:
        for grade in self._inner.grade(question, passages):
            yield self._named(self._adaptation.correct(grade))

    def grade_joint(self, question: str, passages: Sequence[Passage]) -> Grade:
        return self._named(self._adaptation.correct(self._inner.grade_joint(question, passages)))

    def grade_set(self, question: str, texts: Sequence[GradedText]) -> SetGrade | None:
        """From the texts' shipped scores, which the layer for sets was fitted on."""
        if not isinstance(self._inner, SetGrader):
            return None
        chunks = self._adaptation.chunks
        if chunks:
            texts = [replace(each, score=chunks.correction.shipped(each.score)) for each in texts]
        found = self._inner.grade_set(question, texts)
        return found and self._adaptation.correct_set(found)

    def grade_parts(self, question: str, text: str) -> tuple[GradePart, ...]:
        """The shipped parts, each as much more or less as the slope says; the bias moves with the correction's."""
        parts = self._inner.grade_parts(question, text) if isinstance(self._inner, GradeExplainer) else ()
        if self._adaptation.chunks is None:
            return parts
        found = self._adaptation.chunks.correction
        return tuple(
            replace(part, adds=found.slope * part.adds + (found.bias if part.name == "bias" else 0.0)) for part in parts
        )

    def _named(self, grade: Grade) -> Grade:
        return grade if grade.evaluator == self.id else replace(grade, evaluator=self.id)
