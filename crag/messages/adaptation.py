"""Sentences about what an evaluator learned from a library's labels: whether it helps, why not, what is in use."""

from __future__ import annotations

from collections.abc import Sequence

from crag.analysis.adaptation import ASKED, LABELS, Learned, Refusal
from crag.analysis.thresholds.recommend import EACH
from crag.core.makers import name_in_sentence
from crag.evaluation.adaptation import Adaptation, Lesson
from crag.text.formats import count, format_day, join_names

_LABELLED = {"chunks": "labelled chunk", "sets": "labelled retrieval"}
_KINDS = {"chunks": ("relevant", "irrelevant"), "sets": ("answerable", "unanswerable")}
NAMES = {"chunks": "Scores of chunks", "sets": "Scores of all chunks together"}
"""What is corrected, by the name of its part."""
HOW = (
    "A lesson helps if it lowers the log loss, on labels left out by question, by more than its standard error. "
    "Otherwise it is not used."
)


def refusal_sentence(name: str, refusal: Refusal) -> str:
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
        f"{NAMES[name]}. {refusal_sentence(name, part) if isinstance(part, Refusal) else lesson_sentence(part)}"
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
