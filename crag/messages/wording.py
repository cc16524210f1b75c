"""Facts as sentences, for screen, shell and export alike: decisions, failures, grades, what a run came to."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from crag.core.documents import LOW_RECOGNITION
from crag.core.events import Failed, FallbackAction, PortionRead, QuestionRewritten, ScopeResolved
from crag.core.model_ids import about, name_in_sentence
from crag.core.settings import Settings, StoredSettings, meta
from crag.core.trace import Trace
from crag.core.types import (
    Action,
    Aggregation,
    Answer,
    Chunk,
    Citation,
    Decision,
    FromWeb,
    Grade,
    KeepReason,
    Remark,
    SetGrade,
    Strip,
    Unread,
)
from crag.text.characters import InjectionSpan
from crag.text.formats import count, format_score, join_names
from crag.text.words import count_words

_INSTEAD: dict[FallbackAction, str] = {
    "": "",
    "local evaluator": "The local evaluator graded instead.",
    "rewriter": "It is rewritten by {by} instead.",
    "brackets": "The questions before it are asked with it instead.",
    "same query": "The library was not searched again.",
    "question": "The question itself is searched for.",
    "web": "{by} is asked instead.",
    "documents": "The answer rests on your documents alone.",
    "not remembered": "These results are not remembered.",
    "quotes": "The best sentences are quoted instead.",
    "outline": "Its headings, properties and first sentences are quoted instead.",
    "scores": "Their scores decide instead.",
    "scores alone": "Their scores decide.",
    "not stored": "The run is not in the history.",
    "records": "The stored texts were searched for the question's words instead.",
    "words": "Until then they are found by their words alone.",
    "words alone": "The documents were searched for the question's words alone.",
}

_WHAT = {
    Aggregation.ANY: "the best passage fits",
    Aggregation.WORST: "the worst passage fits",
    Aggregation.MEAN: "the passages fit on average",
    Aggregation.JOINT: "judged in one, the passages fit",
    Aggregation.SET: "together the passages fit",
}

_MOST_SCOPE = 3
"""At most this many documents of a scope are named."""

_KEPT: dict[KeepReason, tuple[str, str]] = {
    "context": ("table header", "it heads the table of a row that is kept"),
    "neighbour": ("goes with the line below", "a strip that is kept can't be understood without it"),
    "unscored": ("not scored", "nothing of its source could be scored, so all of it is kept that there is room for"),
}
"""Of a strip that is kept for something else than its own score: a word, and the reason."""


_MARKED, _ERASED = "marked as untrusted", "left out of grading and answer"


def injection_text(spans: Sequence[InjectionSpan]) -> str:
    """Say that a text speaks to a language model, in how many places, and what the run did with them."""
    places = f" in {len(spans)} places" if len(spans) > 1 else ""
    return f"speaks to a model{places}: {_ERASED if any(each.erased for each in spans) else _MARKED}"


def injection_reason(span: InjectionSpan) -> str:
    """Say that a text speaks to a language model and what the run did with it, in two sentences."""
    done = f"It is {_ERASED}." if span.erased else "It is graded and quoted like any text, and obeyed by nothing."
    return f"This speaks to a language model. {done}"


def kept_word(why: KeepReason, *, below: bool = True) -> str:
    """What keeps a strip, in a word; nothing where that is its own score or choice. `below`: what it goes with."""
    if why == "neighbour" and not below:
        return "goes with the line above"
    return _KEPT[why][0] if why in _KEPT else ""


def kept_reason(why: KeepReason) -> str:
    """Why a strip is kept, as a part of a sentence; nothing where that is its own score or choice."""
    return _KEPT[why][1] if why in _KEPT else ""


def scope_text(scope: ScopeResolved) -> str:
    """What a question is asked of, as "10-K 2022.pdf; tag finance"; without the full stop."""
    named = list(scope.documents[:_MOST_SCOPE])
    if more := len(scope.documents) - len(named):
        named.append(count(more, "more document"))
    tags = [f"tag {tag}" for tag in scope.tags]
    gone = [f"{count(scope.gone, 'document')} no longer in the library"] if scope.gone else []
    return "; ".join([*named, *tags, *gone])


def context_text(context: QuestionRewritten) -> tuple[str, str]:
    """What is said of a question that is not asked as it was typed, as a label and its words: what it follows on, how
    its words were read, or what is asked."""
    read = [f"{typed} as {word}" for typed, word in context.read]
    left = [f"the first of {1 + len(context.left)} questions: ask the others one by one"] if context.left else []
    if context.follows:
        return "Follows on", "; ".join([*context.follows, *read])
    return ("Read", "; ".join([*read, *left])) if read or left else ("Asked as", context.standalone)


def worded_by(context: QuestionRewritten) -> str:
    """Who worded what is asked in place of a follow-up; nothing where nobody did."""
    if context.follows or context.by == "reading":
        return ""
    return "In your words." if context.by == "person" else f"By {name_in_sentence(context.by)}."


def source_text(found: Chunk | Citation) -> str:
    """Where a text stands, as "report.pdf, page 4, kept from the web, unverified"."""
    return ", ".join(filter(None, (found.source, found.where, web_origin(found.from_web))))


def web_origin(from_web: FromWeb) -> str:
    """What is said of a page that was kept from the web, wherever it is cited; nothing of any other document."""
    return f"kept from the web, {from_web}" if from_web else ""


def words_text(kept: Iterable[Strip], most: int = 0) -> str:
    """How many words the kept strips have, as "278 words", or "278 of 400 words" where there is room for `most`."""
    found = sum(count_words(strip.text) for strip in kept)
    return f"{found:,} of {count(most, 'word')}" if most else count(found, "word")


def instead_sentence(failed: Failed) -> str:
    """What was done instead, and by whom."""
    return _INSTEAD[failed.instead].format(by=name_in_sentence(failed.by))


def failure_sentence(failed: Failed) -> str:
    """What failed, and what was done instead."""
    return f"{about(failed.cause, failed.who)} {instead_sentence(failed)}".strip()


def embedded_sentence(trace: Trace) -> str:
    """How far the library's vectors were when it was searched; empty where all were there."""
    if trace.embedded >= 1:
        return ""
    return f"Searched by words: {int(trace.embedded * 100)} % of the passages have meaning vectors so far."


def why_sentence(grade: Grade, it: str = "It") -> str:
    """How the evaluator failed in whose place a grade was made; `it` is that evaluator. Nothing where none failed."""
    last = about(grade.why or grade.error, grade.who)
    if not grade.failed_before:
        return last
    return f"{it} failed {grade.failed_before} times and is not asked again in this run. The last time: {last}"


_REMARKS: dict[Remark, str] = {
    "cut": "The model's reply was cut at its length: its end is missing.",
    "overlong": "The model wrote on beyond the length it was given, and was cut there.",
    "looped": "The model repeated itself without end: it was cut, and what it repeated stands here once.",
    "other language": "The answer is in another language than the question.",
}


def remark_sentences(answer: Answer) -> list[str]:
    """What is to be said of the reply of the model that wrote an answer."""
    return [_REMARKS[each] for each in answer.remarks if each in _REMARKS]


def unread_sentence(problem: Unread) -> str:
    """What is to be known of a search."""
    return f"{problem.name} was not read: {problem.why}." if problem.name else problem.why


FITS = {Action.CORRECT: "relevant", Action.AMBIGUOUS: "partly", Action.INCORRECT: "not relevant"}
"""What a score says of one passage, in plain words."""
VERDICTS = {Action.CORRECT: "enough", Action.AMBIGUOUS: "partly", Action.INCORRECT: "not relevant"}
"""What the documents are good for, in plain words."""


def decision_sentence(decision: Decision, *, named: bool = True) -> str:
    """Why this action: the score against the thresholds, and what is unknown; of a forced one, what it replaced.

    Not `named`: without the action, which stands beside it.
    """
    if decision.instead_of is None:
        return f"{decision.action}: {_reason(decision)}" if named else _reason(decision)
    too = " too" if decision.instead_of is decision.action else ""
    says = f"The scores say {decision.instead_of}{too}: {_reason(decision)}"
    return f"Forced: {decision.action}. {says}" if named else says


def _reason(decision: Decision) -> str:
    if decision.score is None:
        return "no passage could be judged." if decision.unknown else "nothing was retrieved."
    score = format_score(decision.score, decision.upper, decision.lower)
    if decision.score >= decision.upper:
        where = f"at or above {decision.upper:.2f}"
    elif decision.score < decision.lower:
        where = f"below {decision.lower:.2f}"
        if decision.doubt:
            where += f" but within the margin of doubt ({decision.doubt:.2f}), so your documents stay"
    else:
        where = f"between {decision.lower:.2f} and {decision.upper:.2f}"
    alone = decision.aggregation is Aggregation.SET and decision.deciding_id is not None
    reason = f"{_WHAT[Aggregation.ANY if alone else decision.aggregation]} {score}, {where}"
    if decision.unknown:
        reason += f"; {count(decision.unknown, 'grade')} failed and might have changed it"
    return reason + "."


def set_sentence(together: SetGrade) -> str:
    """What the score of the chunks as a set rests on."""
    readings = together.readings
    absent = [word for word in readings.absent if word not in readings.years]
    place = f"; {count(readings.rank, 'other')} came before it" if readings.rank else ""
    said = [f"The best chunk scores {readings.best:.2f}{place}."]
    if readings.years:
        said.append(f"No chunk has the year {join_names(readings.years, 'or')}.")
    if absent:
        said.append(f"No chunk has {join_names([f'“{word}”' for word in absent], 'or')}.")
    elif not readings.years:
        said.append("Every word of the question stands in a chunk.")
    if readings.agreeing:
        said.append(f"{count(readings.agreeing, 'other chunk')} with the same likely answer.")
    return " ".join(said)


def weighed_sentence(trace: Trace) -> str:
    """The same of the score that decided a run; empty where another did."""
    here = trace.round
    if here is None or here.together is None or here.decision is None:
        return ""
    return set_sentence(here.together) if here.decision.aggregation is Aggregation.SET else ""


def outcome_sentence(trace: Trace, *, named: bool = True) -> str:
    """The decision, then what the answer rests on. For a run under way, what is known so far."""
    parts = [decision_sentence(trace.decision, named=named)] if trace.decision else []
    used = [*_documents(trace), *_pages(trace)]
    if trace.of_whole:
        written = trace.reading and not (trace.answer and trace.answer.by == "outline" and trace.finished)
        said = (
            reading_sentence(trace.reading)
            if trace.reading and written
            else ("The answer is made of its headings and properties, and nothing is graded.")
        )
        return f"It is asked of a whole document. {said}"
    if trace.handed_over and not trace.kept():
        parts.append("Nothing found is good enough to answer from.")
    elif used and trace.outcome != "not found":
        parts.append(f"{'Handed over' if trace.handed_over else 'Using'} {' and '.join(used)}.")
    if trace.action and trace.finished and not trace.searches and _wanted_web(trace.action, trace):
        parts.append(_no_web(trace))
    if not trace.action and trace.strips:
        parts.insert(0, "Plain RAG: nothing was graded.")
    return " ".join(parts)


def reading_sentence(reading: PortionRead) -> str:
    """What a model reads of a whole document, what that takes, and how far it is."""
    part = "" if reading.share > 0.99 else f"{max(reading.share, 0.01):.0%} of it, the beginnings of its passages, "
    cost = f"with {count(reading.calls, 'call')} and about {reading.tokens:,} tokens"
    so_far = f" {reading.done} of {reading.portions} read." if reading.portions > 1 else ""
    return f"The language model reads {part}in {count(reading.portions, 'portion')}, {cost}.{so_far}"


def _documents(trace: Trace) -> list[str]:
    """What is used of the library, if anything was taken from it."""
    strips = [strip for strip in trace.all_strips if strip.origin == "internal"]
    if not strips:
        return []
    kept = trace.kept("internal")
    if len(strips) == len({strip.source_id for strip in strips}) and len(kept) == len(strips):
        return [f"{count(len(kept), 'chunk')} from {searched_text(trace)}"]
    most = trace.run_settings.strip_words
    room = f" ({words_text(kept, most)})" if most else ""
    return [f"{len(kept)} of {count(len(strips), 'strip')}{room} from {searched_text(trace)}"]


def searched_text(trace: Trace) -> str:
    """What a run searched, as a part of a sentence."""
    return "another store" if trace.elsewhere else "your documents"


def _pages(trace: Trace) -> list[str]:
    """The web pages used, if any; remembered ones are said to be so."""
    used = {strip.source_id for strip in trace.kept("external")}
    if not used:
        return []
    fresh = {page.id for search in trace.searches if not search.found_at for page in search.pages}
    return [count(len(used), "web page") + ("" if used & fresh else " remembered from an earlier search")]


def _no_web(trace: Trace) -> str:
    """Why there was no web search in a run that wanted one."""
    if any(approval.approved is False for approval in trace.approvals):
        return "The web was not searched: you did not approve the query."
    if any(failure.step == "search" for failure in trace.failures):
        tried = any(record.step == "search" for record in trace.steps)
        return "The web search failed." if tried else "The web could not be searched."
    return "The web would be searched now, but web search is off."


def _wanted_web(action: Action, trace: Trace) -> bool:
    return not trace.cancelled and not trace.failure and action in trace.run_settings.web_on


def recognised_text(confidence: float | None) -> str:
    """That a text was read by text recognition, and whether that is unsure; empty where the file says it itself."""
    if confidence is None:
        return ""
    unsure = f", low confidence ({confidence:.0%})" if confidence < LOW_RECOGNITION else ""
    return f"read by text recognition{unsure}"


def stored_sentence(stored: StoredSettings) -> str:
    """Which settings of a stored run this build can't read; empty where it reads all."""
    if not stored.unknown and not stored.invalid:
        return ""
    said = "These settings were stored by another version of this program."
    if stored.unknown:
        said += f" Not known here and left out: {first_names([name[:40] for name in stored.unknown], 5)}."
    if stored.invalid:
        titles = [str(meta(Settings, name)["label"]) for name in stored.invalid]
        said += f" Not valid here and at their default: {first_names(titles, 5)}."
    return said


def first_names(names: Sequence[str], most: int) -> str:
    """The first of these, and how many more there are: "a, b and 3 more"."""
    more = len(names) - most
    return ", ".join(names[:most]) + (f" and {more} more" if more > 0 else "")
