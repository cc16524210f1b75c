"""What a score rests on: words and sentences left out in turn, by the local evaluator. No model that costs is asked."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from crag.core.errors import NotFoundError
from crag.core.model_ids import Maker
from crag.core.protocols import GradeExplainer, RetrievalEvaluator
from crag.core.settings import Settings
from crag.core.trace import Trace
from crag.core.types import Action, Chunk, Grade, GradePart, Passage
from crag.engine import Engine
from crag.evaluation.grading import GradeBatch, GradingService
from crag.evaluation.refinement import likeliest
from crag.evaluation.trigger import verdict
from crag.models.runtime import MAX_CHARACTERS
from crag.pipeline.foreign_parts import guard_evaluator
from crag.storage.library import Library
from crag.text.sentences import sentences
from crag.text.words import STOP_WORDS

WORDS, SENTENCES = 12, 16
"""How many words of a question, and sentences of a chunk, are left out one after another."""
CHARACTERS = 40_000
"""What is read of a long chunk for its words, and for its sentences: fewer of them are left out then."""

Span = tuple[int, int]
Unexplained = Literal["", "not graded", "together", "failed", "model", "other"]
"""Why no part was left out. "not graded": the run graded no chunks, or not this one. "together": it graded all of them
in one. "model": a model or server graded it, which would be asked once for every part. "other": an evaluator did that
is not the one in use."""

_WORD = re.compile(r"\w+(?:[-'’.,]\w+)*+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Occlusion:
    """A part of a text, as its [start, end) places, and the score 0..1 without it; None where that grade failed."""

    spans: tuple[Span, ...]
    score: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class GradeExplanation:
    """What a chunk's score rests on. Where `reason` says why, nothing was left out and `parts` is empty.

    `words`: of the question, those that say something; `sentences`: of the chunk's text, those with a word; both in
    order. `more_words` and `more_sentences` count those that were not tried. `untitled`: the score without the chunk's
    context (its title and heading), where it has one. `parts`: the layers that made the score, as its evaluator names
    them.
    """

    question: str
    chunk: Chunk
    grade: Grade | None
    upper: float
    lower: float
    reason: Unexplained = ""
    words: tuple[Occlusion, ...] = ()
    more_words: int = 0
    sentences: tuple[Occlusion, ...] = ()
    more_sentences: int = 0
    untitled: float | None = None
    parts: tuple[GradePart, ...] = ()

    @property
    def score(self) -> float | None:
        return self.grade.score if self.grade is not None else None

    @property
    def log_odds(self) -> float:
        """What the layers add up to; 0 of none."""
        return sum(part.adds for part in self.parts)

    @property
    def verdict(self) -> Action | None:
        """What the score alone leads to; None where there is none."""
        return None if self.score is None else verdict(self.score, upper=self.upper, lower=self.lower)


def explain_grade(engine: Engine, library: Library, trace: Trace, chunk_id: str) -> GradeExplanation:
    """Why a chunk of a run got its score, by the engine's own evaluator, whose grades are stored in the library.

    At most `WORDS` + `SENTENCES` + 1 texts are graded; of texts that were graded before, none. The
    chunk's text is the run's own, also where its document was changed or deleted since. Raises NotFoundError for a
    chunk that the run does not have.
    """
    chunk, settings = trace.sources.get(chunk_id), trace.run_settings
    if not isinstance(chunk, Chunk):
        raise NotFoundError("This run has no such chunk.", "Choose one of the chunks listed.")
    grade, evaluator = trace.grade_of(chunk_id), engine.evaluator
    found = GradeExplanation(
        question=trace.meant,
        chunk=chunk,
        grade=grade,
        upper=settings.upper,
        lower=settings.lower,
        reason=_reason(evaluator, settings, grade),
    )
    if found.reason:
        return found
    grades = GradeBatch(library.cache)
    try:
        return _occlude(found, GradingService(guard_evaluator(evaluator), grades), evaluator, settings.grade_chars)
    finally:
        grades.store()


def _reason(evaluator: RetrievalEvaluator, settings: Settings, grade: Grade | None) -> Unexplained:
    if settings.evaluator == "joint":
        return "together"
    if grade is None:
        return "not graded"
    if grade.failed:
        return "failed"
    if grade.evaluator == evaluator.id and not evaluator.calls_models:
        return ""
    return "model" if evaluator.calls_models or Maker.of(grade.evaluator).provider else "other"


def _occlude(
    found: GradeExplanation, service: GradingService, evaluator: RetrievalEvaluator, limit: int
) -> GradeExplanation:
    question, read = found.question, replace(found.chunk, text=found.chunk.text[: limit or None])
    whole = read.graded_text()
    most = max(2, CHARACTERS // max(1, len(whole)))
    asked = _content_words(question)
    tried = asked[: min(WORDS, most)] if len(asked) > 1 else []
    text = read.text[:MAX_CHARACTERS]
    spans = [span for span in sentences(text) if _WORD.search(text, *span)]
    likely = likeliest([text[start:end] for start, end in spans], question, min(SENTENCES, most))
    chosen = [spans[place] for place in likely] if len(spans) > 1 else []
    texts = [_without(read.text, [span]) for span in chosen]
    passages = [Passage(id=str(at), text=replace(read, text=text).graded_text()) for at, text in enumerate(texts)]
    if read.context:
        passages.append(Passage(id="untitled", text=replace(read, context="").graded_text()))
    scores = {grade.passage_id: grade.score for grade in service.grade(question, passages)}
    return replace(
        found,
        words=tuple(
            Occlusion(
                spans=each, score=next(service.grade(_without(question, each), [Passage(id="", text=whole)])).score
            )
            for each in tried
        ),
        more_words=len(asked) - len(tried),
        sentences=tuple(Occlusion(spans=(span,), score=scores[str(at)]) for at, span in enumerate(chosen)),
        more_sentences=len(spans) - len(chosen),
        untitled=scores.get("untitled"),
        parts=evaluator.grade_parts(question, whole) if isinstance(evaluator, GradeExplainer) else (),
    )


def _content_words(question: str) -> list[tuple[Span, ...]]:
    """The places of each word that says something, in order of its first one."""
    places: dict[str, list[Span]] = {}
    for match in _WORD.finditer(question):
        word = match.group().lower()
        if word not in STOP_WORDS:
            places.setdefault(word, []).append(match.span())
    return [tuple(each) for each in places.values()]


def _without(text: str, spans: Sequence[Span]) -> str:
    """The text without these places, which stand in order."""
    ends = [0, *(end for _, end in spans)]
    starts = [*(start for start, _ in spans), len(text)]
    return "".join(text[end:start] for end, start in zip(ends, starts, strict=True)).strip()
