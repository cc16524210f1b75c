"""What explains a run, as records: a page that an answer misses, what a score and an action rest on."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import Any

from pydantic import Field

from crag.analysis.stages.funnel import Funnel
from crag.analysis.stages.miss import Fate, Miss, Stage
from crag.export.records import Record


class FateRecord(Record):
    """What became of a chunk that has what is looked for."""

    chunk: str
    source: str
    page: int
    place: str
    stage: Stage
    now: int | None = Field(description="Its rank as the library is searched now; null beyond the first 200.")
    rank: int | None = Field(description="Its rank in the run's retrieval; null where it was not retrieved.")
    score: float | None
    strips: int
    kept: int

    @classmethod
    def of(cls, fate: Fate) -> FateRecord:
        kept = sum(strip.kept for strip in fate.strips)
        return cls.read(fate.chunk, fate, chunk=fate.chunk.id, strips=len(fate.strips), kept=kept)


class MissRecord(Record):
    """How far a page or sentence came in a run."""

    stage: Stage
    document: str | None
    change: dict[str, Any] | None = Field(description="The smallest change of settings that is known to help, or may.")
    certain: bool | None = Field(description="Whether the change is known to help without a new run.")
    missing: tuple[str, ...] = Field(description="Words of the question that none of the chunks has.")
    fates: tuple[FateRecord, ...]

    @classmethod
    def of(cls, miss: Miss) -> MissRecord:
        document = miss.document.name if miss.document is not None else None
        return cls.read(miss, document=document, **_change_values(miss), fates=tuple(map(FateRecord.of, miss.fates)))


def _change_values(miss: Miss) -> dict[str, Any]:
    change = miss.change
    return {"change": change and change.settings, "certain": change and change.certain}


def funnel_values(funnel: Funnel) -> dict[str, Any]:
    """How many questions of an evaluation pass each step from the library to the answer, and each that is lost."""
    losses = [
        {
            "question_id": each.question_id,
            "question": each.question,
            "run": each.run_id,
            "step": each.lost,
            **_change_values(each.miss),
        }
        for each in funnel.losses
    ]
    return {**asdict(replace(funnel, losses=())), "lost": funnel.lost, "losses": losses}
