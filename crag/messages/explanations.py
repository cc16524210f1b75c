"""Sentences that explain a run: a missed page, what a score and an action rest on; the sample broken on purpose."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from crag.analysis.causes import GradeExplanation, Occlusion, Unexplained
from crag.analysis.stages.miss import REACH, Fate, Miss
from crag.analysis.tour import FIGURE, ORDER, QUESTIONS, Break
from crag.analysis.whatif.whatif import Move
from crag.core.model_ids import name_in_sentence
from crag.core.policy import uses_documents
from crag.core.settings import Settings, meta
from crag.core.trace import Trace
from crag.core.types import Action, Chunk, Citation, GradePart, Strip
from crag.messages.wording import first_names
from crag.text.formats import count, format_score, join_names

LEAST = 0.01
"""The least change of a score that is worth a sentence."""

_REASONS: dict[Unexplained, str] = {
    "": "",
    "not graded": "The run did not grade this chunk, so there is no score to explain.",
    "together": "The run graded all its chunks in one grade, so no chunk has a score of its own.",
    "failed": "The grade of this chunk failed, so there is no score to explain.",
    "model": "It was graded by {who}. Each word or sentence left out would be one more call, so none is left out.",
    "other": "It was graded by {who}, which is not the evaluator in use. Ask again to see a score explained.",
}
_PARTS = {
    "relevance": "How far the text answers, as the model reads it",
    "span": "How clear the place of the answer is",
    "length": "Length of the text",
    "coverage": "Share of the question's words in the text",
    "closeness": "Closeness in meaning",
    "sentence": "How far its likeliest sentence answers by itself",
    "figures": "Years and numbers of the question that stand around that sentence, or in the text",
    "names": "Names of the question that stand around that sentence alone",
    "bias": "Starting point",
}


def place_text(text: Chunk | Citation) -> str:
    """Where a text stands, as "page 4 of report.pdf"."""
    return f"{text.where} of {text.source}" if text.where else text.source


def grade_sentences(found: GradeExplanation) -> list[str]:
    """What the score rests on: first the score itself, then what counts most for and against it."""
    if found.score is None or found.verdict is None:
        return [_REASONS[found.reason]]
    score = format_score(found.score, found.upper, found.lower)
    said = [f"This chunk, {place_text(found.chunk)}, scores {score}: {found.verdict} by itself."]
    if found.reason:
        who = name_in_sentence(found.grade.evaluator) if found.grade is not None else ""
        return [*said, _REASONS[found.reason].format(who=who)]
    said += _counting(found, "word", found.question, found.words)
    said += _counting(found, "sentence", found.chunk.text, found.sentences)
    if found.untitled is not None and abs(found.untitled - found.score) >= LEAST:
        said.append(f"Without the title and heading that are read with it, it would score {found.untitled:.2f}.")
    return said


def part_text(part: GradePart) -> str:
    """What a layer of a score is called; one of another evaluator by its own name."""
    return _PARTS.get(part.name, part.name)


def _counting(found: GradeExplanation, part: str, text: str, occluded: Sequence[Occlusion]) -> list[str]:
    """The part without which the score falls most, and the one without which it rises most."""
    scored = [(each.score, each) for each in occluded if each.score is not None]
    if not scored or found.score is None:
        return []
    (low, least), (high, most) = min(scored, key=lambda each: each[0]), max(scored, key=lambda each: each[0])
    said = []
    if found.score - low >= LEAST:
        said.append(f"The {part} {_quote(text, least)} counts most: without it the score would be {low:.2f}.")
    if high - found.score >= LEAST:
        said.append(f"The {part} {_quote(text, most)} counts against it: without it the score would be {high:.2f}.")
    return said or [f"No single {part} changes the score by {LEAST} or more."]


def _quote(text: str, occlusion: Occlusion) -> str:
    start, end = occlusion.spans[0]
    words = " ".join(text[start:end].split())
    return f"“{words if len(words) <= 80 else words[:79].rstrip() + '…'}”"


def untried_sentence(found: GradeExplanation) -> str:
    """What of a long question or text was not left out; empty where all was."""
    if found.reason:
        return ""
    left = [
        count(more, part)
        for part, more in (("content word", found.more_words), ("sentence", found.more_sentences))
        if more
    ]
    return f"Not tried: {join_names(left)}." if left else ""


def relaxed_sentence(move: Move) -> str:
    """Down to where a threshold has to go, so that the documents are answered from."""
    line = {"lower": "“too little” line", "upper": "“enough” line", "both": "line"}[move.threshold]
    fit = "enough" if move.decision.action is Action.CORRECT else "in part"
    return f"Lower the {line} from {move.before:.2f} to {move.after:.2f}: your documents then fit {fit}, and are used."


def kept_back_sentence(trace: Trace) -> str:
    """Why no threshold would have brought an answer from the documents."""
    if uses_documents(trace.action, trace.run_settings):
        return "Your documents were used, and nothing in them answers. No line changes that: add a document that does."
    return "No line lets your documents answer: nothing in them fits. Add a document that does."


_SHOWN = 8
"""Words that are named at most."""


def miss_sentence(miss: Miss) -> str:
    """How far the text came, and why no further."""
    if not miss.fates:
        return _unread_sentence(miss)
    what, found = target_text(miss), _retrieved_text(miss)
    match miss.stage:
        case "excluded":
            return f"{what} was not searched: {_filter_text(miss)} leaves its document out."
        case "not retrieved":
            rank = miss.fates[0].now
            among = f"ranks {rank:,}" if rank is not None else f"is not among the first {REACH:,}"
            late = "" if (rank or miss.retrieved + 1) > miss.retrieved else ". The library has changed since"
            return f"{what} was not retrieved: its best chunk {among}, and the run retrieved {miss.retrieved}{late}."
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
            return f"{what} {found}, below the upper threshold of {format_score(miss.settings.upper)}."
        case "dropped":
            score = _best_score(miss)
            low = score is not None and score < miss.settings.lower
            below = f", below the lower threshold of {format_score(miss.settings.lower)}" if low else ""
            return f"{what} {found}{below}, but {_dropped_text(miss)}."
        case "not cited":
            instead = "There is no answer that could cite it."
            if miss.instead is not None:
                instead = f"The answer cites another strip first: {place_text(miss.instead)}."
            kept = sum(strip.kept for strip in _strips(miss))
            return f"{what} {found}, and {count(kept, 'strip')} of it kept. {instead}"
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
    return max((fate.score for fate in _own(miss) if fate.score is not None), default=None)


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
    return f"the filter “{miss.settings.where}”" if miss.settings.where else "the least document confidence"


def _retrieved_text(miss: Miss) -> str:
    """At which rank and with which score it was retrieved; empty where it was not."""
    own, score = _own(miss), _best_score(miss)
    ranks = [fate.rank for fate in own if fate.rank is not None]
    if not ranks:
        return ""
    scored = format_score(score, miss.settings.lower, miss.settings.upper) if score is not None else ""
    if len(own) == 1:
        return f"was retrieved at rank {ranks[0]}{scored and f' and scored {scored}'}"
    best = scored and f", the best of which scored {scored}"
    return f"was retrieved at rank {min(ranks)} with {count(len(own), 'chunk')}{best}"


def _dropped_text(miss: Miss) -> str:
    strips = _strips(miss)
    scores = [strip.score for strip in strips if strip.score is not None]
    said = "no strip of it was kept"
    if not scores:
        return said
    best = f"{said}; the best scored {format_score(max(scores), miss.settings.strip_filter)}"
    if max(scores) < miss.settings.strip_filter:
        return f"{best}, below the strip filter of {format_score(miss.settings.strip_filter)}"
    refused = any(strip.selected is False for strip in strips)
    return f"{best}, {'but the language model left it out' if refused else 'and others took the room'}"


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
    quoted = first_names([f"“{word}”" for word in miss.missing], _SHOWN)
    return f"It does not have the question's {'word' if len(miss.missing) == 1 else 'words'} {quoted}."


def fate_text(fate: Fate) -> str:
    """How far a chunk came, with its rank, its score and what was kept of it."""
    parts = [
        fate.stage,
        f"rank {fate.rank}" if fate.rank is not None else "",
        f"score {format_score(fate.score)}" if fate.score is not None else "",
        f"{sum(strip.kept for strip in fate.strips)} of {len(fate.strips)} strips kept" if fate.strips else "",
    ]
    return ", ".join(filter(None, parts))


TITLES: Mapping[Break, str] = {
    "removed": "The answer is taken away",
    "later": "A year after the report",
    "planted": "An order to the model",
}
_BROKEN: Mapping[Break, str] = {
    "removed": f"No text that gives {FIGURE}, the right answer, can be found.",
    "later": "The report is of 2019, and can't know the figure of 2031.",
    "planted": f"Behind {FIGURE} stands “{ORDER}” A model that writes gets it fenced, as data.",
}


def situation_sentence(situation: Break) -> str:
    """What is asked, and what was done to the sample."""
    return f"{QUESTIONS[situation]} {_BROKEN[situation]}"


def says_text(trace: Trace) -> str:
    """Whether an answer gives the right figure, another one, or none."""
    if trace.answer is None or trace.answer.abstained:
        return "No answer"
    return f"Says {FIGURE}" if FIGURE in trace.answer.text else "Says something else"
