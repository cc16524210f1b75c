"""Stored runs with labels: which of their chunks hold what is sought, and their scores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from crag.analysis.metrics.metrics import judge, label_of
from crag.analysis.questions.sets import Question
from crag.analysis.thresholds.sweep import Scored
from crag.analysis.whatif.entries import Entry, Unknown
from crag.analysis.whatif.replay_plan import Planner
from crag.core.settings import Settings
from crag.core.trace import Trace

Relevance = tuple[tuple[bool | None, ...], ...]
"""By round, by rank: whether the chunk holds what is sought; None where nobody said."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A stored run with its labels, one for each chunk of each round: see `with_thumbs`.

    `answerable`: whether its first retrieval holds what is sought; None where nobody said.
    """

    entry: Entry
    relevance: Relevance
    answerable: bool | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ChunkScore:
    """A grade of one chunk, `score` 0..1 or None where grading failed, beside its label."""

    run_id: str
    chunk_id: str
    score: float | None
    relevant: bool | None
    evaluator: str


def expected_relevance(trace: Trace, expected: Question) -> tuple[Relevance, bool | None]:
    """What a question set says of each chunk (see `judge`), and of the first retrieval as a whole."""
    relevant = judge(expected)
    found = tuple(tuple(relevant(each.chunk) for each in round.chunks) for round in trace.rounds)
    if not found or label_of(expected) is None:
        return found, None
    return found, any(found[0])


def with_thumbs(entry: Entry, relevance: Relevance, answerable: bool | None, thumbs: Mapping[str, bool]) -> Case:
    """A run with what a question set says of it, and people's labels of chunks by id, which outrank the set's.

    `relevance` may be empty where no set speaks of the run. The first retrieval is answerable where one of its chunks
    is then relevant, and not where all of them are judged and none is; else it stays `answerable`.
    """
    merged = tuple(
        tuple(
            thumbs.get(id, relevance[number][rank] if number < len(relevance) else None)
            for rank, id in enumerate(stored.chunks)
        )
        for number, stored in enumerate(entry.rounds)
    )
    first = merged[0] if merged else ()
    if any(first):
        answerable = True
    elif first and None not in first:
        answerable = False
    return Case(entry=entry, relevance=merged, answerable=answerable)


def chunk_scores(cases: Sequence[Case], settings: Settings) -> list[ChunkScore]:
    """The grades of the first `settings.k` chunks of every first retrieval, in order.

    Left out are chunks that were not graded one by one, and runs that graded another length of text.
    """
    return [
        ChunkScore(
            run_id=case.entry.run_id, chunk_id=id, score=grade.score, relevant=relevant, evaluator=grade.evaluator
        )
        for case in cases
        if case.entry.rounds and case.entry.settings.grade_chars == settings.grade_chars
        for stored in case.entry.rounds[:1]
        for id, grade, relevant in list(zip(stored.chunks, stored.grades, case.relevance[0], strict=True))[: settings.k]
        if grade is not None
    ]


def score_cases(cases: Sequence[Case], settings: Settings) -> list[Scored]:
    """The questions for `sweep` and `recommend`: the scores of each first retrieval that `settings` would look at.

    Left out are runs of which only a call could tell them, as what-if says, and all where `settings` grade nothing.
    """
    if settings.evaluator == "none":
        return []
    grades = ((case, Planner(case.entry).grades(0, settings)) for case in cases)
    return [
        Scored(scores=tuple(grade.score for grade in found), answerable=case.answerable)
        for case, found in grades
        if not isinstance(found, Unknown)
    ]


def same_question(text: str) -> str:
    """The key under which a run's question and a set's meet: case and spacing aside."""
    return " ".join(text.casefold().split())
