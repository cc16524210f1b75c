"""The sentence on each slide of a presentation of a run."""

from __future__ import annotations

from typing import assert_never

from crag.core.model_ids import name_in_sentence
from crag.core.trace import Trace
from crag.core.types import Action
from crag.messages.answers import handed_sentence, origin_text
from crag.messages.slides import Slide, sift_strips, tally, used_pages
from crag.messages.wording import decision_sentence, failure_sentence, scope_text, web_origin, words_text
from crag.text.formats import count

_MOST = 90
"""Characters of a name in a sentence that is read from afar."""


def describe_slide(slide: Slide, trace: Trace) -> str:
    """One plain sentence for the slide's audience."""
    match slide.kind:
        case "question":
            return _question(trace)
        case "rephrased":
            what = "store" if trace.elsewhere else "library"
            return f"The question is reworded and the {what} is searched again."
        case "found":
            return _describe_found(trace, slide.place)
        case "graded":
            return _describe_grades(trace, slide.place)
        case "action":
            decision = trace.rounds[slide.place].decision
            return decision_sentence(decision) if decision else ""
        case "kept":
            return _describe_kept(trace)
        case "web":
            return _web(trace, slide.place)
        case "answer":
            return _answer(trace)
        case "source":
            return _source(trace, slide.place)
        case "checked":
            return _describe_checks(trace)
        case "handed":
            return handed_sentence(trace)
        case "ended":
            return failure_sentence(trace.failure, name_in_sentence) if trace.failure else "The run was stopped."
        case _:
            assert_never(slide.kind)


def _question(trace: Trace) -> str:
    to = " to another store" if trace.elsewhere else " to the documents"
    asked = f", asked of {scope_text(trace.scope)}" if trace.scope else to
    via = f", {said}" if (said := origin_text(trace.via, trace.client)) else ""
    if trace.standalone:
        return f"A follow-up question{asked}{via}."
    return f"A question{asked}{via}."


def _describe_found(trace: Trace, place: int) -> str:
    chunks = trace.rounds[place].chunks
    if not chunks:
        return "The search of the library finds nothing."
    documents = count(len({found.chunk.document_id for found in chunks}), "document")
    closest = f"{len(chunks)} closest passages" if len(chunks) > 1 else "closest passage"
    return f"The search of the library finds the {closest}, from {documents}."


def _describe_grades(trace: Trace, place: int) -> str:
    here = trace.rounds[place]
    if here.joint is not None and not here.grades:
        return f"The {count(len(here.chunks), 'passage')} are graded together: do they answer the question?"
    counts, failed = tally(trace, here)
    words = {Action.CORRECT: ("does", "do"), Action.AMBIGUOUS: ("may", "may"), Action.INCORRECT: ("does not", "do not")}
    parts = [f"{number} {words[action][number > 1]}" for action, number in counts.items() if number]
    parts += [f"{failed} could not be graded"] if failed else []
    return f"Each passage is graded: does it answer the question? {', '.join(parts)}."


def _describe_kept(trace: Trace) -> str:
    strips = sift_strips(trace)
    kept = [strip for strip in strips if strip.kept]
    if not kept:
        return f"The passages are cut into {count(len(strips), 'strip')}. None is kept."
    return f"Only what helps is kept: {len(kept)} of {count(len(strips), 'strip')}, {words_text(kept)}."


def _web(trace: Trace, place: int) -> str:
    search, used = trace.searches[place], len(used_pages(trace, place))
    if search.found_at:
        asked = "The results of an earlier search for this exact query are used again"
    elif search.provider == "folder":
        asked = "The saved pages are searched for this exact query"
    else:
        asked = "The web is searched for this exact query"
    came = f"{count(len(search.pages), 'page')} found, {used or 'none'} used" if search.pages else "nothing found"
    return f"{asked}: {came}."


def _answer(trace: Trace) -> str:
    answer = trace.answer
    assert answer is not None
    if answer.abstained:
        return "Nothing found is good enough to answer from, so there is no answer."
    origins = [citation.origin for citation in answer.citations]
    documents, web = origins.count("internal"), origins.count("external")
    rests = [count(documents, "source") + " in the documents"] if documents else []
    rests += [count(web, "source") + " on the web"] if web else []
    how = "quoted word for word" if answer.quoted else f"written by {name_in_sentence(answer.by)}"
    return f"The answer is {how} and rests on {' and '.join(rests) or 'no source'}."


def _source(trace: Trace, number: int) -> str:
    citation = next(each for each in trace.answer.citations if each.number == number) if trace.answer else None
    if citation is None:
        return ""
    if citation.origin == "external":
        return f"Source {number} is a web page, quoted here."
    name = citation.source if len(citation.source) <= _MOST else f"{citation.source[: _MOST - 1]}…"
    where = f"{citation.where} of " if citation.where else ""
    kept = f", {web_origin(citation.from_web)}" if citation.from_web else ""
    return f"Source {number} is {where}{name}{kept}."


def _describe_checks(trace: Trace) -> str:
    known = [check.supported for check in trace.checks if check.supported is not None]
    if not known:
        return "Each sentence is checked against its citations. None could be checked."
    said = f"{sum(known)} of {len(known)} {'is' if len(known) == 1 else 'are'} supported"
    left = len(trace.checks) - len(known)
    return f"Each sentence is checked against its citations: {said}{f', {left} could not be checked' if left else ''}."


def outcomes(trace: Trace) -> dict[Action, str]:
    """What each action leads to under a run's settings, in few words."""
    settings = trace.run_settings
    said = {}
    for action in Action:
        documents, web = action in settings.internal_on, action in settings.web_on
        used = ["documents"] * documents + ["web"] * web
        said[action] = " and ".join(used) if len(used) > 1 else f"{used[0]} alone" if used else "no answer"
    return said
