"""What a decision and a run come down to, in one plain sentence each: for screen, shell and export alike."""

from __future__ import annotations

from crag.core.settings import Settings
from crag.core.trace import Trace
from crag.core.types import Action, Aggregation, Decision

__all__ = ["decision_sentence", "outcome_sentence"]

_WHAT = {
    Aggregation.ANY: "the best chunk scored",
    Aggregation.WORST: "the worst chunk scored",
    Aggregation.MEAN: "the chunks scored on average",
    Aggregation.JOINT: "all chunks together scored",
}


def decision_sentence(decision: Decision) -> str:
    """Why this action: the score against the thresholds, and what is unknown."""
    if decision.score is None:
        reason = "no chunk could be graded" if decision.unknown else "nothing was retrieved"
        return f"{decision.action}: {reason}."
    if decision.score >= decision.upper:
        where = f"at or above {decision.upper:.2f}"
    elif decision.score < decision.lower:
        where = f"below {decision.lower:.2f}"
    else:
        where = f"between {decision.lower:.2f} and {decision.upper:.2f}"
    sentence = f"{decision.action}: {_WHAT[decision.aggregation]} {decision.score:.2f}, {where}"
    if decision.unknown:
        sentence += f"; {_count(decision.unknown, 'grade')} failed and might have changed it"
    return sentence + "."


def outcome_sentence(trace: Trace) -> str:
    """The decision, then what the answer rests on. For a run under way, what is known so far."""
    parts = [decision_sentence(trace.decision)] if trace.decision else []
    strips = [strip for group in trace.strips.values() for strip in group]
    internal = [strip for strip in strips if strip.origin == "internal"]
    kept = trace.kept("internal")
    pages = {strip.source_id for strip in trace.kept("external")}
    used = []
    if internal:
        whole = len(internal) == len({strip.source_id for strip in internal}) and len(kept) == len(internal)
        used.append(
            f"{_count(len(kept), 'chunk')} from your documents"
            if whole
            else f"{len(kept)} of {_count(len(internal), 'strip')} from your documents"
        )
    if pages:
        used.append(_count(len(pages), "web page"))
    if trace.answer and trace.answer.abstained:
        parts.append("Nothing found is good enough to answer from.")
    elif used:
        parts.append(f"Using {' and '.join(used)}.")
    if trace.action and trace.finished and not trace.searches and _wanted_web(trace.action, trace):
        failed = any(failure.step in ("rewrite", "search") for failure in trace.failures)
        parts.append("The web search failed." if failed else "The web would be searched now, but web search is off.")
    if not trace.action and trace.strips:
        parts.insert(0, "Plain RAG: nothing was graded.")
    return " ".join(parts)


def _wanted_web(action: Action, trace: Trace) -> bool:
    return not trace.cancelled and not trace.failure and action in Settings.checked(trace.settings).web_on


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" + ("" if number == 1 else "s")
