"""Why a page or sentence is not in an answer: its way through a stored run, stage by stage, and the smallest change
that would have kept it. It takes one search of the library as it is now, and no language model.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, Literal, get_args

from crag.analysis.whatif.whatif import Replay
from crag.core.documents import find_id
from crag.core.errors import FilterError, InputError, NotFoundError
from crag.core.protocols import SearchQuery
from crag.core.settings import Settings
from crag.core.trace import Trace
from crag.core.types import Action, Chunk, Citation, Document, Grade, Strip
from crag.generation.arithmetic import looks_up
from crag.retrieval.ranking import question_terms
from crag.storage.library import Library
from crag.text.words import STOP_WORDS, stem, words

REACH = 200
"""How many chunks are ranked; a rank beyond that is None. A search for more has more candidates, and may put them in
another order than the run's search did."""
MOST_RETRIEVED = 50
"""The most chunks that a run can retrieve (`Settings.k`)."""
MOST_FATES = 50
"""How many chunks of a document or page are followed."""
MIN_WORDS = 5
"""Words that a sentence must have to be looked for in a whole library."""

Stage = Literal["unread", "excluded", "not retrieved", "replaced", "unused", "below", "dropped", "not cited", "cited"]
"""The last stage that a text reached in a run, the earliest first.

"unread": no chunk has it. "excluded": a filter, the least confidence or the scope left its document out. "not
retrieved": k chunks had a better rank. "replaced": a later retrieval took the place of the one that found it. "unused":
the action uses no documents. "below": its score was too low to be kept. "dropped": none of its strips was kept.
"not cited": a strip was kept, and the answer cites it nowhere. "cited": the answer cites it. Of a sentence only the
strips and citations count that share it.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What is looked for: a document by its name or id, and of it a page (from 1); or a sentence; or both."""

    document: str = ""
    page: int | None = None
    text: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fate:
    """What became of one chunk that has what is looked for.

    `rank`: its rank in the retrieval of the run, from 1; None where that did not find it. `now`: its rank among all
    that may be searched today; None beyond `REACH`. `strips`: those of the chunk, or of the sentence, in reading order.
    """

    chunk: Chunk
    stage: Stage
    now: int | None
    rank: int | None = None
    grade: Grade | None = None
    strips: tuple[Strip, ...] = ()

    @property
    def score(self) -> float | None:
        """Relevance 0..1; None without a grade."""
        return self.grade.score if self.grade is not None else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """Settings under which the text would have gone further. `certain`: known without a new run."""

    settings: dict[str, Any]
    certain: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Miss:
    """The way of what is looked for through a run. `fates`: of the chunks that have it, that which came furthest first.

    `document` is None where the library has none: a sentence that no text has, or a document that is not there now.
    `retrieved`: how many chunks the run retrieved; `settings` and `action`: what decided. `merged`: whether the best
    chunks of all its retrievals were used. `change`: the smallest that is known to help, or may; None where there is
    none. `missing`: words of the question that none of the chunks has. `instead`: what the answer cites first in place
    of what it does not cite.
    """

    wanted: Wanted
    document: Document | None
    stage: Stage
    fates: tuple[Fate, ...]
    retrieved: int
    settings: Settings
    action: Action | None
    merged: bool = False
    change: Change | None = None
    missing: tuple[str, ...] = ()
    instead: Citation | None = None


def explain_miss(library: Library, trace: Trace, wanted: Wanted) -> Miss:
    """What became of a page or sentence in a run of this library.

    Raises NotFoundError for a document or page that is not in the library, InputError where nothing or too little is
    asked for, and what `Search.find` raises.
    """
    return follow(library, trace, wanted, *_locate(library, wanted))


def follow(
    library: Library,
    trace: Trace,
    wanted: Wanted,
    document: Document | None,
    chunks: Sequence[Chunk],
    *,
    ranked: bool = True,
) -> Miss:
    """What became of these chunks, which have what is `wanted`, in a run.

    Without `ranked` the library is searched only where the run retrieved none of them: a set of questions takes less
    time then, and no fate of a chunk that was retrieved says its rank `now`. Raises what `Search.find` raises.
    """
    settings = trace.run_settings
    fates = _follow(library, trace, settings, chunks, _spaced(wanted.text), ranked) if chunks else []
    stage = fates[0].stage if fates else "unread"
    cited = trace.answer.citations if trace.answer is not None else ()
    return Miss(
        wanted=wanted,
        document=document,
        stage=stage,
        fates=tuple(fates),
        retrieved=len(trace.round.chunks) if trace.round else 0,
        settings=settings,
        action=trace.action,
        merged=settings.loop_merge == "union" and len(trace.rounds) > 1,
        change=_smallest_change(trace, settings, fates[0]) if fates else None,
        missing=tuple(_missing(trace.meant, chunks)),
        instead=cited[0] if cited and stage == "not cited" else None,
    )


# ---- where it is ---------------------------------------------------------------------------------------------------


def _locate(library: Library, wanted: Wanted) -> tuple[Document | None, list[Chunk]]:
    """The document, and its chunks that have the page or the sentence."""
    if not wanted.document:
        if len(words(wanted.text)) < MIN_WORDS:
            raise InputError(
                "Too little to look for.", f"Name a document and a page, or paste at least {MIN_WORDS} words."
            )
        chunks = find_sentence(library, wanted.text)
        return (library.documents.get(chunks[0].document_id) if chunks else None), chunks
    names = library.documents.names()
    near = ", ".join(get_close_matches(wanted.document, names.values(), 3, 0.5))
    remedy = f"Near it: {near}." if near else "The page Documents and the command documents list names and ids."
    document = library.documents.get(find_id(wanted.document, names, remedy, partly=True))
    if wanted.page is not None and not 1 <= wanted.page <= max(document.pages, 1):
        raise NotFoundError(f"{document.name} has no page {wanted.page}.", f"It has {document.pages} pages.")
    chunks = library.documents.chunks(document.id, page=wanted.page, lines=False)
    return document, [chunk for chunk in chunks if has_sentence(chunk, wanted.text)]


def find_sentence(library: Library, text: str) -> list[Chunk]:
    """The chunks of a library that have a sentence, of those that a search for it finds. Raises as `Search.find`."""
    found = (each.chunk for each in library.find(SearchQuery(text, MOST_RETRIEVED)))
    return [chunk for chunk in found if has_sentence(chunk, text)]


def has_sentence(chunk: Chunk, text: str) -> bool:
    """Whether a chunk has the words of a sentence, one after another; so has any where it has no word."""
    return _spaced(text) in _spaced(chunk.text)


def _spaced(text: str) -> str:
    """Its words between blanks; without a word a blank, which is in all."""
    return " ".join(("", *words(text), ""))


def _shares(text: str, sentence: str) -> bool:
    """Whether a text has the words of a sentence, or is a part of it; `sentence` as `_spaced` makes it."""
    own = _spaced(text)
    return sentence in own or (own.count(" ") > 3 and own in sentence)


# ---- how far it came -----------------------------------------------------------------------------------------------


def _follow(
    library: Library, trace: Trace, settings: Settings, chunks: Sequence[Chunk], sentence: str, ranked: bool
) -> list[Fate]:
    """What became of each chunk, the one that came furthest first; of many, of `MOST_FATES`."""
    retrieved = trace.chunks
    others = [chunk for chunk in chunks if chunk.id not in retrieved]
    ranks = _rank(library, trace, settings) if ranked or len(others) == len(chunks) else {}
    excluded = {id for id in {each.document_id for each in others} if _is_excluded(library, settings, id)}

    def fate(chunk: Chunk) -> Fate:
        here = retrieved.get(chunk.id)
        strips = tuple(strip for strip in trace.strips.get(chunk.id, ()) if _shares(strip.text, sentence))
        stage: Stage = "not retrieved"
        if here:
            stage = _stage(trace, settings, chunk.id, strips, sentence)
        elif chunk.document_id in excluded and chunk.id not in ranks:
            stage = "excluded"
        return Fate(
            chunk=chunk,
            stage=stage,
            now=ranks.get(chunk.id),
            rank=here.rank if here else None,
            grade=trace.grade_of(chunk.id),
            strips=strips,
        )

    return sorted(map(fate, chunks), key=_furthest)[:MOST_FATES]


def _furthest(fate: Fate) -> tuple[float, ...]:
    return (
        -get_args(Stage).index(fate.stage),
        -max((strip.score or 0.0 for strip in fate.strips), default=0.0),
        -(fate.score or 0.0),
        fate.rank or math.inf,
        fate.now or math.inf,
    )


def _rank(library: Library, trace: Trace, settings: Settings) -> dict[str, int]:
    """The ranks of the first chunks for the run's question, under its filters, by their ids."""
    try:
        return {each.chunk.id: each.rank for each in library.find(SearchQuery.under(settings, trace.meant, REACH))}
    except FilterError:
        return {}  # it lets none through, or asks for a field that no document has any more


def _stage(trace: Trace, settings: Settings, chunk: str, strips: Sequence[Strip], sentence: str) -> Stage:
    """Of a chunk that was retrieved."""
    grade = trace.grade_of(chunk)
    cited = trace.answer.citations if trace.answer is not None else ()
    if any(each.source_id == chunk and _shares(each.quote, sentence) for each in cited):
        return "cited"
    if any(strip.kept for strip in strips):
        return "not cited"
    if trace.round is None or all(each.chunk.id != chunk for each in trace.round.chunks):
        return "replaced"
    if trace.action is not None and trace.action.value not in settings.internal_on:
        return "unused"
    low = grade is not None and grade.score is not None and grade.score < settings.upper
    return "below" if low and not strips else "dropped"


def _is_excluded(library: Library, settings: Settings, document: str) -> bool:
    fields = library.documents.fields(document)
    if settings.where and not settings.where.matches(fields):
        return True
    confidence = fields.get("confidence", 1.0)
    return isinstance(confidence, int | float) and confidence < settings.min_confidence


def _missing(question: str, chunks: Sequence[Chunk]) -> Iterator[str]:
    there = {stem(word) for chunk in chunks for word in words(f"{chunk.context} {chunk.text}")}
    for word in question_terms(question):
        within = len(word) > 4 and any(word in other for other in there)  # as in a German compound
        if word not in STOP_WORDS and stem(word) not in there and not within:
            yield word


# ---- what would have kept it ---------------------------------------------------------------------------------------


def _smallest_change(trace: Trace, settings: Settings, fate: Fate) -> Change | None:
    match fate.stage:
        case "excluded":
            return Change(settings={"where": {}, "min_confidence": 0.0}, certain=False)
        case "not retrieved":
            rank = fate.now
            fits = rank is not None and settings.k < rank <= MOST_RETRIEVED
            # A table with the figure that is asked for may take the last places.
            reaches = settings.lookup_reach > 0 and looks_up(trace.meant)
            return Change(settings={"k": rank}, certain=not reaches) if fits else None
        case "unused" | "below" | "dropped":
            replay, own = Replay(trace), {strip.id for strip in fate.strips}
            decided = trace.decision.score if trace.decision is not None else None
            for candidate in _candidates(settings, fate, decided):
                changed = {name: value for name, value in candidate.items() if value != getattr(settings, name)}
                if not changed:
                    continue
                what = replay.under(settings.changed(**changed))
                found = what.strips.get(fate.chunk.id, ())
                kept = any(each.kept and (not own or each.id in own) for each in found)
                uses = what.action is not None and what.action.value in settings.internal_on
                if kept or (fate.stage == "unused" and uses):
                    return Change(settings=changed, certain=kept)
    return None


def _candidates(settings: Settings, fate: Fate, decided: float | None) -> Iterator[dict[str, Any]]:
    """Changes that may keep the chunk, the smallest first. `decided`: the score that the action was taken by."""

    def least(name: str, score: float) -> dict[str, Any]:
        """A threshold that the score reaches, in hundredths."""
        return {name: min(getattr(settings, name), math.floor(score * 100) / 100)}

    if fate.stage == "unused" and decided is not None and not settings.binary:
        yield least("lower", decided + settings.ambiguity_margin)
        yield least("lower", decided)
    opened: dict[str, Any] = {}
    if fate.stage in ("unused", "below") and fate.score is not None:
        opened = least("lower", fate.score) | least("upper", fate.score)
        if not settings.binary:  # which has one threshold
            yield least("lower", fate.score)
        yield opened
    if scores := [strip.score for strip in fate.strips if strip.score is not None]:
        floor, unlimited = least("strip_filter", max(scores)), {"strip_words": 0, "strip_top_k": 0}
        yield floor
        yield {"strip_words": 0}
        yield {"strip_top_k": 0}
        yield floor | unlimited
        if opened:
            yield opened | floor | unlimited
