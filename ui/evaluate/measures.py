"""Which measures the Evaluate page shows, in which order and in which words; which rows a filter lets through. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from crag.analysis.metrics.metrics import ResultRow
from crag.analysis.metrics.results import MEASURES, STEP_SECONDS
from ui.kit import words


@dataclass(frozen=True, slots=True)
class Measure:
    """A measure as the page names it; `note` says what its name alone does not."""

    key: str
    name: str
    note: str = ""


@dataclass(frozen=True, slots=True)
class Filter:
    name: str
    lets: Callable[[ResultRow], bool]


_SECOND = "Of the last retrieval, which is the one acted on."
GROUPS: Mapping[str, tuple[Measure, ...]] = {
    "Retrieval": (
        Measure("acted_page_precision", "Precision by page", f"The share of chunks from expected pages. {_SECOND}"),
        Measure("acted_page_recall", "Recall@k by page", f"The share of expected pages found. {_SECOND}"),
        Measure("acted_page_reciprocal_rank", "MRR by page", f"1 / rank of the first chunk from one. {_SECOND}"),
        Measure("acted_source_precision", "Precision by source", f"The share of chunks from expected files. {_SECOND}"),
        Measure("acted_source_recall", "Recall@k by source", f"The share of expected files found. {_SECOND}"),
        Measure("acted_source_reciprocal_rank", "MRR by source", f"1 / rank of the first chunk from one. {_SECOND}"),
        Measure("acted_holds", "Holds what is sought", "An expected page, or an accepted answer in a chunk's text."),
    ),
    "Action": (
        Measure(
            "acted_right", "Action right", "CORRECT where it holds what is sought, else INCORRECT. AMBIGUOUS: half."
        ),
        Measure("abstention_right", "Answers or abstains rightly", "Abstains just where the evidence kept lacks it."),
        Measure("abstained", "Abstains", "No answer was given."),
    ),
    "Evidence and answer": (
        Measure("evidence_answer", "Evidence holds the answer", "An accepted answer stands in the strips kept."),
        Measure("evidence_page", "Evidence from an expected page", "A strip kept is from one."),
        Measure("evidence_source", "Evidence from an expected source", "A strip kept is from one, web pages too."),
        Measure("answer_holds", "Answer says it", "The answer says an accepted answer, maybe among other things."),
        Measure("answer_exact", "Answer is it exactly", "The same words in the same order, and no others."),
        Measure("answer_f1", "Answer F1", "Words shared with the closest accepted answer, as SQuAD counts."),
        Measure("faithfulness", "Faithfulness", "The share of the answer's sentences that what they cite supports."),
        Measure("attributed", "Attributed afterwards", "The share of sentences that cited nothing and got a source."),
        Measure(
            "unsupported", "Nothing shown supports", "The share of sentences that cite nothing and have no source."
        ),
        Measure("topics_covered", "Topics covered", "The share of expected topics that the answer names."),
        Measure(
            "question_covered",
            "Relevance stand-in: words taken up",
            "Relevance itself is not measured. This is the share of the question's words in the answer.",
        ),
        Measure("evidence_words", "Words of evidence", "How much text is kept for the answer."),
    ),
    "Correction": (
        Measure("rewrite_helped", "Rewriting helped", "Found after rewriting, where the first retrieval lacked it."),
        Measure("rewrites", "Rewrites", "A question, for the library and for the web."),
        Measure("searches", "Web searches", "A question."),
    ),
    "Time and calls": (
        Measure("seconds", "Seconds", "A question, with the wait for an approval. What is remembered takes none."),
        Measure("remembered", "Remembered", "Grades and searches of earlier runs, a question: they take no time."),
        Measure("calls", "Outside calls", "A question: models and web."),
        Measure("failed_calls", "Failed calls", "A question."),
        Measure("failed_grades", "Failed grades", "A question: chunks and web pages that got no grade."),
        Measure("input_tokens", "Tokens in", "A question, as providers counted them."),
        Measure("output_tokens", "Tokens out", "A question, as providers counted them."),
    ),
}
"""What a result is read by, the important things first. All of it is of one question on average."""

_SHOWN = {measure.key: measure for group in GROUPS.values() for measure in group}

REST: tuple[Measure, ...] = tuple(Measure(key, name) for key, name in MEASURES.items() if key not in _SHOWN)
"""The measures that are in no group: of the first retrieval, mostly."""

PLOTTED: tuple[str, ...] = (
    *("acted_page_recall", "acted_page_reciprocal_rank", "acted_source_recall", "acted_holds", "acted_right"),
    *("abstention_right", "evidence_answer", "answer_holds", "answer_f1", "faithfulness", "topics_covered"),
    "question_covered",
)
"""Shares of 0..1 of which more is better: what a chart can hold side by side."""

_WHOLE = ("evidence_words", "input_tokens", "output_tokens")

FILTERS: Mapping[str, Filter] = {
    "all": Filter("All", lambda row: True),
    "failed": Filter("Failed", lambda row: bool(row.problem)),
    "wrong": Filter("Wrong action", lambda row: row.acted_right == 0),
    "missed": Filter("Not retrieved", lambda row: row.acted_holds is False),
    "lost": Filter("Not in the evidence", lambda row: row.evidence_answer is False),
    "unsaid": Filter("Answer doesn't say it", lambda row: row.answer_holds is False),
    "unscored": Filter("Answer not scored", lambda row: bool(row.unscored)),
    "abstained": Filter("Abstained", lambda row: row.abstained is True),
    "misjudged": Filter("Wrongly answered or abstained", lambda row: row.abstention_right is False),
    "web": Filter("Searched the web", lambda row: row.searches > 0),
}


def label(key: str) -> str:
    """A measure's name on screen; steps that took time are named by the step."""
    if key in _SHOWN:
        return _SHOWN[key].name
    if key in STEP_SECONDS:
        return f"Seconds: {STEP_SECONDS[key]}"
    return MEASURES.get(key, key)


def as_text(key: str, value: float | None) -> str:
    """A value in the form that its measure is read in; a dash for what is not known."""
    if value is None:
        return "–"
    if key == "seconds" or key in STEP_SECONDS:
        return words.format_duration(value) if value > 0 else "0 s"
    return f"{value:,.0f}" if key in _WHOLE else f"{value:.2f}"


def signed(key: str, value: float | None) -> str:
    """A difference with its sign: + where the second is higher."""
    if value is None:
        return "–"
    size = as_text(key, abs(value))
    return size if value == 0 else f"{'+' if value > 0 else '−'}{size}"


def found(rows: Sequence[ResultRow], filter: str, wanted: str) -> list[ResultRow]:
    """The rows that a filter lets through and that hold all words typed, in question or answer."""
    lets = FILTERS[filter].lets
    sought = wanted.casefold().split()
    return [row for row in rows if lets(row) and _holds(row, sought)]


def _holds(row: ResultRow, sought: Sequence[str]) -> bool:
    text = f"{row.question_id} {row.question} {row.answer}".casefold() if sought else ""
    return all(word in text for word in sought)
