"""What explains a run, as records: a page that an answer misses, what a score and an action rest on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pydantic import Field

from crag.analysis.causes import AnswerWithout, GradeExplanation, Occlusion, OtherRun, OtherText, Unexplained
from crag.analysis.funnel import Followed, Funnel, LeftOut, Lever, Step
from crag.analysis.misses import Fate, Miss, Stage
from crag.analysis.whatif.whatif import Move, Without
from crag.core.trace import Trace
from crag.core.types import Action
from crag.export.records import Record, shared
from crag.messages.evaluations import (
    beside_sentence,
    funnel_sentence,
    left_out_sentence,
    loss_sentence,
)
from crag.messages.explanations import (
    change_sentence,
    citations_sentence,
    flip_sentences,
    grade_sentences,
    miss_sentence,
    move_sentence,
    other_text_sentence,
    untried_sentence,
    without_sentences,
)


class FateRecord(Record):
    """What became of a chunk that has what is looked for."""

    chunk: str
    source: str
    page: int
    place: str
    stage: Stage
    by_meaning: int | None = Field(description="Its rank by cosine; null beyond the first 200.")
    by_words: int | None = Field(description="Its rank by BM25; null beyond, and without a word in common.")
    together: int | None = Field(description="Its rank as search ranks; null beyond.")
    rank: int | None = Field(description="Its rank in the run's retrieval; null where it was not retrieved.")
    score: float | None
    strips: int
    kept: int

    @classmethod
    def of(cls, fate: Fate) -> FateRecord:
        return cls(
            chunk=fate.chunk.id,
            source=fate.chunk.source,
            page=fate.chunk.page,
            place=fate.chunk.place,
            stage=fate.stage,
            by_meaning=fate.ranks.meaning,
            by_words=fate.ranks.words,
            together=fate.ranks.together,
            rank=fate.rank,
            score=fate.grade.score if fate.grade is not None else None,
            strips=len(fate.strips),
            kept=sum(strip.kept for strip in fate.strips),
        )


class MissRecord(Record):
    """How far a page or sentence came in a run, with the sentences that say so."""

    stage: Stage
    document: str | None
    said: str
    change: dict[str, Any] | None = Field(description="The smallest change of settings that is known to help, or may.")
    change_said: str
    certain: bool | None = Field(description="Whether the change is known to help without a new run.")
    missing: tuple[str, ...] = Field(description="Words of the question that none of the chunks has.")
    fates: tuple[FateRecord, ...]

    @classmethod
    def of(cls, miss: Miss) -> MissRecord:
        return cls(
            stage=miss.stage,
            document=miss.document.name if miss.document is not None else None,
            said=miss_sentence(miss),
            change=miss.change.settings if miss.change is not None else None,
            change_said=change_sentence(miss),
            certain=miss.change.certain if miss.change is not None else None,
            missing=miss.missing,
            fates=tuple(FateRecord.of(each) for each in miss.fates),
        )


class LossRecord(Record):
    """A question whose expected place did not come to the answer."""

    question_id: str
    question: str
    run: str
    step: Step = Field(description="The first step that it did not pass.")
    said: str
    change: dict[str, Any] | None = Field(description="The smallest change of settings that is known to help, or may.")
    certain: bool | None = Field(description="Whether the change is known to help without a new run.")

    @classmethod
    def of(cls, loss: Followed) -> LossRecord:
        assert loss.lost is not None
        change = loss.miss.change
        return cls(
            question_id=loss.question_id,
            question=loss.question,
            run=loss.run_id,
            step=loss.lost,
            said=loss_sentence(loss),
            change=change.settings if change is not None else None,
            certain=change.certain if change is not None else None,
        )


class FunnelRecord(Record):
    """How many questions of an evaluation pass each step from the library to the answer."""

    said: str
    beside: str
    left_out_said: str
    followed: int = Field(description="Questions with an expected place and a run.")
    passed: dict[Step, int]
    lost: dict[Step, int]
    left_out: dict[LeftOut, int]
    graded: bool = Field(description="Whether the runs graded chunks.")
    checked: int = Field(description="Questions whose citing sentences were checked.")
    elsewhere: int = Field(description="Right answers that cite another place than the expected one.")
    wrong: int = Field(description="Answers that cite the expected place and say nothing that is accepted.")
    lever: Lever | None
    losses: tuple[LossRecord, ...]

    @classmethod
    def of(cls, funnel: Funnel) -> FunnelRecord:
        losses = tuple(map(LossRecord.of, funnel.losses))
        return cls(
            **shared(funnel, cls) | {"losses": losses},
            said=funnel_sentence(funnel),
            beside=beside_sentence(funnel),
            left_out_said=left_out_sentence(funnel),
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
