"""The JSON form of why a page or sentence is not in an answer, and of where a question set loses its answers."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from crag.analysis.funnel import Followed, Funnel, LeftOut, Lever, Step
from crag.analysis.misses import Fate, Miss, Stage
from crag.export.records import Record, shared
from crag.messages.evaluations import beside_sentence, funnel_sentence, left_out_sentence, loss_sentence
from crag.messages.misses import change_sentence, miss_sentence


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
