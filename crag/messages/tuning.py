"""Sentences about thresholds: a recommended pair and its reasons, and what only a new run shows."""

from __future__ import annotations

from crag.analysis.thresholds.recommend import (
    CROWDED,
    EACH,
    LEVEL,
    QUESTIONS,
    Alike,
    Crowding,
    Recommendation,
    Refusal,
    Settled,
)
from crag.analysis.thresholds.sweep import Pair
from crag.analysis.whatif.entries import Missing, Unknown
from crag.core.types import Action
from crag.text.formats import count, join_names

_UNKNOWN = {
    Missing.NO_ROUND: "The decision is unknown: this run ended before it retrieved anything.",
    Missing.OTHER_RETRIEVAL: "Other chunks may be retrieved: the document confidence or the time decay changes.",
    Missing.NOT_RETRIEVED: "Chunks after the first {k} are unknown: this run did not retrieve them.",
    Missing.NO_GRADES: "The scores are unknown: this run graded other texts, or not in this way.",
    Missing.NO_SET: "The score of the chunks as a set is unknown: this run did not work it out for these chunks.",
    Missing.NO_LOOP: "Where the corrective loop leads is unknown: this run did not search again with this query.",
    Missing.NOT_SCORED: "The strips of your documents to keep are unknown: this run did not score them in this way.",
    Missing.NOT_SEARCHED: "The web results are unknown: this run did not search the web, or not in this way.",
    Missing.PAGES_NOT_SCORED: "The strips of web pages to keep are unknown: this run did not score them in this way.",
}


def unknown_sentence(unknown: Unknown) -> str:
    """What only a new run can show, and why."""
    return _UNKNOWN[unknown.what].format(k=unknown.k)


def recommendation_sentence(found: Recommendation) -> str:
    """What the recommended pair does with the labelled questions, what it is worth, and how sure it is."""
    worth = f"This is worth {found.utility:.2f} per question"
    if found.current == (found.upper, found.lower):
        worth += " and is the pair you use now"
    elif found.current:
        worth += f"; your current pair, {pair_text(found.current)}, is worth {found.current_utility:.2f}"
    upper, lower = (f"{_threshold(low)} to {_threshold(high)}" for low, high in found.intervals)
    return (
        f"With {pair_text((found.upper, found.lower))}, {_become(found.correct, Action.CORRECT)}, "
        f"{_become(found.incorrect, Action.INCORRECT)}, and {found.ambiguous:.0%} of {found.questions} end AMBIGUOUS. "
        f"{worth}. In {LEVEL:.0%} of resamples, upper is {upper} and lower {lower}."
    )


def _become(settled: Settled, action: Action) -> str:
    if not settled.questions:
        return f"no question becomes {action}"
    verb = "becomes" if settled.questions == 1 else "become"
    return f"{count(settled.questions, 'question')} {verb} {action} (the documents answer {settled.answerable})"


def warning_sentence(warning: Alike | Crowding) -> str:
    """What to know before using a pair."""
    if isinstance(warning, Alike):
        return (
            "The scores barely separate these questions: "
            f"{warning.action} for every question is worth {warning.worth:.2f}."
        )
    return (
        f"{pair_text(warning.pair)} sends {warning.share:.0%} of the questions to AMBIGUOUS, more than {CROWDED:.0%}. "
        "The web decides most of what the evaluator could settle."
    )


def refusal_sentence(refusal: Refusal) -> str:
    """Why no pair is recommended, and what helps."""
    if refusal.open:
        wide = [
            f"the {each.name} threshold lies from {_threshold(each.low)} to {_threshold(each.high)}"
            for each in refusal.open
        ]
        return (
            f"{refusal.labelled} labelled questions leave it open: {join_names(wide)} ({LEVEL:.0%} interval). More of "
            "them help, above all with scores between those values, or a better evaluator."
        )
    left_out = f" ({count(refusal.ungraded, 'labelled question')} without a score left out)" if refusal.ungraded else ""
    return (
        f"{QUESTIONS} labelled questions with a score are needed, at least {EACH} that the documents answer and {EACH} "
        f"that they do not. So far: {refusal.answerable} and {refusal.labelled - refusal.answerable}{left_out}."
    )


def pair_text(pair: Pair) -> str:
    """Upper and lower threshold."""
    return f"{_threshold(pair[0])} / {_threshold(pair[1])}"


def _threshold(threshold: float) -> str:
    """Two decimals, or three where the second is not enough."""
    return f"{threshold:.3f}".removesuffix("0")
