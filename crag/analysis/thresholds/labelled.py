"""Stored runs with labels: which of their chunks hold what is sought, their scores, and what their actions led to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from crag.analysis.metrics.metrics import judge, label_of
from crag.analysis.questions.sets import Question
from crag.analysis.thresholds.sweep import Effort, Scored
from crag.analysis.whatif.entries import Entry, Kind, Unknown
from crag.analysis.whatif.replay_plan import Planner
from crag.core.policy import loops, refines, searches_web, uses_documents
from crag.core.settings import Settings
from crag.core.trace import Trace
from crag.core.types import Action
from crag.evaluation.trigger import decide

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


def effort(cases: Sequence[Case], settings: Settings) -> Effort:
    """What an action of the first retrieval leads to under `settings`, beyond what every question takes: that is the
    first retrieval with its grades, the answer and its verification.

    Searches: one wherever the web is wanted; that an earlier one was remembered saves none for a new question.
    Model calls: what the refinement of documents, the rewrite for the web and the refinement of its pages took, at
    the mean over the runs that did so, tell it, and had chunks graded and strips chosen in the same way; 0 where there
    are none. Where the action retries the library, each loop adds the rewrite and the grades of another round at their
    means. Then comes what the actions that such runs end with lead to, at the mean over the runs that begin with this
    action and of which the end is known; where there is none, all loops are taken for made, and the action for the
    same as at the beginning. A forced action is left aside.
    """
    settings = settings.model_copy(update={"forced": ""})
    took = _Took([case.entry for case in cases if _same_work(case.entry.settings, settings)])
    ends = _ends(cases, settings)
    calls: dict[Action, float] = {}
    searches: dict[Action, float] = {}
    for action in Action:
        looping = loops(action, round=0, settings=settings)
        found = ends.get(action, [(action, settings.max_rewrites)]) if looping else [(action, 0)]
        calls[action] = fmean(took.after(end, settings) + count * took.loop for end, count in found)
        searches[action] = fmean(float(searches_web(end, settings)) for end, _ in found)
    return Effort(calls=calls, searches=searches)


def _same_work(was: Settings, settings: Settings) -> bool:
    """Whether a step asks as many calls under both: of the evaluator, and for the strips."""
    return (was.evaluator, was.strip_judge) == (settings.evaluator, settings.strip_judge)


class _Took:
    """Mean model calls by stage, over the stages of which the runs tell."""

    def __init__(self, entries: Sequence[Entry]) -> None:
        counts: dict[Kind, list[int]] = {}
        for stage in (stage for entry in entries for stage in entry.stages if not stage.took.uncounted):
            counts.setdefault(stage.kind, []).append(stage.took.calls)
        self._mean = {kind: fmean(found) for kind, found in counts.items()}
        again = [_graded_again(entry) for entry in entries]
        self.loop = self._of("retry") + (fmean(known) if (known := [n for n in again if n is not None]) else 0.0)

    def after(self, action: Action, settings: Settings) -> float:
        """What follows the last retrieval, but for answer and verification."""
        documents = uses_documents(action, settings) and refines(action, settings)
        web = searches_web(action, settings)
        return (
            documents * self._of("documents")
            + web * self._of("query")
            + (web and settings.refine_web) * self._of("pages")
        )

    def _of(self, kind: Kind) -> float:
        return self._mean.get(kind, 0.0)


def _graded_again(entry: Entry) -> float | None:
    """Model calls for the grades of one round; None where the run does not tell them."""
    stages = [stage for stage in entry.stages if stage.kind == "grade"]
    if not stages or any(stage.took.uncounted for stage in stages):
        return None
    return sum(stage.took.calls for stage in stages) / (1 + max(stage.round for stage in stages))


def _ends(cases: Sequence[Case], settings: Settings) -> dict[Action, list[tuple[Action, int]]]:
    """By the action of the first retrieval: the action acted on and the loops before it, where both are known."""
    found: dict[Action, list[tuple[Action, int]]] = {}
    for case in cases if settings.evaluator != "none" else ():
        planner = Planner(case.entry)
        grades, end = planner.grades(0, settings), planner.plan(settings)
        if isinstance(grades, Unknown) or end.action is None:
            continue
        first_action = decide(
            grades, upper=settings.upper, lower=settings.lower, aggregation=settings.aggregation
        ).action
        found.setdefault(first_action, []).append((end.action, end.round))
    return found


def same_question(text: str) -> str:
    """The key under which a run's question and a set's meet: case and spacing aside."""
    return " ".join(text.casefold().split())
