"""Sentences about thresholds: a recommended pair, a certified one, what an evaluator learned, what a new run shows."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil

from crag.analysis.adaptation import ASKED, LABELS, Learned
from crag.analysis.adaptation import Refusal as LearningRefusal
from crag.analysis.thresholds.guarantee import Candidate, Certificate, Counted, Promise, Shortfall
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
from crag.core.makers import name_in_sentence
from crag.core.settings import Settings
from crag.core.types import Action
from crag.evaluation.adaptation import Adaptation, Lesson
from crag.text.formats import count, format_day, join_names

_UNKNOWN = {
    Missing.NO_ROUND: "The decision is unknown: this run ended before it retrieved anything.",
    Missing.OTHER_RETRIEVAL: "Other chunks may be retrieved: the document confidence or the time decay changes.",
    Missing.NOT_RETRIEVED: "The scores of chunks after the first {k} are unknown: this run did not retrieve them.",
    Missing.OTHER_LENGTH: "The chunks' scores are unknown: this run graded another length of text.",
    Missing.NO_GRADES: "The score of each chunk is unknown: this run did not grade them one by one.",
    Missing.NO_JOINT: "The score of all chunks together is unknown: this run graded them one by one.",
    Missing.OTHER_JOINT: "The score of the best {k} chunks together is unknown: this run graded all of them together.",
    Missing.NO_SET: "The score of the chunks as a set is unknown: this run ended before it was worked out.",
    Missing.OTHER_SET: "The score of the chunks as a set is unknown: other chunks than in this run would be in it.",
    Missing.NO_LOOP: "The result of the corrective loop is unknown: this run did not search the library again.",
    Missing.OTHER_LOOP: (
        "The result of the corrective loop is unknown: its query would come from other chunks or have another length."
    ),
    Missing.NO_CHUNKS: "The texts of chunks after the first {k} are unknown: this run did not retrieve them.",
    Missing.NOT_SCORED: "The strips of your documents to keep are unknown: this run did not score them.",
    Missing.NOT_JUDGED: "The strips of your documents to keep are unknown: no language model read them in this run.",
    Missing.NOT_SEARCHED: "The web results are unknown: this run did not search the web.",
    Missing.OTHER_SEARCH: "The web results are unknown: the query or the number of results would differ.",
    Missing.PAGES_NOT_SCORED: "The strips of web pages to keep are unknown: this run did not score them that way.",
    Missing.PAGES_NOT_JUDGED: "The strips of web pages to keep are unknown: no language model read them in this run.",
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
    said = (
        f"{pair_text(warning.pair)} sends {warning.share:.0%} of the questions to AMBIGUOUS, more than {CROWDED:.0%}. "
        "The web decides most of what the evaluator could settle."
    )
    if warning.instead:
        said += f" {pair_text(warning.instead)} stays below that and is worth {warning.instead_worth:.2f} per question."
    return said


def refusal_sentence(refusal: Refusal) -> str:
    """Why no pair is recommended."""
    counts = {"answer": refusal.answerable, "do not answer": refusal.labelled - refusal.answerable}
    few, many = sorted(counts, key=lambda each: counts[each])
    if refusal.open:
        wide = [
            f"the {each.name} threshold lies from {_threshold(each.low)} to {_threshold(each.high)}"
            for each in refusal.open
        ]
        return f"{refusal.labelled} labelled questions leave it open: {join_names(wide)} ({LEVEL:.0%} interval)."
    if not refusal.labelled:
        reason = "No question has both a label and a score"
    elif not counts[few]:
        reason = f"All {refusal.labelled} labels are of one kind: the documents {many} the question"
    elif refusal.labelled < QUESTIONS:
        reason = f"Only {count(refusal.labelled, 'labelled question')}, and {QUESTIONS} are needed"
    else:
        reason = f"Only {count(counts[few], 'question')} that the documents {few}"
    left_out = f" ({count(refusal.ungraded, 'labelled question')} without a score left out)" if refusal.ungraded else ""
    return f"{reason}{left_out}."


def missing_texts(refusal: Refusal) -> tuple[str, ...]:
    """What would help, as a list."""
    if refusal.open:
        return ("More labelled questions, above all with scores between those values, or a better evaluator",)
    counts = {"answer": refusal.answerable, "do not answer": refusal.labelled - refusal.answerable}
    more = [count(QUESTIONS - refusal.labelled, "more labelled question")] if refusal.labelled < QUESTIONS else []
    for verb, known in counts.items():
        if known < EACH:
            more.append(f"{count(EACH - known, 'more question')} that the documents {verb}")
    return tuple(more)


def pair_text(pair: Pair) -> str:
    """Upper and lower threshold."""
    return f"{_threshold(pair[0])} / {_threshold(pair[1])}"


def _threshold(threshold: float) -> str:
    """Two decimals, or three where the second is not enough."""
    return f"{threshold:.3f}".removesuffix("0")


ASSUMPTION = (
    "Wrong means that the retrieved passages do not hold what is asked. The promise is for questions like the labelled "
    "ones, asked of the same documents with the same evaluator and settings. So label questions as they come, not only "
    "those that stand out, and choose the share before you look at the result: each further try with the same labels "
    "is another chance to be wrong."
)
OUTDATED = (
    "These scores were given before the evaluator learned from labels, or stopped using what it learned. New questions "
    "are scored in another way, and the promise does not hold for them. Ask or evaluate the labelled questions again, "
    "then certify a pair for the new scores."
)
"""Beside a certified pair whose scores are no longer given."""


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


_LABELLED = {"chunks": "labelled chunk", "sets": "labelled retrieval"}
_KINDS = {"chunks": ("relevant", "irrelevant"), "sets": ("answerable", "unanswerable")}
NAMES = {"chunks": "Scores of chunks", "sets": "Scores of all chunks together"}
"""What is corrected, by the name of its part."""
HOW = (
    "A lesson helps if it lowers the log loss, on labels left out by question, by more than its standard error. "
    "Otherwise it is not used."
)


def learning_refusal_sentence(name: str, refusal: LearningRefusal) -> str:
    """Why nothing is learned of "chunks" or "sets"."""
    match refusal.reason:
        case "few":
            found = f"{refusal.labels} {'is' if refusal.labels == 1 else 'are'} there"
            return f"At least {count(LABELS, _LABELLED[name])} are needed; {found}."
        case "one kind":
            kinds = zip((refusal.positive, refusal.labels - refusal.positive), _KINDS[name], strict=True)
            few, kind = min(kinds)
            return (
                f"At least {EACH} of either kind are needed; of {count(refusal.labels, _LABELLED[name])} {few} {kind}."
            )
        case "questions":
            return f"The labels are about {count(refusal.questions, 'question')}; at least {ASKED} are needed."
        case "reversed":
            good, bad = _KINDS[name]
            return f"The labels say that high scores are {bad} and low ones {good}. Check that they are not swapped."


def lesson_sentence(lesson: Lesson) -> str:
    """What a lesson is worth on labels that were left out."""
    before, after = lesson.before, lesson.after
    helps = "It helps" if lesson.helps else "It does not help and is off"
    return (
        f"{helps}: log loss {before.loss:.3f} before, {after.loss:.3f} after (lower by {lesson.gain:.3f}, standard "
        f"error {lesson.doubt:.3f}); calibration error {before.error:.3f} and {after.error:.3f}; AUC {before.auc:.3f} "
        f"and {after.auc:.3f}. Learned from {count(lesson.labels, 'label')} of {count(lesson.questions, 'question')}."
    )


def learned_sentences(found: Learned) -> list[str]:
    """A sentence or two on each part, and on what was left out."""
    parts = {"chunks": found.chunks, "sets": found.sets}
    said = [
        f"{NAMES[name]}. "
        + (learning_refusal_sentence(name, part) if isinstance(part, LearningRefusal) else lesson_sentence(part))
        for name, part in parts.items()
    ]
    return [*said, *([deleted_sentence(found.deleted)] if found.deleted else [])]


def deleted_sentence(deleted: int) -> str:
    """That labels are left out."""
    return f"Left out: {count(deleted, 'label')} about documents that were deleted."


def changes_sentence(changes: Sequence[tuple[str, str, int]], runs: int) -> str:
    """What the corrected scores would change, as (action, other action, runs), of how many stored runs."""
    total = sum(number for _, _, number in changes)
    if not total:
        return f"With the sliders' thresholds no action of {count(runs, 'stored run')} would change."
    kinds = join_names([f"{number:,} from {was} to {becomes}" for was, becomes, number in changes])
    return f"With the sliders' thresholds {total:,} of {count(runs, 'stored run')} would change: {kinds}."


def use_sentence(adaptation: Adaptation | None, evaluator: str) -> str:
    """What a library uses now; `evaluator` is the id of the evaluator that grades."""
    if adaptation is None:
        return "The shipped scores are in use."
    parts = {"chunks": adaptation.chunks, "sets": adaptation.sets}
    used = join_names(
        [f"{NAMES[name].lower()} ({count(part.labels, 'label')})" for name, part in parts.items() if part]
    )
    said = f"learned on {format_day(adaptation.at)}: {used}."
    if adaptation.evaluator != evaluator:
        return (
            f"Not used, for it is of another version of {name_in_sentence(evaluator)} ({adaptation.evaluator}; now "
            f"{evaluator}): {said} Learn again."
        )
    return f"In use, {said}"
