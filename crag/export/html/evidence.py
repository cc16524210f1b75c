"""The evidence of a run, drawn from a trace: chunks with their scores and strips, and web pages."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import get_args

from crag.core.model_ids import Maker, about, maker, name_in_sentence
from crag.core.trace import Approval, Round, Search, Trace
from crag.core.types import Action, Aggregation, Grade, InjectionSpan, KeepReason, RetrievedChunk, Strip, WebPage
from crag.evaluation.trigger import verdict
from crag.export.html import elements as h
from crag.export.html import marks, path, words
from crag.export.html.elements import Html
from crag.export.html.passage import Passage, View, draw_passage, draw_surroundings, recognised
from crag.export.html.safe_text import excerpt, site
from crag.messages.answers import lacking_sentence
from crag.messages.wording import (
    FITS,
    embedded_sentence,
    injection_reason,
    kept_reason,
    kept_word,
    searched_text,
    set_sentence,
    unread_sentence,
    words_text,
)
from crag.providers.registry import title
from crag.text.formats import format_score

__all__ = ["View", "chunks", "web"]

_FOLDED = 2
"""Fewer chunks that are not relevant stand among the others."""


def chunks(trace: Trace, view: View) -> Html:
    """The chunks that are acted on, in the order of the library, with whatever is known of each.

    Those of several retrievals stand under the retrieval that brought them.
    """
    here = trace.round
    if here is None:
        return Html()
    groups = [(number, list(found)) for number, found in groupby(here.chunks, lambda found: found.round)]
    strips = [strip for found in here.chunks for strip in trace.strips.get(found.chunk.id, ())]
    heading = h.h3[
        f"From {searched_text(trace)} ",
        h.span("small")[words.count(len(here.chunks), "chunk")],
        _words(strips, view),
    ]
    for said in filter(None, (lacking_sentence(trace), embedded_sentence(trace))):
        heading = h.fragment(heading, h.p("small")[said])
    if not groups:
        return h.div("cx")[heading, h.p["Nothing was found."]]
    cards = [
        (len(trace.rounds) > 1 and _group(trace, number, len(found)), _zones(number, found, here, trace, view))
        for number, found in groups
    ]
    return h.div("cx")[
        heading,
        h.div("cards")[_together(here, trace, view), cards],
        _legend(trace.all_strips, view) if _graded(trace) else "",
    ]


def _group(trace: Trace, number: int, count: int) -> Html:
    """The line above the chunks of one of several searches."""
    made = trace.rounds[number]
    asked = h.span("query")[made.query] if number else h.span("quiet")["for the question"]
    return h.div("found")[
        h.b[f"Search {number + 1}"], asked, h.span("small")[f"{count} of its {words.count(len(made.chunks), 'chunk')}"]
    ]


def _zones(number: int, found: Sequence[RetrievedChunk], here: Round, trace: Trace, view: View) -> Html:
    """The chunks of a search; once it is decided, those that are not relevant are folded, but for the best of none."""
    scores = {each.chunk.id: grade.score for each in found if (grade := here.grades.get(each.chunk.id))}
    far = {id for id, score in scores.items() if score is not None and score < view.lower}
    if len(far) == len(found):
        far.discard(max(far, key=lambda id: scores[id] or 0.0))
    if here.decision is None or len(far) < _FOLDED:
        far = set()
    near = [_chunk(each, here, trace, view) for each in found if each.chunk.id not in far]
    rest = [_chunk(each, here, trace, view) for each in found if each.chunk.id in far]
    if not rest:
        return h.fragment(near)
    more = f"{words.count(len(rest), 'more', '')}, {FITS[Action.INCORRECT]}"
    return h.fragment(near, h.details("rest", data_keep=f"rest-{number}")[h.summary[more], rest])


def _legend(strips: Sequence[Strip], view: View) -> Html:
    """How bars and strips are to be read, with the reasons that strips here are kept for besides their score."""
    here = {view.why(strip) for strip in strips}
    reasons: list[KeepReason] = [why for why in get_args(KeepReason) if why in here and kept_word(why)]
    return h.fragment(
        h.p("small")[
            f"Bars: relevance score from 0 to 1. Lines: lower {view.lower:.2f}, upper {view.upper:.2f}. Open a chunk "
            "for its strips: highlighted ones were kept, struck ones dropped",
            ", tagged ones kept for more than their score:" if reasons else ".",
        ],
        [h.p("small")[h.span("tag")[kept_word(why)], f" {kept_reason(why)}."] for why in reasons],
    )


def _words(strips: Iterable[Strip], view: View) -> Html:
    """How many words are kept, and how many there is room for, where texts were cut into strips."""
    kept = [strip for strip in strips if view.keeps(strip)]
    if not kept or all(view.why(strip) == "whole" for strip in kept):
        return Html()
    return h.span("small")[f"{words_text(kept, view.room)} kept"]


def _graded(trace: Trace) -> bool:
    return bool(trace.settings.get("evaluator") != "none")


def _jointly(here: Round, trace: Trace) -> bool:
    return here.joint is not None or trace.settings.get("evaluator") == "joint"


def _together(here: Round, trace: Trace, view: View) -> Html:
    """The one grade over all chunks, where they are graded so, or where their own grades are weighed as a set."""
    as_set = here.together if here.decision and here.decision.aggregation is Aggregation.SET else None
    if as_set is not None:
        name, bar, why = "As a set", score(as_set.grade, view, waiting=False), h.p("small")[set_sentence(as_set)]
    elif _jointly(here, trace):
        name = f"All {words.count(len(here.chunks), 'chunk')} together"
        bar, why = score(here.joint, view, waiting=not trace.finished), _facts(here.joint, (), view)
    else:
        return Html()
    return h.div("joint")[
        h.div("row")[
            h.span,
            h.span("where")[h.span("page")[name], _local(here.joint)],
            bar,
        ],
        h.div("why")[why],
    ]


def _chunk(found: RetrievedChunk, here: Round, trace: Trace, view: View) -> Html:
    chunk = found.chunk
    grade = here.grades.get(chunk.id)
    strips = trace.strips.get(chunk.id, ())
    decided = view.deciding_id == chunk.id and (h.span("tag deciding")["decided"], " ")
    chosen = marks.rating_buttons(found, view.thumbs) if view.thumbs is not None and not chunk.elsewhere else ""
    own = _graded(trace) and not _jointly(here, trace)
    place, stale = words.place(chunk), " ".join(view.stale.get(chunk.document_id, ()))
    several = len({each.chunk.source for each in here.chunks}) > 1
    where = [
        decided,
        marks.tag(chunk),
        place and h.span("page")[place],
        (several or not place) and h.span("name")[chunk.source],
        _local(grade),
    ]
    kept = max((each for each in strips if view.keeps(each)), key=lambda each: each.score or 0.0, default=None)
    said = h.span("said")[excerpt(kept.text if kept else chunk.text, 220)]
    notes = [
        (mark := recognised(chunk.recognised)) and h.span("notes")[mark],
        _addressing(found.injections),
        _noted(chunk.id, view),
        stale and h.span("tag old", title=stale)["out of date"],
    ]
    body = [
        draw_passage(Passage(text=chunk.text, strips=strips, spoken=found.injections), view),
        stale and h.p("small")[stale],
        _facts(grade, strips, view),
        h.div("facts")[
            h.span[f"similarity {found.similarity:.2f} (for ranking only)"],
            h.span[f"indexed with: {excerpt(chunk.context, 120)}"] if chunk.context else "",
            h.span["from another store"]
            if chunk.elsewhere
            else view.opens and h.button("more", data_pick="chunk:" + chunk.id)["Show it on the page"],
            own and view.explains and h.button("more", data_pick="why:" + chunk.id)["Why this score"],
            h.span[marks.origin(chunk)] if chunk.from_web else "",
            marks.verifier(chunk.document_id, view.saved),
        ],
    ]
    scored = score(grade, view, waiting=not trace.finished) if own else Html()
    card = _card(chunk.id, found.rank, [said, h.span("where")[where], *notes], scored, body)
    return h.div("card thumbed")[card, chosen] if chosen else card


def _card(id: str, rank: int, head: object, scored: Html, body: object) -> Html:
    """A chunk or page, folded to its `head` and its score."""
    line = h.span("rank num")[rank], h.span[head], scored
    return h.details(data_keep=id)[h.summary(None if scored else "wide")[line], h.div("body")[body]]


def _addressing(spans: Sequence[InjectionSpan]) -> Html:
    """The mark of a text that speaks to a language model, with what the run did with it on hover."""
    reasons = " ".join(dict.fromkeys(injection_reason(each) for each in spans))
    return h.span("notes")[h.span("tag", title=reasons)["speaks to a model"]] if spans else Html()


def _noted(id: str, view: View) -> Html:
    """What a comparison says of a chunk or page."""
    tags = [h.span("tag only")[note] for note in view.notes.get(id, ())]
    return h.span("notes")[tags] if tags else Html()


def _local(grade: Grade | None) -> Html:
    """The mark of a grade that the local evaluator made in another's place; the reason on hover."""
    if grade is None or not grade.instead_of:
        return Html()
    return h.span("tag", title=path.fallback_reason(grade))["graded locally"]


def score(grade: Grade | None, view: View, *, waiting: bool) -> Html:
    """The score with its verdict in words, over a bar against both thresholds."""
    lines = h.fragment(h.b("low", style=f"left:{view.lower:.2%}"), h.b(style=f"left:{view.upper:.2%}"))
    if grade is None or grade.score is None:
        note = "? grade failed" if grade else "waiting…" if waiting else "not graded"
        return h.span[h.span("verdict none")[note], h.span("bar")[lines]]
    said = verdict(grade.score, upper=view.upper, lower=view.lower)
    name, shown = said.lower(), format_score(grade.score, view.upper, view.lower)
    hover = f"score {shown}, lower threshold {view.lower:.2f}, upper {view.upper:.2f}"
    return h.span[
        h.span(f"verdict {name}", title=said)[h.span("num")[shown], f"{words.ICONS[said]} {FITS[said]}"],
        h.span("bar", title=hover)[h.i(name, style=f"width:{grade.score:.1%}"), lines],
    ]


def _facts(grade: Grade | None, strips: Sequence[Strip], view: View) -> Html:
    lines = _grade_notes(grade) if grade is not None else []
    if strips:
        kept = [strip for strip in strips if view.keeps(strip)]
        chosen = ", chosen by the language model" if any(strip.selected is not None for strip in strips) else ""
        number = f"{len(kept)} of {words.count(len(strips), 'strip')} kept{chosen}"
        taken = "Used whole" if all(view.why(strip) == "whole" for strip in strips) else number
        lines.append(f"{taken}, {words_text(kept)}." if kept else f"{taken}.")
    return h.fragment(h.p("small")[line] for line in lines)


def _grade_notes(grade: Grade) -> list[str]:
    """What the evaluator said of a text, and who that was."""
    if grade.score is None:
        why = about(grade.error, grade.who) or "no reason is known"
        failed = words.sentence(f"The grade failed: {why}")
        return [f"{failed} It counts as unknown."]
    how = "remembered" if grade.cached else words.format_duration(grade.seconds)
    lines = [f"{words.sentence(grade.reason)} Graded by {maker(grade.evaluator)} ({how}).".strip()]
    if Maker.of(grade.evaluator).role == "reranker":  # that it was reranked is its reason
        lines = [words.sentence(f"{grade.reason} by {name_in_sentence(grade.evaluator)} ({how})")]
    if grade.instead_of:
        lines.append(f"Graded locally: {path.fallback_reason(grade)}")
    return lines


def web(trace: Trace, view: View) -> Html:
    """Every web search with the query as it was sent, and its pages with score and kept strips; queries kept back."""
    answered = list(trace.approvals if not trace.awaiting else trace.approvals[:-1])
    blocks = []
    for place, search in enumerate(trace.searches):
        asked = next((each for each in answered if each.approved and each.provider == search.provider), None)
        blocks.append(_search(search, place, asked, trace, view))
    kept_back = [each for each in answered if not each.approved]
    blocks = [*(_kept_back(each) for each in kept_back), *blocks]
    return h.div("cx")[blocks] if blocks else Html()


def _kept_back(asked: Approval) -> Html:
    return h.fragment(
        h.h3["Not searched ", h.span("small")[f"{title(asked.provider)}, for"], h.span("query")[asked.query]],
        h.p("small")[marks.outcome_text(asked)],
    )


def _search(search: Search, place: int, asked: Approval | None, trace: Trace, view: View) -> Html:
    sent = search.pages[0].query if search.pages else search.query
    cards = [_page(page, trace, view) for page in search.pages]
    return h.fragment(
        h.h3[
            "From the web ",
            marks.WEB,
            h.span("small")[f"{title(search.provider)}, {words.count(len(search.pages), 'result')} for"],
            h.span("query")[sent],
            _words([strip for page in search.pages for strip in trace.strips.get(page.id, ())], view),
        ],
        h.p("small")[_how(search, asked, trace)],
        h.div("cards")[cards] if cards else h.p["The search found nothing."],
        _problems(search, place),
    )


def sent_sentence(search: Search) -> str:
    """Whether anything left this machine for a search."""
    if search.found_at:
        return f"Remembered, found {words.moment(search.found_at)}; nothing was sent this time."
    return (
        "Searched on this machine; nothing was sent."
        if search.provider == "folder"
        else f"Sent to {title(search.provider)}."
    )


def _how(search: Search, asked: Approval | None, trace: Trace) -> str:
    """Whether anything left this machine for this search, and who made the query."""
    yes = marks.outcome_text(asked) if asked and not search.found_at else ""
    return " ".join(filter(None, (sent_sentence(search), yes, _made(trace))))


def _made(trace: Trace) -> str:
    """Who made the query of the web search."""
    by = next((rewrite.by for rewrite in reversed(trace.rewrites) if rewrite.purpose == "web"), "")
    known = {
        "": "",
        "keywords": "The query is keywords of the question.",
        "none": "The query is the question itself.",
        "given": "The query is the one that was given.",
    }
    return known.get(by, f"The query was written by {maker(by)}.")


def _problems(search: Search, place: int) -> Html:
    """What could not be read, folded."""
    if not search.problems:
        return Html()
    listed = [h.li[unread_sentence(problem)] for problem in search.problems]
    return h.details("fold", data_keep=f"problems-{place}")[
        h.summary[f"{words.count(len(search.problems), 'problem')} with these results"], h.ul[listed]
    ]


def _page(page: WebPage, trace: Trace, view: View) -> Html:
    grade, strips = trace.web_grades.get(page.id), trace.strips.get(page.id, ())
    read = "read in full" if page.fetched else f"{title(page.provider)}'s summary only"
    about = [site(page.url), page.published, read if page.provider != "folder" else "a saved page"]
    shown = draw_surroundings(Passage(text=page.text, strips=strips, spoken=page.injections), view)
    where = marks.WEB, h.span("name")[page.title or page.url]
    peek = h.span("peek")[" · ".join(each for each in about if each)]
    head = h.span("where")[where], _addressing(page.injections), _noted(page.id, view), peek
    link = marks.opener(page.url) or h.span("quiet")[page.url]
    facts = h.div("facts")[link, marks.keeper(page.id, view.saved)]
    body = shown, _facts(grade, strips, view), facts
    return _card(page.id, page.rank, head, score(grade, view, waiting=not trace.finished), body)
