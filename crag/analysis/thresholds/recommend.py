"""Which pair of thresholds labelled questions speak for, how surely, and why; or why they can't say. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

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
from crag.core.types import Aggregation
from crag.messages.wording import count

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
    """The pair worth most to the labelled questions, and how far it moves when they are drawn anew.

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


def recommend(
    questions: Sequence[Scored],
    *,
    aggregation: Aggregation,
    current: Pair | None = None,
    weights: Weights | None = None,
    effort: Effort | None = None,
    doubt: float = 0.0,
    widest: float = WIDEST,
    rounds: int = ROUNDS,
    seed: int = 0,
) -> Recommendation | Refusal:
    """The pair of thresholds with the highest utility, or why the data can't carry one.

    `current`: the pair in use, to compare with. The same questions and `seed` give the same result. Questions without
    a label, or without a single known score, say nothing about thresholds and are left out. `doubt`: as of `gains`.
    """
    usable = [question for question in questions if question.answerable is not None and question.known]
    refusal = _too_little(questions, usable)
    if refusal:
        return refusal
    worth = gains(usable, aggregation=aggregation, weights=weights, effort=effort, doubt=doubt)
    intervals = _intervals(worth, rounds, seed)
    if max(high - low for low, high in intervals) > widest:
        return _too_wide(intervals, len(usable), widest)
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
        sentence=_why((upper, lower), chosen, usable, aggregation, doubt, current, before, intervals),
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
    """Where the best upper and lower thresholds lie when the questions are drawn anew, with replacement."""
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
    aggregation: Aggregation,
    doubt: float,
    current: Pair | None,
    before: float | None,
    intervals: tuple[Interval, Interval],
) -> str:
    """The recommendation in plain words."""
    ends = reach_matrices(usable, aggregation, np.array(pair[:1]), np.array(pair[1:]), doubt)
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
        f"Were the questions drawn anew, {LEVEL:.0%} of the time upper would lie from {upper}, lower from {lower}."
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
