"""Which pair of thresholds labelled questions speak for, how surely, and why; or why they can't say. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from statistics import fmean
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from crag.analysis.metrics.metrics import judge, label_of
from crag.analysis.questions.sets import Question
from crag.analysis.thresholds.sweep import (
    Effort,
    Gains,
    Pair,
    Scored,
    Sweep,
    Weights,
    best_pair,
    gains,
    reach_matrices,
    sweep,
)
from crag.analysis.whatif.entries import Entry, Kind, Unknown
from crag.analysis.whatif.replay_plan import Planner
from crag.core.policy import loops, refines, searches_web, uses_documents
from crag.core.settings import Settings
from crag.core.trace import Trace
from crag.core.types import Action, Aggregation
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
    grades = ((case, Planner(case.entry).first(settings)) for case in cases)
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
        grades, end = planner.first(settings), planner.plan(settings)
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


Floats = NDArray[np.float64]
Interval = tuple[float, float]
"""From and to, both inclusive."""

CROWDED = 0.4
"""Of AMBIGUOUS questions: the share above which a setting is warned of (docs/decisions/thresholds.md)."""
HARDLY = 0.02
"""Of mean worth: a pair that gains less over one action for all questions gains nothing one could rely on."""
QUESTIONS, EACH = 30, 5
"""What a recommendation needs: labelled questions with a known score, and of these answerable and unanswerable ones."""
WIDEST = 0.4
"""How wide the interval of either threshold may be."""
LEVEL = 0.9
"""The share of resamples within the interval."""
ROUNDS = 500
"""Resamples."""


@dataclass(frozen=True, slots=True)
class Settled:
    """How many questions get an action by a pair, and how many of these the documents answer."""

    questions: int
    answerable: int


@dataclass(frozen=True, slots=True)
class Alike:
    """A warning: one action for all questions, whatever their scores, is worth nearly as much as the pair."""

    action: Action
    worth: float


@dataclass(frozen=True, slots=True)
class Crowding:
    """A warning: a pair sends this share of the questions, more than CROWDED, to AMBIGUOUS.

    `instead`: the best pair that does not, and its worth, where there is one.
    """

    pair: Pair
    share: float
    instead: Pair | None = None
    instead_worth: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Recommendation:
    """The pair worth most to the labelled questions, and how far it moves when they are drawn again.

    `intervals` of upper and lower: percentile bootstrap over questions (Efron and Tibshirani 1993, chapter 13).
    `utility`: mean worth of the pair to the same questions, so a little more than new ones will show. `correct`,
    `incorrect` and the share `ambiguous`: what the pair makes of the `questions`. `current`: the pair in use.
    """

    upper: float
    lower: float
    intervals: tuple[Interval, Interval]
    utility: float
    questions: int
    correct: Settled
    incorrect: Settled
    ambiguous: float
    current: Pair | None
    current_utility: float
    warnings: tuple[Alike | Crowding, ...]


@dataclass(frozen=True, slots=True)
class Open:
    """A threshold whose interval is too wide."""

    name: Literal["upper", "lower"]
    low: float
    high: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """No recommendation: too few labelled questions with a score, or of one kind, or thresholds that stay `open`.

    `answerable`: of the `labelled`, those whose documents hold the answer. `ungraded`: labelled ones without a score.
    """

    labelled: int
    answerable: int
    ungraded: int
    open: tuple[Open, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Resampling:
    """How questions are drawn again: how often, from which seed; and the widest interval that is still an answer."""

    rounds: int = ROUNDS
    seed: int = 0
    widest: float = WIDEST


def recommend(
    questions: Sequence[Scored],
    *,
    aggregation: Aggregation,
    current: Pair | None = None,
    weights: Weights | None = None,
    effort: Effort | None = None,
    doubt: float = 0.0,
    resampling: Resampling | None = None,
) -> Recommendation | Refusal:
    """The pair of thresholds with the highest utility, or why the data can't carry one.

    `current`: the pair in use, to compare with. The same questions and `resampling` give the same result. Questions
    without a label, or without a single known score, are left out. `doubt`: as of `gains`.
    """
    drawn = resampling or Resampling()
    usable = [question for question in questions if question.answerable is not None and question.known]
    answerable = sum(question.answerable is True for question in usable)
    ungraded = sum(question.answerable is not None and not question.known for question in questions)
    refusal = Refusal(labelled=len(usable), answerable=answerable, ungraded=ungraded)
    if len(usable) < QUESTIONS or min(answerable, len(usable) - answerable) < EACH:
        return refusal
    worth = gains(usable, aggregation=aggregation, weights=weights, effort=effort, doubt=doubt)
    intervals = _intervals(worth, drawn.rounds, drawn.seed)
    ends = Open("upper", *intervals[0]), Open("lower", *intervals[1])
    if wide := tuple(each for each in ends if each.high - each.low > drawn.widest):
        return replace(refusal, open=wide)
    upper, lower = best_pair(worth.utility(), worth.uppers, worth.lowers)

    swept = partial(sweep, usable, aggregation=aggregation, weights=weights, effort=effort, doubt=doubt)

    def at(pair: Pair) -> Sweep:
        return swept(uppers=pair[:1], lowers=pair[1:])

    whole, chosen = swept(), at((upper, lower))
    correct, incorrect = (
        _settle(usable, each[:, 0])
        for each in reach_matrices(usable, aggregation, np.array([upper]), np.array([lower]), doubt)
    )
    return Recommendation(
        upper=upper,
        lower=lower,
        intervals=intervals,
        utility=float(chosen.utility[0, 0]),
        questions=len(usable),
        correct=correct,
        incorrect=incorrect,
        ambiguous=float(chosen.ambiguous[0, 0]),
        current=current,
        current_utility=float(at(current).utility[0, 0]) if current else 0.0,
        warnings=_warnings((upper, lower), chosen, whole, worth),
    )


def _settle(questions: Sequence[Scored], reached: NDArray[np.bool_]) -> Settled:
    """How many questions get an action, and how many of them the documents answer."""
    held = [question.answerable for question, is_so in zip(questions, reached, strict=True) if is_so]
    return Settled(len(held), sum(map(bool, held)))


def crowding_warning(
    questions: Sequence[Scored], *, upper: float, lower: float, aggregation: Aggregation, doubt: float = 0.0
) -> Crowding | None:
    """A warning where this pair sends more than CROWDED of all questions, labelled or not, to AMBIGUOUS; else None."""
    if not questions:
        return None
    correct, incorrect = reach_matrices(questions, aggregation, np.array([upper]), np.array([lower]), doubt)
    settled = int(correct.sum()) + int(incorrect.sum())
    share = (len(questions) - settled) / len(questions)
    return Crowding((upper, lower), share) if share > CROWDED else None


def _intervals(worth: Gains, rounds: int, seed: int) -> tuple[Interval, Interval]:
    """Where the best upper and lower thresholds lie when the questions are drawn again, with replacement."""
    # Questions that behave alike at every threshold are drawn as one group: the same draw, with fewer to add up.
    rows = np.column_stack((worth.base, worth.correct, worth.incorrect))
    _, first, sizes = np.unique(rows, axis=0, return_index=True, return_counts=True)
    groups = replace(worth, base=worth.base[first], correct=worth.correct[first], incorrect=worth.incorrect[first])
    total = worth.base.size
    draws = np.random.default_rng(seed).multinomial(total, sizes / total, size=rounds).astype(np.float64)
    pairs = np.array([best_pair(groups.utility(counts), worth.uppers, worth.lowers) for counts in draws])
    tail = (1 - LEVEL) / 2
    low = np.quantile(pairs, tail, axis=0, method="lower")
    high = np.quantile(pairs, 1 - tail, axis=0, method="higher")
    return (float(low[0]), float(high[0])), (float(low[1]), float(high[1]))


def _warnings(pair: Pair, chosen: Sweep, whole: Sweep, worth: Gains) -> tuple[Alike | Crowding, ...]:
    """What to know before using the pair."""
    found: list[Alike | Crowding] = []
    action = max(worth.alike, key=lambda each: worth.alike[each])
    if chosen.utility[0, 0] - worth.alike[action] < HARDLY:
        found.append(Alike(action, worth.alike[action]))
    share = float(chosen.ambiguous[0, 0])
    if share > CROWDED:
        within = np.where(whole.ambiguous <= CROWDED, whole.utility, np.nan)
        some = not np.isnan(within).all()
        instead = best_pair(within, whole.uppers, whole.lowers) if some else None
        found.append(Crowding(pair, share, instead, float(np.nanmax(within)) if some else 0.0))
    return tuple(found)
