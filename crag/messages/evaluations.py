"""Sentences about evaluations: names of measures, differences, and where answers are lost."""

from __future__ import annotations

from crag.analysis.evaluate import Evaluation
from crag.analysis.intervals import LEVEL
from crag.analysis.metrics.results import Difference
from crag.analysis.stages.funnel import STEPS, Followed, Funnel, LeftOut, Step
from crag.core.model_ids import name_in_sentence
from crag.messages.explanations import change_sentence, miss_sentence
from crag.messages.wording import stored_sentence
from crag.text.formats import count, join_names

ROUGH = "The interval is rough: there are few questions."
UNTIMED = (
    "Times are not compared: strategies run one after another, and grades remembered from earlier runs take no time."
)
UNSCORED = "The answer can't be scored: each accepted answer is an explanation, or has no words that count."

TITLES = {
    "right": "Right answer or page",
    "first_recall": "Recall, first retrieval",
    "first_reciprocal_rank": "MRR, first retrieval",
    "first_holds": "First retrieval holds the answer",
    "first_right": "First action right",
    "acted_recall": "Recall",
    "acted_reciprocal_rank": "MRR",
    "acted_holds": "Retrieval holds the answer",
    "acted_right": "Action right",
    "abstention_right": "Rightly answered or not found",
    "abstained": "Not found",
    "evidence_answer": "Evidence holds the answer",
    "evidence_page": "Evidence from an expected page",
    "evidence_source": "Evidence from an expected source",
    "answer_holds": "Answer says it",
    "answer_f1": "Answer F1",
    "faithfulness": "Faithfulness",
    "evidence_words": "Words of evidence",
    "rewrite_helped": "Rewriting helped",
    "library_rewrites": "Rewrites for the library",
    "rewrites": "Rewrites",
    "searches": "Web searches",
    "seconds": "Seconds",
    "remembered": "Remembered",
    "calls": "Outside calls",
    "failed_calls": "Failed calls",
    "failed_grades": "Failed grades",
    "input_tokens": "Tokens in",
    "output_tokens": "Tokens out",
}
"""Every measure that is averaged over questions, by its column."""
NOTES = {
    "right": "The answer says an accepted answer, or is from an expected page; what has no answer is refused.",
    "acted_recall": "The share of expected pages found; of expected files, where no page is labelled.",
    "acted_reciprocal_rank": "1 / rank of the first chunk from an expected page, or file where no page is labelled.",
    "acted_holds": "A chunk is from an expected page, or its text holds an accepted answer.",
    "acted_right": "CORRECT where the retrieval holds the answer, else INCORRECT. AMBIGUOUS counts half.",
    "first_right": "The same for the first retrieval. AMBIGUOUS counts half.",
    "abstention_right": "Not found exactly where the kept evidence does not hold the answer.",
    "abstained": "The run gave no answer.",
    "evidence_answer": "A kept strip holds an accepted answer.",
    "evidence_page": "A kept strip is from an expected page.",
    "evidence_source": "A kept strip is from an expected source, web pages included.",
    "answer_holds": "The answer says an accepted answer, maybe among other things.",
    "answer_f1": "Words shared with the closest accepted answer, as SQuAD counts them.",
    "faithfulness": "The share of the answer's sentences that their citations support.",
    "evidence_words": "How much text is kept for the answer.",
    "rewrite_helped": "Found after rewriting, where the first retrieval missed it.",
    "rewrites": "Per question, for the library and for the web.",
    "searches": "Per question.",
    "seconds": "Per question, with the wait for an approval. Remembered grades and searches take no time.",
    "remembered": "Grades and searches of earlier runs, per question. They take no time.",
    "calls": "Per question: models and web.",
    "failed_calls": "Per question.",
    "failed_grades": "Per question: chunks and web pages without a grade.",
    "input_tokens": "Per question, as providers counted them.",
    "output_tokens": "Per question, as providers counted them.",
}
"""What the title of a measure does not say."""


def difference_sentence(found: Difference, *, rough: bool = True) -> str:
    """How two results differ in a measure; with `rough`, that its interval is rough where it is."""
    title, (first, second) = TITLES[found.measure], found.names
    if found.value is None:
        return f"{title}: unknown, because no question has this measure in both results."
    if found.low is None or found.high is None:
        return f"{title}: only one question has this measure in both results, so there is no interval."
    if found.value == 0:
        says = f"as high with {second} as with {first}"
    else:
        says = f"{abs(found.value):.3g} {'higher' if found.value > 0 else 'lower'} with {second} than with {first}"
    zero = "includes zero, so it may be chance" if found.includes_zero else "does not include zero"
    said = (
        f"{title}: {says} over {found.pairs} questions; "
        f"the {LEVEL}% interval of the difference, {found.low:.3g} to {found.high:.3g}, {zero}."
    )
    return f"{said} {ROUGH}" if rough and found.rough else said


def parts_sentence(evaluation: Evaluation) -> str:
    """What searched, graded and wrote, and which of the settings can't be read here."""
    parts, unread = evaluation.parts, stored_sentence(evaluation.stored)
    if parts is None:
        return unread
    grader = f"Graded by {name_in_sentence(parts.grader)}" if parts.grader else "Not graded"
    writer = "answers quoted" if parts.writer == "extractive" else f"written by {name_in_sentence(parts.writer)}"
    web = "not searched" if parts.webs is None else ", then ".join(parts.webs) or "off"
    said = f"{count(parts.documents, 'document')}, retrieved with {parts.embedder}."
    return f"{said} {grader}; {writer}; web: {web}. {unread}".rstrip()


STEP_TITLES: dict[Step, str] = {
    "library": "In the library",
    "search": "Retrieved",
    "grade": "Above the lower threshold",
    "evidence": "Kept in the evidence",
    "answer": "Cited or said",
    "support": "Supported",
}
"""What a question has done that passed a step."""
_LOST: dict[Step, str] = {
    "library": "before the search",
    "search": "in the search",
    "grade": "below the lower threshold",
    "evidence": "between grade and evidence",
    "answer": "between evidence and answer",
    "support": "in the check of its citations",
}
LOST_TITLES: dict[Step, str] = {step: said.capitalize() for step, said in _LOST.items()}
"""Where a question was lost that did not pass a step."""
_LEFT_OUT: dict[LeftOut, str] = {
    "no place": "without a known place of the answer",
    "no answer": "without an answer",
    "failed": "whose run did not end",
    "deleted": "whose run was deleted or can't be read",
}


def shown_steps(funnel: Funnel) -> list[Step]:
    """The steps that the runs took: without grades none is passed by them, without checks neither."""
    absent = {"grade": not funnel.graded, "support": not funnel.checked}
    return [step for step in STEPS if not absent.get(step)]


def funnel_sentence(funnel: Funnel) -> str:
    """How many questions are lost where."""
    if not funnel.followed:
        left_out = sum(funnel.left_out.values())
        none = f"Of {count(left_out, 'question')}, none can be followed from the library to the answer."
        return none if left_out else "No question has a result yet, so there is nothing to follow."
    asked = count(funnel.followed, "question")
    if not funnel.losses:
        return f"Of {asked}, none is lost: the answer cites the expected place, or says what is accepted."
    return (
        f"Lost of {asked}: {join_names([f'{each:,} {lost_text(step, funnel)}' for step, each in funnel.lost.items()])}."
    )


def lost_text(step: Step, funnel: Funnel) -> str:
    """Where something was lost, as a part of a sentence."""
    return "between search and evidence" if step == "evidence" and not funnel.graded else _LOST[step]


def left_out_sentence(funnel: Funnel) -> str:
    """Which questions are not followed; empty where all are."""
    parts = [f"{number:,} {_LEFT_OUT[reason]}" for reason, number in funnel.left_out.items()]
    return f"Left out: {join_names(parts)}." if parts else ""


def loss_sentence(loss: Followed) -> str:
    """Why one question was lost, and what would have kept it."""
    said = miss_sentence(loss.miss)
    if loss.lost == "support":
        said = f"{said[:-1]}, but does not support what the answer says of it."
    return " ".join(filter(None, (said, change_sentence(loss.miss))))
