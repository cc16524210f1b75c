"""A run as slides for a presentation: one step each, in the order of the run.

A slide names its step and the step's place in the trace, which holds what is drawn.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from crag.core.trace import Round, Trace
from crag.core.types import Action, Citation, Strip, WebPage
from crag.evaluation.trigger import verdict

Kind = Literal[
    "question",
    "rephrased",
    "found",
    "graded",
    "action",
    "kept",
    "web",
    "answer",
    "source",
    "checked",
    "handed",
    "ended",
]
"""question: what was asked. rephrased: the query of another search of the library. found: what that brings. graded:
each chunk's score. action: what the scores lead to. kept: the strips. web: a search of it. answer: what was written.
source: what one citation rests on. checked: each sentence against its citations. handed: the evidence that was handed
over for another's answer. ended: a stop, or a failure."""

_MOST_SOURCES = 3
"""At most this many cited places are shown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Slide:
    """One step to be shown. `place`: which retrieval or search it is of, from 0, or the number of a citation."""

    kind: Kind
    place: int = 0


def build_slides(trace: Trace) -> tuple[Slide, ...]:
    """All of a run, whole or broken off; the question alone of one that has done nothing yet.

    What another search of the library finds is shown once, with its scores.
    """
    found = [Slide(kind="question")]
    for place, each in enumerate(trace.rounds):
        if place:
            found.append(Slide(kind="rephrased", place=place))
        if not place or not each.made:
            found.append(Slide(kind="found", place=place))
        if each.made:
            found.append(Slide(kind="graded", place=place))
        if each.decision:
            found.append(Slide(kind="action", place=place))
    if sift_strips(trace):
        found.append(Slide(kind="kept"))
    found += [Slide(kind="web", place=place) for place in range(len(trace.searches))]
    if trace.answer is not None:
        found.append(Slide(kind="answer"))
        found += [Slide(kind="source", place=citation.number) for citation in shown_sources(trace)]
    if trace.checks:
        found.append(Slide(kind="checked"))
    if trace.handed_over:
        found.append(Slide(kind="handed"))
    if trace.failure or trace.cancelled:
        found.append(Slide(kind="ended"))
    return tuple(found)


def sift_strips(trace: Trace) -> tuple[Strip, ...]:
    """The strips of the library's chunks, kept and dropped; none where texts were taken as they are."""
    strips = [strip for strip in trace.all_strips if strip.origin == "internal"]
    return () if all(strip.why == "whole" for strip in strips) else tuple(strips)


def shown_sources(trace: Trace) -> tuple[Citation, ...]:
    """The first citations, one of each place: two on the same page make one picture."""
    places: dict[tuple[str, object], Citation] = {}
    for citation in trace.answer.citations if trace.answer else ():
        places.setdefault((citation.source, citation.page or citation.source_id), citation)
    return tuple(places.values())[:_MOST_SOURCES]


def thresholds(trace: Trace, here: Round) -> tuple[float, float]:
    """The upper and the lower threshold that the chunks of a retrieval are held against."""
    limits = here.decision or trace.run_settings
    return limits.upper, limits.lower


def tally(trace: Trace, here: Round) -> tuple[dict[Action, int], int]:
    """How many chunks of a retrieval have which verdict by themselves, and how many could not be graded."""
    upper, lower = thresholds(trace, here)
    counts, failed = dict.fromkeys(Action, 0), 0
    for grade in here.grades.values():
        if grade.score is None:
            failed += 1
        else:
            counts[verdict(grade.score, upper=upper, lower=lower)] += 1
    return counts, failed


def used_pages(trace: Trace, place: int) -> tuple[WebPage, ...]:
    """The pages of a web search of which something was kept."""
    kept = {strip.source_id for strip in trace.kept("external")}
    return tuple(page for page in trace.searches[place].pages if page.id in kept)
