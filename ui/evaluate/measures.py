"""Which measures the Evaluate page shows, in which order and in which words; which rows a filter lets through. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from crag.analysis.metrics.metrics import ResultRow
from crag.analysis.metrics.results import MEASURES, STEP_SECONDS
from crag.export.html import words


@dataclass(frozen=True, slots=True)
class Filter:
    name: str
    lets: Callable[[ResultRow], bool]


GROUPS: Mapping[str, tuple[str, ...]] = {
    "Retrieval": (
        *("acted_page_precision", "acted_page_recall", "acted_page_reciprocal_rank"),
        *("acted_source_precision", "acted_source_recall", "acted_source_reciprocal_rank", "acted_holds"),
    ),
    "Action": ("acted_right", "abstention_right", "abstained"),
    "Evidence and answer": (
        *("evidence_answer", "evidence_page", "evidence_source", "answer_holds", "answer_exact", "answer_f1"),
        *("faithfulness", "attributed", "unsupported", "topics_covered", "question_covered", "evidence_words"),
    ),
    "Correction": ("rewrite_helped", "rewrites", "searches"),
    "Time and calls": (
        *("seconds", "remembered", "calls", "failed_calls", "failed_grades", "input_tokens", "output_tokens"),
    ),
}
"""What a result is read by, the important things first. All of it is per question, on average."""

REST: tuple[str, ...] = tuple(key for key in MEASURES if key not in {key for group in GROUPS.values() for key in group})
"""The measures that are in no group: of the first retrieval, mostly."""

SHARES: tuple[str, ...] = (
    *("acted_page_recall", "acted_page_reciprocal_rank", "acted_source_recall", "acted_holds", "acted_right"),
    *("abstention_right", "evidence_answer", "answer_holds", "answer_f1", "faithfulness", "topics_covered"),
    "question_covered",
)
"""Shares of 0..1 of which more is better."""

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
