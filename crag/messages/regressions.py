"""Sentences about an evaluation and its baseline: whether it is worse, and what each question lost and gained."""

from __future__ import annotations

from collections.abc import Mapping

from crag.analysis.funnel import Step
from crag.analysis.intervals import LEVEL
from crag.analysis.metrics.results import Difference
from crag.analysis.questions.adapters import UNANSWERABLE
from crag.analysis.regression import Aspect, Change, Regression, Stage
from crag.messages.evaluations import ROUGH
from crag.messages.funnel import LOST_TITLES
from crag.text.formats import count

DOCUMENTS_CHANGED = "The documents changed between the two, so a difference may come from them."
DOCUMENTS_UNKNOWN = "Which documents the baseline was measured on was not recorded."
PASSED, UNFOLLOWED = "Passed every step", "Not followed"

_LOST: Mapping[Aspect, str] = {
    "ended": "the run fails now",
    "right": "the answer is no longer right",
    "answered": "refused now",
    "cited": "the expected page is no longer cited",
}
_GAINED: Mapping[Aspect, str] = {
    "ended": "the run no longer fails",
    "right": "the answer is right now",
    "answered": "answered now",
    "cited": "the expected page is cited now",
}


def verdict(found: Regression) -> str:
    """Worse, better or neither, in a word or two."""
    if found.is_worse:
        return "Worse"
    return "Better" if found.right.low is not None and found.right.low > 0 else "No certain difference"


def regression_sentence(found: Regression) -> str:
    """The shares of right answers before and now, with the interval of their difference."""
    right = found.right
    if right.first is None or right.second is None or right.value is None:
        return "Nothing tells whether a question was answered rightly in both: the runs that say so were deleted."
    shares = f"{right.second:.1%} of {count(right.pairs, 'labelled question')} right, {right.first:.1%} before"
    if right.low is None or right.high is None:
        return f"{verdict(found)}: {shares}. One question has no interval."
    rough = f" {ROUGH}" if right.rough else ""
    said = f"difference {signed_share(right.value)}, {LEVEL} % interval {interval_text(right)}"
    return f"{verdict(found)}: {shares}; {said}.{rough}"


def interval_text(found: Difference) -> str:
    """Of a share's difference, in percentage points."""
    if found.low is None or found.high is None:
        return "unknown"
    return f"{signed_share(found.low)} to {signed_share(found.high)}"


def signed_share(value: float) -> str:
    """A difference of shares in percentage points with its sign."""
    return f"{100 * value:+.1f} points".replace("-", "−") if value else "0 points"


def left_out_notes(found: Regression) -> list[str]:
    """What is to be known beside the figures."""
    return [
        said
        for said in (
            DOCUMENTS_CHANGED if found.same_documents is False else "",
            DOCUMENTS_UNKNOWN if found.same_documents is None else "",
            f"{count(found.unlabelled, 'question')} without a label can't be called right or wrong."
            if found.unlabelled
            else "",
            f"Of {count(found.unknown, 'labelled question')} one side does not tell: the run was deleted."
            if found.unknown
            else "",
        )
        if said
    ]


def change_parts(change: Change) -> tuple[tuple[str, bool], ...]:
    """What a question lost, each with False, then what it gained, each with True."""
    lost, gained = dict(_LOST), dict(_GAINED)
    if UNANSWERABLE in change.question.labels:
        lost["right"], gained["right"] = "answered now, though nothing answers it", "rightly refused now"
    return (*((lost[each], False) for each in change.lost), *((gained[each], True) for each in change.gained))


def change_text(change: Change) -> str:
    """The same as a part of a sentence."""
    return "; ".join(said for said, _ in change_parts(change))


def place_text(change: Change) -> str:
    """The expected document and pages, "" where the set names none."""
    pages = ", ".join(f"p. {page}" for page in change.question.pages)
    return ", ".join(filter(None, (" or ".join(change.question.sources), pages)))


def stage_text(stage: Stage) -> str:
    """Where an expected place was lost."""
    titles: Mapping[Step, str] = LOST_TITLES
    return PASSED if stage == "passed" else UNFOLLOWED if stage == "unknown" else titles[stage]


def stages_text(change: Change) -> str:
    """Where the expected place is lost now and was before; "" where it was followed in neither."""
    if change.before == change.now == "unknown":
        return ""
    return f"Now: {stage_text(change.now)}. Before: {stage_text(change.before)}."
