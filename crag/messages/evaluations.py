"""The names of measures, and sentences about evaluations: how two results differ."""

from __future__ import annotations

from crag.analysis.evaluate import Evaluation
from crag.analysis.intervals import LEVEL
from crag.analysis.metrics.results import STEP_SECONDS, Difference
from crag.analysis.votes import Tally
from crag.core.makers import name_in_sentence
from crag.messages.wording import stored_sentence
from crag.text.formats import count

ROUGH = "The interval is rough: there are few questions."
UNTIMED = (
    "Times are not compared: strategies run one after another, and grades remembered from earlier runs take no time."
)
UNSCORED = "The answer can't be scored: each accepted answer is an explanation, or has no words that count."

TITLES = {
    "first_source_precision": "Precision by source, first retrieval",
    "first_source_recall": "Recall by source, first retrieval",
    "first_source_reciprocal_rank": "MRR by source, first retrieval",
    "first_page_precision": "Precision by page, first retrieval",
    "first_page_recall": "Recall by page, first retrieval",
    "first_page_reciprocal_rank": "MRR by page, first retrieval",
    "first_holds": "First retrieval holds the answer",
    "first_right": "First action right",
    "acted_page_precision": "Precision by page",
    "acted_page_recall": "Recall by page",
    "acted_page_reciprocal_rank": "MRR by page",
    "acted_source_precision": "Precision by source",
    "acted_source_recall": "Recall by source",
    "acted_source_reciprocal_rank": "MRR by source",
    "acted_holds": "Retrieval holds the answer",
    "acted_right": "Action right",
    "abstention_right": "Answered or abstained rightly",
    "abstained": "Abstained",
    "evidence_answer": "Evidence holds the answer",
    "evidence_page": "Evidence from an expected page",
    "evidence_source": "Evidence from an expected source",
    "answer_holds": "Answer says it",
    "answer_exact": "Answer is an exact match",
    "answer_f1": "Answer F1",
    "faithfulness": "Faithfulness",
    "attributed": "Sources found afterwards",
    "unsupported": "Sentences without support",
    "topics_covered": "Topics covered",
    "question_covered": "Question words in the answer",
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
PAIRED = {"right": "Right answer or page", "cited": "Expected page cited"}
"""What is compared with a baseline besides."""

_LAST = "Of the last retrieval, on which the action rests."
NOTES = {
    "acted_page_precision": f"The share of chunks from expected pages. {_LAST}",
    "acted_page_recall": f"The share of expected pages found. {_LAST}",
    "acted_page_reciprocal_rank": f"1 / rank of the first chunk from an expected page. {_LAST}",
    "acted_source_precision": f"The share of chunks from expected files. {_LAST}",
    "acted_source_recall": f"The share of expected files found. {_LAST}",
    "acted_source_reciprocal_rank": f"1 / rank of the first chunk from an expected file. {_LAST}",
    "acted_holds": "A chunk is from an expected page, or its text holds an accepted answer.",
    "acted_right": "CORRECT where the retrieval holds the answer, else INCORRECT. AMBIGUOUS counts half.",
    "first_right": "The same for the first retrieval. AMBIGUOUS counts half.",
    "abstention_right": "Abstained exactly where the kept evidence does not hold the answer.",
    "abstained": "The run gave no answer.",
    "evidence_answer": "A kept strip holds an accepted answer.",
    "evidence_page": "A kept strip is from an expected page.",
    "evidence_source": "A kept strip is from an expected source, web pages included.",
    "answer_holds": "The answer says an accepted answer, maybe among other things.",
    "answer_exact": "The answer has the same words in the same order, and no others.",
    "answer_f1": "Words shared with the closest accepted answer, as SQuAD counts them.",
    "faithfulness": "The share of the answer's sentences that their citations support.",
    "attributed": "The share of sentences that cited nothing and got a source afterwards.",
    "unsupported": "The share of sentences that cite nothing and that no shown text supports.",
    "topics_covered": "The share of expected topics that the answer names.",
    "question_covered": "The share of the question's words in the answer. It stands in for relevance.",
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


def title_of(measure: str) -> str:
    """A measure's title; a step's time is named by the step."""
    return f"Seconds: {STEP_SECONDS[measure]}" if measure in STEP_SECONDS else (TITLES | PAIRED).get(measure, measure)


def difference_sentence(found: Difference, *, rough: bool = True) -> str:
    """How two results differ in a measure; with `rough`, that its interval is rough where it is."""
    title, (first, second) = title_of(found.measure), found.names
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


def tally_sentence(found: Tally, names: tuple[str, str]) -> str:
    """How people voted between two, and how often the second is preferred."""
    said = f"Of {count(found.votes, 'vote')}, {found.first:,} for {names[0]}, {found.second:,} for {names[1]}, "
    said += f"{found.both:,} for both, {found.neither:,} for neither."
    preferred = found.preferred
    if preferred.value is None or preferred.low is None or preferred.high is None:
        return f"{said} None decides between the two."
    share = f"{preferred.value:.0%} of the {preferred.of:,} that decide"
    return (
        f"{said} {names[1]} is preferred in {share} ({LEVEL} % interval {preferred.low:.0%} to {preferred.high:.0%})."
    )


def parts_sentence(evaluation: Evaluation) -> str:
    """What searched, graded and wrote, and which of the settings can't be read here."""
    parts, unread = evaluation.parts, stored_sentence(evaluation.stored)
    if parts is None:
        return unread
    grader = name_in_sentence(parts.grader) if parts.grader else "nothing"
    web = "not searched" if parts.webs is None else ", then ".join(parts.webs) or "off"
    said = f"{count(parts.documents, 'document')}, retrieved with {parts.embedder}."
    return f"{said} Graded by {grader}; written by {name_in_sentence(parts.writer)}; web: {web}. {unread}".rstrip()
