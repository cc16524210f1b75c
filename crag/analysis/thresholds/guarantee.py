"""Pairs of thresholds with a guarantee: of the questions called CORRECT, at most a chosen share is wrong. Pure.

Learn then Test (Angelopoulos et al. 2021, arXiv 2110.01052). A pair is a hypothesis, "more than the target share of
what is called CORRECT here is wrong", and labelled questions that were drawn like future ones test it. Given how many
of them a pair calls CORRECT, each of these is wrong with the same chance and independently of the others, so the wrong
ones are binomial. The chance of so few of them at the target share is an exact p-value for any number called, and so
also on average over that number. Nothing is assumed of the scores: a stricter pair may be the worse one.

A lattice of pairs is tested so that the chance of certifying even one wrong pair stays below 1 - confidence. Each
column, one lower threshold, is walked from the strictest upper threshold down. At each of STARTS the walk is given a
share of the allowed error; a pair that passes hands all that it had to the next one, a pair that fails loses it
(the fallback procedure, Wiens and Dmitrienko 2005, valid whatever the dependence). Starts and shares are fixed
beforehand. The lower threshold matters to CORRECT only through corrective loops: without them one column is all.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass
from math import ceil
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from crag.analysis.intervals import binomial_tail, upper_bound
from crag.analysis.thresholds.recommend import Case, same_question
from crag.analysis.thresholds.sweep import GRID, Floats
from crag.analysis.whatif.entries import Entry, Unknown
from crag.analysis.whatif.replay_plan import Planner
from crag.core.errors import SettingsError
from crag.core.policy import loops
from crag.core.settings import Settings
from crag.core.types import Action
from crag.evaluation.trigger import bounds

STARTS = (0.96, 0.9, 0.8, 0.6, 0.4)
"""Upper thresholds at which a walk is given its share of the allowed error, in equal parts."""
LOWERS = (0.1, 0.2, 0.3, 0.4)
"""Lower thresholds beside the one in use, where there are corrective loops. They share half of the allowed error."""
MOST = 1_000_000
"""Labels: where even more would be needed, no number is given."""

Counts = NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Promise:
    """At most the share `target` of the questions called CORRECT is wrong, with this `confidence`; both within 0..1.

    Raises SettingsError for a number that is not.
    """

    target: float = 0.05
    confidence: float = 0.95

    def __post_init__(self) -> None:
        if not (0 < self.target < 1 and 0 < self.confidence < 1):
            raise SettingsError("The share and the confidence of a promise are numbers between 0 and 1.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Counted:
    """How many labelled `questions` there are, and how many of them the documents answer.

    Labelled ones that were left out: `ungraded`, without a score; `contradictory`, with labels that contradict each
    other; `deleted`, of documents that are gone.
    """

    questions: int
    answerable: int
    ungraded: int = 0
    contradictory: int = 0
    deleted: int = 0


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Tally:
    """How labelled questions end at each pair: how many are `called` CORRECT, how many of these are `wrong`, and of how
    many wrong ones that is only assumed, because it is `unknown`.

    Shape of all three: (uppers, lowers); uppers from the strictest down, of the lowers the one in use first.
    """

    uppers: Floats
    lowers: Floats
    called: Counts
    wrong: Counts
    unknown: Counts
    counted: Counted


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A pair, and what it makes of the labelled questions: see `Tally`."""

    upper: float
    lower: float
    called: int
    wrong: int
    unknown: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Certificate:
    """The promise holds for all `pairs` at once. `best`: the one of them that calls most questions CORRECT."""

    promise: Promise
    counted: Counted
    best: Candidate
    pairs: tuple[Candidate, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Shortfall:
    """No pair is certified. `nearest` has the smallest share of wrong ones; None where nothing is called CORRECT.

    `more`: labelled questions still needed where the shares seen stay as they are; None where no number would do.
    `today`, with the pair `today_at`: the smallest share that these labels do certify; None where they certify none.
    """

    promise: Promise
    counted: Counted
    nearest: Candidate | None = None
    more: int | None = None
    today: float | None = None
    today_at: Candidate | None = None

    @property
    def one_kind(self) -> bool:
        """Whether the documents answer all labelled questions, or none: such labels can't tell right from wrong."""
        return self.counted.answerable in (0, self.counted.questions)


def certify(tally: Tally, promise: Promise) -> Certificate | Shortfall:
    """The pairs that keep the promise, or what is missing. The same labels may serve one promise, chosen beforehand."""
    counted, none = tally.counted, Shortfall(promise=promise, counted=tally.counted)
    if none.one_kind:
        return none
    error, found, starts = 1 - promise.confidence, list[Candidate](), list[tuple[Candidate, float]]()
    for place, lower in enumerate(tally.lowers.tolist()):
        given, carried = dict(_shares(tally.lowers.size, place, lower)), 0.0
        for row, upper in enumerate(tally.uppers.tolist()):
            if upper < lower:
                break
            called, wrong = int(tally.called[row, place]), int(tally.wrong[row, place])
            unknown = int(tally.unknown[row, place])
            candidate = Candidate(upper=upper, lower=lower, called=called, wrong=wrong, unknown=unknown)
            level = carried + error * given.get(upper, 0.0)
            passes = level > 0 and binomial_tail(wrong, called, promise.target) <= level
            carried = level if passes else 0.0
            if passes:
                found.append(candidate)
            if upper in given and called:
                starts.append((candidate, error * given[upper]))
    if found:
        best = max(found, key=lambda each: (each.called, each.lower == tally.lowers[0], each.upper))
        return Certificate(promise=promise, counted=counted, best=best, pairs=tuple(found))
    if not starts:
        return none
    today, at = min(((upper_bound(c.wrong, c.called, level), c) for c, level in starts), key=lambda each: each[0])
    needed = [more for each, level in starts if (more := _more(each, level, counted.questions, promise.target))]
    return Shortfall(
        promise=promise,
        counted=counted,
        nearest=min((each for each, _ in starts), key=lambda each: (each.wrong / each.called, -each.called)),
        more=min(needed, default=None),
        today=today if today < 1 else None,
        today_at=at if today < 1 else None,
    )


def _shares(columns: int, place: int, lower: float) -> Iterator[tuple[float, float]]:
    """The upper thresholds at which a column's walk is given error, and what part of all that is."""
    column = 1.0 if columns == 1 else 0.5 if not place else 0.5 / (columns - 1)
    starts = [upper for upper in STARTS if upper >= lower] or [1.0]
    return ((upper, column / len(starts)) for upper in starts)


def _more(seen: Candidate, level: float, questions: int, target: float) -> int | None:
    """How many more labels would let this pair pass alone at the shares seen; None where none would, or over MOST."""
    rate = seen.wrong / seen.called

    def passes(called: int) -> bool:
        return binomial_tail(ceil(rate * called), called, target) <= level

    high = seen.called
    while not passes(high):
        high *= 2
        if rate >= target or high > MOST:
            return None
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if passes(middle) else (middle, high)
    return max(1, ceil(high * questions / seen.called) - questions)


# ---- counting ------------------------------------------------------------------------------------------------------


def tally_cases(cases: Sequence[Case], settings: Settings, present: Set[str] | None = None) -> Tally:
    """How labelled runs would end at each pair under `settings`, decided again by what-if, loops included.

    A question counts once, by its first run here: runs of one question are not independent. Where only a new run could
    tell how one ends, or nobody labelled what its last retrieval holds, it counts as called CORRECT and wrong, so that
    the promise holds whichever it is. `present`: the ids of the chunks that the library still has; None: of all.
    """
    settings = settings.model_copy(update={"forced": ""})
    repeats = settings.max_rewrites > 0 and bool(settings.loop_on)
    lowers = [settings.lower, *(each for each in LOWERS if repeats and each != settings.lower)]
    pairs = [[settings.model_copy(update={"upper": up, "lower": low}) for low in lowers] for up in reversed(GRID)]
    by_question: dict[str, list[Case]] = {}
    for case in cases:
        if case.answerable is not None:
            by_question.setdefault(same_question(case.entry.question), []).append(case)
    called, wrong, unknown = (np.zeros((len(GRID), len(lowers)), dtype=np.int64) for _ in range(3))
    counts = dict.fromkeys(("questions", "answerable", "ungraded", "contradictory", "deleted"), 0)
    for same in by_question.values():
        case, planner = same[0], Planner(same[0].entry)
        grades = planner.first(settings)
        if len({each.answerable for each in same}) > 1:
            counts["contradictory"] += 1
        elif isinstance(grades, Unknown):
            counts["ungraded"] += 1
        elif _is_gone(case.entry, present):
            counts["deleted"] += 1
        else:
            counts["questions"] += 1
            counts["answerable"] += bool(case.answerable)
            ends = bounds([grade.score for grade in grades], settings.aggregation)
            for row, across in enumerate(pairs):
                for column, at in enumerate(across):
                    outcome = _outcome(case, planner, ends, at)
                    called[row, column] += outcome is not None
                    wrong[row, column] += outcome in ("wrong", "unknown")
                    unknown[row, column] += outcome == "unknown"
    return Tally(
        uppers=np.array(GRID[::-1]),
        lowers=np.array(lowers),
        called=called,
        wrong=wrong,
        unknown=unknown,
        counted=Counted(**counts),
    )


def _is_gone(entry: Entry, present: Set[str] | None) -> bool:
    """Whether the first retrieval has chunks that the library has no more; another store's are not known of."""
    return present is not None and not entry.elsewhere and not present >= set(entry.rounds[0].chunks)


def _outcome(
    case: Case, planner: Planner, ends: tuple[float, float], at: Settings
) -> Literal["right", "wrong", "unknown"] | None:
    """Of a question that is called CORRECT under these settings whether rightly; None where it is not called so."""
    least, most = ends
    if least >= at.upper:
        return "right" if case.answerable else "wrong"
    if at.lower > at.upper or not loops(
        Action.INCORRECT if most < at.lower else Action.AMBIGUOUS, round=0, settings=at
    ):
        return None
    decision, number, reason = planner.decision(at)
    if reason is not None:
        return "unknown"
    if decision is None or decision.action is not Action.CORRECT:
        return None
    labels = {
        id: relevant
        for stored, said in zip(case.entry.rounds, case.relevance, strict=True)
        for id, relevant in zip(stored.chunks, said, strict=True)
    }
    acted = [labels.get(id) for id, _ in planner.acted(number, at)]
    return "right" if any(acted) else "unknown" if None in acted else "wrong"
