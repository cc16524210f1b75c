"""The JSON form of why a page or sentence is not in an answer."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from crag.analysis.misses import Fate, Miss, Stage
from crag.export.records import Record
from crag.messages.misses import change_sentence, miss_sentence


class FateRecord(Record):
    """What became of a chunk that has what is looked for."""

    chunk: str
    source: str
    page: int
    place: str
    stage: Stage
    by_meaning: int | None = Field(description="Its rank by cosine; null beyond the first 1,000.")
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
