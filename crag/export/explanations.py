"""What explains a run, as records: a page that an answer misses, what a score and an action rest on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Any

from pydantic import Field

from crag.analysis.causes import AnswerWithout, GradeExplanation, Occlusion
from crag.analysis.stages.funnel import Funnel
from crag.analysis.stages.miss import Fate, Miss, Stage
from crag.analysis.whatif.whatif import Move, Without
from crag.core.types import Action, Chunk
from crag.export.records import Record, shared


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
        values = {
            **shared(fate.chunk, cls),
            **shared(fate, cls),
            "chunk": fate.chunk.id,
            "strips": len(fate.strips),
            "kept": sum(strip.kept for strip in fate.strips),
        }
        ranks = fate.ranks
        return cls(**values, by_meaning=ranks.meaning, by_words=ranks.words, together=ranks.together)


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
        return cls(
            stage=miss.stage,
            document=miss.document.name if miss.document is not None else None,
            **_change_values(miss),
            missing=miss.missing,
            fates=tuple(map(FateRecord.of, miss.fates)),
        )


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


def grade_values(found: GradeExplanation) -> dict[str, Any]:
    """What a chunk's score rests on. `log_odds`: what each layer adds to those of the score."""
    other = found.other
    return {
        **_text_values(found.chunk, found.score, found.verdict),
        "reason": found.reason,
        "words": [_part_values(found.question, each) for each in found.words],
        "sentences": [_part_values(found.chunk.text, each) for each in found.sentences],
        "more_words": found.more_words,
        "more_sentences": found.more_sentences,
        "untitled": found.untitled,
        "log_odds": {part.name: part.adds for part in found.parts},
        "other": other
        and {
            **_text_values(other.chunk, other.grade.score, other.verdict),
            "closeness": other.closeness,
            "retrieved": other.retrieved,
        },
    }


def _text_values(chunk: Chunk, score: float | None, verdict: Action | None) -> dict[str, Any]:
    return {"chunk": chunk.id, "source": chunk.source, "place": chunk.where, "score": score, "verdict": verdict}


def _part_values(text: str, found: Occlusion) -> dict[str, Any]:
    start, end = found.spans[0]
    return {"text": text[start:end], "start": start, "end": end, "score": found.score}


def without_values(without: Without, answer: AnswerWithout) -> dict[str, Any]:
    """A run without some of its texts."""
    what, whole = without.what, answer.answer
    return {
        "left_out": sorted(without.left_out),
        "before": what.before,
        "action": what.action,
        "score": what.decision.score if what.decision is not None else None,
        "searches_again": without.searches_again,
        "answer": whole.text if whole is not None else None,
        "cited": [each.where for each in whole.citations] if whole is not None else [],
    }


def flip_values(moves: Sequence[Move]) -> dict[str, Any]:
    """What would change the action of a run."""
    return {
        "moves": [
            {"settings": move.settings, "action": move.decision.action, "searches_again": move.searches_again}
            for move in moves
        ]
    }
