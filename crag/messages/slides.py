"""The sentence on each slide of a presentation of a run."""

from __future__ import annotations

from collections.abc import Sequence

from crag.core.trace import Round, Trace
from crag.core.types import Action, Strip
from crag.evaluation.trigger import verdict
from crag.messages.answers import origin_text
from crag.messages.wording import FITS, scope_text, words_text
from crag.text.formats import count


def question_sentence(trace: Trace) -> str:
    """Of what the question was asked, and by whom."""
    to = " to another store" if trace.elsewhere else " to the documents"
    asked = f", asked of {scope_text(trace.scope)}" if trace.scope else to
    via = f", {said}" if (said := origin_text(trace.via, trace.client)) else ""
    return f"A {'follow-up ' if trace.standalone else ''}question{asked}{via}."


def chunks_sentence(trace: Trace) -> str:
    """What the last retrieval brought, or how that was graded."""
    here = trace.rounds[-1]
    search = "A search with a rewritten query" if len(trace.rounds) > 1 else "The search of the library"
    if not here.chunks:
        return f"{search} finds nothing."
    documents = count(len({found.chunk.document_id for found in here.chunks}), "document")
    closest = f"{len(here.chunks)} closest passages" if len(here.chunks) > 1 else "closest passage"
    said = f"{search} finds the {closest}, from {documents}"
    return f"{said}. {_grades(trace, here)}" if here.made else f"{said}."


def _grades(trace: Trace, here: Round) -> str:
    if here.joint is not None and not here.grades:
        return "They are graded together: do they answer the question?"
    limits = here.decision or trace.run_settings
    scores = [grade.score for grade in here.grades.values()]
    known = [verdict(score, upper=limits.upper, lower=limits.lower) for score in scores if score is not None]
    counts = {action: known.count(action) for action in Action}
    parts = [f"{number} {FITS[action]}" for action, number in counts.items() if number]
    parts += [f"{failed} could not be graded"] if (failed := scores.count(None)) else []
    return f"Graded: {', '.join(parts)}."


def kept_sentence(strips: Sequence[Strip]) -> str:
    """How many strips of the documents' chunks were kept."""
    kept = [strip for strip in strips if strip.kept]
    if not kept:
        return f"The passages are cut into {count(len(strips), 'strip')}. None is kept."
    return f"Only what helps is kept: {len(kept)} of {count(len(strips), 'strip')}, {words_text(kept)}."


def came_sentence(trace: Trace) -> str:
    """What came of the last web search."""
    search = trace.searches[-1]
    used = len({strip.source_id for strip in trace.kept("external")} & {page.id for page in search.pages})
    return f"{count(len(search.pages), 'page')} found, {used or 'none'} used." if search.pages else "Nothing found."
