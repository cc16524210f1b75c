"""Sentences about a promise: the certified pair, what it rests on, and what is missing where no pair is certified."""

from __future__ import annotations

from math import ceil

from crag.analysis.thresholds.guarantee import Candidate, Certificate, Counted, Promise, Shortfall
from crag.core.settings import Settings
from crag.messages.tuning import pair_text
from crag.text.formats import count, join_names

ASSUMPTION = (
    "Wrong means that the retrieved passages do not hold what is asked. The promise is for questions like the labelled "
    "ones, asked of the same documents with the same evaluator and settings. So label questions as they come, not only "
    "those that stand out, and choose the share before you look at the result: each further try with the same labels "
    "is another chance to be wrong."
)


def no_promise_text(settings: Settings) -> str:
    """Why there is no pair to certify under a strategy of this kind; empty where there can be one."""
    if settings.evaluator == "none":
        return "This strategy grades nothing (plain RAG), so it calls no question CORRECT."
    return "This strategy has one threshold, so there is no pair to certify." if settings.binary else ""


def guarantee_sentence(found: Certificate | Shortfall) -> str:
    """The promise and the counts it rests on; or why there is none, what it takes, and what can be promised today."""
    return _certified(found) if isinstance(found, Certificate) else _missing(found)


def _certified(found: Certificate) -> str:
    best, questions = found.best, found.counted.questions
    wrongly, others = f"{best.wrong:,} of them wrongly", len(found.pairs) - 1
    also = f" {count(others, 'other pair')} would do too and {'calls' if others == 1 else 'call'} no more CORRECT."
    return (
        f"With {_pair(best)}, {promise_text(found.promise)}. Of {count(questions, 'labelled question')} it calls "
        f"{best.called:,} CORRECT ({best.called / questions:.0%}), {wrongly}.{also if others else ''}"
    )


def promise_text(promise: Promise) -> str:
    """The promise itself, as a clause."""
    share, confidence = _percent(promise.target), _percent(promise.confidence)
    return f"at most {share} of the questions called CORRECT are wrong, with {confidence} confidence"


def _missing(found: Shortfall) -> str:
    counted, nearest = found.counted, found.nearest
    if not counted.questions:
        return "No pair is certified: no question has both a label and a score."
    if found.one_kind:
        kind = "answer" if counted.answerable else "do not answer"
        return (
            f"No pair is certified: all {count(counted.questions, 'label')} are of one kind, the documents {kind} the "
            "question. A promise needs labelled questions of both kinds, as they come."
        )
    if nearest is None:
        return (
            "No pair is certified: no labelled question scores high enough to be called CORRECT at a start of the test."
        )
    said = f"No pair is certified for {_percent(found.promise.target)}. {_seen(nearest)}"
    if found.more:
        said += f" At the rate seen it takes about {count(_round_up(found.more), 'more labelled question')}."
    else:
        again = "ask these questions again under these settings, " if nearest.unknown else ""
        said += f" More labels will hardly help: {again}choose a larger share, or a better evaluator."
    if found.today is not None and found.today_at is not None:
        share = _percent(ceil(found.today * 1000) / 1000)
        said += f" Today these labels certify {share}, with {_pair(found.today_at)}."
    return said


def _seen(nearest: Candidate) -> str:
    verb = "is" if nearest.wrong == 1 else "are"
    called = count(nearest.called, "labelled question")
    unknown = f", {nearest.unknown:,} of them because only a new run could tell" if nearest.unknown else ""
    return f"At best, with {_pair(nearest)}, {nearest.wrong:,} of {called} called CORRECT {verb} wrong{unknown}."


def left_out_text(counted: Counted) -> str:
    """Labelled questions that count in nothing, and why; empty where there are none."""
    reasons = {
        "without a score under these settings": counted.ungraded,
        "with labels that contradict each other": counted.contradictory,
        "about documents that were deleted": counted.deleted,
    }
    said = [f"{number:,} {why}" for why, number in reasons.items() if number]
    total = counted.ungraded + counted.contradictory + counted.deleted
    return f"Left out: {count(total, 'labelled question')} ({join_names(said)})." if said else ""


def _pair(at: Candidate) -> str:
    return pair_text((at.upper, at.lower))


def _percent(share: float) -> str:
    return f"{round(100 * share, 1):g}%"


def _round_up(labels: int) -> int:
    """An estimate, to two digits."""
    unit = int(10 ** max(0, len(str(labels)) - 2))
    return ceil(labels / unit) * unit
