"""Which pair of thresholds labelled questions speak for, how surely, and why; or why they can't say. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from statistics import fmean

import numpy as np
from numpy.typing import NDArray

from crag.analysis.questions.expected import judge, label_of
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
from crag.text.formats import count

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Recommendation:
    """The pair worth most to the labelled questions, and how far it moves when they are drawn again.

    `upper_interval`, `lower_interval`: percentile bootstrap over questions (Efron and Tibshirani 1993, chapter 13).
    `utility`: mean worth of the pair to the same questions, so a little more than new ones will show. `sentence` says
    why.
    """

    upper: float
    lower: float
    upper_interval: Interval
    lower_interval: Interval
    utility: float
    sentence: str
    warnings: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """No recommendation: why not, and what would help, in words."""

    reason: str
    missing: tuple[str, ...]


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
    without
    a label, or without a single known score, say nothing about thresholds and are left out. `doubt`: as of `gains`.
    """
    drawn = resampling or Resampling()
    usable = [question for question in questions if question.answerable is not None and question.known]
    refusal = _too_little(questions, usable)
    if refusal:
        return refusal
    worth = gains(usable, aggregation=aggregation, weights=weights, effort=effort, doubt=doubt)
    intervals = _intervals(worth, drawn.rounds, drawn.seed)
    if max(high - low for low, high in intervals) > drawn.widest:
        return _too_wide(intervals, len(usable), drawn.widest)
    upper, lower = best_pair(worth.utility(), worth.uppers, worth.lowers)

    swept = partial(sweep, usable, aggregation=aggregation, weights=weights, effort=effort, doubt=doubt)

    def at(pair: Pair) -> Sweep:
        return swept(uppers=pair[:1], lowers=pair[1:])

    whole = swept()
    before = float(at(current).utility[0, 0]) if current else None
    chosen = at((upper, lower))
    return Recommendation(
        upper=upper,
        lower=lower,
        upper_interval=intervals[0],
        lower_interval=intervals[1],
        utility=float(chosen.utility[0, 0]),
        sentence=_why(
            (upper, lower),
            chosen,
            usable,
            reach_matrices(usable, aggregation, np.array([upper]), np.array([lower]), doubt),
            (current, before),
            intervals,
        ),
        warnings=_warnings((upper, lower), chosen, whole, worth),
    )


def crowding_warning(
    questions: Sequence[Scored], *, upper: float, lower: float, aggregation: Aggregation, doubt: float = 0.0
) -> str | None:
    """A warning where this pair sends more than CROWDED of all questions, labelled or not, to AMBIGUOUS; else None."""
    if not questions:
        return None
    correct, incorrect = reach_matrices(questions, aggregation, np.array([upper]), np.array([lower]), doubt)
    settled = int(correct.sum()) + int(incorrect.sum())
    return _warn_of_crowding((upper, lower), (len(questions) - settled) / len(questions))


def _too_little(questions: Sequence[Scored], usable: Sequence[Scored]) -> Refusal | None:
    """A refusal where there are too few labels, or too few of one kind."""
    answerable = sum(question.answerable is True for question in usable)
    counts = {"hold": answerable, "do not hold": len(usable) - answerable}
    missing = []
    if len(usable) < QUESTIONS:
        missing.append(count(QUESTIONS - len(usable), "more labelled question"))
    for words, known in counts.items():
        if known < EACH:
            missing.append(f"{count(EACH - known, 'more question')} whose documents {words} the answer")
    if not missing:
        return None
    ungraded = sum(question.answerable is not None and not question.known for question in questions)
    left_out = f" ({count(ungraded, 'labelled question')} left out: no chunk of theirs has a score)" if ungraded else ""
    if not usable:
        reason = f"No question has both a label and a score{left_out}."
    elif 0 in counts.values():
        other = "hold" if counts["hold"] else "do not hold"
        reason = f"All {len(usable)} labels are of one kind: the documents {other} the answer{left_out}."
    elif len(usable) < QUESTIONS:
        reason = f"Only {count(len(usable), 'labelled question')}; {QUESTIONS} are needed{left_out}."
    else:
        words = min(counts, key=lambda each: counts[each])
        reason = f"Only {count(counts[words], 'question')} whose documents {words} the answer{left_out}."
    return Refusal(reason=reason, missing=tuple(missing))


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


def _too_wide(intervals: tuple[Interval, Interval], size: int, widest: float) -> Refusal:
    """The refusal of data that leave the thresholds open."""
    wide = [
        f"the {name} threshold could be anything from {_threshold_text(low)} to {_threshold_text(high)}"
        for name, (low, high) in zip(("upper", "lower"), intervals, strict=True)
        if high - low > widest
    ]
    return Refusal(
        reason=f"{size} labelled questions leave it open: {', and '.join(wide)} ({LEVEL:.0%} interval).",
        missing=("More labelled questions, above all ones that score between those values, or a better evaluator",),
    )


def _why(
    pair: Pair,
    chosen: Sweep,
    usable: Sequence[Scored],
    ends: tuple[NDArray[np.bool_], NDArray[np.bool_]],
    now: tuple[Pair | None, float | None],
    intervals: tuple[Interval, Interval],
) -> str:
    """The recommendation in plain words. `now`: the pair in use and its worth."""
    current, before = now
    correct, incorrect = (
        [question.answerable for question, is_so in zip(usable, each[:, 0], strict=True) if is_so] for each in ends
    )
    parts = [
        f"{_pair(pair)}: {_become(correct, 'CORRECT')}, {_become(incorrect, 'INCORRECT')}, "
        f"{chosen.ambiguous[0, 0]:.0%} of {len(usable)} end AMBIGUOUS.",
        f"Worth {chosen.utility[0, 0]:.2f} a question",
    ]
    if current and before is not None:
        same = current == pair
        parts[-1] += "; it is what is set now" if same else f", where {_pair(current)}, set now, is worth {before:.2f}"
    upper, lower = (f"{_threshold_text(low)} to {_threshold_text(high)}" for low, high in intervals)
    parts[-1] += "."
    parts.append(
        f"Were the questions drawn again, {LEVEL:.0%} of the time upper would lie from {upper}, lower from {lower}."
    )
    return " ".join(parts)


def _become(held: Sequence[bool | None], action: str) -> str:
    """How many questions get this action, and for how many of them the documents hold the answer."""
    if not held:
        return f"no question becomes {action}"
    verb = "becomes" if len(held) == 1 else "become"
    return f"{count(len(held), 'question')} {verb} {action} (documents hold the answer to {sum(map(bool, held))})"


def _warnings(pair: Pair, chosen: Sweep, whole: Sweep, worth: Gains) -> tuple[str, ...]:
    """What to know before using the pair."""
    found = []
    action = max(worth.alike, key=lambda each: worth.alike[each])
    if chosen.utility[0, 0] - worth.alike[action] < HARDLY:
        found.append(
            f"The scores hardly tell these questions apart: {action} for every one, whatever its scores, is worth "
            f"{worth.alike[action]:.2f}."
        )
    crowd = _warn_of_crowding(pair, float(chosen.ambiguous[0, 0]))
    if crowd:
        within = np.where(whole.ambiguous <= CROWDED, whole.utility, np.nan)
        if not np.isnan(within).all():
            other, most = best_pair(within, whole.uppers, whole.lowers), np.nanmax(within)
            crowd += f" {_pair(other)} stays within and is worth {most:.2f} a question."
        found.append(crowd)
    return tuple(found)


def _warn_of_crowding(pair: Pair, share: float) -> str | None:
    """The warning of too many AMBIGUOUS questions, this share of them, at a pair."""
    if share <= CROWDED:
        return None
    return (
        f"{_pair(pair)} sends {share:.0%} of the questions to AMBIGUOUS, more than {CROWDED:.0%}: most of what the "
        "evaluator could settle is left to a web search."
    )


def _pair(pair: Pair) -> str:
    """Upper and lower threshold as they are written everywhere."""
    return f"{_threshold_text(pair[0])} / {_threshold_text(pair[1])}"


def _threshold_text(threshold: float) -> str:
    """Two decimals, or three where the second is not enough."""
    return f"{threshold:.3f}".removesuffix("0")
