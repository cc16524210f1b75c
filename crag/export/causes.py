"""The JSON form of what a score rests on, of a run without some of its texts, and of what would change its end."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pydantic import Field

from crag.analysis.causes import AnswerWithout, GradeExplanation, Occlusion, OtherRun, OtherText, Unexplained
from crag.analysis.whatif.whatif import Move, Without
from crag.core.trace import Trace
from crag.core.types import Action
from crag.export.records import Record, shared
from crag.messages.causes import (
    citations_sentence,
    flip_sentences,
    grade_sentences,
    move_sentence,
    other_text_sentence,
    untried_sentence,
    without_sentences,
)


class OcclusionRecord(Record):
    """A part that was left out, and the score without it."""

    text: str
    start: int
    end: int
    score: float | None

    @classmethod
    def of(cls, text: str, found: Occlusion) -> OcclusionRecord:
        start, end = found.spans[0]
        return cls(text=text[start:end], start=start, end=end, score=found.score)


class OtherTextRecord(Record):
    """The nearest text with another verdict."""

    chunk: str
    source: str
    place: str
    score: float | None
    verdict: Action
    closeness: float = Field(description="The cosine of both texts' vectors.")
    retrieved: bool = Field(description="Whether the run retrieved it.")

    @classmethod
    def of(cls, found: OtherText) -> OtherTextRecord:
        return cls(
            **shared(found, cls) | {"chunk": found.chunk.id},
            source=found.chunk.source,
            place=found.chunk.where,
            score=found.grade.score,
        )


class ExplanationRecord(Record):
    """What a chunk's score rests on, with the sentences that say so."""

    chunk: str
    source: str
    place: str
    score: float | None
    verdict: Action | None
    said: tuple[str, ...]
    reason: Unexplained = Field(description="Why nothing was left out; empty where parts were.")
    words: tuple[OcclusionRecord, ...] = Field(description="Words of the question.")
    sentences: tuple[OcclusionRecord, ...] = Field(description="Sentences of the chunk.")
    more_words: int = Field(description="Words that were not tried.")
    more_sentences: int = Field(description="Sentences that were not tried.")
    untitled: float | None = Field(description="The score without title and heading.")
    log_odds: dict[str, float] = Field(description="What each layer adds to the log-odds of the score.")
    other: OtherTextRecord | None

    @classmethod
    def of(cls, found: GradeExplanation) -> ExplanationRecord:
        chunk, other = found.chunk, found.other
        said = [*grade_sentences(found), untried_sentence(found), other_text_sentence(found)]
        return cls(
            chunk=chunk.id,
            source=chunk.source,
            place=chunk.where,
            score=found.score,
            verdict=found.verdict,
            said=tuple(filter(None, said)),
            reason=found.reason,
            words=tuple(OcclusionRecord.of(found.question, each) for each in found.words),
            sentences=tuple(OcclusionRecord.of(chunk.text, each) for each in found.sentences),
            more_words=found.more_words,
            more_sentences=found.more_sentences,
            untitled=found.untitled,
            log_odds={part.name: part.adds for part in found.parts},
            other=OtherTextRecord.of(other) if other is not None else None,
        )


class WithoutRecord(Record):
    """A run without some of its texts."""

    left_out: tuple[str, ...]
    before: Action | None
    action: Action | None
    score: float | None
    searches_again: bool = Field(description="Whether the library would first be searched with a rewritten query.")
    answer: str | None
    cited: str = Field(description="A sentence about what the answer cites.")
    said: tuple[str, ...]

    @classmethod
    def of(cls, without: Without, answer: AnswerWithout) -> WithoutRecord:
        decision = without.what.decision
        return cls(
            left_out=tuple(sorted(without.left_out)),
            before=without.what.before,
            action=without.what.action,
            score=decision.score if decision is not None else None,
            searches_again=without.searches_again,
            answer=answer.answer.text if answer.answer is not None else None,
            cited=citations_sentence(answer.answer) if answer.answer is not None else "",
            said=tuple(without_sentences(without, answer)),
        )


class MoveRecord(Record):
    """A move of a threshold that changes the action."""

    settings: dict[str, float]
    action: Action
    searches_again: bool
    said: str


class OtherRunRecord(Record):
    """The nearest run that ended in another action. Pairs are of this run and the other."""

    run: str
    question: str
    action: Action | None
    closeness: float
    settings: dict[str, tuple[Any, Any]]
    figures: dict[str, tuple[Any, ...]] = Field(description="Figures that differ.")

    @classmethod
    def of(cls, found: OtherRun) -> OtherRunRecord:
        return cls(
            run=found.trace.run_id,
            question=found.trace.meant,
            action=found.action,
            closeness=found.closeness,
            settings=dict(found.settings),
            figures={each.label: each.values for each in found.differences.figures if each.differs},
        )


class FlipRecord(Record):
    """What would change the action of a run."""

    said: tuple[str, ...]
    moves: tuple[MoveRecord, ...]
    other: OtherRunRecord | None

    @classmethod
    def of(cls, trace: Trace, moves: Sequence[Move], other: OtherRun | None) -> FlipRecord:
        return cls(
            said=tuple(flip_sentences(trace, moves, other)),
            moves=tuple(
                MoveRecord(
                    settings=move.settings,
                    action=move.decision.action,
                    searches_again=move.searches_again,
                    said=move_sentence(move),
                )
                for move in moves
            ),
            other=OtherRunRecord.of(other) if other is not None else None,
        )
