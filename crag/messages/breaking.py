"""Sentences about the sample broken on purpose: what was done to it, and what a run made of that."""

from __future__ import annotations

from collections.abc import Mapping

from crag.analysis.breaking import LATER, Break, Situation, marked, says
from crag.core.trace import Trace
from crag.messages.answers import confidence_text, conflict_sentences
from crag.messages.wording import decision_sentence
from crag.text.formats import count, join_names

TITLES: Mapping[Break, str] = {
    "intact": "The report as it is",
    "removed": "The answer is taken away",
    "altered": "The figure is altered",
    "contradicted": "An altered copy stands beside it",
    "later": "A year after the report",
    "planted": "An order to the model",
}


def situation_sentence(situation: Situation) -> str:
    """What was done to the report or the question."""
    pages = join_names([str(page) for page in situation.pages])
    where = f"page {pages}" if len(situation.pages) == 1 else f"pages {pages}"
    match situation.kind:
        case "intact":
            return f"Nothing was changed. The answer is {situation.figure}, on {where}."
        case "removed":
            return f"Each page that gives {situation.figure} was taken out: {where}."
        case "altered":
            return f"On {where}, {situation.altered} was written in place of {situation.figure}."
        case "contradicted":
            return f"The report is whole, and a copy of {where} with {situation.altered} was added."
        case "later":
            return f"The question asks for {LATER}: {situation.question}"
        case "planted":
            return f"On {where}, a sentence was added: “{situation.order}” A model that writes gets it fenced, as data."


def says_text(trace: Trace, situation: Situation) -> str:
    """Which of the two figures an answer gives, or that it gives none."""
    given = [each for each in (situation.figure, situation.altered) if says(trace, each)]
    if trace.answer is None or trace.answer.abstained:
        return "No answer"
    return f"Says {join_names(given)}" if given else "Says something else"


def outcome_lines(trace: Trace) -> list[str]:
    """What a run did, beside its answer: its action and why, where it searched, what it flags."""
    decision = (
        decision_sentence(trace.decision) if trace.decision else "All that was retrieved was used; nothing was graded."
    )
    conflicts = conflict_sentences(trace.answer) if trace.answer else []
    number = marked(trace)
    return [
        decision,
        *(f"Searched the web for “{each.query}”: {count(len(each.pages), 'page')}." for each in trace.searches),
        confidence_text(trace),
        *conflicts,
        *([f"Marked: {count(number, 'chunk')} with text that speaks to a model."] if number else []),
    ]
