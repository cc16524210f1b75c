"""Sentences about a page that an answer misses, and about the sample broken on purpose."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from crag.analysis.breaking import LATER, Break, Situation, marked, says
from crag.analysis.misses import REACH, Fate, Miss, Preferred, Ranks
from crag.core.fields import meta
from crag.core.settings import Settings
from crag.core.trace import Trace
from crag.core.types import Strip
from crag.messages.answers import confidence_text, conflict_sentences
from crag.messages.wording import decision_sentence
from crag.text.formats import count, format_score, join_names

_SHOWN = 8
"""Words that are named at most."""


_PREFERRED: dict[Preferred, str] = {
    "": "",
    "looked up": ", a table's row with the figure that is asked for",
    "worked out": ", from which the result is worked out",
    "words": ", with the words that answer",
}


def miss_sentence(miss: Miss) -> str:
    """How far the text came, and why no further."""
    if not miss.fates:
        return _unread_sentence(miss)
    what, found = target_text(miss), _retrieved_text(miss)
    match miss.stage:
        case "excluded":
            return f"{what} was not searched: {_filter_text(miss)} leaves its document out."
        case "not retrieved":
            ranks = miss.fates[0].ranks
            beaten = (ranks.together or miss.retrieved + 1) > miss.retrieved
            why = "" if beaten else ". The library has changed since, or a table with the figure took its place"
            return f"{what} was not retrieved: {_ranks_text(ranks)}, and the run retrieved {miss.retrieved}{why}."
        case "replaced":
            said = (
                f"after a search with a rewritten query the best {miss.retrieved} chunks of both were used, without it"
                if miss.merged
                else "a later search with a rewritten query replaced that retrieval"
            )
            return f"{what} {found}, but {said}."
        case "unused":
            return f"{what} {found}. The action was {miss.action}, so no text of documents was used."
        case "below":
            return f"{what} {found}, below the upper threshold of {format_score(miss.upper)}."
        case "dropped":
            score = _best_score(miss)
            low = score is not None and score < miss.lower
            below = f", below the lower threshold of {format_score(miss.lower)}" if low else ""
            return f"{what} {found}{below}, but {_dropped_text(miss)}."
        case "not cited":
            kept = [strip for strip in _strips(miss) if strip.kept]
            strips = f"{count(len(kept), 'strip')} of it {'was' if len(kept) == 1 else 'were'} kept{_best_text(kept)}"
            return f"{what} {found}, and {strips}. {_instead_text(miss)}"
        case _:
            return f"{what} {found}, and the answer cites it."


def _own(miss: Miss) -> list[Fate]:
    """What became of the chunks that are spoken of and were retrieved: of a page those of the page."""
    first, page = miss.fates[0].chunk, miss.wanted.page
    return [
        fate
        for fate in miss.fates
        if fate.rank is not None
        and (page is None or (fate.chunk.page, fate.chunk.document_id) == (page, first.document_id))
    ]


def _strips(miss: Miss) -> list[Strip]:
    return [strip for fate in _own(miss) for strip in fate.strips]


def _best_score(miss: Miss) -> float | None:
    grades = (fate.grade for fate in _own(miss))
    return max((grade.score for grade in grades if grade is not None and grade.score is not None), default=None)


def target_text(miss: Miss) -> str:
    """What was looked for, as the beginning of a sentence."""
    chunk = miss.fates[0].chunk if miss.fates else None
    name = miss.document.name if miss.document is not None else chunk.source if chunk is not None else ""
    if not name and not miss.wanted.document:
        return "The sentence"
    if miss.wanted.text:
        place = chunk.where if chunk is not None else ""
        return f"The sentence in {name}{place and f', {place},'}"
    return _place(name or miss.wanted.document, miss.wanted.page)


def _place(document: str, page: int | None) -> str:
    """As the beginning of a sentence."""
    return f"Page {page} of {document}" if page is not None else document


def _unread_sentence(miss: Miss) -> str:
    if miss.document is None:
        missing = "No document of the library has this sentence."
        return f"{miss.wanted.document} is not in the library." if miss.wanted.document else missing
    name, page = miss.document.name, miss.wanted.page
    if miss.wanted.text:
        return f"{_place(name, page)} does not have this sentence."
    if page is not None and page > miss.document.pages:
        return f"{name} has no page {page}: it has {count(miss.document.pages, 'page')}."
    notes = " ".join(miss.document.warnings)
    said = f"{_place(name, page)} has no text that was read, so it can't be found."
    return f"{said} Notes on the document: {notes}" if notes else said


def _filter_text(miss: Miss) -> str:
    return f"the filter “{miss.filter}”" if miss.filter else "the least document confidence"


def _retrieved_text(miss: Miss) -> str:
    """At which rank and with which score it was retrieved; empty where it was not."""
    own, score = _own(miss), _best_score(miss)
    ranks = [fate.rank for fate in own if fate.rank is not None]
    if not ranks:
        return ""
    scored = format_score(score, miss.lower, miss.upper) if score is not None else ""
    if len(own) == 1:
        return f"was retrieved at rank {ranks[0]}{scored and f' and scored {scored}'}"
    best = scored and f", the best of which scored {scored}"
    return f"was retrieved at rank {min(ranks)} with {count(len(own), 'chunk')}{best}"


def _ranks_text(ranks: Ranks) -> str:
    if ranks.together is None:
        return f"none of its chunks is among the first {REACH:,} for this question"
    ways = [
        f"{_rank_text(ranks.meaning)} by meaning",
        f"{_rank_text(ranks.words)} by words",
    ]
    return f"its best chunk ranks {_rank_text(ranks.together)} ({', '.join(ways)})"


def _rank_text(rank: int | None) -> str:
    return f"{rank:,}" if rank is not None else f"beyond {REACH:,}"


def _best_text(kept: Sequence[Strip]) -> str:
    scores = [strip.score for strip in kept if strip.score is not None]
    return f", the best scored {format_score(max(scores))}" if scores else ""


def _instead_text(miss: Miss) -> str:
    if miss.instead is None:
        return "There is no answer that could cite it."
    place = miss.instead.place or (f"page {miss.instead.page}" if miss.instead.page else "")
    where = f"{miss.instead.source}{place and f', {place}'}"
    scored = f", scored {format_score(miss.instead_score)}" if miss.instead_score is not None else ""
    return f"The answer cites another strip first: {where}{scored}{_PREFERRED[miss.instead_for]}."


def _dropped_text(miss: Miss) -> str:
    strips = _strips(miss)
    scores = [strip.score for strip in strips if strip.score is not None]
    if not strips:
        return "it was not cut into strips"
    one = len(strips) == 1
    said = "its only strip was not kept" if one else f"none of its {len(strips)} strips was kept"
    if not scores:
        return f"{said}, and {'it' if one else 'none'} was {'not ' if one else ''}scored"
    best = f"{'it' if one else 'the best'} scored {format_score(max(scores), miss.floor)}"
    if max(scores) < miss.floor:
        return f"{said}; {best}, below the strip filter of {format_score(miss.floor)}"
    refused = any(strip.selected is False for strip in strips)
    return f"{said}; {best}, {'but the language model left it out' if refused else 'and others took the room'}"


def change_sentence(miss: Miss) -> str:
    """What would have kept it; empty where nothing is known to."""
    if miss.change is None:
        return ""
    if "where" in miss.change.settings:
        return "Without the filter it would be searched; whether it is found then needs a new run."
    parts = [setting_text(name, value) for name, value in miss.change.settings.items()]
    if miss.stage == "unused" and not miss.change.certain:
        would = f"With {join_names(parts)} text of documents would be used"
        return f"{would}; whether this is kept then needs a new run."
    did = "found" if miss.stage == "not retrieved" else "kept"
    would = "would have been" if miss.change.certain else "should be"
    return f"It {would} {did} with {join_names(parts)}."


def setting_text(name: str, value: object) -> str:
    """A setting moved to a value, as a part of a sentence."""
    unlimited = " (no limit)" if name in ("strip_top_k", "strip_words") and not value else ""
    return f"“{meta(Settings, name)['label']}” set to {value}{unlimited}"


def missing_sentence(miss: Miss) -> str:
    """The words of the question that what is looked for does not have; empty where it has all."""
    if not miss.missing:
        return ""
    shown = [f"“{word}”" for word in miss.missing[:_SHOWN]]
    more = f" and {len(miss.missing) - _SHOWN} more" if len(miss.missing) > _SHOWN else ""
    return f"It does not have the question's {'word' if len(miss.missing) == 1 else 'words'} {', '.join(shown)}{more}."


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
