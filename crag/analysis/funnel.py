"""Where the answers of a question set are lost: how far each expected place came in its run, stage by stage, and the
one change of a setting that is known to mend most losses. No language model is asked.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, Literal

from crag.analysis.evaluate import question_set, rows
from crag.analysis.metrics.metrics import ResultRow, files_of, label_of, name_of, pages_of
from crag.analysis.misses import MIN_WORDS, Miss, Wanted, find_sentence, follow_chunks, has_sentence
from crag.analysis.questions.sets import Question
from crag.analysis.whatif.whatif import Replay, WhatIf
from crag.core.trace import Trace
from crag.core.types import Action, Chunk, Citation, Document
from crag.storage.library import Library
from crag.text.words import words

Step = Literal["library", "search", "grade", "evidence", "answer", "support"]
"""What an expected place has to pass, in order.

"library": a document has it, and its text was read. "search": the run retrieved it. "grade": it scored at least the
lower threshold, or nothing was graded one by one. "evidence": a strip of it was kept. "answer": the answer cites it, or
says an accepted answer. "support": no check found the sentences that cite it unsupported.
"""
STEPS: tuple[Step, ...] = ("library", "search", "grade", "evidence", "answer", "support")
LeftOut = Literal["no answer", "no place", "failed", "deleted"]
"""Why a question is not followed: it is labelled unanswerable, nothing says where its answer is, its run did not end,
or its run was deleted.
"""
MOST_VALUES = 5
"""Values of one setting that are tried as levers."""
MOST_LEVERS = 4
"""Levers whose harm is counted, those that mend most."""
_FATES = 8
"""Chunks of a place that are remembered of each question."""
_CACHED = 256
"""Pages or documents whose chunks are remembered while a set is followed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Followed:
    """One question whose expected place was followed through its run.

    `lost`: the first step that it did not pass; None where it passed all. `supported`: what the checks say of the
    sentences that cite it; None where none was checked. `said`: the answer says an accepted answer, None where that is
    not known. `anchors`: by source id the strips that hold the place, of a loss those that must be kept, else those
    that are cited; none means any strip of that source.
    """

    question_id: str
    question: str
    run_id: str
    miss: Miss
    lost: Step | None
    supported: bool | None
    said: bool | None
    graded: bool
    anchors: Mapping[str, frozenset[str]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Lever:
    """One setting moved to one value, and what is known of it without a new run.

    `mended`: losses whose place is certain to pass the step at which it was lost. `broken`: questions that passed whose
    cited strips are certain to be dropped. `unknown`: those that passed of which only a new run can tell.
    """

    setting: str
    value: Any
    mended: int
    broken: int
    unknown: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Funnel:
    """How many of the questions of one evaluation pass each step.

    `followed` questions have an expected place and a run; `left_out` counts the others. `passed` falls from step to
    step. `graded`: whether the runs graded chunks. `checked`: questions whose citing sentences were checked.
    `elsewhere`: those whose answer says what is accepted and cites another place. `wrong`: those that cite the place
    and say nothing that is accepted. `losses` are in the set's order. `lever` is None where none is known to help.
    """

    followed: int
    passed: Mapping[Step, int]
    losses: tuple[Followed, ...]
    left_out: Mapping[LeftOut, int]
    graded: bool
    checked: int = 0
    elsewhere: int = 0
    wrong: int = 0
    lever: Lever | None = None

    @property
    def lost(self) -> dict[Step, int]:
        """Losses by step, those with none left out."""
        counts = Counter(each.lost for each in self.losses)
        return {step: counts[step] for step in STEPS if counts[step]}


def trace_funnel(library: Library, evaluation_id: str) -> Funnel:
    """The funnel of a stored evaluation, with its best lever.

    Each run is read once, those that a lever may change twice more; the library is searched once for each place that a
    run did not retrieve. Raises NotFoundError, StorageError for a set that can't be read, and what `Search.find`
    raises.
    """
    record = library.evaluations.get(evaluation_id)
    questions = {each.id: each for each in question_set(library, record.set_id).questions}
    followed: list[Followed] = []
    left_out: Counter[LeftOut] = Counter()
    for each in follow_rows(library, rows(library, evaluation_id), questions):
        if isinstance(each, Followed):
            followed.append(each)
        else:
            left_out[each] += 1
    return replace(fold(followed, left_out), lever=best_lever(followed, library.runs.readable))


def follow_rows(
    library: Library, found: Sequence[ResultRow], questions: Mapping[str, Question]
) -> Iterator[Followed | LeftOut]:
    """Each row's question followed through its run, in order; or why it is not. Raises what `Search.find` raises."""
    places = Places(library)
    waiting: list[tuple[ResultRow, Question]] = []
    for row in found:
        question = questions.get(row.question_id)
        reason: LeftOut | None = "failed" if row.problem else "no place" if question is None else _left_out(question)
        if reason is not None or question is None:
            yield reason or "no place"
        else:
            waiting.append((row, question))
    stored = library.runs.readable([row.run_id for row, _ in waiting])
    trace = next(stored, None)
    for row, question in waiting:
        if trace is None or trace.run_id != row.run_id:
            yield "deleted"
            continue
        miss = places.explain(trace, question)
        yield "no place" if miss is None else _followed(trace, row, question, miss)
        trace = next(stored, None)


def _left_out(question: Question) -> LeftOut | None:
    match label_of(question):
        case "unanswerable":
            return "no answer"
        case None:
            return "no place"
        case "source":
            return None if files_of(question) else "no place"
        case _:
            return None


# ---- one question --------------------------------------------------------------------------------------------------


class Places:
    """Where a library has what questions expect: pages, documents, or a sentence of at least `MIN_WORDS` words."""

    def __init__(self, library: Library) -> None:
        self._library = library
        self._ids: dict[str, list[str]] = {}
        for id, name in library.documents.names().items():
            self._ids.setdefault(name_of(name), []).append(id)
        self._read = lru_cache(_CACHED)(self._read_chunks)

    def explain(self, trace: Trace, question: Question, *, ranked: bool = False) -> Miss | None:
        """What became of the expected place in a run; None where nothing says which place that is.

        Of several expected pages or documents that which came furthest. A place that the run retrieved is followed as
        the run saw it, also where its document was replaced or deleted since. `ranked` as `follow_chunks` has it.
        """
        pages, names = pages_of(question), files_of(question)
        if not names:
            return self._explain_text(trace, question, ranked)
        wanted: list[tuple[str, int | None]] = sorted(pages) if pages else [(name, None) for name in sorted(names)]
        document: Document | None = None
        chunks = [each.chunk for each in trace.chunks.values() if _is_at(each.chunk, wanted)]
        if not chunks:
            for name, page in wanted:
                for id in self._ids.get(name, ()):
                    document, found = self._read(id, page)
                    chunks.extend(found)
        first = Wanted(document=_title(question, wanted[0][0]), page=wanted[0][1])
        miss = follow_chunks(self._library, trace, first, document, chunks, ranked=ranked)
        if not miss.fates:
            return miss
        best = miss.fates[0].chunk
        return replace(miss, document=None, wanted=Wanted(document=best.source, page=best.page if pages else None))

    def _read_chunks(self, id: str, page: int | None) -> tuple[Document, list[Chunk]]:
        documents = self._library.documents
        return documents.get(id), documents.chunks(id, page=page, lines=False)

    def _explain_text(self, trace: Trace, question: Question, ranked: bool) -> Miss | None:
        """Of the first accepted answer that is a whole sentence of a document; None where none is."""
        for answer in question.answers:
            if len(words(answer)) < MIN_WORDS:
                continue
            chunks = [each.chunk for each in trace.chunks.values() if has_sentence(each.chunk, answer)]
            if not chunks and self._ids:
                chunks = find_sentence(self._library, answer)
            if chunks:
                return follow_chunks(self._library, trace, Wanted(text=answer), None, chunks, ranked=ranked)
        return None


def _is_at(chunk: Chunk, wanted: Iterable[tuple[str, int | None]]) -> bool:
    name = name_of(chunk.source)
    return any(name == file and page in (None, chunk.page) for file, page in wanted)


def _title(question: Question, name: str) -> str:
    """The expected source as the set writes it."""
    return next((source for source in question.sources if name_of(source) == name), name)


def _followed(trace: Trace, row: ResultRow, question: Question, miss: Miss) -> Followed:
    """What the stages of a miss say of the steps."""
    sources = {fate.chunk.id: frozenset(strip.id for strip in fate.strips) for fate in miss.fates}
    narrow = bool(miss.wanted.text)
    own = {id: strips if narrow else frozenset() for id, strips in sources.items()}
    cited = [each for each in (trace.answer.citations if trace.answer is not None else ()) if _holds(own, each)]
    said = row.answer_holds
    elsewhere = said is True and miss.stage != "cited"
    if elsewhere and trace.answer is not None:
        cited = [each for each in trace.answer.citations if each.origin == "internal"]
    supported = _supported(trace, {each.number for each in cited})
    lost = None if elsewhere else _step(miss, trace)
    if lost is None and supported is False:
        lost = "support"
    passed = lost is None or lost == "support"
    anchors: defaultdict[str, frozenset[str]] = defaultdict(frozenset)
    for each in cited:
        anchors[each.source_id] |= {each.strip_id}
    page = miss.wanted.page
    fates = [fate for fate in miss.fates if page in (None, fate.chunk.page)][:_FATES]
    return Followed(
        question_id=row.question_id,
        question=question.question,
        run_id=row.run_id,
        miss=replace(miss, fates=tuple(fates)),
        lost=lost,
        supported=supported,
        said=said,
        graded=trace.action is not None,
        anchors=dict(anchors) if passed else own,
    )


def _holds(own: Mapping[str, frozenset[str]], citation: Citation) -> bool:
    strips = own.get(citation.source_id)
    return strips is not None and (not strips or citation.strip_id in strips)


def _supported(trace: Trace, numbers: set[int]) -> bool | None:
    judged = [check.supported for check in trace.checks if numbers & set(check.citations)]
    known = [each for each in judged if each is not None]
    return all(known) if known else None


def _step(miss: Miss, trace: Trace) -> Step | None:
    """The first step that was not passed."""
    match miss.stage:
        case "unread":
            return "library"
        case "excluded" | "not retrieved":
            return "search"
        case "replaced" | "unused" | "below" | "dropped":
            best = max(
                (grade.score for fate in miss.fates if (grade := fate.grade) and grade.score is not None), default=None
            )
            return "grade" if best is not None and best < miss.lower else "evidence"
        case "not cited":
            return "answer"
        case "cited":
            return None


# ---- all of them ---------------------------------------------------------------------------------------------------


def fold(followed: Sequence[Followed], left_out: Mapping[LeftOut, int]) -> Funnel:
    """How many pass each step, and what is lost where. Pure; without a lever."""
    lost = Counter(each.lost for each in followed)
    passed: dict[Step, int] = {}
    left = len(followed)
    for step in STEPS:
        left -= lost[step]
        passed[step] = left
    cites = [each for each in followed if each.miss.stage == "cited"]
    return Funnel(
        followed=len(followed),
        passed=passed,
        losses=tuple(each for each in followed if each.lost is not None),
        left_out={reason: number for reason, number in left_out.items() if number},
        graded=any(each.graded for each in followed),
        checked=sum(each.supported is not None for each in followed if each.lost in (None, "support")),
        elsewhere=sum(each.said is True and each.miss.stage != "cited" for each in followed),
        wrong=sum(each.said is False for each in cites),
    )


# ---- the best lever ------------------------------------------------------------------------------------------------


def best_lever(followed: Sequence[Followed], traces: Callable[[Sequence[str]], Iterable[Trace]]) -> Lever | None:
    """The change of one setting that mends most losses beyond those that it breaks; None where none is known to help.

    What only a new run can tell counts as broken, as long as another lever is known better. Candidates are the certain
    changes of single losses. Each is counted over all losses, the best of them over the questions that passed too.
    `traces` reads stored runs by their ids. Pure besides.
    """
    tried = _candidates(followed)
    if not tried:
        return None
    losses = {each.run_id: each for each in followed if each.lost in ("search", "grade", "evidence")}
    mended: Counter[tuple[str, Any]] = Counter()
    for trace in traces(list(losses)):
        mended.update(_mended_by(trace, losses[trace.run_id], tried))
    best = [lever for lever, _ in mended.most_common(MOST_LEVERS)]
    fine = {each.run_id: each for each in followed if each.lost is None}
    broken: Counter[tuple[str, Any]] = Counter()
    unknown: Counter[tuple[str, Any]] = Counter()
    for trace in traces(list(fine)) if best else ():
        replay, settings = Replay(trace), trace.run_settings
        for lever in best:
            keeps = _keeps(replay.under(settings.changed(**dict([lever]))), trace.action, fine[trace.run_id].anchors)
            broken[lever] += keeps is False
            unknown[lever] += keeps is None
    found = [
        Lever(
            setting=name,
            value=value,
            mended=mended[name, value],
            broken=broken[name, value],
            unknown=unknown[name, value],
        )
        for name, value in best
    ]
    order = {lever: place for place, lever in enumerate(tried)}
    helpful = [each for each in found if each.mended > each.broken]
    return max(
        helpful,
        key=lambda each: (
            each.mended - each.broken - each.unknown,
            each.mended,
            -order[each.setting, each.value],
        ),
        default=None,
    )


def _candidates(followed: Sequence[Followed]) -> list[tuple[str, Any]]:
    """One setting at one value each, the mildest value of each setting first."""
    values: defaultdict[str, Counter[Any]] = defaultdict(Counter)
    for each in followed:
        change = each.miss.change
        if each.lost is not None and change is not None and change.certain and len(change.settings) == 1:
            [(name, value)] = change.settings.items()
            values[name][value] += 1
    found: list[tuple[str, Any]] = []
    for name, counts in values.items():
        mild = sorted(counts, reverse=name != "k")
        step = max(1, -(-len(mild) // MOST_VALUES))
        chosen = sorted({*range(len(mild) - 1, -1, -step)})
        found += [(name, mild[place]) for place in chosen]
    return found


def _mended_by(trace: Trace, loss: Followed, tried: Sequence[tuple[str, Any]]) -> Iterator[tuple[str, Any]]:
    change = loss.miss.change
    if loss.lost == "search":
        needed = change.settings.get("k") if change is not None and change.certain else None
        yield from ((name, value) for name, value in tried if name == "k" and needed is not None and value >= needed)
        return
    replay, settings = Replay(trace), trace.run_settings
    for name, value in tried:
        if _keeps(replay.under(settings.changed(**{name: value})), trace.action, loss.anchors):
            yield name, value


def _keeps(what: WhatIf, before: Action | None, anchors: Mapping[str, frozenset[str]]) -> bool | None:
    """Whether a strip of these would be kept; None where only a new run can tell."""
    if what.documents == "unknown" or (what.decision is None and what.unknown):
        return None
    if not anchors:  # the answer rests on the web
        return None if what.unknown or what.action != before else True
    return any(
        strip.kept and (not anchors[id] or strip.id in anchors[id])
        for id in anchors
        for strip in what.strips.get(id, ())
    )
