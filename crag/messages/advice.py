"""What is said beside an answer that there is none: facts of its guidance as words, for screen, shell and export."""

from __future__ import annotations

from typing import Literal

from crag.core.guidance import About, Suggestion
from crag.core.trace import Trace
from crag.messages.wording import count, format_score

__all__ = ["HEADS", "about_text", "against_text", "headings_text", "suggestion_text", "web_text"]

HEADS: dict[Literal["suggestions", "near", "about", "web"], str] = {
    "suggestions": "Your documents do answer",
    "near": "What came nearest",
    "about": "What was searched",
    "web": "The web",
}
"""What stands above each part."""


def about_text(about: About) -> str:
    """How many documents were searched, and some of their titles."""
    if not about.titles:
        return f"{count(about.documents, 'document')}."
    among = "" if len(about.titles) == about.documents else ", among them"
    return f"{count(about.documents, 'document')}{among}: {'; '.join(about.titles)}."


def headings_text(about: About) -> str:
    """The commonest headings; empty where none tells anything."""
    return f"Headings in them: {' · '.join(about.headings)}" if about.headings else ""


def against_text(score: float | None, upper: float, lower: float) -> str:
    """A passage's score against the thresholds."""
    if score is None:
        return "not graded"
    scored = f"scored {format_score(score, upper, lower)}"
    if score < lower:
        return f"{scored}, below the lower threshold of {lower:.2f}"
    if score < upper:
        return f"{scored}, below the upper threshold of {upper:.2f}"
    return f"{scored}, at or above the upper threshold of {upper:.2f}"


def suggestion_text(suggestion: Suggestion) -> str:
    """Why a question is suggested: where its answer stands, and how sure that is."""
    what = {"sentence": "a sentence", "row": "a row of a table", "section": "the section of that heading"}
    place = f"on {suggestion.where}" if suggestion.where.startswith("page ") else f"in {suggestion.where}"
    return f"{what[suggestion.made_of]} {place} of {suggestion.source} answers it, scored {suggestion.score:.2f}"


def web_text(trace: Trace, *, on: bool) -> str:
    """What became of the web, or how it comes in; the query stands beside it. `on`: whether a provider is on."""
    if trace.searches:
        return "It was searched, and nothing found there answers. The query was:"
    if not on:
        return "Web search is off. Choose a provider in Settings, or with --web. The query would be:"
    if any(approval.approved is False for approval in trace.approvals):
        return "It was not searched, because you did not approve the query:"
    if any(failure.step == "search" for failure in trace.failures):
        return "The search failed. It can be tried again, with the query:"
    return "It was not searched. The query would be:"
